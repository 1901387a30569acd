//! Selects arms of a record.

use anyhow::{Result, ensure};

use crate::suite;
use record::plan::Arm;
use record::{Event, Record, Rows};

/// Keeps the benchmarks or commands with these names, and their controls. Errors: no benchmark has one of the names.
pub fn arms(record: &mut Record, names: &[String]) -> Result<()> {
    if !record.parts.is_empty() {
        return suite::select(record, names);
    }
    let plan = &record.header.plan;
    for name in names {
        let mut known: Vec<&str> = Vec::new();
        for (_, arm) in plan.candidates() {
            let name = arm.benchmark.as_deref().unwrap_or_else(|| arm.label());
            if !known.contains(&name) {
                known.push(name);
            }
        }
        let is_there = plan.candidates().any(|(_, arm)| is_named(arm, name));
        ensure!(is_there, "there is no benchmark {name:?}; there are: {}", known.join(", "));
    }
    let is_kept = |arm: &Arm| arm.role.is_control() || names.iter().any(|name| is_named(arm, name));
    let kept: Vec<usize> = (0..plan.arms.len()).filter(|&at| is_kept(&plan.arms[at])).collect();
    let mut new_of = vec![None; plan.arms.len()];
    kept.iter().enumerate().for_each(|(new, &old)| new_of[old] = Some(new));
    record.header.plan = plan.clone().select_arms(&kept);
    record.rows = select_rows(&record.rows, &new_of);
    record.slices = record.slices.as_ref().map(|slices| select_rows(slices, &new_of));
    record.events.retain_mut(|event| match event {
        Event::Worker { arm, .. } | Event::Counters { arm, .. } | Event::Launch { arm, .. } => {
            let new = new_of[*arm as usize];
            *arm = new.and_then(|new| u32::try_from(new).ok()).unwrap_or(0);
            new.is_some()
        }
        Event::Launcher { .. }
        | Event::IsolationLost { .. }
        | Event::Taken { .. }
        | Event::Failure { .. }
        | Event::Suspect
        | Event::End { .. }
        | Event::Unknown => true,
    });
    if let Some(imported) = &mut record.header.imported {
        let mut at = 0..;
        imported.benchmarks.retain(|_| at.next().and_then(|at| new_of[at]).is_some());
    }
    Ok(())
}

fn is_named(arm: &Arm, name: &str) -> bool {
    arm.benchmark.as_deref() == Some(name) || arm.label() == name
}

fn select_rows(rows: &Rows, new_of: &[Option<usize>]) -> Rows {
    let mut selected = Rows::of(rows.compared());
    for mut row in rows.iter() {
        if let Some(new) = new_of[row.arm as usize] {
            row.arm = u32::try_from(new).unwrap_or(0);
            selected.push(&row);
        }
    }
    selected
}
