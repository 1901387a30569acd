//! The state of the timed processes, as they see it themselves.

use crate::bench::{Bench, is_root, skipped};

/// The content of a file of /proc/self in a run with these options.
#[track_caller]
fn proc_self(file: &str, options: &[&str]) -> String {
    let bench = Bench::new();
    let command = format!("cat /proc/self/{file}");
    let fixed = ["-N", "-w", "0", "-r", "1", "--output", "./seen"];
    bench.run(&[fixed.as_slice(), options, &[command.as_str()]].concat()).ends_with(0);
    bench.read("seen")
}

/// Fields of /proc/self/stat, numbered as in proc(5).
#[track_caller]
fn stat(field: usize, options: &[&str]) -> String {
    let stat = proc_self("stat", options);
    let (_, rest) = stat.rsplit_once(") ").unwrap();
    rest.split_whitespace().nth(field - 3).unwrap().into()
}

#[track_caller]
fn status(field: &str, options: &[&str]) -> String {
    let status = proc_self("status", options);
    let line = status.lines().find_map(|line| line.strip_prefix(&format!("{field}:")));
    line.unwrap().trim().into()
}

const NICE: usize = 19;
const PRIORITY: usize = 40;
const POLICY: usize = 41;

#[test]
fn affinity() {
    let allowed = std::fs::read_to_string("/proc/self/status").unwrap();
    let allowed = allowed.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let allowed = allowed.unwrap().trim();
    assert_eq!(status("Cpus_allowed_list", &[]), allowed);
    let last = allowed.rsplit([',', '-']).next().unwrap();
    assert_eq!(status("Cpus_allowed_list", &["--affinity", last]), last);

    let bench = Bench::new();
    bench.run(&["-N", "-w", "0", "-r", "5", "--affinity", last, "true"]).ends_with(0);
    let cpus: Vec<_> = bench.record().rows.iter().map(|row| row.get("cpu")).collect();
    assert_eq!(cpus, vec![last.parse().ok(); 5]);
    let bench = Bench::new();
    for cpu in ["1023", "1500"] {
        bench.run(&["--affinity", cpu, "true"]).ends_with(2).says(&[cpu, "--affinity"]);
    }
}

#[test]
fn nice_level_and_policy() {
    let before = stat(NICE, &[]);
    assert_eq!(stat(NICE, &["--nice", "19"]), "19");
    assert_ne!(before, "19");
    assert_eq!(stat(POLICY, &["--sched", "batch"]), libc::SCHED_BATCH.to_string());
    assert_eq!(stat(POLICY, &["--sched", "other"]), libc::SCHED_OTHER.to_string());
}

#[test]
fn real_time() {
    let bench = Bench::new();
    let ran = bench.run(&["-N", "-w", "0", "-r", "1", "--sched", "fifo:7", "true"]);
    if ran.code == Some(0) {
        assert_eq!(stat(POLICY, &["--sched", "fifo:7"]), libc::SCHED_FIFO.to_string());
        assert_eq!(stat(PRIORITY, &["--sched", "fifo:7"]), "7");
        assert_eq!(stat(POLICY, &["--sched", "rr"]), libc::SCHED_RR.to_string());
    } else {
        skipped("real-time scheduling is not allowed here; its error message is tested instead");
        ran.ends_with(2).says(&["fifo:7", "Operation not permitted", "root or CAP_SYS_NICE"]);
    }
}

#[test]
fn a_lower_nice_level_as_root() {
    if !is_root() {
        return skipped("needs root for a negative nice level");
    }
    assert_eq!(stat(NICE, &["--nice", "-5"]), "-5");
}

#[test]
fn address_space_randomisation() {
    const ADDR_NO_RANDOMIZE: u32 = 0x0004_0000;
    let persona = |options: &[&str]| {
        u32::from_str_radix(proc_self("personality", options).trim(), 16).unwrap()
    };
    assert_eq!(persona(&[]) & ADDR_NO_RANDOMIZE, 0);
    assert_eq!(persona(&["--no-aslr"]) & ADDR_NO_RANDOMIZE, ADDR_NO_RANDOMIZE);
}

#[test]
fn resource_limits() {
    let limits = ["--rlimit", "nofile=77", "--rlimit", "stack=1M", "--rlimit", "core=0"];
    let seen = proc_self("limits", &limits);
    let soft = |name: &str| {
        let line = seen.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap()
    };
    assert_eq!(soft("Max open files"), "77");
    assert_eq!(soft("Max stack size"), "1048576");
    assert_eq!(soft("Max core file size"), "0");
}

#[test]
fn the_run_sees_what_it_would_see_from_a_shell() {
    // No signal is ignored or blocked, except those that are for the test itself.
    let own = std::fs::read_to_string("/proc/self/status").unwrap();
    for field in ["SigBlk", "SigIgn"] {
        let outside = own.lines().find_map(|line| line.strip_prefix(&format!("{field}:")));
        let outside = u64::from_str_radix(outside.unwrap().trim(), 16).unwrap();
        let inside = u64::from_str_radix(&status(field, &[]), 16).unwrap();
        // Signals 32 and 33 belong to glibc, whose posix_spawn ignores them in the child.
        assert_eq!(inside & !outside & !(0b11 << 31), 0, "{field}: {inside:x}");
        // Bit 12: SIGPIPE, which Rust programs ignore.
        assert_eq!(inside & (1 << 12), 0, "{field}: {inside:x}");
    }
    // The run inherits no descriptor of ours: it has as many as an ls that this test starts.
    let bench = Bench::new();
    let arguments = ["-N", "-w", "0", "-r", "1", "--output", "./seen", "ls /proc/self/fd"];
    bench.run(&arguments).ends_with(0);
    let outside = bench.command("ls").arg("/proc/self/fd").output().unwrap();
    assert_eq!(bench.read("seen"), String::from_utf8(outside.stdout).unwrap());
}

#[test]
fn a_run_takes_at_least_as_long_as_it_sleeps() {
    let bench = Bench::new();
    bench.run(&["-N", "-w", "0", "-r", "2", "sleep 0.05"]).ends_with(0);
    for row in &bench.record().rows {
        assert!(row.get("wall_ns") >= Some(50_000_000), "{row:?}");
        assert!(row.get("voluntary_switches") >= Some(1), "{row:?}");
        assert!(row.get("spawn_ns") > Some(0), "{row:?}");
    }
}
