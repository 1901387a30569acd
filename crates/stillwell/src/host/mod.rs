//! The machine: what it is ([`Facts`]), what it lacks ([`Gap`]), and what makes noise on it ([`knobs`]). Reading never
//! writes and never fails: what cannot be read is `None` or a gap. Tuning writes only what the knob table allows, and the
//! journal puts it back.

mod boot;
mod caches;
mod capture;
mod cgroup;
mod cmdline;
mod cpu;
mod cpu_table;
mod facts;
#[cfg(test)]
mod fixture;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write their own files")]
mod fixture_text;
mod gaps;
mod git;
pub mod guardian;
mod interrupts;
mod invoker;
pub mod journal;
#[cfg(test)]
mod kill;
pub mod knobs;
mod look;
mod mask;
mod mounts;
mod processes;
mod recommend;
mod report;
pub mod restore;
pub mod shield;
#[cfg(test)]
mod tests;
mod topology;
pub mod tune;
mod virtualisation;
mod write;

use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::values::CPUS_MAX;

pub use boot::{BootAdvice, BootParameter, BootState};
pub use caches::drop_caches;
pub use capture::capture;
pub use cmdline::CommandLine;
pub use cpu_table::{CpuRow, read_cpu_table, read_uptime_seconds};
pub use facts::{Cgroup, Facts, Git, Topology};
#[cfg(test)]
pub(crate) use fixture::{expand, fixture_names};
pub use git::find as find_git;
pub use interrupts::Interrupts;
pub use invoker::{
    command_of_invoker, invoking_home, invoking_user, with_their_files, without_place_of_git,
};
pub use look::{Survey, look};
pub use mask::parse_cpu_mask;
pub use processes::{Process, Thread, threads};
pub use recommend::{Recommendation, recommend};
pub use report::{CpusFrom, KnobReport, Standing, SystemReport};

/// A capability this machine does not have. Data, not an error: it is shown and saved with the result. The three
/// parts are pieces of one sentence, "what: why; fix".
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Gap {
    /// What cannot be had.
    pub what: String,
    /// Why.
    pub why: String,
    /// What the user could do about it.
    pub fix: String,
}

/// The only way to `/proc`, `/sys` and the like. Paths are relative to a root, which is `/` in production and a
/// directory of captured files in tests.
#[derive(Clone, Debug)]
pub struct Host {
    root: PathBuf,
    /// Where the paths are noted that are looked at.
    touched: Option<capture::Touched>,
    /// How the kernel of a machine of captured files answers a write.
    #[cfg(test)]
    kernel: Option<Kernel>,
    /// What that kernel does a moment after a write.
    #[cfg(test)]
    moment: Option<fn(&Host)>,
}

/// What a write to a file does: its format, its path, the value.
#[cfg(test)]
type Kernel = fn(&Host, knobs::Format, &str, &str) -> std::io::Result<()>;

/// No file of the kernel that we need is longer up to the part we need; an uncapped read of a strange file might never
/// end.
const READ_BYTES_MAX: u64 = 64 << 10;

/// /proc lists some ten threads of the kernel for each CPU; the rest is room for processes.
const LIST_ENTRIES_MAX: usize = 32 * CPUS_MAX;

/// What the kernel shows of every interrupt (kernel/irq/proc.c); anything else is the name of a device.
const IRQ_FILES: &[&str] = &[
    "affinity_hint",
    "effective_affinity",
    "effective_affinity_list",
    "node",
    "smp_affinity",
    "smp_affinity_list",
    "spurious",
];

impl Host {
    /// A machine whose files are below `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            touched: None,
            #[cfg(test)]
            kernel: None,
            #[cfg(test)]
            moment: None,
        }
    }

    /// The text of a file without the white space at its end; `None` when it cannot be read.
    pub fn read(&self, relative: impl AsRef<Path>) -> Option<String> {
        let mut text = read_capped(&self.below_root(relative.as_ref()), READ_BYTES_MAX)?;
        text.truncate(text.trim_end().len());
        Some(text)
    }

    /// As [`Host::read`], for a file that may be longer than others.
    pub fn read_long(&self, relative: impl AsRef<Path>, bytes_max: u64) -> Option<String> {
        read_capped(&self.below_root(relative.as_ref()), bytes_max)
    }

    /// The value of a file that holds one; `None` also when it holds something else.
    pub fn read_value<T: std::str::FromStr>(&self, relative: impl AsRef<Path>) -> Option<T> {
        self.read(relative)?.parse().ok()
    }

    /// The names in a directory, sorted; empty when it cannot be read.
    pub fn list(&self, relative: impl AsRef<Path>) -> Vec<String> {
        #[expect(clippy::disallowed_methods, reason = "this is where the machine is read")]
        let Ok(entries) = std::fs::read_dir(self.below_root(relative.as_ref())) else {
            return Vec::new();
        };
        let names = entries.take(LIST_ENTRIES_MAX).flatten().map(|entry| entry.file_name());
        let mut names: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
        names.sort();
        names
    }

    /// Whether there is such a file or directory.
    pub fn exists(&self, relative: impl AsRef<Path>) -> bool {
        self.below_root(relative.as_ref()).exists()
    }

    /// What a file is about, where its path may come to mean something else: the devices of an interrupt are the
    /// directories beside it, and of a process it is when it started.
    fn identity(&self, path: &str) -> Option<String> {
        if let Some(pid) = processes::pid_of(path) {
            return Process::read(self, pid).map(|it| it.start_ticks.to_string());
        }
        let directory = path.strip_suffix("/smp_affinity_list")?;
        let mut names = self.list(directory);
        names.retain(|name| !IRQ_FILES.contains(&name.as_str()));
        Some(names.join(" "))
    }

    fn below_root(&self, relative: &Path) -> PathBuf {
        assert!(relative.is_relative(), "{} must be relative to the root", relative.display());
        if let Some(touched) = &self.touched {
            touched.add(relative);
        }
        self.root.join(relative)
    }
}

/// The first `bytes_max` bytes of a file as text. Bytes that are not UTF-8 are replaced: the cap may cut a character.
fn read_capped(path: &Path, bytes_max: u64) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "this is where the machine is read")]
    let file = std::fs::File::open(path).ok()?;
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Where a test may have the process killed.
#[cfg(test)]
fn kill_point() {
    kill::kill_point();
}

#[cfg(not(test))]
fn kill_point() {}
