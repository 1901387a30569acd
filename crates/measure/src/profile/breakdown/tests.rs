use super::*;
use crate::profile::saved::ProfiledFunction;

/// A profile of two programs: `main` calls `work` and `rest`, and the kernel runs. In the second one `work` takes
/// `more` samples in each run. 100 ns between samples.
pub fn made_up(n_blocks: u32, more: f64) -> Profile {
    let mut profile = Profile::new(vec!["old".into(), "new".into()], 0.01, 7, 100);
    let function =
        |name: &str, file: &str, origin| ProfiledFunction::new(name.into(), file, origin);
    profile.functions = vec![
        function("main", "a", FunctionOrigin::User),
        function("work", "a", FunctionOrigin::User),
        function("rest", "a", FunctionOrigin::User),
        function("clear_page", "kernel", FunctionOrigin::Kernel),
    ];
    profile.stacks = vec![vec![0, 1], vec![0, 2], vec![0, 3], vec![0]];
    (profile.has_kernel, profile.n_samples, profile.n_whole_chains) = (true, 10, 10);
    let mut stream = stats::Stream::new(3);
    for block in 0..n_blocks {
        for arm in 0..2 {
            let mut draw = |n: u64| 20 + u32::try_from(stream.below(n)).unwrap();
            let work = draw(9) + (more * f64::from(arm)) as u32;
            let (rest, kernel) = (draw(20), draw(5));
            let n = u64::from(work + rest + kernel);
            let is_sampled = block % 8 != 7;
            let (cpu_ns, more_ns) = (100 * n + 30, u64::from(draw(50)));
            profile.runs.push(ProfiledRun {
                arm,
                block,
                cpu_ns,
                wall_ns: cpu_ns + more_ns,
                stalled_ns: Some(more_ns / 2),
                faults: 10 + u64::from(arm),
                period_ns: if is_sampled { 100 } else { 0 },
                samples: if is_sampled {
                    vec![(0, work), (1, rest), (2, kernel)]
                } else {
                    Vec::new()
                },
                ..ProfiledRun::default()
            });
        }
    }
    profile
}

#[test]
fn the_function_that_differs_is_named_and_the_parts_add_up() {
    let found = breakdown(&made_up(80, 8.0)).unwrap();
    let names: Vec<&str> = found.functions.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["work"]);
    let work = &found.functions[0];
    assert!(work.p.unwrap() <= 0.01 && work.time.is_different());
    assert!((work.time.estimate_ns - 800.0).abs() < work.time.half_width_ns);
    let sum: f64 = found.functions.iter().map(|it| it.time.estimate_ns).sum::<f64>()
        + found.parts.iter().map(|it| it.estimate_ns).sum::<f64>();
    assert!((sum - found.wall.estimate_ns).abs() < 1e-6, "{sum}");
    let stalled = found.parts.last().unwrap().estimate_ns;
    assert!((sum - stalled - found.clean.estimate_ns).abs() < 1e-6);
    let kinds: Vec<PartKind> = found.parts.iter().map(|it| it.kind).collect();
    use PartKind::{NotSampled, OtherFunctions, OtherKernel, Sleeping, Stalled};
    assert_eq!(kinds, [OtherFunctions, OtherKernel, NotSampled, Sleeping, Stalled]);
    assert_eq!((found.n_blocks, found.n_lost_blocks), (70, 0));
    let different: Vec<bool> = found.counts.iter().map(|it| it.is_different).collect();
    assert_eq!(different, [true, false]);
    // `main` is the whole program, so it is no news that it differs with its callees.
    assert!(found.has_chains && found.with_callees.is_empty());
}

#[test]
fn nothing_is_named_without_a_difference() {
    let found = breakdown(&made_up(80, 0.0)).unwrap();
    assert!(found.functions.is_empty());
    assert!(found.visible_ns.unwrap() > 0.0);
    let [cost, half_width] = found.cost.unwrap();
    assert!(cost.abs() < half_width);
}

#[test]
fn one_program_has_all_its_functions() {
    let mut profile = made_up(80, 0.0);
    profile.arms.pop();
    profile.runs.retain(|run| run.arm == 0);
    let found = breakdown(&profile).unwrap();
    assert_eq!(found.functions.len(), 3);
    let sum: f64 = found.functions.iter().map(|it| it.time.estimate_ns).sum::<f64>()
        + found.parts.iter().map(|it| it.estimate_ns).sum::<f64>();
    assert!((sum - found.wall.estimate_ns).abs() < 1e-6);
    assert!(found.functions.iter().all(|it| it.p.is_none()));
}

#[test]
fn blocks_with_lost_samples_are_left_out() {
    let mut profile = made_up(40, 0.0);
    profile.runs[0].n_lost = 1;
    // Half of a block is no block.
    profile.runs.pop();
    let found = breakdown(&profile).unwrap();
    assert_eq!((found.n_blocks, found.n_lost_blocks), (34, 1));
    profile.runs.truncate(10);
    assert!(breakdown(&profile).unwrap_err().to_string().starts_with("4 blocks"));
}

/// More tasks than one at a time: the wall time is shorter than the CPU time.
#[test]
fn time_of_several_threads_at_once_is_a_part_of_its_own() {
    let mut profile = made_up(40, 0.0);
    for run in &mut profile.runs {
        run.wall_ns = run.cpu_ns / 2;
    }
    let found = breakdown(&profile).unwrap();
    let overlap = found.parts.iter().find(|it| it.kind == PartKind::Overlap).unwrap();
    assert!(overlap.means_ns[0] < 0.0);
}
