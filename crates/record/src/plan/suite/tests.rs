//! From the text of a suite file to plans.

use std::path::Path;

use clap::Parser as _;

use super::*;
use host::{Facts, Git};
use model::harness::{Harness, RESULT_FILE};
use model::spec::suite::{SuiteItem, Text, Variant, parse};
use model::spec::{Cli, Verb};

const TWO: &str = "[[variant]]\nname = \"base\"\n[[variant]]\nname = \"new\"\nprefix = \"nice -n 1\"\npython = \"py\"\n";

fn said(words: &[&str]) -> BenchSpec {
    let words = ["stillwell", "bench", "s.toml"].iter().chain(words);
    let Verb::Bench(verb) = Cli::try_parse_from(words).unwrap().verb else { unreachable!() };
    verb.spec
}

/// Programs have one benchmark in each variant, `inner`.
fn suite(text: &str, words: &[&str]) -> Result<Suite> {
    suite_in(&["/dir"], text, words)
}

/// A suite whose variants are in these directories.
fn suite_in(directories: &[&str], text: &str, words: &[&str]) -> Result<Suite> {
    suite_of(None, directories, text, words)
}

/// The programs of this suite have a framework.
fn suite_of(
    harness: Option<Harness>,
    directories: &[&str],
    text: &str,
    words: &[&str],
) -> Result<Suite> {
    let text = format!("{TWO}{text}");
    let text = Text { path: Path::new("s.toml"), text: &text };
    let file = parse(text)?;
    let built = |variant: &SuiteItem<Variant>| VariantBuild {
        variant: Variant::clone(variant),
        directories: directories.iter().map(|&it| it.into()).collect(),
        git: Some(Git { revision: variant.name.clone(), committed_s: Some(7) }),
        ..VariantBuild::default()
    };
    let built: Vec<VariantBuild> = file.variants.iter().map(built).collect();
    let candidates = candidates(text, &file, &built, "/dir")?;
    let facts = Facts { cpus_allowed: Some("0-1".into()), ..Facts::default() };
    let inner = ProgramBenchmark {
        name: "inner".into(),
        inner_loops: 1,
        has_own_timer: false,
        harness,
        iteration_ns: None,
        together: Vec::new(),
    };
    let listed: Vec<_> = candidates
        .iter()
        .map(|candidate| match &candidate.kind {
            BenchmarkKind::Programs { arms, .. } => vec![vec![inner.clone()]; arms.len()],
            _ => Vec::new(),
        })
        .collect();
    decide_suite(text, &file, &candidates, &listed, &said(words), &Surroundings::of(&facts, 7))
}

fn commands(suite: &Suite) -> Vec<Vec<&str>> {
    suite
        .members
        .iter()
        .map(|member| member.plan.arms.iter().map(|arm| arm.command.as_str()).collect())
        .collect()
}

const THREE: &str = "[[benchmark]]\nname = \"a\"\ncommand = \"a {python}\"\n\
                     [[benchmark]]\nname = \"b\"\ncommand = \"b\"\npolicy = { budget = \"7s\", same = 3 }\n\
                     [[benchmark]]\nname = \"c\"\ncommand = \"x {prefix} c\"\nvariants = [\"new\"]\n";

#[test]
fn a_prefix_is_put_where_it_belongs() {
    let found = suite(THREE, &[]).unwrap();
    let expected: [&[&str]; 3] =
        [&["a python3", "a py"], &["b", "nice -n 1 b"], &["x nice -n 1 c"]];
    assert_eq!(commands(&found), expected);
    let arm = &found.members[1].plan.arms[1];
    assert_eq!(arm.directory(Some(5)), Some("/dir"));
    assert_eq!(arm.git, Some(Git { revision: "new".into(), committed_s: Some(7) }));
}

#[test]
fn all_comparisons_are_one_family_and_share_the_time() {
    let found = suite(THREE, &["--budget", "30s"]).unwrap();
    assert_eq!(found.budget_ns, 30_000_000_000);
    let family = |member: &SuiteMember| member.plan.suite.as_ref().unwrap().family;
    assert_eq!(found.members.iter().map(family).collect::<Vec<_>>(), [2, 2, 2]);
    let budget_s = |member: &SuiteMember| match member.plan.blocks {
        BlockRule::Budget { budget_ns, .. } => budget_ns / 1_000_000_000,
        BlockRule::Exactly(_) => 0,
    };
    // Four times a third is more than the whole. The file's own value stays.
    assert_eq!(found.members.iter().map(budget_s).collect::<Vec<_>>(), [30, 7, 30]);
    let same = |member: &SuiteMember| member.plan.policy.same_within;
    assert_eq!(found.members.iter().map(same).collect::<Vec<_>>(), [0.01, 0.03, 0.01]);
    // 10 s for each that compares, 3 s for the others.
    assert_eq!(suite(THREE, &[]).unwrap().budget_ns, 23_000_000_000);
    assert_eq!(suite(THREE, &["--rigorous"]).unwrap().budget_ns, 69_000_000_000);
}

#[test]
fn more_comparisons_need_more_blocks() {
    let many: String = (0..50)
        .map(|at| format!("[[benchmark]]\nname = \"n{at}\"\ncommand = \"true\"\n"))
        .collect();
    let fewest = |found: &Suite| match found.members[0].plan.blocks {
        BlockRule::Budget { min, .. } => min,
        BlockRule::Exactly(_) => 0,
    };
    // 2 / 2^14 is below 1 % / 50; the rest are the additional pairs.
    assert_eq!(fewest(&suite(&many, &[]).unwrap()), 14 + 4);
    assert_eq!(fewest(&suite(&many, &["--only", "n3"]).unwrap()), 10);
}

