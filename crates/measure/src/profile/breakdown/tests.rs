use super::fixture::made_up;
use super::*;

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
    assert_eq!((found.n_blocks, found.n_measured_blocks, found.n_lost_blocks), (70, 80, 0));
    let different: Vec<bool> = found.counts.iter().map(|it| it.is_different).collect();
    assert_eq!(different, [true, false]);
    // `main` is the whole program. That it differs with its callees is no news.
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
    assert_eq!((found.n_blocks, found.n_measured_blocks, found.n_lost_blocks), (34, 39, 1));
    profile.runs.truncate(10);
    assert!(breakdown(&profile).unwrap_err().to_string().starts_with("4 blocks"));
}

/// The wall time of parallel tasks is shorter than their CPU time.
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
