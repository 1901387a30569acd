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
