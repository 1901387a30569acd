//! The twelve ways of winning without being faster (docs/fair-play.md), each tried; and honest programs.

use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

use crate::audit::{Audit, has_python, python, with_work};

#[test]
fn cheat_1_another_output() {
    let audit = Audit::new("seq 5");
    audit.catches("stdout", "seq 6");
    audit.with(&["--runs", "2"]).catches("stdout", "seq 6");
}

#[test]
fn cheat_2_another_file() {
    let audit = Audit::new("sh -c 'seq 5 > out'").fresh().with(&["--file", "out"]);
    audit.catches("file", "sh -c 'seq 6 > out'");
    let report = audit.catches("file", "true");
    assert!(report.text.contains("is missing"), "{report:#?}");
    audit.with(&["--runs", "2"]).catches("file", "true");
}

/// The program has learned the inputs that it was tried with. It is right with those, and only with those.
#[test]
fn cheat_3_answers_for_the_inputs_it_was_tried_with() {
    let audit = Audit::new("wc -c {input}").fresh();
    std::fs::create_dir(audit.bench.path("inputs")).unwrap();
    for n in 0..6 {
        audit.bench.write(&format!("inputs/{n}"), &"x".repeat(n + 1));
    }
    let inputs = audit.bench.path("inputs").display().to_string();
    let audit = audit.with(&["--input-set", &inputs, "--runs", "4"]);
    let learned = audit.bench.path("learned").display().to_string();
    audit.bench.write("learn.sh", &format!("wc -c $1 | tee -a {learned}\n"));
    audit.bench.write("cheat.sh", &format!("grep -m1 \" $1$\" {learned} || echo 0 $1\n"));
    let script = |name: &str| format!("sh {} {{input}}", audit.bench.path(name).display());
    audit.catches("outside-file", &script("learn.sh")).kinds.iter().for_each(|kind| {
        assert_eq!(kind, "outside-file");
    });
    audit.is_fair(&script("cheat.sh"));
    let cheat = script("cheat.sh");
    let audit = Audit { options: [audit.options, vec!["--confirm".into()]].concat(), ..audit };
    audit.catches("hard-coded", &cheat);
    audit.is_fair("wc -c {input}");
}

/// A script may have quotes around the name, or not.
#[test]
fn names_of_inputs_may_have_blanks() {
    let audit = Audit::new("cat {input} | grep x").fresh();
    std::fs::create_dir(audit.bench.path("in puts")).unwrap();
    for n in 0..4 {
        audit.bench.write(&format!("in puts/no {n}"), "x");
    }
    let inputs = audit.bench.path("in puts").display().to_string();
    let audit = audit.with(&["--input-set", &inputs, "--runs", "2"]);
    audit.is_fair("cat \"{input}\" | grep x");
    audit.is_fair("grep x < {input} | cat");
}

#[test]
fn a_block_has_a_seed_of_its_own() {
    let audit = Audit::new("echo {seed}").with(&["--seeds", "--runs", "3"]);
    audit.is_fair("printf '%d\\n' {seed}");
    let ran = audit.run("echo 5");
    assert!(ran.stdout.contains("in 3 of 3 runs, first in block 1"), "{ran:#?}");
}

#[test]
fn cheat_4_results_kept_outside() {
    for place in ["$HOME/.cache", "/tmp", "/var/tmp", "${TMPDIR:-/tmp}", "$XDG_CACHE_HOME"] {
        let audit = Audit::new("seq 5").fresh();
        let name = audit.bench.path("x").display().to_string().replace('/', "-");
        let kept = format!("{place}/kept{name}");
        let cheat =
            format!("mkdir -p {place}; [ -e {kept} ] && exec cat {kept}; seq 5 | tee {kept}\n");
        audit.bench.write("cheat.sh", &cheat);
        audit.catches("outside-file", &format!("sh {}", audit.bench.path("cheat.sh").display()));
        for place in ["/tmp", "/var/tmp"] {
            std::fs::remove_file(format!("{place}/kept{name}")).ok();
        }
    }
}

#[test]
fn cheat_5_results_kept_inside() {
    let audit = with_work(Audit::new(""));
    let work = audit.reference.clone();
    audit.bench.write("cheat.sh", &format!("[ -e kept ] && exec cat kept; {work} | tee kept\n"));
    let cheat = format!("sh {}", audit.bench.path("cheat.sh").display());
    let report = audit.catches("second-call", &cheat);
    assert!(report.text.contains("the first call of the attempt took"), "{report:#?}");
    assert!(report.text.contains("kept, which was written during the audit"), "{report:#?}");
    // In a fresh directory there is nothing to keep.
    audit.fresh().is_fair(&cheat);
}

