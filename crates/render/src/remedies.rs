//! The names of options and keys in advice. They depend on the origin of the session.
//!
//! The layers below do not know the option or key of a setting. Their texts have a placeholder for it, `⟦affinity⟧`,
//! and [`Audience::words`] replaces it by the name.
//! The placeholder is a part of the text and not a type. These texts cross from the launcher and the guardian to the
//! front end, and errors carry only text.

use host::Gap;
use record::plan::Plan;

/// Opens the name of a placeholder.
const OPEN: &str = "⟦";
const CLOSE: &str = "⟧";

/// The origin of a session. It decides which settings its user can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// The user sets options of `run`.
    Run,
    /// The user sets options of `timeit`, or of `bench` with programs.
    Workers,
    /// The user sets keys of a suite file and options of `bench`.
    Suite,
    /// The user sets options of `gate`.
    Gate,
    /// The user sets options of `system`, `shield` and `noise`, which have no session.
    Machine,
}

impl Audience {
    /// Returns the origin of this plan's session.
    pub fn of(plan: &Plan) -> Self {
        match (&plan.suite, &plan.workers) {
            (Some(suite), _) if suite.is_gate => Self::Gate,
            (Some(_), _) => Self::Suite,
            (None, Some(_)) => Self::Workers,
            (None, None) => Self::Run,
        }
    }

    /// The setting for `n` warm-up runs of commands.
    pub fn warmups(self, n: usize) -> String {
        match self {
            Self::Run | Self::Workers | Self::Machine => format!("--warmup {n}"),
            Self::Suite | Self::Gate => format!("`policy.warmup = {n}`"),
        }
    }

    /// The setting for exactly `n` blocks.
    pub fn blocks(self, n: usize) -> String {
        match self {
            Self::Run | Self::Machine => format!("--runs {n}"),
            Self::Workers | Self::Suite | Self::Gate => format!("--runs {n}"),
        }
    }

    /// The setting for at most `n` blocks. Workers accept only an exact number.
    pub fn blocks_max(self, n: usize) -> String {
        match self {
            Self::Run | Self::Machine => format!("--max-runs {n}"),
            Self::Workers => self.blocks(n),
            Self::Suite | Self::Gate => format!("`policy.max_blocks = {n}`"),
        }
    }

