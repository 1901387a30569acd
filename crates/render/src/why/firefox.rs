//! A profile as a file for the Firefox Profiler: each arm is a process, in which the runs follow each other.

use std::io::Write;
use std::time::SystemTime;

use anyhow::{Context as _, Result};
use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo,
    Profile as FirefoxProfile, SamplingInterval, ThreadHandle, Timestamp,
};

use measure::profile::saved::{FunctionOrigin, Profile, ProfiledRun};

/// Name of the only thread.
const THREAD: &str = "all tasks";

/// Writes the profile as JSON.
///
/// # Errors
/// `to` cannot be written.
pub fn write(to: &mut dyn Write, profile: &Profile) -> Result<()> {
    let interval = SamplingInterval::from_nanos(profile.period_ns.max(1));
    let begin = SystemTime::UNIX_EPOCH;
    let mut out = FirefoxProfile::new("stillwell why", begin.into(), interval);
    let kernel = out.add_category("Kernel", CategoryColor::Orange);
    let user = out.add_category("User", CategoryColor::Yellow);
    out.set_symbolicated(true);
    for (arm, name) in profile.arms.iter().enumerate() {
        let number = arm as u32 + 1;
        let start = Timestamp::from_nanos_since_reference(0);
        let process = out.add_process(name, number, start);
        let thread = out.add_thread(process, number, start, true);
        out.set_thread_name(thread, THREAD);
        let mut at_ns = 0;
        for run in profile.runs.iter().filter(|run| run.arm == number - 1 && run.period_ns > 0) {
            at_ns = add_run(&mut out, thread, profile, run, [user, kernel], at_ns);
        }
    }
    serde_json::to_writer(to, &out).context("the profile for Firefox")
}

/// Adds the samples of a run behind `at_ns`; returns where it ends. When each sample was taken is not kept.
fn add_run(
    out: &mut FirefoxProfile,
    thread: ThreadHandle,
    profile: &Profile,
    run: &ProfiledRun,
    [user, kernel]: [CategoryHandle; 2],
    mut at_ns: u64,
) -> u64 {
    for &(stack, n) in &run.samples {
        let frames: Vec<FrameInfo> = profile.stacks[stack as usize]
            .iter()
            .map(|&function| {
                let function = &profile.functions[function as usize];
                let category =
                    if matches!(function.origin, FunctionOrigin::Kernel | FunctionOrigin::Entry) {
                        kernel
                    } else {
                        user
                    };
                FrameInfo {
                    frame: Frame::Label(out.intern_string(&function.name)),
                    category_pair: category.into(),
                    flags: FrameFlags::empty(),
                }
            })
            .collect();
        let handle = out.intern_stack_frames(thread, frames.into_iter());
        let took_ns = u64::from(n) * run.period_ns;
        let weight = i32::try_from(n).unwrap_or(i32::MAX);
        let when = Timestamp::from_nanos_since_reference(at_ns);
        out.add_sample(thread, when, handle, CpuDelta::from_nanos(took_ns), weight);
        at_ns += took_ns;
    }
    at_ns
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use measure::profile::breakdown::fixture::made_up;

    #[test]
    fn each_program_is_a_thread_with_all_its_samples() {
        let profile = made_up(8, 0.0);
        let mut text = Vec::new();
        write(&mut text, &profile).unwrap();
        let found: Value = serde_json::from_slice(&text).unwrap();
        let threads = found["threads"].as_array().unwrap();
        let names: Vec<&str> =
            threads.iter().map(|it| it["processName"].as_str().unwrap()).collect();
        assert_eq!(names, ["old", "new"]);
        for (arm, thread) in threads.iter().enumerate() {
            let weights = thread["samples"]["weight"].as_array().unwrap();
            let sum: u64 = weights.iter().map(|it| it.as_u64().unwrap()).sum();
            let runs = profile.runs.iter().filter(|run| run.arm as usize == arm);
            let all = runs.flat_map(|run| &run.samples).map(|(_, n)| u64::from(*n));
            assert_eq!(sum, all.sum::<u64>());
        }
    }
}
