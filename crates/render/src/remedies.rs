//! Names of options and keys in advice, which depend on the origin of the session.

use host::knobs::State;
use host::{Gap, SystemReport};
use model::prose::{OptionName, Prose};
use record::plan::Plan;

/// The origin of a session, which determines the settings that its user can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// The user sets options of `run`.
    Run,
    /// The user sets options of `timeit`, or of `bench` with programs.
    Workers,
    /// The user sets keys of a suite file and options of `bench`.
    Suite,
    /// The user sets options of `gate`.
    Gate,
    /// The user sets options of `system`, `shield` and `noise`, which have no session.
    Machine,
}

impl Audience {
    /// Returns the origin of this plan's session.
    pub fn of(plan: &Plan) -> Self {
        match (&plan.suite, &plan.workers) {
            (Some(suite), _) if suite.is_gate => Self::Gate,
            (Some(_), _) => Self::Suite,
            (None, Some(_)) => Self::Workers,
            (None, None) => Self::Run,
        }
    }

    /// The setting for `n` warm-up runs of commands.
    pub fn warmups(self, n: usize) -> String {
        match self {
            Self::Run | Self::Workers | Self::Machine => format!("--warmup {n}"),
            Self::Suite | Self::Gate => format!("`policy.warmup = {n}`"),
        }
    }

    /// The setting for at most `n` blocks. Workers accept only an exact number.
    pub fn blocks_max(self, n: usize) -> String {
        match self {
            Self::Run | Self::Machine => format!("--max-runs {n}"),
            Self::Workers => format!("--runs {n}"),
            Self::Suite | Self::Gate => format!("`policy.max_blocks = {n}`"),
        }
    }

    /// The setting that compares one part of the times. A gate has none.
    pub fn estimand(self, part: &str) -> Option<String> {
        match self {
            Self::Run | Self::Workers | Self::Machine => Some(format!("--estimand {part}")),
            Self::Suite => Some(format!("`policy.estimand = \"{part}\"`")),
            Self::Gate => None,
        }
    }

    /// The setting that gives the benchmark CPUs of its own.
    pub fn own_cpu(self) -> &'static str {
        match self {
            Self::Run | Self::Machine => "--isolate, or --affinity on a quiet CPU",
            Self::Workers | Self::Gate => "--affinity on a quiet CPU, or `stillwell shield`",
            Self::Suite => "bench --affinity on a quiet CPU, or `stillwell shield`",
        }
    }

    /// A text from other crates, with this audience's names of options.
    pub fn words(self, prose: &Prose) -> String {
        prose.spelled(|option| self.name(option))
    }

    pub fn gaps(self, gaps: Vec<Gap>) -> Vec<Gap> {
        gaps.into_iter().map(|gap| Gap { fix: self.words(&gap.fix).into(), ..gap }).collect()
    }

    /// The name of an option. A gate has the machine options of `bench`, and makes its suite itself.
    pub fn name(self, option: OptionName) -> String {
        use OptionName::*;
        let is_suite = matches!(self, Self::Suite | Self::Gate);
        let key = || option.words().replace('-', "_");
        match option {
            Affinity if self == Self::Machine => "--cpus".into(),
            NoAslr if self == Self::Machine => "run --no-aslr".into(),
            Isolate if is_suite || self == Self::Workers => "`stillwell shield`".into(),
            RunTuned if self == Self::Workers => "timeit --tune".into(),
            RunTuned if self == Self::Suite => "bench --tune".into(),
            RunTuned if self == Self::Gate => "gate --tune".into(),
            DecideOn | Timeout if self == Self::Gate => option.to_string(),
            DecideOn | Timeout if is_suite => format!("`policy.{}`", key()),
            Warmups if is_suite => "`policy.warmup`".into(),
            Cleanup | Conclude | Input | Prepare | Setup | Value | ValueBetter | ValueFile
            | ValueJson | ValueUnit
                if is_suite =>
            {
                format!("`{}`", key())
            }
            Affinity | Counter | EnvPadding | NoAslr | Numa | Priority | Sched | Threads | Tune
                if self == Self::Suite =>
            {
                format!("bench {option}")
            }
            _ => option.to_string(),
        }
    }
}

/// A report on the machine in its users' words.
pub fn spelled(mut report: SystemReport) -> SystemReport {
    for knob in &mut report.knobs {
        if let State::Reported { advice: Some(advice), .. } = &mut knob.reading.state {
            *advice = Audience::Machine.words(advice).into();
        }
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::prose::prose;

    #[test]
    fn each_audience_has_names_of_its_own() {
        let prose = prose!["check " Input " and " Affinity ", ⟦x⟧"];
        let check = |audience: Audience, expected| assert_eq!(audience.words(&prose), expected);
        check(Audience::Run, "check --input and --affinity, ⟦x⟧");
        check(Audience::Suite, "check `input` and bench --affinity, ⟦x⟧");
        check(Audience::Gate, "check `input` and --affinity, ⟦x⟧");
        check(Audience::Machine, "check --input and --cpus, ⟦x⟧");
    }

    #[test]
    fn keys_of_a_suite_have_their_place() {
        let named =
            |option| [Audience::Suite, Audience::Gate].map(|audience| audience.name(option));
        assert_eq!(named(OptionName::DecideOn), ["`policy.decide_on`", "--decide-on"]);
        assert_eq!(named(OptionName::Warmups), ["`policy.warmup`"; 2]);
        assert_eq!(named(OptionName::ValueFile), ["`value_file`"; 2]);
        assert_eq!(named(OptionName::Tune), ["bench --tune", "--tune"]);
    }
}