    /// The setting that gives the benchmark CPUs of its own.
    pub fn own_cpu(self) -> &'static str {
        match self {
            Self::Run | Self::Machine => "--isolate, or --affinity on a quiet CPU",
            Self::Workers | Self::Gate => "--affinity on a quiet CPU, or `stillwell shield`",
            Self::Suite => "bench --affinity on a quiet CPU, or `stillwell shield`",
        }
    }

    /// Replaces the placeholders in a text of the layers below by this audience's names.
    pub fn words(self, text: &str) -> String {
        let mut parts = text.split(OPEN);
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let named = part.split_once(CLOSE);
            match named.and_then(|(key, rest)| Some((self.name(key)?, rest))) {
                Some((name, rest)) => out.extend([name, rest]),
                // This is text of another program, not a placeholder.
                None => out.extend([OPEN, part]),
            }
        }
        out
    }

    /// Replaces the placeholders in the gaps of a machine.
    pub fn gaps(self, gaps: Vec<Gap>) -> Vec<Gap> {
        let words =
            |gap: Gap| Gap { what: gap.what, why: self.words(&gap.why), fix: self.words(&gap.fix) };
        gaps.into_iter().map(words).collect()
    }

    /// Returns the name for a placeholder. `None` for an unknown one.
    fn name(self, key: &str) -> Option<&'static str> {
        Some(match (key, self) {
            (_, Self::Gate) => name_in_gate(key)?,
            ("affinity", Self::Machine) => "--cpus",
            ("affinity", Self::Suite) => "bench --affinity",
            ("affinity", _) => "--affinity",
            ("as-root", _) => "--as-root",
            ("cleanup", Self::Suite) => "`cleanup`",
            ("cleanup", _) => "--cleanup",
            ("cold-cache", _) => "--cold-cache",
            ("conclude", Self::Suite) => "`conclude`",
            ("conclude", _) => "--conclude",
            ("counter", Self::Suite) => "bench --counter",
            ("counter", _) => "--counter",
            ("database", _) => "--db",
            ("decide-on", Self::Suite) => "`policy.decide_on`",
            ("decide-on", _) => "--decide-on",
            ("env-padding", Self::Suite) => "bench --env-padding",
            ("env-padding", _) => "--env-padding",
            ("for", _) => "--for",
            ("host-root", _) => "--host-root",
            ("input", Self::Suite) => "`input`",
            ("input", _) => "--input",
            ("isolate", Self::Run | Self::Machine) => "--isolate",
            ("isolate", Self::Workers | Self::Suite) => "`stillwell shield`",
            ("no-aslr", Self::Machine) => "run --no-aslr",
            ("no-aslr", Self::Suite) => "bench --no-aslr",
            ("no-aslr", _) => "--no-aslr",
            ("no-smt", _) => "--no-smt",
            ("numa", Self::Suite) => "bench --numa",
            ("numa", _) => "--numa",
            ("output", _) => "--output",
            ("prepare", Self::Suite) => "`prepare`",
            ("prepare", _) => "--prepare",
            ("quiet-boot", _) => "`stillwell system boot --quiet`",
            ("resume", _) => "--resume",
            ("rlimit", _) => "--rlimit",
            ("run-tuned", Self::Workers) => "timeit --tune",
            ("run-tuned", Self::Suite) => "bench --tune",
            ("run-tuned", _) => "run --tune",
            ("priority", Self::Suite) => "bench --priority",
            ("priority", _) => "--priority",
            ("sched", Self::Suite) => "bench --sched",
            ("sched", _) => "--sched",
            ("setup", Self::Suite) => "`setup`",
            ("setup", _) => "--setup",
            ("threads", Self::Suite) => "bench --threads",
            ("threads", _) => "--threads",
            ("timeout", Self::Suite) => "`policy.timeout`",
            ("timeout", _) => "--timeout",
            ("tune", Self::Suite) => "bench --tune",
            ("tune", _) => "--tune",
            ("tune-autogroup", _) => "`stillwell system tune --only autogroup`",
            ("tune-rt-throttling", _) => "`stillwell system tune --only rt-throttling`",
            ("subtract", _) => "--subtract",
            ("value", Self::Suite) => "`value`",
            ("value", _) => "--value",
            ("value-better", Self::Suite) => "`value_better`",
            ("value-better", _) => "--value-better",
            ("value-file", Self::Suite) => "`value_file`",
            ("value-file", _) => "--value-file",
            ("value-json", Self::Suite) => "`value_json`",
            ("value-json", _) => "--value-json",
            ("value-unit", Self::Suite) => "`value_unit`",
            ("value-unit", _) => "--value-unit",
            ("validate", Self::Suite) => "`validate`",
            ("validate", _) => "--validate",
            ("warmups", Self::Suite) => "`policy.warmup`",
            ("warmups", _) => "--warmups",
            _ => return None,
        })
    }
}

/// The name for a placeholder in a gate, which measures a suite that it makes itself and has the options of `bench` for the
/// machine.
fn name_in_gate(key: &str) -> Option<&'static str> {
    Some(match key {
        "counter" => "--counter",
        "decide-on" => "--decide-on",
        "timeout" => "--timeout",
        "run-tuned" => "gate --tune",
        _ => {
            let name = Audience::Suite.name(key)?;
            name.strip_prefix("bench ").unwrap_or(name)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Audience; 5] =
        [Audience::Run, Audience::Workers, Audience::Suite, Audience::Gate, Audience::Machine];

    #[test]
    fn each_audience_has_names_of_its_own() {
        let words = |audience: Audience| audience.words("check ⟦input⟧ and ⟦affinity⟧, ⟦x⟧ or ⟦");
        assert_eq!(words(Audience::Run), "check --input and --affinity, ⟦x⟧ or ⟦");
        assert_eq!(words(Audience::Suite), "check `input` and bench --affinity, ⟦x⟧ or ⟦");
        assert_eq!(words(Audience::Gate), "check `input` and --affinity, ⟦x⟧ or ⟦");
        assert_eq!(words(Audience::Machine), "check --input and --cpus, ⟦x⟧ or ⟦");
    }

    #[expect(clippy::disallowed_methods, reason = "reads the sources")]
    fn sources(directory: &std::path::Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            match entry.path() {
                path if path.is_dir() => sources(&path, found),
                path if path.ends_with("render/src/remedies.rs") => {}
                path => found.extend(std::fs::read_to_string(path).ok()),
            }
        }
    }

    #[test]
    fn every_placeholder_has_a_name() {
        let mut texts = Vec::new();
        for layer in
            ["model", "host", "record", "analysis", "measure", "search", "render", "stillwell"]
        {
            let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
            sources(&crates.join(layer).join("src"), &mut texts);
        }
        let mut n_found = 0;
        for text in &texts {
            for part in text.split(OPEN).skip(1) {
                let (key, _) = part.split_once(CLOSE).unwrap();
                assert!(ALL.iter().all(|audience| audience.name(key).is_some()), "{key}");
                n_found += 1;
            }
        }
        assert!(n_found > 20, "{n_found}");
    }
}