#[test]
fn a_benchmark_has_its_own_random_choices_and_keeps_them_when_it_is_picked() {
    let all = suite(THREE, &["--seed", "1"]).unwrap();
    let seeds: Vec<u64> = all.members.iter().map(|member| member.plan.seed).collect();
    assert!(seeds[0] != seeds[1] && seeds[1] != seeds[2], "{seeds:?}");
    let picked = suite(THREE, &["--seed", "1", "--filter", "c"]).unwrap();
    assert_eq!(picked.members[0].plan.seed, seeds[2]);
}

#[test]
fn the_command_line_has_the_last_word() {
    let found = suite(THREE, &["--same", "5", "--alpha", "2", "--runs", "9"]).unwrap();
    let plan = &found.members[1].plan;
    assert_eq!((plan.policy.same_within, plan.policy.alpha), (0.05, 0.02));
    assert_eq!(plan.blocks, BlockRule::Exactly(9));
    let message = |text: &str, words: &[&str]| format!("{:#}", suite(text, words).unwrap_err());
    assert!(message(THREE, &["--delta"]).contains("and this is a command"));
    assert!(message(THREE, &["--tag", "x"]).contains("none of the 3 benchmarks is asked for"));
}

#[test]
fn each_benchmark_has_its_own_policy_beside_a_program_without_a_name() {
    let program = "[[benchmark]]\nprogram = \"./p\"\npolicy = { budget = \"5s\" }\n";
    let found = suite(&format!("{program}{THREE}"), &["--budget", "30s"]).unwrap();
    let budget_s = |member: &SuiteMember| match member.plan.blocks {
        BlockRule::Budget { budget_ns, .. } => budget_ns / 1_000_000_000,
        BlockRule::Exactly(_) => 0,
    };
    let names: Vec<&str> = found.members.iter().map(|member| &*member.name).collect();
    assert_eq!(names, ["inner", "a", "b", "c"]);
    assert_eq!(found.members.iter().map(budget_s).collect::<Vec<_>>(), [5, 30, 7, 30]);
}

#[test]
fn programs_have_the_variables_of_their_benchmark_already_when_they_are_asked() {
    let text = "[[variant]]\nname = \"x\"\nenv = { A = \"{variant}\", B = \"x\" }\n\
                [[benchmark]]\nname = \"p\"\nprogram = \"./p\"\nenv = { B = \"{n}{python}\" }\nmatrix = { n = [7] }\n";
    let text = Text { path: Path::new("s.toml"), text };
    let file = parse(text).unwrap();
    let variant = Variant::clone(&file.variants[0]);
    let directories = vec!["/dir".into()];
    let built = VariantBuild { variant: variant.clone(), directories, ..VariantBuild::default() };
    let found = candidates(text, &file, &[built], "/dir").unwrap();
    let BenchmarkKind::Programs { arms, .. } = &found[0].kind else { panic!("{found:?}") };
    let expected = [("A", "x"), ("B", "7python3")].map(|(name, value)| (name.into(), value.into()));
    assert_eq!(arms[0].environment, expected);
    assert_eq!(found[0].variants[0].environment, expected);
    // A build has the variables of the variant.
    let expected = [("A", "x"), ("B", "x")].map(|(name, value)| (name.into(), value.into()));
    assert_eq!(environment_of(&variant), expected.into());
}

/// The variables of the suite do not replace criterion's own.
#[test]
fn a_framework_has_its_variables_in_a_suite_too() {
    let text = "[[benchmark]]\nprogram = \"./p\"\nenv = { B = \"x\" }\n";
    let found = suite_of(Some(Harness::Criterion), &["/dir"], text, &[]).unwrap();
    let variables = &found.members[0].plan.arms[0].environment;
    let value = |name| variables.iter().filter(|it| it.0 == name).map(|it| &*it.1).collect();
    let values: [Vec<&str>; 2] = ["CRITERION_HOME", "B"].map(value);
    assert_eq!(values, [[RESULT_FILE], ["x"]]);
}

#[test]
fn input_is_beside_the_suite_or_where_it_says_or_none() {
    let input = |input: &str| {
        let text = format!("[[benchmark]]\nname = \"a\"\ncommand = \"cat\"\ninput = \"{input}\"\n");
        suite(&text, &[]).unwrap().members[0].plan.input.clone()
    };
    assert_eq!(input("data/x").as_deref(), Some("/dir/data/x"));
    assert_eq!(input("/etc/passwd").as_deref(), Some("/etc/passwd"));
    assert_eq!(input("null"), None);
}

/// A pool measures the same few blocks again and again, each time with another seed.
#[test]
fn short_sessions_begin_with_any_of_the_builds() {
    let builds = ["/0", "/1", "/2", "/3", "/4", "/5", "/6", "/7"];
    let mut first = std::collections::BTreeSet::new();
    let mut same = 0;
    for seed in 0..60 {
        let found = suite_in(&builds, THREE, &["--seed", &seed.to_string()]).unwrap();
        let arms = &found.members[0].plan.arms;
        let at = |arm: &Arm, block| arm.directory(Some(block)).unwrap().to_owned();
        first.insert(at(&arms[0], 0));
        same += usize::from(at(&arms[0], 0) == at(&arms[1], 0));
        // All of them in turns, from there.
        let all: std::collections::BTreeSet<String> = (0..8).map(|it| at(&arms[0], it)).collect();
        assert_eq!(all.len(), 8);
    }
    assert_eq!(first.len(), 8, "{first:?}");
    assert!(same < 30, "{same}");
}
