//! Transcripts: a command line and its exact output. Times come from scripts and the machine from a captured
//! directory, so every run prints the same. `make bless` accepts changes.

use trycmd::TestCases;

#[test]
fn transcripts() {
    let state = tempfile::tempdir().unwrap();
    let cases = TestCases::new();
    cases.insert_var("[STATE]", state.path().display().to_string()).unwrap();
    cases
        .register_bin("stillwell", trycmd::cargo::cargo_bin!("stillwell"))
        .env("XDG_STATE_HOME", state.path().to_str().unwrap())
        .env("NO_COLOR", "1")
        .env("LC_ALL", "C.UTF-8")
        .env("COLUMNS", "100")
        .case("tests/cmd/*.md");
}
