//! The names of options and keys in advice, by where the session came from.
//!
//! The layers below do not know where the user sets a thing. Their texts have a placeholder for it, `⟦affinity⟧`, and
//! [`Audience::words`] puts the name in its place. It is a part of the text and not a type, because these texts cross
//! from the launcher and the guardian to the front end, and errors carry nothing else.

use crate::host::Gap;
use crate::plan::Plan;

/// Around the name of a placeholder.
const OPEN: &str = "⟦";
const CLOSE: &str = "⟧";

/// Where a session came from, and so what its user can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Options of `run`.
    Run,
    /// Options of `timeit`, or of `bench` with programs.
    Workers,
    /// Keys of a suite file, and options of `bench`.
    Suite,
    /// Options of `system`, `shield` and `noise`, which have no session.
    Machine,
}

impl Audience {
    /// Where the session of this plan came from.
    pub fn of(plan: &Plan) -> Self {
        match (&plan.suite, &plan.workers) {
            (Some(_), _) => Self::Suite,
            (None, Some(_)) => Self::Workers,
            (None, None) => Self::Run,
        }
    }

    /// So many warm-up runs of commands.
    pub fn warmups(self, n: usize) -> String {
        match self {
            Self::Run | Self::Workers | Self::Machine => format!("--warmup {n}"),
            Self::Suite => format!("`policy.warmup = {n}`"),
        }
    }

    /// Exactly so many blocks.
    pub fn blocks(self, n: usize) -> String {
        match self {
            Self::Run | Self::Machine => format!("--runs {n}"),
            Self::Workers | Self::Suite => format!("--blocks {n}"),
        }
    }

    /// Room for so many blocks, where there may be fewer; workers can only be told the exact number.
    pub fn blocks_max(self, n: usize) -> String {
        match self {
            Self::Run | Self::Machine => format!("--max-blocks {n}"),
            Self::Workers => self.blocks(n),
            Self::Suite => format!("`policy.max_blocks = {n}`"),
        }
    }

    /// CPUs that nothing else uses.
    pub fn own_cpu(self) -> &'static str {
        match self {
            Self::Run | Self::Machine => "--isolate, or --affinity on a quiet CPU",
            Self::Workers => "--affinity on a quiet CPU, or `stillwell shield`",
            Self::Suite => "bench --affinity on a quiet CPU, or `stillwell shield`",
        }
    }

    /// A key of a suite file, or the option that is called so.
    pub fn key(self, option: &'static str, key: &str) -> String {
        match self {
            Self::Run | Self::Workers | Self::Machine => option.into(),
            Self::Suite => format!("`{key}`"),
        }
    }

    /// A text of the layers below, with the names that this audience knows for its placeholders.
    pub fn words(self, text: &str) -> String {
        let mut parts = text.split(OPEN);
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let named = part.split_once(CLOSE);
            match named.and_then(|(key, rest)| Some((self.name(key)?, rest))) {
                Some((name, rest)) => out.extend([name, rest]),
                // The text of someone else.
                None => out.extend([OPEN, part]),
            }
        }
        out
    }

    /// What is missing on a machine, in the words of this audience.
    pub fn gaps(self, gaps: Vec<Gap>) -> Vec<Gap> {
        let words =
            |gap: Gap| Gap { what: gap.what, why: self.words(&gap.why), fix: self.words(&gap.fix) };
        gaps.into_iter().map(words).collect()
    }

    /// What a placeholder stands for; `None` when there is no such placeholder.
    fn name(self, key: &str) -> Option<&'static str> {
        Some(match (key, self) {
            ("affinity", Self::Machine) => "--cpus",
            ("affinity", Self::Suite) => "bench --affinity",
            ("affinity", _) => "--affinity",
            ("cold-cache", _) => "--cold-cache",
            ("database", _) => "--db",
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
            ("output", _) => "--output",
            ("resume", _) => "--resume",
            ("rlimit", _) => "--rlimit",
            ("run-tuned", Self::Workers) => "timeit --tune",
            ("run-tuned", Self::Suite) => "bench --tune",
            ("run-tuned", _) => "run --tune",
            ("sched", Self::Suite) => "bench --sched",
            ("sched", _) => "--sched",
            ("timeout", Self::Suite) => "`policy.timeout`",
            ("timeout", _) => "--timeout",
            ("tune", Self::Suite) => "bench --tune",
            ("tune", _) => "--tune",
            ("tune-autogroup", _) => "`stillwell system tune --only autogroup`",
            ("tune-rt-throttling", _) => "`stillwell system tune --only rt-throttling`",
            ("validate", Self::Suite) => "`validate`",
            ("validate", _) => "--validate",
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Audience; 4] =
        [Audience::Run, Audience::Workers, Audience::Suite, Audience::Machine];

    #[test]
    fn each_audience_has_names_of_its_own() {
        let words = |audience: Audience| audience.words("check ⟦input⟧ and ⟦affinity⟧, ⟦x⟧ or ⟦");
        assert_eq!(words(Audience::Run), "check --input and --affinity, ⟦x⟧ or ⟦");
        assert_eq!(words(Audience::Suite), "check `input` and bench --affinity, ⟦x⟧ or ⟦");
        assert_eq!(words(Audience::Machine), "check --input and --cpus, ⟦x⟧ or ⟦");
    }

    #[expect(clippy::disallowed_methods, reason = "reads the sources")]
    fn sources(directory: &std::path::Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            match entry.path() {
                path if path.is_dir() => sources(&path, found),
                path if path.ends_with("render/remedies.rs") => {}
                path => found.extend(std::fs::read_to_string(path).ok()),
            }
        }
    }

    #[test]
    fn every_placeholder_has_a_name() {
        let mut texts = Vec::new();
        sources(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut texts);
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
