use super::*;
use crate::fixture::expand;

#[track_caller]
fn check(files: &str, expect: &Jobs) {
    let (_directory, host) = expand(files);
    assert_eq!(jobs(&host), *expect, "{files}");
}

#[test]
fn systemd_says_what_is_due() {
    // A time that is over is due now. One in the year 5138 is not.
    let rows = r#"[{"next":1000000,"left":1,"unit":"apt-daily.timer","activates":"apt-daily.service"},{"next":99999999999000000,"unit":"fstrim.timer"},{"next":null,"unit":"old.timer"},{"next":1000000,"unit":"--help.timer"}]"#;
    let (_directory, host) =
        expand("sys/fs/cgroup/system.slice/packagekit.service/cgroup.procs = 7\n");
    let path = host.root.join("fake/systemctl/list-timers --no-pager --output:json");
    write(&path, rows);
    let due = vec!["apt-daily.timer".to_owned()];
    assert_eq!(jobs(&host), Jobs::Systemd { due, updating: vec!["packagekit"] });
    let procs = host.root.join("sys/fs/cgroup/system.slice/cron.service/cgroup.procs");
    write(&procs, "9\n");
    let Jobs::Systemd { due, .. } = jobs(&host) else { panic!("systemd was asked") };
    assert_eq!(due, ["apt-daily.timer", "cron.service"]);
}

/// An older systemd knows no JSON here.
#[test]
fn an_older_systemd_says_no_times() {
    let (_directory, host) = expand("");
    let path = |words: &str| host.root.join(format!("fake/systemctl/{words}"));
    write(&path("list-timers --no-pager --output:json"), "NEXT LEFT\n");
    write(
        &path("list-units --no-pager --no-legend --plain --type:timer --state:active"),
        "fstrim.timer loaded active waiting Discard unused blocks\nnonsense\n",
    );
    let due = vec!["fstrim.timer".to_owned()];
    assert_eq!(jobs(&host), Jobs::Systemd { due, updating: Vec::new() });
}

#[test]
fn without_systemd_cron_may_run_jobs() {
    let stat =
        "proc/77/stat = 77 (crond) S 1 77 77 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 500 0 0\n";
    let init = "proc/1/comm = sh\n";
    let files = "etc/systemd/system/timers.target.wants/fstrim.timer =\n";
    check(&format!("{stat}{init}{files}"), &Jobs::Cron("crond".into()));
    check(init, &Jobs::None);
    check(files, &Jobs::Unasked(vec!["fstrim.timer".into()]));
}

#[test]
fn names_of_timers_are_no_options_and_no_paths() {
    for name in ["fstrim.timer", "a@b\\x2d1.timer"] {
        assert!(is_timer_name(name), "{name}");
    }
    for name in ["--now.timer", ".timer", "a/b.timer", "cron.service", "a b.timer", "a;b.timer", ""]
    {
        assert!(!is_timer_name(name), "{name}");
    }
}

#[expect(clippy::disallowed_methods, reason = "tests write their own files")]
fn write(path: &std::path::Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}
