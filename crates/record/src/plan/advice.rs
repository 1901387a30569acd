//! The steps of `system advise`: options of `run` that may make times steadier.

use crate::plan::HIGHEST_PRIORITY;
use host::Facts;
use host::knobs::{Knob, State, knob, knobs};
use model::spec::run::ProcessOptions;
use model::values::{Cpus, NameList, Sched};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdviceStep {
    pub name: String,
    /// Changes to the runs and the machine.
    pub changes: Vec<StepChange>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StepChange {
    /// The runs use only this CPU.
    Affinity(usize),
    Nice,
    RealTime,
    /// Every run has the same memory layout.
    FixedLayout,
    /// Huge pages for malloc of the GNU C library.
    HugePages,
    Knob(String),
    /// All knobs that do no harm are turned.
    AllKnobs,
    /// Nothing else runs on the CPUs.
    Shield,
    /// The page cache is empty before each run.
    ColdCache,
}

/// A step that this machine or user cannot take, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct MissingStep {
    /// Name of the step.
    pub name: String,
    /// The reason.
    pub why: String,
}

/// Name of the runs without a step.
pub const AS_IT_IS: &str = "as it is";
/// Name of all steps combined.
pub const TOGETHER: &str = "all together";
const COLD_CACHE: &str = "cold cache";

/// Knobs that are steps of their own on machines that have them.
const KNOBS: [&str; 6] = ["governor", "epp", "turbo", "irqs", "autogroup", "services"];
/// `malloc` asks for huge pages by madvise(2) (glibc 2.35, manual, "Memory Allocation Tunables").
pub const HUGE_PAGES: &str = "GLIBC_TUNABLES=glibc.malloc.hugetlb=1";
const NEEDS_GUARDIAN: &str = "needs root, or sudo or doas without a password";
const REAL_TIME: Sched = Sched::Fifo(50);

/// Abilities of the machine, and rights of the user.
#[derive(Clone, Copy, Debug)]
pub struct AdviceRights {
    /// Whether knobs can be turned and CPUs kept free.
    pub may_tune: bool,
    /// Whether the nice level may be raised.
    pub may_raise: bool,
    /// Whether this process is root, which can drop the page cache.
    pub is_root: bool,
}

/// The steps for runs on `cpu`, beginning with the machine as it is, and the steps that cannot be taken. `cpu` is
/// `None` if there is only one. `state`: a knob on this machine, or why it cannot be read.
pub fn steps(
    facts: &Facts,
    cpu: Option<usize>,
    rights: AdviceRights,
    state: impl Fn(&Knob) -> Result<State, String>,
) -> (Vec<AdviceStep>, Vec<MissingStep>) {
    let (mut steps, mut missing) = (Vec::new(), Vec::new());
    let mut consider = |name: &str, found: Result<Vec<StepChange>, String>| match found {
        Ok(changes) => steps.push(AdviceStep { name: name.into(), changes }),
        Err(why) => missing.push(MissingStep { name: name.into(), why }),
    };
    consider(AS_IT_IS, Ok(Vec::new()));
    let on_cpu = cpu.map(StepChange::Affinity).ok_or("the commands may use one CPU only");
    consider("affinity", on_cpu.clone().map(|change| vec![change]).map_err(str::to_owned));
    let needs = |allowed: bool, change: StepChange, what: &str| {
        if allowed { Ok(vec![change]) } else { Err(what.to_owned()) }
    };
    const PRIORITY: &str = "needs root or CAP_SYS_NICE";
    consider("nice", needs(rights.may_raise, StepChange::Nice, PRIORITY));
    consider("real-time", needs(rights.may_raise, StepChange::RealTime, PRIORITY));
    let is_random = facts.aslr != Some(0);
    const FIXED: &str = "it is so already (kernel.randomize_va_space is 0)";
    consider("fixed layout", needs(is_random, StepChange::FixedLayout, FIXED));
    consider("huge pages", huge_pages(facts));
    for name in KNOBS {
        if let Some(knob) = knob(name) {
            consider(name, state(knob).and_then(|it| knob_step(name, it, cpu, rights.may_tune)));
        }
    }
    consider("all knobs", needs(rights.may_tune, StepChange::AllKnobs, NEEDS_GUARDIAN));
    let shield = |change| {
        needs(rights.may_tune, StepChange::Shield, NEEDS_GUARDIAN)
            .map(|it| [vec![change], it].concat())
    };
    consider("shield", on_cpu.map_err(str::to_owned).and_then(shield));
    consider(COLD_CACHE, needs(rights.is_root, StepChange::ColdCache, "needs root"));
    (steps, missing)
}

