//! Journals that another user has written, and damaged journals.

use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::knobs::knob;

const JOURNAL: &str = "run/stillwell/journal";

fn tuned() -> (TempDir, Host) {
    let (directory, host) = machine("vm");
    tune(&host, &[6], &[knob("ksm").unwrap(), knob("stat-interval").unwrap()]).unwrap();
    (directory, host)
}

/// Checks that Stillwell refuses a spoilt journal and restores nothing.
#[track_caller]
fn check_refused(spoil: impl FnOnce(&std::path::Path), expected: &str) {
    let (_directory, host) = tuned();
    spoil(&host.root.join(JOURNAL));
    let error = format!("{:#}", Store::open(&host).unwrap_err());
    assert!(error.contains(expected), "{error}");
    assert_eq!(host.read("sys/kernel/mm/ksm/run").as_deref(), Some("0"));
}

fn append(path: &std::path::Path, text: &str) {
    let before = std::fs::read_to_string(path).unwrap();
    std::fs::write(path, before + text).unwrap();
}

#[test]
fn one_that_others_may_write_is_refused() {
    let mode = |mode| std::fs::Permissions::from_mode(mode);
    check_refused(|path| std::fs::set_permissions(path, mode(0o666)).unwrap(), "its mode is 666");
    let directory = |path: &std::path::Path| {
        std::fs::set_permissions(path.parent().unwrap(), mode(0o777)).unwrap();
    };
    check_refused(directory, "its mode is 777");
}

#[test]
fn one_of_another_user_is_refused() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let theirs = |path: &std::path::Path| {
        rustix::fs::chown(path, Some(rustix::fs::Uid::from_raw(1000)), None).unwrap();
    };
    check_refused(theirs, "it belongs to user 1000");
}

#[test]
fn a_link_is_refused() {
    let link = |path: &std::path::Path| {
        let elsewhere = path.with_file_name("elsewhere");
        std::fs::rename(path, &elsewhere).unwrap();
        std::os::unix::fs::symlink(elsewhere, path).unwrap();
    };
    check_refused(link, "it is a link");
}

#[test]
fn a_path_that_is_no_knobs_is_refused() {
    let line =
        r#"{"change":{"knob":"ksm","path":"etc/passwd","old":"x","new":"y","identity":null}}"#;
    check_refused(
        |path| append(path, &format!("{line}\n")),
        "\"etc/passwd\" is no file of the knob \"ksm\"",
    );
    let line = line.replace("etc/passwd", "proc/sys/vm/stat_interval");
    check_refused(|path| append(path, &format!("{line}\n")), "is no file of the knob \"ksm\"");
}

#[test]
fn garbage_is_refused() {
    check_refused(|path| append(path, "garbage\n"), "line ");
}

/// Without its first line nothing tells the boot of the changes, and they look like none.
#[test]
fn one_without_a_session_is_refused() {
    let rest = |path: &std::path::Path| {
        let text = std::fs::read_to_string(path).unwrap();
        std::fs::write(path, text.split_once('\n').unwrap().1).unwrap();
    };
    check_refused(rest, "line 1: it does not begin with a session");
    let (_directory, host) = tuned();
    rest(&host.root.join(JOURNAL));
    let error = format!("{:#}", crate::restore::reset(&host).unwrap_err());
    assert!(error.contains("it does not begin with a session"), "{error}");
}

/// The journal has the only copy of the old values, so nobody is told to remove it.
#[test]
fn one_of_another_version_is_left_to_that_version() {
    let newer = |path: &std::path::Path| {
        let text = std::fs::read_to_string(path).unwrap();
        let text = text.replacen("\"version\":1", "\"version\":2,\"more\":[]", 1);
        std::fs::write(path, text + "{\"unknown\":1}\n").unwrap();
    };
    let remedy = "was written by a newer Stillwell, so nothing was put back; run the `stillwell system reset` of that one";
    check_refused(newer, remedy);
    let (_directory, host) = tuned();
    newer(&host.root.join(JOURNAL));
    let error = format!("{:#}", crate::restore::reset(&host).unwrap_err());
    assert!(error.contains(remedy) && error.ends_with(": it is of version 2"), "{error}");
    assert!(!error.contains("remove") && !error.contains("again"), "{error}");
    let line = r#"{"change":{"knob":"gone","path":"etc/x","old":"x","new":"y","identity":null}}"#;
    let remedy = "there is no knob \"gone\"; if another version of Stillwell tuned, run the `stillwell system reset`";
    check_refused(|path| append(path, &format!("{line}\n")), remedy);
}

#[test]
fn a_torn_last_line_is_forgotten() {
    let (_directory, host) = tuned();
    append(&host.root.join(JOURNAL), "{\"change\":{\"knob\":\"ks");
    assert_eq!(reset(&host).restored.len(), 2);
    assert!(!host.exists(JOURNAL));
}

#[test]
fn one_of_another_boot_is_set_aside() {
    let (_directory, host) = tuned();
    let boot_id = host.root.join("proc/sys/kernel/random/boot_id");
    std::fs::write(boot_id, "another\n").unwrap();
    assert!(reset(&host).restored.is_empty());
    assert!(host.exists("run/stillwell/journal.of-another-boot") && !host.exists(JOURNAL));
    assert_eq!(host.read("sys/kernel/mm/ksm/run").as_deref(), Some("0"));
}
