//! The guardian's interface, as an attacker sees it: whatever is said, only files of the knob table change.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;

use crate::bench::{Bench, STILLWELL};

/// Every file below a directory, with its content.
fn files(directory: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.display().to_string(), std::fs::read_to_string(&path).unwrap());
        }
    }
    found
}

/// A machine with one knob, and the guardian's answers to this text.
fn answers(bench: &Bench, text: &[u8]) -> (Vec<String>, Option<i32>) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut guard = bench.command(STILLWELL);
    guard.args(["system", "guard", "--host-root", "host"]);
    guard.stdin(OwnedFd::from(theirs)).stdout(Stdio::null());
    let mut child = guard.spawn().unwrap();
    drop(guard);
    let mut writer = ours.try_clone().unwrap();
    // The guardian may stop reading early.
    writer.write_all(text).ok();
    ours.shutdown(std::net::Shutdown::Write).ok();
    let lines = BufReader::new(ours).lines().map_while(Result::ok).collect();
    (lines, child.wait().unwrap().code())
}

fn machine() -> Bench {
    let bench = Bench::new();
    for directory in ["sys/kernel/mm/ksm", "sys/devices/system/cpu", "run", "etc"] {
        std::fs::create_dir_all(bench.path("host").join(directory)).unwrap();
    }
    bench.write("host/sys/kernel/mm/ksm/run", "1\n");
    bench.write("host/sys/devices/system/cpu/online", "0-1\n");
    bench.write("host/etc/passwd", "root\n");
    bench
}

const REQUEST: &str = r#"{"cpus":null,"knobs":["ksm"],"tunes":true,"isolate":null,"time_s":0}"#;

#[test]
fn it_turns_a_knob_and_puts_it_back() {
    let bench = machine();
    let before = files(&bench.path("host/sys"));
    let (said, code) = answers(&bench, format!("{REQUEST}\n").as_bytes());
    assert!(said[0].contains("Turned") && said[1].contains("Restored"), "{said:?}");
    assert_eq!((code, files(&bench.path("host/sys"))), (Some(0), before));
}

#[test]
fn what_is_no_request_changes_nothing() {
    let deep = "[".repeat(100_000);
    let long = "x".repeat(3 << 20);
    let path = REQUEST.replace("ksm", "../../etc/passwd");
    let member = REQUEST.replace("\"tunes\"", "\"path\":\"etc/passwd\",\"tunes\"");
    let cpus = REQUEST.replace("\"cpus\":null", "\"cpus\":[18446744073709551615]");
    let texts = ["", "\n", "{}", "\0\u{7f}", &deep, &long, &path, &member, &cpus];
    for text in texts.map(str::as_bytes).into_iter().chain([&b"\xff\xfe\n"[..]]) {
        let bench = machine();
        let before = files(&bench.path("host/sys"));
        let (said, code) = answers(&bench, &[text, b"\n"].concat());
        let shown = String::from_utf8_lossy(&text[..text.len().min(99)]).into_owned();
        assert_eq!(code, Some(2), "{shown}: {said:?}");
        let is_unchanged = said[0].contains(r#""aftermath":"unchanged""#);
        assert!(said.len() == 1 && is_unchanged, "{shown}: {said:?}");
        assert_eq!(files(&bench.path("host/sys")), before, "{shown}");
        assert_eq!(bench.read("host/etc/passwd"), "root\n");
    }
}

#[test]
fn a_strange_order_is_refused_and_the_knob_still_put_back() {
    for order in
        ["{\"enter\":-1}", "{\"enter\":0}", "{\"enter\":1e99}", "{\"leave\":1}", "garbage", REQUEST]
    {
        let bench = machine();
        let before = files(&bench.path("host/sys"));
        let (said, code) = answers(&bench, format!("{REQUEST}\n{order}\n").as_bytes());
        assert!(said.len() == 3 && said[1].contains("Refused"), "{order}: {said:?}");
        assert_eq!((code, files(&bench.path("host/sys"))), (Some(0), before), "{order}");
    }
}
