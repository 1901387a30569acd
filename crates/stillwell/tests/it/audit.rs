//! The audit of an attempt, for tests.

use serde_json::Value;

use crate::bench::{Bench, Ran, STILLWELL, skipped};

/// The audit of an attempt.
pub struct Audit {
    pub bench: Bench,
    pub reference: String,
    pub options: Vec<String>,
}

/// What it found.
#[derive(Debug)]
pub struct Report {
    pub kinds: Vec<String>,
    pub text: String,
}

impl Audit {
    pub fn new(reference: &str) -> Self {
        let bench = Bench::new();
        for folder in ["home", "source"] {
            std::fs::create_dir(bench.path(folder)).unwrap();
        }
        Self { bench, reference: reference.into(), options: Vec::new() }
    }

    pub fn with(mut self, options: &[&str]) -> Self {
        self.options.extend(options.iter().map(|&option| option.into()));
        self
    }

    /// Every run has a directory of its own.
    pub fn fresh(self) -> Self {
        let source = self.bench.path("source").display().to_string();
        self.with(&["--fresh", &source])
    }

    pub fn run(&self, attempt: &str) -> Ran {
        let mut command = self.bench.command(STILLWELL);
        command.args(["fair-play", "audit", "--json", "--reference", &self.reference]);
        command.args(["--attempt", attempt]).args(&self.options);
        let home = self.bench.path("home");
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{path}:{}", home.display())).env("HOME", home);
        // A user's own variable must not show a run by whom it is measured.
        command.env("STILLWELL_OF_A_USER", "1");
        Ran::from(command.output().unwrap())
    }

    pub fn report(&self, attempt: &str) -> Report {
        let ran = self.run(attempt);
        let json: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:#?}"));
        let findings = json["findings"].as_array().unwrap();
        assert_eq!(ran.code, Some(i32::from(!findings.is_empty())));
        let kinds = findings.iter().map(|it| it["kind"].as_str().unwrap().to_owned());
        Report { kinds: kinds.collect(), text: ran.stdout }
    }

    #[track_caller]
    pub fn catches(&self, kind: &str, attempt: &str) -> Report {
        // A busy machine can hide a difference of CPU times once, and hardly three times.
        let mut report = self.report(attempt);
        for _ in 0..2 {
            if !report.kinds.iter().any(|it| it == kind) {
                report = self.report(attempt);
            }
        }
        // Where the kernel lets no user watch system calls, the report says so.
        if report.text.contains("cannot be watched") {
            skipped("the kernel lets no user watch system calls");
            return report;
        }
        assert!(report.kinds.iter().any(|it| it == kind), "{attempt}: {report:#?}");
        report
    }

    #[track_caller]
    pub fn is_fair(&self, attempt: &str) {
        let report = self.report(attempt);
        assert!(report.kinds.is_empty(), "{attempt}: {report:#?}");
    }
}

/// A shell command that takes a while and prints 42. In a file, because it is quoted twice otherwise.
pub fn with_work(audit: Audit) -> Audit {
    let work = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; echo 42\n";
    audit.bench.write("work.sh", work);
    let work = audit.bench.path("work.sh");
    let reference = format!("sh {}", work.display());
    Audit { reference, ..audit }
}

/// Python's interpreter, which some cheats and honest programs need.
pub fn has_python(audit: &Audit) -> bool {
    let found = audit.bench.command("python3").arg("--version").output().is_ok();
    if !found {
        skipped("there is no python3");
    }
    found
}

pub fn python(audit: &Audit, code: &str) -> String {
    audit.bench.write("p.py", code);
    format!("python3 {}", audit.bench.path("p.py").display())
}
