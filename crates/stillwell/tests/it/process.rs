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

/// The CPUs that this process may use.
fn allowed_cpus() -> Vec<usize> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        first.parse().unwrap()..=last.parse().unwrap()
    };
    list.trim().split(',').flat_map(range).collect()
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

/// The variables of threads in the environment of a run, with these variables of the user and these options.
fn thread_variables(set: &[(&str, &str)], options: &[&str]) -> (String, Bench) {
    const OURS: [&str; 9] = [
        "OMP_NUM_THREADS",
        "OMP_PROC_BIND",
        "OMP_PLACES",
        "GOMP_CPU_AFFINITY",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "GOMAXPROCS",
        "RAYON_NUM_THREADS",
    ];
    let bench = Bench::new();
    let fixed = ["-N", "-w", "0", "-r", "1", "--output", "./seen"];
    let arguments = [&fixed[..], options, &["cat /proc/self/environ"]].concat();
    let mut command = bench.run_command(&arguments);
    for name in OURS {
        command.env_remove(name);
    }
    command.envs(set.iter().copied());
    crate::bench::Ran::from(command.output().unwrap()).ends_with(0);
    let seen = bench.read("seen");
    let is_ours = |entry: &&str| OURS.iter().any(|name| entry.starts_with(&format!("{name}=")));
    let mut found: Vec<&str> = seen.split('\0').filter(is_ours).collect();
    found.sort_unstable();
    (found.join(" "), bench)
}

#[test]
fn threads_are_as_many_as_cpus_and_have_a_place_each() {
    let (none, _) = thread_variables(&[], &["--affinity", &allowed_cpus()[0].to_string()]);
    assert_eq!(none, "");
    let [first, second, ..] = allowed_cpus()[..] else {
        return skipped("needs two CPUs");
    };
    let cpus = format!("{first},{second}");
    let affinity = ["--affinity", cpus.as_str()];
    let (found, bench) = thread_variables(&[], &affinity);
    let expected = format!(
        "BLIS_NUM_THREADS=2 GOMAXPROCS=2 MKL_NUM_THREADS=2 OMP_NUM_THREADS=2 OMP_PLACES={{{first}}},{{{second}}} \
         OMP_PROC_BIND=true OPENBLAS_NUM_THREADS=2 RAYON_NUM_THREADS=2"
    );
    assert_eq!(found, expected);
    let recorded = &bench.record().header["plan"]["process"]["thread_variables"];
    assert_eq!(recorded.as_array().map(Vec::len), Some(8), "{recorded}");
    let shown = bench.stillwell(&["show", "-v", "r.swell"]).ends_with(0).stdout;
    assert!(shown.contains("threads: OMP_NUM_THREADS=2 "), "{shown}");
    // What the user has set is left alone, also where another variable says the same.
    let (found, _) = thread_variables(&[("OMP_NUM_THREADS", "7")], &affinity);
    let places = format!("OMP_PLACES={{{first}}},{{{second}}} OMP_PROC_BIND=true");
    assert_eq!(found, format!("GOMAXPROCS=2 OMP_NUM_THREADS=7 {places} RAYON_NUM_THREADS=2"));
    let own = ["--env", "GOMP_CPU_AFFINITY=0", "--threads", "auto"];
    let (found, _) = thread_variables(&[], &[&affinity[..], &own].concat());
    assert!(found.contains("GOMP_CPU_AFFINITY=0") && !found.contains("OMP_P"), "{found}");
    let (found, _) = thread_variables(&[], &[&affinity[..], &["--threads", "off"]].concat());
    assert_eq!(found, "");
}

/// Two busy processes on one CPU are ready at the same time. How long, no test can tell.
#[test]
fn threads_beyond_the_cpus_are_counted() {
    let bench = Bench::new();
    let cpu = allowed_cpus()[0].to_string();
    let busy = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done";
    let command = format!("sh -c '({busy}) & ({busy}); wait'");
    bench.run(&["-N", "-w", "0", "-r", "3", "--affinity", &cpu, &command]).ends_with(0);
    let record = bench.record();
    if !record.header["columns"].to_string().contains("\"runnable_max\"") {
        return skipped("the kernel gives no records of switches");
    }
    for row in &record.rows {
        assert!(row.get("runnable_max").unwrap() >= 2, "{row:?}");
        assert!(row.get("crowded_ns").unwrap() > 0, "{row:?}");
    }
}

/// `show --verbose` has the means of the rows and their rates.
#[test]
fn what_perf_stat_shows_comes_from_the_same_runs() {
    let bench = Bench::new();
    bench.run(&["-N", "-w", "0", "-r", "12", "true"]).ends_with(0);
    let rows = bench.record().rows;
    let sum = |column: &str| rows.iter().map(|row| row.get(column).unwrap()).sum::<i64>() as f64;
    let faults = (sum("minor_faults") + sum("major_faults")) / 12.0;
    let shown = bench.stillwell(&["show", "--verbose", "r.swell"]).ends_with(0).stdout;
    assert!(shown.contains("\ncounts of 1, means of 12 runs: true\n"), "{shown}");
    let line = |name: &str| {
        let mut lines = shown.lines().map(str::trim_start);
        lines.find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{name}: {shown}"))
    };
    let mean: f64 = line("page faults").split_whitespace().next().unwrap().parse().unwrap();
    assert!((mean - faults).abs() <= 0.5, "{mean} {faults}");
    assert!(line("page faults").ends_with(" a CPU second"), "{shown}");
    assert!(line("task clock, from execve on").ends_with(" CPUs in use"), "{shown}");
    line("context switches");
    let plain = bench.stillwell(&["show", "r.swell"]).ends_with(0).stdout;
    assert!(!plain.contains("counts of"), "{plain}");
}

#[test]
fn memory_nodes() {
    let nodes = std::fs::read_to_string("/sys/devices/system/node/has_memory").unwrap_or_default();
    if nodes.trim().contains(['-', ',']) {
        return skipped("this machine has several memory nodes; the emulated machines show those");
    }
    let bench = Bench::new();
    let ran = bench.run(&["-N", "-w", "0", "-r", "1", "--numa", "bind", "true"]).ends_with(0);
    ran.says(&["stillwell: this machine has one memory node", "no memory policy is set"]);
    let header = bench.record().header;
    assert!(header["plan"]["process"].get("memory").is_none());
    let what = "several memory nodes";
    assert!(header["gaps"].as_array().unwrap().iter().any(|gap| gap["what"] == what), "{header}");
    let bench = Bench::new();
    bench
        .run(&["--numa", "77", "true"])
        .ends_with(2)
        .says(&["--numa 77: this machine has no memory node 77; name one of 0"]);
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
