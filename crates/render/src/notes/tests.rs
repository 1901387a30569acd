use super::*;
use analysis::SteadinessFlag;
use clap::CommandFactory as _;
use model::spec::Cli;
use model::values::{Better, DecideOn, ValueUnit};
use record::fixture::record;
use record::ledger::NoiseSource;
use record::plan::SuiteMembership;

fn plan() -> Plan {
    record(&["a", "b"]).header.plan
}

#[test]
fn lost_time_is_said_by_its_parts() {
    let plan = plan();
    let parts = vec![
        LedgerEntry::exact(NoiseSource::Preempted, 31_000_000),
        LedgerEntry::exact(NoiseSource::Interrupt { line: "LOC".into() }, 5_000_000),
    ];
    let finding = Finding::Lost { total_ns: 41_000_000, is_lower_limit: false, share: 0.05, parts };
    let expected = "of 41.0 ms above t0: 31.0 ms (76 %) other programs ran instead, 5.00 ms (12 %) interrupt LOC \
                    (timer)";
    assert_eq!(what(&finding, &plan), expected);
    assert!(
        advice(&finding, &plan).unwrap().starts_with("--isolate, or --affinity on a quiet CPU")
    );
    let parts = vec![LedgerEntry::exact(NoiseSource::Preempted, 31_000_000)];
    let finding = Finding::Lost { total_ns: 41_000_000, is_lower_limit: true, share: 0.05, parts };
    let expected =
        "of at least 41.0 ms above t0: 31.0 ms (at most 76 %) other programs ran instead";
    assert_eq!(what(&finding, &plan), expected);
}

#[test]
fn commands_have_their_names() {
    let mut plan = plan();
    let finding = Finding::FailedRuns { arm: 0, n: 1, n_runs: 1 };
    assert_eq!(what(&finding, &plan), "1 of 1 run of a did not exit with 0");
    let finding = Finding::RejectedRuns { arm: 0, n: 8, n_runs: 24 };
    for (decide_on, accept, why) in [
        (None, Some(vec![0]), "failed"),
        (Some(DecideOn::Wall), Some(vec![0]), "failed"),
        (Some(DecideOn::Value), Some(vec![0]), "failed"),
        // Beside processes that earlier runs left behind, a run has no counts of the processor.
        (Some(DecideOn::Cycles), Some(vec![0]), "failed or had no value to compare"),
        // Where no status is a failure, only the value was missing.
        (Some(DecideOn::Value), None, "had no value to compare"),
    ] {
        (plan.policy.decide_on, plan.arms[0].accept) = (decide_on, accept);
        let expected = format!("8 of 24 runs of a {why} and did not count");
        assert_eq!(what(&finding, &plan), expected);
    }
    let slow_start = Finding::SlowStart { n_blocks: 3, n_warmups: Some(4) };
    assert_eq!(advice(&slow_start, &plan).as_deref(), Some("--warmup 4"));
    // Another comparison may leave out fewer.
    let several = record(&["a", "b", "c"]).header.plan;
    let expected =
        "up to the first 3 blocks were slower than the rest and are left out of the comparison";
    assert_eq!(what(&slow_start, &several), expected);
    // The warm-up may end higher, too.
    let unsteady = Finding::WarmUp { arm: 0, n_slices: 9, is_steady: false };
    assert_eq!(what(&unsteady, &plan), "a did not become steady while it was watched");
    assert!(advice(&unsteady, &plan).unwrap().ends_with(" if it gets faster"));
    let short = Finding::ClockInSlices { arm: 0, slice_ns: 253.0 };
    assert_eq!(
        what(&short, &plan),
        "a slice of a takes 253 ns, and reading the clock is a part of that"
    );
}

#[test]
fn an_unstable_arm_is_named_with_the_sizes() {
    let plan = plan();
    let flags = vec![
        SteadinessFlag::Correlated { n_runs: 60, n_eff: 13.6 },
        SteadinessFlag::Drifting { change: 0.0312 },
        SteadinessFlag::Stepped { change: -0.0203, at_run: 31 },
        SteadinessFlag::Modes { spread: 0.1 },
        SteadinessFlag::FloorMoved { spread: 0.0081 },
    ];
    let finding = Finding::Unstable { arm: 1, flags, n_warmups: Some(4) };
    let expected = "the times of b are not stable: correlated (60 runs are worth 14), drifting +3.1 %, \
                    stepped -2.0 % at run 31, more than one mode, floor moved 0.81 %";
    assert_eq!(what(&finding, &plan), expected);
    let first = "the times of b are not stable: correlated (60 runs are worth 14), and more";
    assert_eq!(brief(&finding, &plan), first);
    assert!(advice(&finding, &plan).unwrap().contains("; --warmup 4;"));
    assert_eq!([0.5, 11.0, 8.6e13].map(change_of), ["+50 %", "×12", "×8.6e13"]);
}