#[test]
fn cheat_6_shared_memory() {
    let audit = Audit::new("seq 5");
    let name = audit.bench.path("x").display().to_string().replace('/', "-");
    let kept = format!("/dev/shm/kept{name}");
    audit.catches("shared-memory", &format!("sh -c 'seq 5 | tee {kept}'"));
    std::fs::remove_file(kept).unwrap();
    if has_python(&audit) {
        let segment = "import ctypes, os\nlibc = ctypes.CDLL(None)\n\
                       libc.shmget(0x57e11 + os.getppid() % 7, 4096, 0o1600)\n\
                       print('1\\n2\\n3\\n4\\n5')\n";
        let report = audit.catches("shared-memory", &python(&audit, segment));
        assert!(report.text.contains("shared memory"), "{report:#?}");
        let remove = "import ctypes\nlibc = ctypes.CDLL(None)\n\
                      for key in range(0x57e11, 0x57e11 + 7):\n    \
                      libc.shmctl(libc.shmget(key, 0, 0), 0, None)\n";
        let remove = python(&audit, remove);
        assert_eq!(
            audit.bench.command("sh").args(["-c", &remove]).status().unwrap().code(),
            Some(0)
        );
    }
}

#[test]
fn cheat_8_a_daemon() {
    let audit = Audit::new("seq 5").with(&["--runs", "2"]);
    audit.catches("daemon", "sh -c 'setsid sleep 1000 & seq 5'");
    if has_python(&audit) {
        let code = "import os, time\nprint('1\\n2\\n3\\n4\\n5', flush=True)\n\
                    if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        \
                    os.closerange(0, 3)\n        time.sleep(1000)\n    os._exit(0)\n";
        let report = audit.catches("daemon", &python(&audit, code));
        assert!(report.text.contains("outside of its process group"), "{report:#?}");
    }
}

#[test]
fn cheat_9_a_server_elsewhere() {
    let audit = Audit::new("seq 5");
    if !has_python(&audit) {
        return;
    }
    let name = audit.bench.path("server").display().to_string();
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let server = UnixListener::bind_addr(&address).unwrap();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let code = |connect: &str| format!("import socket\n{connect}\nprint('1\\n2\\n3\\n4\\n5')\n");
    let unix = format!("socket.socket(socket.AF_UNIX).connect('\\0{name}')");
    let report = audit.catches("socket", &python(&audit, &code(&unix)));
    assert!(report.text.contains("where another program answers"), "{report:#?}");
    let network = format!("socket.create_connection(('127.0.0.1', {port}))");
    audit.catches("socket", &python(&audit, &code(&network)));
    drop((server, tcp));
    // A server of the run itself.
    let own =
        "s = socket.create_server(('127.0.0.1', 0)); c = socket.create_connection(s.getsockname())";
    audit.is_fair(&python(&audit, &code(own)));
}

#[test]
fn cheat_10_a_changed_tool_or_clock() {
    let audit = Audit::new("seq 5").fresh();
    audit.catches("tool", "env LD_PRELOAD=libm.so.6 seq 5");
    audit.catches("tool", "env LD_LIBRARY_PATH=/x seq 5");
    // Another PATH is the run's own affair; a program in a directory of PATH is not.
    audit.is_fair("sh -c 'PATH=/x:$PATH seq 5'");
    audit.catches("tool", "sh -c 'touch $HOME/tool; seq 5'");
    if has_python(&audit) {
        // It has no right to, but it tries.
        let code = "import time\ntry:\n    time.clock_settime(time.CLOCK_REALTIME, -1e9)\n\
                    except OSError: pass\nprint('1\\n2\\n3\\n4\\n5')\n";
        audit.catches("tool", &python(&audit, code));
    }
    // The reference becomes slower.
    let audit = with_work(audit);
    let work = audit.bench.path("work.sh").display().to_string();
    let cheat = format!("sh -c 'echo \"# x\" >> {work}; echo 42'");
    let report = audit.catches("tool", &cheat);
    assert!(report.text.contains("is no longer what it was"), "{report:#?}");
}

#[test]
fn cheat_11_its_own_priority() {
    let audit = Audit::new("seq 5");
    let attempts = [
        "nice seq 5",
        "taskset 1 seq 5",
        "chrt --batch 0 seq 5",
        "ionice -c 3 seq 5",
        "sh -c 'echo 1 2>/dev/null > /sys/devices/system/cpu/cpu0/cpufreq/x; seq 5'",
    ];
    for attempt in attempts {
        audit.catches("priority", attempt);
    }
    audit.with(&["--allow", "priority"]).is_fair("nice seq 5");
}

#[test]
fn a_session_that_is_undercover_shows_nothing() {
    let audit = Audit::new("printf '0\\nsh\\n'").with(&["--runs", "2"]);
    let look = "sh -c 'env | grep -Ec \"_ITERATION|^STILLWELL_\"; cat /proc/$PPID/comm'";
    audit.catches("stdout", look);
    audit.with(&["--undercover"]).is_fair(look);
}

