use clap::Parser as _;

use super::*;
use crate::fixture;
use crate::plan::Stopping;
use model::spec::{Cli, Verb};

fn facts() -> Facts {
    Facts {
        cpus_online: Some("0-3".into()),
        cpus_allowed: Some("0-2".into()),
        isolated_cpus: Some(String::new()),
        ..Facts::default()
    }
}

fn timeit(words: &[&str]) -> Result<Plan> {
    let words = ["stillwell", "timeit"].iter().chain(words);
    let Verb::Timeit(verb) = Cli::try_parse_from(words)?.verb else { unreachable!() };
    let arms = statements(&verb.spec.statement.join("\n"), &verb.spec.code)?;
    decide_workers(arms, &verb.spec.session, &Terms::default(), &Surroundings::of(&facts(), 1))
}

fn labels(plan: &Plan) -> Vec<&str> {
    plan.arms.iter().map(Arm::label).collect()
}

#[test]
fn statements_and_interpreters_are_arms_of_one_benchmark() {
    let plan = timeit(&["-s", "x = 1", "-s", "y = 2", "x", "y", "--vs", "y"]).unwrap();
    assert_eq!(labels(&plan), ["x; y", "y"]);
    let source = plan.arms[0].source.as_ref().unwrap();
    assert_eq!((&*source.setup, &*source.statement), ("x = 1\ny = 2", "x\ny"));
    assert_eq!(plan.arms[1].argv, ["python3"]);
    assert_eq!(plan.compared(), [1]);
    let plan = timeit(&["for y in x:\n  y", "", "x"]).unwrap();
    assert_eq!(labels(&plan), ["for y in x: y; x"]);
    let plan = timeit(&["pass", "--python", "new", "--compare-to", "old"]).unwrap();
    assert_eq!(labels(&plan), ["old", "new"]);
    let plan = timeit(&["a", "--vs", "b", "--python", "p", "--python", "q"]).unwrap();
    assert_eq!(labels(&plan), ["p: a", "p: b", "q: a", "q: b"]);
    assert_eq!(plan.stopping, Stopping::WhenDecided);
    let named = timeit(&["a", "--vs", "b", "--command-name", "one"]).unwrap();
    assert_eq!(labels(&named), ["one", "b"]);
    assert!(timeit(&["a", "--command-name", "one", "--command-name", "two"]).is_err());
}

#[test]
fn one_cpu_for_all_an_isolated_one_if_there_is_one() {
    let affinity = |words: &[&str]| timeit(words).unwrap().process.affinity;
    assert_eq!(affinity(&["pass"]), Some(vec![2]));
    assert_eq!(affinity(&["pass", "--affinity", "all"]), None);
    assert_eq!(affinity(&["pass", "--affinity", "0-1"]), Some(vec![0, 1]));
    let isolated = Facts { isolated_cpus: Some("3".into()), ..facts() };
    let found = super::affinity(&WorkerOptions::default(), &isolated);
    assert_eq!(found.unwrap().0, [3]);
}

#[test]
fn the_budget_follows_what_is_asked() {
    let budget_s = |words: &[&str]| match timeit(words).unwrap().blocks {
        BlockRule::Budget { budget_ns, .. } => budget_ns / 1_000_000_000,
        BlockRule::Exactly(n) => u64::from(n) * 1000,
    };
    assert_eq!(budget_s(&["a"]), 3);
    assert_eq!(budget_s(&["a", "--vs", "b"]), 10);
    assert_eq!(budget_s(&["a", "--rigorous"]), 9);
    assert_eq!(budget_s(&["a", "--fast"]), 1);
    assert_eq!(budget_s(&["a", "-r", "7"]), 7000);
    assert_eq!(budget_s(&["a", "--budget", "20s"]), 20);
    assert!(timeit(&["a", "--budget", "20s", "--fast"]).is_err());
}

#[test]
fn what_does_not_go_together() {
    for words in [["--delta", "--track-memory"], ["--tracemalloc", "--track-memory"]] {
        assert!(timeit(&[&["a"], &words[..]].concat()).is_err(), "{words:?}");
    }
    let plan = timeit(&["a", "--tracemalloc"]).unwrap();
    assert!(plan.arms.iter().all(|arm| arm.unit == model::values::ValueUnit::Bytes));
    let single = timeit(&["a", "--debug-single-value"]).unwrap().workers.unwrap();
    assert_eq!(
        (single.loops, single.n_slices, single.n_warmup_slices),
        (Some(1), Some(1), Some(0))
    );
}

