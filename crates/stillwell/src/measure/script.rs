//! A runner that makes no processes: its times are read from a file. The whole program can be tested with it, to the
//! last byte of its output, without a clock.
//!
//! One line for each arm, in the plan's order: times separated by spaces, used in turn, each a time span with an
//! optional `!STATUS` (`1.5ms 2ms!3`). A line that starts with `#` is a comment.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow, ensure};

use crate::measure::{Failure, Hook, Outcome, Runner};
use crate::metric::{METRICS, Metric};
use crate::plan::Plan;
use crate::record::{Layout, Row, Writer};
use crate::schedule::Step;
use crate::spec::values::TimeSpan;

/// Plays a script.
#[derive(Debug)]
pub struct ScriptRunner<'a> {
    plan: &'a Plan,
    arms: Vec<Vec<Turn>>,
    n_taken: Vec<usize>,
    now_ns: u64,
    output: Option<(Writer, Layout)>,
}

#[derive(Clone, Copy, Debug)]
struct Turn {
    wall_ns: u64,
    exit: i32,
}

impl<'a> ScriptRunner<'a> {
    /// Reads a script.
    ///
    /// # Errors
    /// A line is not a list of times, or there are not as many lines as arms.
    pub fn new(plan: &'a Plan, script: &str) -> Result<Self> {
        let lines = (1..)
            .zip(script.lines())
            .filter(|(_, line)| !line.starts_with('#') && !line.is_empty());
        let arms = lines
            .map(|(number, line)| {
                let turns = line.split_ascii_whitespace().map(turn);
                turns.collect::<Result<Vec<_>>>().with_context(|| format!("script, line {number}"))
            })
            .collect::<Result<Vec<_>>>()?;
        let (n_lines, n_arms) = (arms.len(), plan.arms.len());
        ensure!(n_lines == n_arms, "the script has {n_lines} lines of times for {n_arms} arms");
        Ok(Self { plan, n_taken: vec![0; n_arms], arms, now_ns: 0, output: None })
    }

    /// Says where the rows go.
    ///
    /// # Errors
    /// The record cannot be opened.
    pub fn keep(&mut self, record: &Path, layout: Layout) -> Result<()> {
        self.output = Some((Writer::open(record)?, layout));
        Ok(())
    }
}

fn turn(word: &str) -> Result<Turn> {
    let (span, exit) = word.split_once('!').unwrap_or((word, "0"));
    let span: TimeSpan = span.parse().map_err(|error: String| anyhow!(error))?;
    Ok(Turn {
        wall_ns: span.ns,
        exit: exit.parse().with_context(|| format!("exit status {exit:?}"))?,
    })
}

impl Runner for ScriptRunner<'_> {
    fn run(&mut self, steps: &[Step]) -> Result<Outcome> {
        let (writer, layout) = self.output.as_mut().context("the script has no record yet")?;
        for step in steps {
            let arm = step.arm as usize;
            let turn = self.arms[arm][self.n_taken[arm] % self.arms[arm].len()];
            self.n_taken[arm] += 1;
            let timed_out = self.plan.timeout_ns.is_some_and(|limit_ns| turn.wall_ns > limit_ns);
            let mut row = Row {
                step: step.step,
                arm: step.arm,
                block: step.block,
                started_ns: self.now_ns,
                cpu: Some(0),
                exit: if timed_out { -libc::SIGTERM } else { turn.exit },
                timed_out,
                values: [None; METRICS.len()],
            };
            row.set(Metric::WallNs, Some(turn.wall_ns));
            row.set(Metric::UserUs, Some(turn.wall_ns / 1000));
            row.set(Metric::SysUs, Some(0));
            row.set(Metric::MaxrssKib, Some(1024));
            self.now_ns += turn.wall_ns;
            let mut line = Vec::new();
            layout.encode(&row, &mut line);
            writer.append(&line)?;
            let accepted = &self.plan.arms[arm].accept;
            let is_fine =
                accepted.as_ref().is_none_or(|list| !timed_out && list.contains(&row.shell_exit()));
            if !is_fine {
                let (step, exit) = (step.step, row.exit);
                let failure = Failure::Run { step, arm, exit, timed_out, stderr: String::new() };
                return Ok(Outcome { interrupted: false, failure: Some(failure) });
            }
        }
        Ok(Outcome::default())
    }

    fn hook(&mut self, _hook: Hook, _command: &str) -> Result<Outcome> {
        Ok(Outcome::default())
    }
}