#[test]
fn honest_programs_are_not_accused() {
    let audit = Audit::new("seq 5").with(&["--runs", "3"]);
    audit.is_fair("sh -c 'seq 5 | gzip -c | gzip -dc'");
    audit.is_fair("sh -c 'f=$(mktemp); seq 5 > $f; cat $f; rm $f'");
    audit.is_fair("sh -c 'seq 5 | sort --parallel=2 -n'");
    if !has_python(&audit) {
        return;
    }
    audit.is_fair("python3 -c 'print(1, 2, 3, 4, 5, sep=\"\\n\")'");
    let pool = "import multiprocessing\nif __name__ == '__main__':\n    \
                with multiprocessing.Pool(2) as pool:\n        \
                print(*pool.map(abs, range(1, 6)), sep='\\n')\n";
    audit.is_fair(&python(&audit, pool));
    let threads = "import threading\nout = [0] * 5\n\
                   def set(n): out[n] = n + 1\n\
                   ts = [threading.Thread(target=set, args=[n]) for n in range(5)]\n\
                   [t.start() for t in ts]\n[t.join() for t in ts]\nprint(*out, sep='\\n')\n";
    audit.is_fair(&python(&audit, threads));
}

#[test]
fn declared_files_are_no_cheating() {
    let audit = Audit::new("sh -c 'seq 5 > out'").with(&["--file", "out", "--runs", "2"]);
    audit.is_fair("sh -c 'seq 4 > out; echo 5 >> out'");
    let audit = Audit { options: Vec::new(), ..audit };
    let wrong = audit.catches("second-call", "sh -c 'seq 5 > other'");
    assert!(wrong.text.contains("leaves"), "{wrong:#?}");
}

#[test]
fn a_reference_that_never_writes_the_same_is_said_to_be_unchecked() {
    let audit = Audit::new("sh -c 'echo $$'");
    let ran = audit.run("sh -c 'echo $$'");
    assert!(ran.stdout.contains("standard output differs from run to run"), "{ran:#?}");
    assert_eq!(ran.code, Some(0));
    // A command decides instead.
    let audit = audit.with(&["--validate", "grep -qx '[0-9]*'", "--runs", "2"]);
    audit.is_fair("sh -c 'echo $$'");
    let refused = audit.run("echo x");
    assert_eq!(refused.code, Some(2), "{refused:#?}");
}

#[test]
fn mistakes_are_named() {
    let check = |options: &[&str], expected: &str| {
        let ran = Audit::new("true").with(options).run("true");
        assert_eq!(ran.code, Some(2), "{ran:#?}");
        assert!(ran.stderr.contains(expected), "{ran:#?}");
    };
    check(&["--fresh", "nowhere"], "--fresh nowhere: No such file");
    check(&["--input-set", "source"], "has 0 files");
    check(&["--allow", "everything"], "everything");
    let ran = Audit::new("true").run("./nowhere");
    assert!(ran.stdout.contains("the attempt failed (exit 127)"), "{ran:#?}");
}

/// A run may leave a directory that cannot be removed without changing its mode.
#[test]
fn a_protected_directory_does_not_end_a_session() {
    let audit = Audit::new("sh -c 'mkdir d; touch d/x; chmod 500 d; seq 5'").fresh();
    audit.with(&["--runs", "3"]).is_fair("sh -c 'mkdir d; touch d/x; chmod 0 d; seq 5'");
}

/// They take some ten seconds of a CPU each.
mod long {
    use super::*;

    #[test]
    fn cheat_12_it_sees_that_it_is_measured() {
        let audit = with_work(Audit::new(""));
        let work = audit.reference.clone();
        let cheats = [
            "[ -n \"$STILLWELL_ITERATION\" ]",
            "[ -n \"$HYPERFINE_ITERATION\" ]",
            "env | grep -q ^STILLWELL_",
            "[ \"$(cat /proc/$PPID/comm)\" = stillwell-run ]",
        ];
        for condition in cheats {
            let text = format!("if {condition}; then echo 42; else {work}; fi\n");
            audit.bench.write("cheat.sh", &text);
            let cheat = format!("sh {}", audit.bench.path("cheat.sh").display());
            let report = audit.catches("detection", &cheat);
            assert!(report.text.contains("undercover"), "{report:#?}");
        }
        let cheat = format!("sh {}", audit.bench.path("cheat.sh").display());
        audit.with(&["--runs", "3"]).catches("detection", &cheat);
    }

    #[test]
    fn cheat_7_a_process_that_outlives_the_run() {
        let audit = Audit::new("seq 5");
        let cheat = "sh -c 'sleep 1000 & seq 5'";
        audit.catches("survivor", cheat);
        let measured = audit.with(&["--runs", "2"]);
        let report = measured.catches("survivor", cheat);
        // On a busy machine it may be seen before it has become `sleep`.
        let left =
            |name| report.text.contains(&format!("2 runs of the attempt left {name} behind"));
        assert!(left("sleep") || left("sh"), "{report:#?}");
        // A reference that does it too is no better.
        Audit { reference: cheat.into(), ..measured }.is_fair(cheat);
    }
}
