//! Records for the tests of all stages, built in memory.

use crate::plan::decide_run;
use crate::{EndReason, Event, FORMAT, Header, Layout, Record, Row, Rows, VERSION};
use host::Facts;
use model::spec::RunSpec;
use model::values::metric::Metric;

/// A session of these commands without a run.
pub fn record(commands: &[&str]) -> Record {
    from_spec(RunSpec {
        commands: commands.iter().map(ToString::to_string).collect(),
        ..RunSpec::default()
    })
}

pub fn from_spec(spec: RunSpec) -> Record {
    let facts = Facts { architecture: "x86_64".into(), ..Facts::default() };
    let header = Header {
        format: FORMAT.into(),
        version: VERSION,
        tool: "stillwell 0.1.0".into(),
        created: "2026-11-21T20:50:06+01:00".into(),
        command_line: vec!["stillwell".into(), "run".into()],
        defaults: Vec::new(),
        clock_origin_ns: 7,
        columns: Layout::new(&[Metric::WallNs, Metric::UserUs, Metric::SysUs, Metric::MaxrssKib])
            .names(),
        plan: decide_run(&spec, &facts, 42).unwrap(),
        facts,
        gaps: Vec::new(),
        isolation: None,
        imported: None,
    };
    let events = vec![Event::End { reason: EndReason::Complete }];
    Record {
        path: "/tmp/a.swell".into(),
        header,
        rows: Rows::default(),
        slices: None,
        events,
        torn_bytes: 0,
        parts: Vec::new(),
        not_begun: Vec::new(),
    }
}

pub fn run(record: &mut Record, arm: u32, block: Option<u32>, wall_ns: u64) {
    let step = u32::try_from(record.rows.len()).unwrap();
    record.rows.push(&row(step, arm, block, wall_ns));
}

/// The rows of so many blocks of two arms, each with its block. Either arm is first equally often.
pub fn pairs(n_blocks: u32) -> impl Iterator<Item = (u32, Row)> {
    (0..2 * n_blocks).map(|step| {
        let (block, slot) = (step / 2, step % 2);
        let arm = slot ^ (block & 1);
        (block, Row { exit: 0, ..row(step, arm, Some(block), 1_000_000) })
    })
}

pub fn row(step: u32, arm: u32, block: Option<u32>, wall_ns: u64) -> Row {
    let mut row = Row {
        cpu: (step > 0).then_some(1),
        exit: if step == 0 { -9 } else { 0 },
        ..Row::new(step, arm, block, 1000 * u64::from(step))
    };
    row.set(Metric::WallNs, Some(wall_ns));
    row.set(Metric::UserUs, Some(600));
    row.set(Metric::SysUs, Some(100));
    row.set(Metric::MaxrssKib, Some(3332));
    row
}
