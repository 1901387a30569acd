//! A runner without processes, whose times come from a file. It tests the whole program, to the last byte of its
//! output, without a clock.
//!
//! One line for each arm, in the plan's order: times separated by spaces, used in turn, each a time span with an
//! optional `!STATUS` (`1.5ms 2ms!3`). A line that starts with `#` is a comment.
//!
//! A line that starts with `at` has factors that belong to the moment, not to an arm. The time of the run at step i
//! (from 0, warm-ups included) is multiplied by factor i and rounded to nanoseconds; the factors repeat.

use anyhow::{Context as _, Result, anyhow, ensure};

use crate::{Hook, MeasurementFailure, Outcome, RowPlace, Runner};
use model::values::TimeSpan;
use model::values::metric::Metric;
use record::plan::Plan;
use record::schedule::Step;
use record::{Layout, Row, Writer};

#[derive(Debug)]
pub struct ScriptRunner<'a> {
    plan: &'a Plan,
    script: Script,
    n_taken: Vec<usize>,
    now_ns: u64,
    output: Option<(Writer, Layout)>,
}

#[derive(Debug)]
struct Script {
    arms: Vec<Vec<ScriptedRun>>,
    /// Factors of the moments; empty without an `at` line.
    at: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct ScriptedRun {
    wall_ns: u64,
    exit: i32,
}

impl<'a> ScriptRunner<'a> {
    /// Reads a script. Errors: a line is not a list of times, or there are not as many lines as arms.
    pub fn new(plan: &'a Plan, script: &str) -> Result<Self> {
        let script = Script::read(script)?;
        let (n_lines, n_arms) = (script.arms.len(), plan.arms.len());
        ensure!(n_lines == n_arms, "the script has {n_lines} lines of times for {n_arms} arms");
        Ok(Self { plan, script, n_taken: vec![0; n_arms], now_ns: 0, output: None })
    }
}

impl Script {
    fn read(text: &str) -> Result<Self> {
        let mut script = Self { arms: Vec::new(), at: Vec::new() };
        for (number, line) in (1..).zip(text.lines()) {
            if line.starts_with('#') || line.is_empty() {
                continue;
            }
            script.add(line).with_context(|| format!("script, line {number}"))?;
        }
        Ok(script)
    }

    fn add(&mut self, line: &str) -> Result<()> {
        let mut words = line.split_ascii_whitespace().peekable();
        if words.next_if_eq(&"at").is_some() {
            ensure!(self.at.is_empty(), "a second line of factors");
            self.at = words.map(factor).collect::<Result<_>>()?;
            ensure!(!self.at.is_empty(), "no factors");
        } else {
            self.arms.push(words.map(turn).collect::<Result<_>>()?);
        }
        Ok(())
    }

    /// The run of an arm that has been run `n_taken` times, at a step.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive; above u64 it saturates"
    )]
    fn run(&self, arm: usize, n_taken: usize, step: u32) -> ScriptedRun {
        let turn = self.arms[arm][n_taken % self.arms[arm].len()];
        if self.at.is_empty() {
            return turn;
        }
        let factor = self.at[step as usize % self.at.len()];
        ScriptedRun { wall_ns: (turn.wall_ns as f64 * factor).round() as u64, ..turn }
    }
}

fn turn(word: &str) -> Result<ScriptedRun> {
    let (span, exit) = word.split_once('!').unwrap_or((word, "0"));
    let span: TimeSpan = span.parse().map_err(|error: String| anyhow!(error))?;
    Ok(ScriptedRun {
        wall_ns: span.ns,
        exit: exit.parse().with_context(|| format!("exit status {exit:?}"))?,
    })
}

fn factor(word: &str) -> Result<f64> {
    let factor: f64 = word.parse().with_context(|| format!("factor {word:?}"))?;
    ensure!(factor.is_finite() && factor > 0.0, "factor {word:?} is not above 0");
    Ok(factor)
}

impl Runner for ScriptRunner<'_> {
    fn keep(&mut self, rows: RowPlace) -> Result<()> {
        let layout = Layout::from_names(&rows.columns).map_err(anyhow::Error::msg)?;
        self.output = Some((Writer::open(&rows.record)?, layout));
        Ok(())
    }

    fn run(&mut self, steps: &[Step]) -> Result<Outcome> {
        let (writer, layout) = self.output.as_mut().context("the script has no record yet")?;
        for step in steps {
            let arm = step.arm as usize;
            let turn = self.script.run(arm, self.n_taken[arm], step.step);
            self.n_taken[arm] += 1;
            let timed_out = self.plan.timeout_ns.is_some_and(|limit_ns| turn.wall_ns > limit_ns);
            let mut row = Row {
                cpu: Some(0),
                exit: if timed_out { -libc::SIGTERM } else { turn.exit },
                timed_out,
                ..Row::new(step.step, step.arm, step.block, self.now_ns)
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
                let failure =
                    MeasurementFailure::Run { step, arm, exit, timed_out, stderr: String::new() };
                return Ok(Outcome { interrupted: false, failure: Some(failure) });
            }
        }
        Ok(Outcome::default())
    }

    fn hook(&mut self, _hook: Hook, _command: &str, _arm: usize) -> Result<Outcome> {
        Ok(Outcome::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Input: (arm, step). Expected: nanoseconds and exit status.
    #[track_caller]
    fn check(text: &str, steps: &[(usize, u32)], expect: &[(u64, i32)]) {
        let script = Script::read(text).unwrap();
        let mut n_taken = vec![0; script.arms.len()];
        let played = steps.iter().map(|&(arm, step)| {
            let turn = script.run(arm, n_taken[arm], step);
            n_taken[arm] += 1;
            (turn.wall_ns, turn.exit)
        });
        assert_eq!(played.collect::<Vec<_>>(), expect);
    }

    #[test]
    fn times_of_an_arm_are_used_in_turn() {
        check(
            "# two arms\n1us 2us!3\n\n5us\n",
            &[(0, 0), (1, 1), (1, 2), (0, 3), (0, 4)],
            &[(1_000, 0), (5_000, 0), (5_000, 0), (2_000, 3), (1_000, 0)],
        );
    }

    #[test]
    fn factors_belong_to_the_step_and_come_again() {
        let text = "at 1 1.5 2e-3\n1us\n10us!2\n";
        check(
            text,
            &[(0, 0), (1, 1), (1, 2), (0, 3)],
            &[(1_000, 0), (15_000, 2), (20, 2), (1_000, 0)],
        );
        // The second run gets the second factor, whichever arm it is.
        check(text, &[(1, 0), (0, 1)], &[(10_000, 2), (1_500, 0)]);
    }

    #[test]
    fn products_are_rounded_to_nanoseconds() {
        check("1s 1.002s\nat 2.003e-7\n", &[(0, 0), (0, 1)], &[(200, 0), (201, 0)]);
        check("1ns\nat 0.4", &[(0, 0)], &[(0, 0)]);
    }

    #[test]
    fn mistakes_name_the_line() {
        let check = |text, expect| {
            assert_eq!(format!("{:#}", Script::read(text).unwrap_err()), expect);
        };
        check("at 1 0\n", "script, line 1: factor \"0\" is not above 0");
        check("1ms\nat inf\n", "script, line 2: factor \"inf\" is not above 0");
        check("at x\n", "script, line 1: factor \"x\": invalid float literal");
        check("at\n", "script, line 1: no factors");
        check("at 1\n# c\nat 2\n", "script, line 3: a second line of factors");
    }
}