/// All of these steps combined; `None` if there are fewer than two.
pub fn together(steps: &[AdviceStep]) -> Option<AdviceStep> {
    let choices: Vec<&AdviceStep> = steps.iter().filter(|step| step.is_choice()).collect();
    let changes = union(choices.iter().copied());
    (choices.len() > 1).then(|| AdviceStep { name: TOGETHER.into(), changes })
}

fn huge_pages(facts: &Facts) -> Result<Vec<StepChange>, String> {
    match facts.transparent_hugepages.as_deref() {
        Some("never") => Err("transparent huge pages are switched off (never)".into()),
        None => Err("the kernel has no transparent huge pages".into()),
        Some(_) => Ok(vec![StepChange::HugePages]),
    }
}

fn knob_step(
    name: &str,
    state: State,
    cpu: Option<usize>,
    may_tune: bool,
) -> Result<Vec<StepChange>, String> {
    match state {
        State::NotTuned { .. } if !may_tune => Err(NEEDS_GUARDIAN.into()),
        // Knobs of single CPUs need a CPU.
        State::NotTuned { .. } => {
            let affinity = cpu.filter(|_| matches!(name, "irqs" | "services"));
            let affinity = affinity.map(StepChange::Affinity);
            Ok(affinity.into_iter().chain([StepChange::Knob(name.into())]).collect())
        }
        State::Fine { now } => Err(format!("it is so already ({now})")),
        State::CannotSet { why } | State::Absent { why } => Err(why),
        State::Reported { now, .. } => Err(format!("it can only be shown ({now})")),
    }
}

impl AdviceStep {
    /// Whether the step can be recommended: it is a single step and keeps the measurement the same.
    pub fn is_choice(&self) -> bool {
        !self.changes.is_empty() && self.name != TOGETHER && self.name != COLD_CACHE
    }

    /// Sets the options of the runs. Without a step they have no priority.
    pub fn apply(&self, process: &mut ProcessOptions, is_cold: &mut bool) {
        process.priority.priority = Some(model::values::Priority::Off);
        let mut knobs: Vec<String> = Vec::new();
        for change in &self.changes {
            match change {
                StepChange::Affinity(cpu) => process.affinity = Some(Cpus(vec![*cpu])),
                StepChange::Nice => process.priority.nice = Some(HIGHEST_PRIORITY),
                StepChange::RealTime => process.priority.sched = Some(REAL_TIME),
                StepChange::FixedLayout => process.layout.no_aslr = true,
                StepChange::HugePages => process.execution.env = vec![HUGE_PAGES.into()],
                StepChange::Knob(name) => knobs.push(name.clone()),
                StepChange::AllKnobs => process.tuning.tune = Some(None),
                StepChange::Shield => process.isolate = true,
                StepChange::ColdCache => *is_cold = true,
            }
        }
        if !knobs.is_empty() && process.tuning.tune.is_none() {
            process.tuning.tune = Some(Some(NameList(knobs)));
        }
    }

    /// Whether the step changes the machine, not only the runs.
    pub fn changes_machine(&self) -> bool {
        let is_of_machine = |change: &StepChange| {
            matches!(
                change,
                StepChange::Knob(_)
                    | StepChange::AllKnobs
                    | StepChange::Shield
                    | StepChange::ColdCache
            )
        };
        self.changes.iter().any(is_of_machine)
    }
}

/// The changes of several steps, without repetitions. On a CPU of its own a program gains nothing from a priority, and
/// before Linux 6.12 the kernel stops a real-time program there for parts of a second. "All knobs" contains each knob.
pub fn union<'a>(steps: impl Iterator<Item = &'a AdviceStep>) -> Vec<StepChange> {
    let is_cold = |change: &StepChange| *change == StepChange::ColdCache;
    let mut changes: Vec<StepChange> =
        steps.flat_map(|step| step.changes.clone()).filter(|change| !is_cold(change)).collect();
    changes.sort();
    changes.dedup();
    if changes.contains(&StepChange::Shield) {
        changes.retain(|change| !matches!(change, StepChange::Nice | StepChange::RealTime));
    }
    if changes.contains(&StepChange::RealTime) {
        changes.retain(|change| *change != StepChange::Nice);
    }
    if changes.contains(&StepChange::AllKnobs) {
        add_all_knobs(&mut changes);
    }
    changes
}

