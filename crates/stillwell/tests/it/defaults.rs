//! Options of `STILLWELL_OPTIONS` and `stillwell.toml`.

use crate::bench::{Bench, Ran, Record, STILLWELL, is_root, skipped};

/// `stillwell run -o r.swell true` in a directory of the bench.
fn run_in(bench: &Bench, directory: &str, variable: &str, arguments: &[&str]) -> Ran {
    let mut command = bench.command(STILLWELL);
    command.current_dir(bench.path(directory)).env("STILLWELL_OPTIONS", variable);
    command.arg("run").args(arguments).args(["-o", "r.swell", "true"]);
    std::fs::remove_file(bench.path(directory).join("r.swell")).ok();
    command.output().unwrap().into()
}

#[test]
fn options_of_a_variable_and_a_file_are_taken_and_told() {
    let bench = Bench::new();
    bench.write("stillwell.toml", "alpha = 2\n[run]\nruns = 3\nwarmup = 2\n[race]\nwithin = 9\n");
    run_in(&bench, ".", "-w 1 --seed=7", &[]).ends_with(0);
    let record = bench.record();
    assert_eq!(record.timed().count(), 3);
    assert_eq!(record.rows.len(), 4, "the variable goes before the file");
    let defaults = &record.header["defaults"];
    let expected = serde_json::json!([
        {"words": ["-w", "1"], "from": "STILLWELL_OPTIONS"},
        {"words": ["--seed=7"], "from": "STILLWELL_OPTIONS"},
        {"words": ["--runs=3"], "from": "stillwell.toml:3"},
        {"words": ["--alpha=2"], "from": "stillwell.toml:1"},
    ]);
    assert_eq!(*defaults, expected);
    let shown = bench.stillwell(&["show", "-v", "r.swell"]).ends_with(0).stdout;
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("defaults: -w 1 (STILLWELL_OPTIONS), --seed=7"), "{shown}");
    assert!(shown.contains("--alpha=2 (stillwell.toml:1); --no-defaults leaves"), "{shown}");

    run_in(&bench, ".", "-w 1", &["-r", "5", "-w", "0"]).ends_with(0);
    assert_eq!(bench.record().rows.len(), 5, "the command line goes before both");
    run_in(&bench, ".", "-r 9", &["--no-defaults", "-r", "2", "-w", "0"]).ends_with(0);
    let record = bench.record();
    assert_eq!((record.rows.len(), record.header.get("defaults")), (2, None));
}

#[test]
fn a_wrong_option_is_named_with_its_place() {
    let bench = Bench::new();
    let wrong = |variable, file, expected: &str| {
        bench.write("stillwell.toml", file);
        run_in(&bench, ".", variable, &[]).ends_with(2).says(&[expected]);
        assert!(!bench.path("r.swell").exists());
    };
    let no_option = "is no option of a verb that measures; did you mean";
    wrong("--budgt 3", "", &format!("STILLWELL_OPTIONS: \"--budgt\" {no_option} \"--budget\"?"));
    wrong("", "\nmin_run = 3", &format!("stillwell.toml:2: \"min_run\" {no_option} \"min_runs\"?"));
    wrong("", "[run]\nsetup = \"touch r.swell\"", "stillwell.toml:2: setup is refused here");
    wrong("", "same = 1\nruns = \"x\"\n", "stillwell.toml:2: --runs x: this is not a whole number");
    wrong("", "as_root = true", "stillwell.toml:1: as_root is for the command line alone");
    wrong("", "schema = true", "stillwell.toml:1: schema is for the command line alone");
    wrong("", "[run\n", "stillwell.toml:1: ");
    let error = "--affinity: CPU 4000 is not one of those that are online";
    wrong("", "affinity = \"4000\"", error);
    wrong("", "affinity = \"4000\"", "; --affinity is from stillwell.toml:1");
    // Verbs that do not measure do not read it.
    bench.stillwell(&["help"]).ends_with(0);
}

#[test]
fn the_nearest_file_of_the_repository_counts() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.path("top/inner/deep")).unwrap();
    let file = |directory: &str, n: u32| {
        bench.write(&format!("{directory}/stillwell.toml"), &format!("runs = {n}\n"));
    };
    let taken = |directory: &str| {
        run_in(&bench, directory, "", &["-w", "0", "--budget", "1ms"]).ends_with(0);
        let record = Record::read(&bench.path(directory).join("r.swell"));
        record.header["defaults"][0]["words"][0].as_str().map(str::to_owned)
    };
    file(".", 7);
    file("top", 6);
    assert_eq!(taken("top/inner/deep"), None, "outside of a repository");
    std::fs::create_dir(bench.path("top/.git")).unwrap();
    assert_eq!(taken("top/inner/deep").as_deref(), Some("--runs=6"));
    file("top/inner", 5);
    assert_eq!(taken("top/inner/deep").as_deref(), Some("--runs=5"));
    std::fs::remove_file(bench.path("top/inner/stillwell.toml")).unwrap();
    std::fs::remove_file(bench.path("top/stillwell.toml")).unwrap();
    assert_eq!(taken("top/inner/deep"), None, "above the repository");
}

#[test]
fn a_file_of_another_user_is_not_read() {
    if !is_root() {
        return skipped("only root can give a file to another user");
    }
    let bench = Bench::new();
    bench.write("stillwell.toml", "runs = 3\n");
    std::os::unix::fs::chown(bench.path("stillwell.toml"), Some(65534), None).unwrap();
    let ran = run_in(&bench, ".", "", &["-M", "2"]).ends_with(0);
    ran.says(&["stillwell.toml belongs to another user, so its options are not taken"]);
    assert_eq!(bench.record().header.get("defaults"), None);
}

#[test]
fn what_is_no_file_of_text_is_an_error() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("stillwell.toml")).unwrap();
    run_in(&bench, ".", "", &[])
        .ends_with(2)
        .says(&["cannot read stillwell.toml: it is a directory"]);
    std::fs::remove_dir(bench.path("stillwell.toml")).unwrap();
    std::fs::write(bench.path("stillwell.toml"), b"\xff").unwrap();
    run_in(&bench, ".", "", &[]).ends_with(2).says(&["stillwell.toml: it is no text"]);
}
