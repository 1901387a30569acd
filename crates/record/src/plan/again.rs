//! Plans to measure some arms of an earlier session again.

use std::path::Path;

use crate::plan::{Arm, Plan, Role, ShellReason};

/// If this is 1, CPython 3.12 and later writes function names for profilers (docs.python.org, "perf_profiling").
pub const PYTHON_NAMES: &str = "PYTHONPERFSUPPORT";

/// Arms of an earlier session.
#[derive(Clone, Debug)]
pub struct EarlierArms<'a> {
    pub plan: &'a Plan,
    pub arms: Vec<EarlierArm>,
    /// Where the earlier session was, if elsewhere.
    pub directory: Option<&'a str>,
}

/// An arm of an earlier session.
#[derive(Clone, Debug)]
pub struct EarlierArm {
    pub index: usize,
    /// The command line by which it is executed now.
    pub argv: Vec<String>,
}

/// Copies arms of an earlier plan, and how they were executed, into a new plan. The new plan keeps its length, order, error
/// rate and names.
pub(super) fn measure_again(new: &mut Plan, arms: &EarlierArms<'_>) {
    let EarlierArms { plan: earlier, arms, directory } = arms;
    let names: Vec<Option<String>> = new.arms.iter_mut().map(|arm| arm.name.take()).collect();
    new.arms = arms.iter().map(|arm| again(earlier, arm, *directory)).collect();
    for (arm, name) in new.arms.iter_mut().zip(names).filter(|(_, name)| name.is_some()) {
        arm.name = name;
    }
    new.control = None;
    new.shell.clone_from(&earlier.shell);
    new.shell_reason = ShellReason::UserChoice;
    new.timeout_ns = earlier.timeout_ns;
    new.setup.clone_from(&earlier.setup);
    new.cleanup.clone_from(&earlier.cleanup);
    new.validate = None;
    new.cold_cache = earlier.cold_cache;
    new.input = earlier.input.as_ref().map(|input| match directory {
        Some(directory) => Path::new(directory).join(input).to_string_lossy().into_owned(),
        None => input.clone(),
    });
    let (process, before) = (&mut new.process, &earlier.process);
    if process.affinity.is_none() && earlier.workers.is_none() {
        process.affinity.clone_from(&before.affinity);
        process.launcher_cpus.clone_from(&before.launcher_cpus);
    }
    if !before.is_raised {
        process.nice = process.nice.or(before.nice);
    }
    process.sched = process.sched.or(before.sched);
    process.no_aslr |= before.no_aslr;
    if process.thread_variables.is_empty() {
        process.thread_variables.clone_from(&before.thread_variables);
    }
    new.workers = None;
    new.in_slices = false;
    new.suite = None;
}

fn again(earlier: &Plan, EarlierArm { index, argv }: &EarlierArm, directory: Option<&str>) -> Arm {
    let mut arm = earlier.arms[*index].clone();
    arm.argv.clone_from(argv);
    arm.role = Role::Candidate;
    // A single pair is compared, whatever the benchmark's name. A value that the runs print does not decide here.
    arm.benchmark = None;
    arm.value = None;
    arm.source = None;
    arm.is_revision = false;
    if arm.directories.is_empty() {
        arm.directories.extend(directory.map(str::to_owned));
    }
    arm
}

/// Asks Python interpreters for function names, unless an arm has the variable.
pub(super) fn ask_for_names(plan: &mut Plan) {
    for arm in &mut plan.arms {
        if !arm.sets(PYTHON_NAMES) {
            arm.environment.push((PYTHON_NAMES.into(), "1".into()));
        }
    }
}

impl Plan {
    /// The plan with words of its command lines replaced, where `other` has a replacement.
    pub fn with_words(mut self, other: impl Fn(&str) -> Option<String>) -> Self {
        for word in self.arms.iter_mut().flat_map(|arm| &mut arm.argv) {
            *word = other(word).unwrap_or_else(|| std::mem::take(word));
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Control, decide_run};
    use host::Facts;
    use model::spec::RunSpec;

    fn plan(commands: &[&str]) -> Plan {
        let commands = commands.iter().map(|&it| it.into()).collect();
        decide_run(&RunSpec { commands, ..RunSpec::default() }, &Facts::default(), 1).unwrap()
    }

    #[test]
    fn the_chosen_arms_are_measured_as_they_were_and_as_long_as_the_new_plan_says() {
        let mut earlier = plan(&["a", "b", "c"]);
        earlier.timeout_ns = Some(5);
        earlier.input = Some("in".into());
        earlier.process.no_aslr = true;
        earlier.arms[2].prepare = Some("prepare".into());
        earlier.control = Some(Control { arm: 1, role: Role::Subtract });
        let mut new = plan(&["x", "y"]);
        new.arms[1].name = Some("second".into());
        let blocks = new.blocks;
        let argv = |index: usize| earlier.arms[index].argv.clone();
        let arms = [0, 2].map(|index| EarlierArm { index, argv: argv(index) }).to_vec();
        let directory = Some("/srv/there");
        measure_again(&mut new, &EarlierArms { plan: &earlier, arms, directory });
        let commands: Vec<&str> = new.arms.iter().map(|arm| arm.command.as_str()).collect();
        assert_eq!(commands, ["a", "c"]);
        assert_eq!((new.arms[0].label(), new.arms[1].label()), ("a", "second"));
        assert_eq!((new.blocks, new.control, new.timeout_ns), (blocks, None, Some(5)));
        assert_eq!(new.input.as_deref(), Some("/srv/there/in"));
        assert_eq!(new.arms[1].directory(None), Some("/srv/there"));
        assert_eq!(new.arms[1].prepare.as_deref(), Some("prepare"));
        assert!(new.process.no_aslr);
    }

    #[test]
    fn the_users_word_about_names_counts() {
        let mut plan = plan(&["a", "b"]);
        plan.arms[1].environment.push((PYTHON_NAMES.into(), "0".into()));
        ask_for_names(&mut plan);
        let value = |plan: &Plan, arm: usize| plan.arms[arm].environment.clone();
        assert_eq!(value(&plan, 0), [(PYTHON_NAMES.into(), "1".into())]);
        assert_eq!(value(&plan, 1), [(PYTHON_NAMES.into(), "0".into())]);
    }
}
