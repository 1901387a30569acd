//! A made-up profile, for tests.

use crate::profile::saved::{FunctionOrigin, Profile, ProfiledFunction, ProfiledRun};

/// A profile of two programs: `main` calls `work` and `rest`, and the kernel runs. In the second, `work` has `more`
/// samples per run. Samples are 100 ns apart.
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
