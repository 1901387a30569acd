use std::ffi::CString;
use std::fs::File;
use std::os::fd::{AsFd as _, OwnedFd};

use super::*;
use crate::sys::{Environment, bound_cpus, reap, stop_ignoring_children};
use model::values::CPUS_MAX;

/// Runs a shell script without an environment. Returns its child and its output to a file in memory.
fn run(
    script: &str,
    attributes: &Attributes,
    kept: &[BorrowedFd<'_>],
) -> Result<(LaunchedChild, String), LaunchError> {
    stop_ignoring_children();
    let c = |text: &str| CString::new(text).unwrap();
    let output = rustix::fs::memfd_create("output", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    let output = File::from(output);
    let argv = CStrings::new([c("sh"), c("-c"), c(script)]);
    let base = CStrings::new([]);
    let mut environment = Environment::new("PAD");
    let envp = environment.assemble(&base, [], None);
    let stdio = [ChildStdio::Inherit, ChildStdio::Fd(output.as_fd()), ChildStdio::Inherit];
    let mut launcher = Launcher::default();
    let launched = launcher.launch(c"/bin/sh", &argv, envp, stdio, attributes, kept)?;
    assert_eq!(reap(launched.pid).unwrap().0, 0, "{script}");
    let mut text = vec![0; 4096];
    let n_bytes = rustix::io::pread(&output, &mut text, 0).unwrap();
    text.truncate(n_bytes);
    Ok((launched, String::from_utf8(text).unwrap()))
}

fn on(cpus: &[usize]) -> Attributes {
    Attributes { affinity: Some(CpuMask::new(cpus)), ..Attributes::default() }
}

#[test]
fn a_child_may_use_its_cpus_only_and_says_where_it_runs() {
    let allowed = "grep Cpus_allowed_list /proc/self/status";
    for cpu in bound_cpus().unwrap() {
        // A missing CPU is no mistake beside an existing one (sched_setaffinity(2)).
        for cpus in [vec![cpu], vec![cpu, 1500]] {
            let (launched, output) = run(allowed, &on(&cpus), &[]).unwrap();
            assert_eq!(output.trim_end(), format!("Cpus_allowed_list:\t{cpu}"));
            assert_eq!(launched.cpu as usize, cpu);
        }
    }
}

#[test]
fn cpus_that_the_machine_does_not_have_are_an_error_of_the_child() {
    for cpus in [vec![], vec![1500], vec![CPUS_MAX - 1], vec![0, CPUS_MAX]] {
        let error = run("true", &on(&cpus), &[]).unwrap_err();
        assert_eq!((error.stage, error.errno), (Stage::Affinity, libc::EINVAL), "{cpus:?}");
    }
}

#[test]
fn only_kept_descriptors_reach_the_child_and_stay_closed_to_the_next() {
    let pipe = || rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    let ((_reader, kept), (_other_reader, other)): ((OwnedFd, OwnedFd), (OwnedFd, OwnedFd)) =
        (pipe(), pipe());
    let is_open = |fd: &OwnedFd| format!("[ -e /proc/$$/fd/{} ] && echo open", fd.as_raw_fd());
    let script = format!("{}; {}; true", is_open(&kept), is_open(&other));
    let (_, output) = run(&script, &Attributes::default(), &[kept.as_fd()]).unwrap();
    assert_eq!(output, "open\n");
    let (_, output) = run(&script, &Attributes::default(), &[]).unwrap();
    assert_eq!(output, "");
}

#[test]
fn a_program_that_does_not_exist_is_an_error_of_exec() {
    stop_ignoring_children();
    let argv = CStrings::new([c"no".into()]);
    let mut environment = Environment::new("PAD");
    let envp = environment.assemble(&argv, [], None);
    let stdio = [ChildStdio::Inherit; 3];
    let error = Launcher::default()
        .launch(c"/no/such/program", &argv, envp, stdio, &Attributes::default(), &[])
        .unwrap_err();
    assert_eq!((error.stage, error.errno), (Stage::Exec, libc::ENOENT));
}

/// The exit code of a child that gets ready for exec and ends with 0, when its parent should be `parent`.
fn code_when_the_parent_should_be(parent: u32) -> i32 {
    stop_ignoring_children();
    let attributes = Attributes::default();
    let job = ChildJob {
        path: c"",
        argv: std::ptr::null(),
        envp: std::ptr::null(),
        stdio: [ChildStdio::Inherit; 3],
        kept: &[],
        attributes: &attributes,
        reads_schedstat: false,
        probes_core: false,
        delay_ns: 0,
        parent: parent.cast_signed(),
        shared: std::ptr::null_mut(),
    };
    // SAFETY: the child makes system calls only, as `set_up` must, and ends.
    let pid = unsafe {
        let pid = libc::fork();
        if pid == 0 {
            libc::_exit(set_up(&job).is_err().into());
        }
        pid
    };
    reap(pid).unwrap().0
}

#[test]
fn a_child_whose_parent_has_ended_executes_nothing() {
    assert_eq!(code_when_the_parent_should_be(std::process::id()), 0);
    assert_eq!(code_when_the_parent_should_be(1), 127);
}