#[test]
fn values_are_no_times_and_have_no_t0() {
    let mut plan = plan();
    (plan.policy.decide_on, plan.policy.better) = (Some(DecideOn::Value), Better::Higher);
    plan.arms.iter_mut().for_each(|arm| arm.unit = ValueUnit::Count);
    let flags = vec![SteadinessFlag::Modes { spread: 0.1 }];
    let finding = Finding::Unstable { arm: 0, flags, n_warmups: None };
    assert_eq!(what(&finding, &plan), "the values of a are not stable: more than one mode");
    assert!(advice(&finding, &plan).unwrap().starts_with("trust its median less; "));
    let finding = Finding::SlowStart { n_blocks: 2, n_warmups: None };
    let expected = "the first 2 blocks differ from the rest and are left out of the comparison";
    assert_eq!(what(&finding, &plan), expected);
}

/// Suites do not have the options of `run`.
#[test]
fn what_would_help_in_a_suite_is_in_its_file() {
    let mut plan = plan();
    let (name, benchmark) = ("s".into(), "b".into());
    plan.suite =
        Some(SuiteMembership { name, benchmark, family: 1, is_gate: false, has_suspects: false });
    let arm = 0;
    let findings = [
        Finding::Lost {
            total_ns: 9,
            is_lower_limit: false,
            share: 0.1,
            parts: vec![LedgerEntry::exact(NoiseSource::Preempted, 9)],
        },
        Finding::MajorFaults { n: 1.0 },
        Finding::Migrations { per_run: 1.0 },
        Finding::NoFloor { arm },
        Finding::Unstable {
            arm,
            flags: vec![SteadinessFlag::Modes { spread: 0.1 }],
            n_warmups: Some(4),
        },
        Finding::SlowStart { n_blocks: 3, n_warmups: Some(4) },
        Finding::WarmUp { arm, n_slices: 9, is_steady: false },
        Finding::OneCpu { arm, n_threads: 2 },
        Finding::RejectedRuns { arm, n: 1, n_runs: 2 },
    ];
    let command = Cli::command();
    let of_bench: Vec<&str> = command
        .find_subcommand("bench")
        .unwrap()
        .get_opts()
        .flat_map(|option| option.get_long_and_visible_aliases().unwrap_or_default())
        .collect();
    for finding in findings {
        let advice = advice(&finding, &plan).unwrap_or_default();
        let words = advice.split([' ', ';', ',', '`', '=']);
        for option in words.filter_map(|word| word.strip_prefix("--")) {
            assert!(of_bench.contains(&option), "{option}: {advice}");
        }
    }
    let slow_start = Finding::SlowStart { n_blocks: 3, n_warmups: Some(4) };
    assert_eq!(advice(&slow_start, &plan).as_deref(), Some("`policy.warmup = 4`"));
    // Workers have no remedy for a slow start.
    let later = Finding::SlowStart { n_blocks: 3, n_warmups: None };
    assert_eq!(advice(&later, &plan), None);
    // A gate has one option for this, and no file.
    plan.suite.iter_mut().for_each(|suite| suite.is_gate = true);
    assert_eq!(advice(&slow_start, &plan), None);
    let no_floor = advice(&Finding::NoFloor { arm }, &plan);
    assert_eq!(no_floor.as_deref(), Some("a longer --budget"));
}

/// In a table of benchmarks, commands are not numbered.
#[test]
fn where_there_are_several_benchmarks_a_command_has_its_name() {
    let mut plan = plan();
    for (arm, benchmark) in plan.arms.iter_mut().zip(["one", "two"]) {
        arm.benchmark = Some(benchmark.into());
    }
    let finding = Finding::NoFloor { arm: 1 };
    let expected = "two: b shows no lower limit of its time; its t0 is the smallest run";
    assert_eq!(what(&finding, &plan), expected);
}

#[test]
fn a_run_that_stands_alone_is_told_with_what_is_odd_about_it() {
    let run = |oddities| LoneRun { run: 17, next: 100e6, below: 0.35, oddities };
    let told = |oddities| what(&Finding::LoneRun { arm: 1, run: run(oddities) }, &plan());
    let oddities = vec![
        Oddity::Exit { status: 3 },
        Oddity::Less { count: WorkCount::PageFaults, value: 120.0, others: 350.0 },
        Oddity::Less { count: WorkCount::CpuNs, value: 12e6, others: 30e6 },
    ];
    let expected = "run 17 of b took 35 % less than any other, but had exit status 3 (the next ten had others), 120 page \
                    faults (the next ten at least 350), 12.0 ms of CPU time (the next ten at least 30.0 ms): t0 rests on \
                    the others";
    assert_eq!(told(oddities), expected);
    let expected = "run 17 of b took 35 % less than any other, and nothing that was recorded tells why: t0 rests on it, \
                    and its error reaches the others";
    assert_eq!(told(Vec::new()), expected);
}

#[test]
fn a_name_is_not_cut_to_look_like_another() {
    let names = ["b", "c", "x"].map(|of| format!("target/release/deps/{of}/benchmark_of_sorting"));
    let plan = record(&names.each_ref().map(String::as_str)).header.plan;
    let said = |arm| what(&Finding::FailedRuns { arm, n: 1, n_runs: 1 }, &plan);
    assert!(said(0).contains(&names[0]) && said(1).contains(&names[1]), "{}", said(0));
    let plan = record(&[&*names[0], "sleep 1"]).header.plan;
    let said = what(&Finding::FailedRuns { arm: 0, n: 1, n_runs: 1 }, &plan);
    assert_eq!(said, "1 of 1 run of target/release/deps/…f_sorting did not exit with 0");
}
