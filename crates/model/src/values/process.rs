//! Options of the processes of a run: scheduling policy, shell, output and padding.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Scheduling policy of the runs: `other`, `batch`, `fifo[:PRIO]` or `rr[:PRIO]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sched {
    Other,
    Batch,
    Fifo(u8),
    Rr(u8),
}

impl FromStr for Sched {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, priority) = match text.split_once(':') {
            Some((name, priority)) => (name, Some(priority)),
            None => (text, None),
        };
        let real_time = || match priority.map_or(Ok(50), str::parse) {
            Ok(priority @ 1..=99) => Ok(priority),
            _ => Err(format!("{text:?}: a real-time priority is from 1 to 99")),
        };
        match (name, priority) {
            ("other", None) => Ok(Self::Other),
            ("batch", None) => Ok(Self::Batch),
            ("fifo", _) => Ok(Self::Fifo(real_time()?)),
            ("rr", _) => Ok(Self::Rr(real_time()?)),
            _ => Err(format!("{text:?} is not other, batch, fifo[:PRIO] or rr[:PRIO]")),
        }
    }
}

impl fmt::Display for Sched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other => write!(f, "other"),
            Self::Batch => write!(f, "batch"),
            Self::Fifo(priority) => write!(f, "fifo:{priority}"),
            Self::Rr(priority) => write!(f, "rr:{priority}"),
        }
    }
}

/// Whether programs with several threads are told how many to make, and where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
pub enum Threads {
    /// With several CPUs that the user chose, or with CPUs that are kept free.
    #[default]
    Auto,
    Off,
}

/// Memory nodes of the runs: `bind`, `interleave` or the number of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Numa {
    /// The nodes of the runs' CPUs.
    Bind,
    /// All nodes, one page after the other.
    Interleave,
    Node(usize),
}

impl FromStr for Numa {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("bind", _) => Ok(Self::Bind),
            ("interleave", _) => Ok(Self::Interleave),
            (_, Ok(node @ 0..NODES_MAX)) => Ok(Self::Node(node)),
            _ => Err(format!("{text:?} is not bind, interleave or the number of a node")),
        }
    }
}

/// The most memory nodes that Linux can have (`CONFIG_NODES_SHIFT` is at most 10).
const NODES_MAX: usize = 1024;

/// A memory policy of the kernel, and its nodes (set_mempolicy(2)).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryPolicy {
    /// The rule.
    pub mode: MemoryMode,
    /// The nodes.
    pub nodes: Vec<usize>,
}

/// The rule of a memory policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemoryMode {
    /// Pages come from these nodes only.
    Bind,
    /// Pages come from these nodes in turns.
    Interleave,
}

impl MemoryMode {
    /// Name in the output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bind => "bind",
            Self::Interleave => "interleave",
        }
    }
}

/// Execution of commands, with or without a shell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Shell {
    /// With `sh -c` for all commands if one needs a shell, otherwise without.
    Auto,
    None,
    /// With this shell and `-c`.
    Words(Vec<String>),
}

impl FromStr for Shell {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::None),
            "default" => Ok(Self::Words(vec!["sh".into()])),
            _ => {
                let words =
                    shell_words::split(text).map_err(|error| format!("{text:?}: {error}"))?;
                if words.is_empty() { Err("an empty shell".into()) } else { Ok(Self::Words(words)) }
            }
        }
    }
}

/// Destination of the output of the runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputTarget {
    Null,
    Pipe,
    /// A terminal of this size that shows nothing.
    Tty {
        columns: u16,
        rows: u16,
    },
    Inherit,
    File(String),
}

impl FromStr for OutputTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "null" => Ok(Self::Null),
            "pipe" => Ok(Self::Pipe),
            "inherit" => Ok(Self::Inherit),
            "tty" => Ok(Self::Tty { columns: 80, rows: 24 }),
            // A file name needs a slash, so a future keyword cannot change its meaning.
            _ if text.contains('/') => Ok(Self::File(text.into())),
            _ => text.strip_prefix("tty:").map_or_else(
                || {
                    Err(format!(
                        "{text:?} is not null, pipe, tty, inherit or a path with a slash (./{text})"
                    ))
                },
                Self::terminal,
            ),
        }
    }
}

impl OutputTarget {
    /// A terminal of a size such as 120x40.
    fn terminal(size: &str) -> Result<Self, String> {
        let (columns, rows) = size.split_once('x').unwrap_or_default();
        match (columns.parse(), rows.parse()) {
            (Ok(columns @ 1..), Ok(rows @ 1..)) => Ok(Self::Tty { columns, rows }),
            _ => Err(format!("{size:?} is no size of a terminal such as 80x24")),
        }
    }
}

/// Size of the padding variable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Padding {
    /// A new random size below 4096 for each block.
    #[default]
    Random,
    /// Always this many bytes.
    Bytes(u32),
    /// No variable.
    Off,
}

impl FromStr for Padding {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("random", _) => Ok(Self::Random),
            ("off", _) => Ok(Self::Off),
            (_, Ok(n_bytes @ 0..=65536)) => Ok(Self::Bytes(n_bytes)),
            _ => Err(format!("{text:?} is not random, off or a number of bytes up to 65536")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::test_parsing::check;

    #[test]
    fn scheduling_policies() {
        check(&[
            ("other", Some(Sched::Other)),
            ("fifo", Some(Sched::Fifo(50))),
            ("rr:99", Some(Sched::Rr(99))),
            ("fifo:0", None),
            ("fifo:100", None),
            ("batch:1", None),
            ("idle", None),
        ]);
    }

    #[test]
    fn shells() {
        check(&[
            ("default", Some(Shell::Words(vec!["sh".into()]))),
            ("none", Some(Shell::None)),
            ("bash --norc", Some(Shell::Words(vec!["bash".into(), "--norc".into()]))),
            ("", None),
            ("'", None),
        ]);
    }

    #[test]
    fn memory_nodes() {
        check(&[
            ("bind", Some(Numa::Bind)),
            ("interleave", Some(Numa::Interleave)),
            ("12", Some(Numa::Node(12))),
            ("1024", None),
            ("-1", None),
            ("", None),
        ]);
    }

    #[test]
    fn outputs_and_paddings() {
        check(&[
            ("null", Some(OutputTarget::Null)),
            ("./out", Some(OutputTarget::File("./out".into()))),
            ("out", None),
            ("tty", Some(OutputTarget::Tty { columns: 80, rows: 24 })),
            ("tty:120x40", Some(OutputTarget::Tty { columns: 120, rows: 40 })),
            ("tty:0x24", None),
            ("tty:80", None),
        ]);
        check(&[
            ("random", Some(Padding::Random)),
            ("0", Some(Padding::Bytes(0))),
            ("70000", None),
        ]);
    }
}