#[test]
fn programs_of_one_name_are_numbered() {
    let words = ["stillwell", "bench", "./g", "./g", "./h", "./g", "--command-name", "old"];
    let Verb::Bench(verb) = Cli::try_parse_from(words).unwrap().verb else { unreachable!() };
    let programs = programs(&verb.spec).unwrap();
    let labels: Vec<&str> = programs.iter().map(Arm::label).collect();
    assert_eq!(labels, ["old", "./g", "./h", "./g (2)"]);
    assert_eq!(programs[3].command, "./g");
}

#[test]
fn benchmarks_are_compared_with_their_own_reference() {
    let words = ["stillwell", "bench", "./old", "./new"];
    let Verb::Bench(verb) = Cli::try_parse_from(words).unwrap().verb else { unreachable!() };
    let listed = |names: &[&str]| -> Vec<ProgramBenchmark> {
        let one = |name: &&str| ProgramBenchmark {
            name: (*name).into(),
            inner_loops: 2,
            has_own_timer: false,
            harness: None,
            iteration_ns: None,
            together: Vec::new(),
        };
        names.iter().map(one).collect()
    };
    let commands = programs(&verb.spec).unwrap();
    let found = [listed(&["a", "b", "c"]), listed(&["b", "a", "d"])];
    let plan = decide_bench(
        &verb.spec,
        &commands,
        &found,
        &Terms::default(),
        &Surroundings::of(&facts(), 1),
    )
    .unwrap();
    let arms: Vec<_> = plan
        .arms
        .iter()
        .map(|arm| (arm.benchmark.as_deref().unwrap(), arm.command.as_str()))
        .collect();
    let expected = [
        ("a", "./old"),
        ("a", "./new"),
        ("b", "./old"),
        ("b", "./new"),
        ("c", "./old"),
        ("d", "./new"),
    ];
    assert_eq!(arms, expected);
    assert_eq!(plan.compared(), [1, 3]);
    assert_eq!((plan.reference_of(3), plan.reference_of(5)), (2, 5));
    assert!(plan.has_benchmarks());
    assert_eq!(plan.arms[0].inner_loops, 2);
    let asked = names(&["d".into()], &found).unwrap();
    assert_eq!(asked, ["d"]);
    let error = names(&["e".into()], &found).unwrap_err().to_string();
    assert_eq!(error, "no program has a benchmark \"e\"; they have a, b, c, d");
}

/// A script measures its benchmarks one after another, each in a session of its own.
#[test]
fn a_lone_benchmark_of_a_program_has_its_name() {
    let label = |change: fn(&mut Plan)| {
        let mut plan = fixture::record(&["./a"]).header.plan;
        plan.arms[0].benchmark = Some("sort".into());
        change(&mut plan);
        plan.full_label(0)
    };
    assert_eq!(label(|_| ()), "sort");
    // A function of a running program is the label.
    assert_eq!(label(|plan| plan.arms[0].argv.clear()), "./a");
    assert_eq!(label(|plan| plan.arms[0].is_revision = true), "./a");
    let statement = |words: &[&str]| timeit(words).unwrap().full_label(0);
    assert_eq!(statement(&["x"]), "x");
    assert_eq!(statement(&["x", "--name", "sort"]), "sort");
    assert_eq!(statement(&["x", "--vs", "y", "--name", "sort"]), "x");
}

/// "fib: only" would say no more than "fib".
#[test]
fn a_benchmark_is_named_with_its_program_where_there_are_several() {
    let labels = |programs: [&str; 2]| {
        let mut plan = fixture::record(&programs).header.plan;
        for (arm, benchmark) in plan.arms.iter_mut().zip(["fib", "sort"]) {
            arm.benchmark = Some(benchmark.into());
        }
        [0, 1].map(|arm| plan.full_label(arm))
    };
    assert_eq!(labels(["./a", "./a"]), ["fib", "sort"]);
    assert_eq!(labels(["./a", "./b"]), ["fib: ./a", "sort: ./b"]);
    // The benchmarks of an import are its arms.
    assert_eq!(labels(["fib", "sort"]), ["fib", "sort"]);
}