/// Removes the knobs that "all knobs" contains. If others remain, all are named, because `run` takes either names or
/// none.
fn add_all_knobs(changes: &mut Vec<StepChange>) {
    let is_default = |name: &str| knob(name).is_some_and(|knob| knob.by_default);
    changes.retain(|change| !matches!(change, StepChange::Knob(name) if is_default(name)));
    if !changes.iter().any(|change| matches!(change, StepChange::Knob(_))) {
        return;
    }
    changes.retain(|change| *change != StepChange::AllKnobs);
    let defaults = knobs().filter(|knob| knob.by_default && !knob.files.is_empty());
    changes.extend(defaults.map(|knob| StepChange::Knob(knob.name.into())));
    changes.sort();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(rights: AdviceRights, cpu: Option<usize>) -> (Vec<String>, Vec<String>) {
        let facts = Facts {
            aslr: Some(2),
            transparent_hugepages: Some("madvise".into()),
            ..Facts::default()
        };
        let state = |knob: &Knob| match knob.name {
            "governor" => {
                Ok(State::NotTuned { now: "powersave".into(), wanted: "performance".into() })
            }
            _ => Err("the machine has none".into()),
        };
        let (steps, missing) = steps(&facts, cpu, rights, state);
        let missing = missing.into_iter().map(|it| it.name).collect();
        (steps.into_iter().map(|it| it.name).collect(), missing)
    }

    #[test]
    fn a_user_without_rights_has_fewer_steps_and_is_told_why() {
        let none = AdviceRights { may_tune: false, may_raise: false, is_root: false };
        let (found, missing) = names(none, Some(3));
        assert_eq!(found, [AS_IT_IS, "affinity", "fixed layout", "huge pages"]);
        for name in ["nice", "real-time", "governor", "all knobs", "shield", COLD_CACHE] {
            assert!(missing.iter().any(|it| it == name), "{name}: {missing:?}");
        }
        let all = AdviceRights { may_tune: true, may_raise: true, is_root: true };
        let (found, missing) = names(all, Some(3));
        for name in ["nice", "governor", "shield", COLD_CACHE] {
            assert!(found.iter().any(|it| it == name), "{name}: {found:?} {missing:?}");
        }
        let (found, missing) = names(all, None);
        assert!(!found.contains(&"shield".into()) && missing.contains(&"shield".into()));
    }

    #[test]
    fn the_options_are_those_of_run() {
        let step =
            |changes: &[StepChange]| AdviceStep { name: "a".into(), changes: changes.into() };
        let knob = |name: &str| StepChange::Knob(name.into());
        let mut process = ProcessOptions::default();
        let mut is_cold = false;
        let changes = [StepChange::Affinity(3), knob("governor"), knob("turbo")];
        step(&changes).apply(&mut process, &mut is_cold);
        assert_eq!(process.affinity, Some(Cpus(vec![3])));
        let knobs = process.tuning.tune.unwrap().unwrap();
        assert_eq!((knobs.0, is_cold), (vec!["governor".to_owned(), "turbo".into()], false));
        let together = union(
            [
                step(&[StepChange::Nice]),
                step(&[StepChange::RealTime]),
                step(&changes),
                step(&[StepChange::Affinity(3), StepChange::Shield]),
                step(&[StepChange::ColdCache]),
            ]
            .iter(),
        );
        let expected =
            [StepChange::Affinity(3), knob("governor"), knob("turbo"), StepChange::Shield];
        assert_eq!(together, expected);
        let all = union([step(&changes), step(&[StepChange::AllKnobs])].iter());
        assert_eq!(all, [StepChange::Affinity(3), StepChange::AllKnobs]);
        let more = union([step(&[knob("autogroup")]), step(&[StepChange::AllKnobs])].iter());
        assert!(more.contains(&knob("autogroup")) && more.contains(&knob("turbo")), "{more:?}");
        assert!(!more.contains(&StepChange::AllKnobs));
    }
}
