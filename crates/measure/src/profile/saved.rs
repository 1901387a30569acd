//! The profile of a session: a file next to its record, from which everything can be shown again.

use std::ffi::OsString;
use std::io::{BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use rustix::fs::OFlags;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use host::open_regular;
use host::user_files::create_new;
use record::Readers;

/// `format` of every profile.
const FORMAT: &str = "stillwell-profile";
const VERSION: u32 = 1;
/// Extension of a profile, appended to the name of its record.
pub const EXTENSION: &str = "profile";
/// Largest profile after unpacking.
const BYTES_MAX: u64 = 1 << 30;

/// Where the time of each run of a session went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    format: String,
    version: u32,
    pub arms: Vec<String>,
    /// Error rate of the session's test.
    pub alpha: f64,
    /// Seed of the re-labellings.
    pub seed: u64,
    pub has_kernel: bool,
    /// Whether system calls are among the counted events.
    #[serde(default)]
    pub counts_system_calls: bool,
    /// Mean CPU time between two samples, ns.
    pub period_ns: u64,
    /// Samples of programs.
    pub n_samples: u64,
    /// Samples of programs whose call chain reaches the start of the program or of a thread.
    pub n_whole_chains: u64,
    pub functions: Vec<ProfiledFunction>,
    /// All call chains, as numbers of functions, the innermost last.
    pub stacks: Vec<Vec<u32>>,
    pub runs: Vec<ProfiledRun>,
}

/// The kind of code that a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FunctionOrigin {
    /// A function of a program or a library.
    User,
    /// A function of the kernel.
    Kernel,
    /// Code of a program without a symbol: all that is in one file.
    Unnamed,
    /// No function: the reason why the kernel runs, such as a system call.
    Entry,
    /// No function: a reason to wait, while no task of the run is ready.
    Wait,
    /// No function: something that is counted, such as page faults.
    Event,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfiledFunction {
    pub name: String,
    /// File of the function, without the directory.
    pub file: String,
    /// The kind of code.
    pub origin: FunctionOrigin,
    /// File and line with most samples, in the last arm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// Source file, if debug information tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Bytes of code in each arm, 0 if it was not seen; empty if nothing is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub code_bytes: Vec<u64>,
    /// The arm whose programs have no function of this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_in: Option<u32>,
}

impl ProfiledFunction {
    /// A function of which no more is known.
    pub fn new(name: String, file: &str, origin: FunctionOrigin) -> Self {
        let file = file.into();
        let (line, source, missing_in) = (None, None, None);
        Self { name, file, origin, line, source, code_bytes: Vec::new(), missing_in }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProfiledRun {
    pub arm: u32,
    pub block: u32,
    pub wall_ns: u64,
    /// CPU time of all tasks, ns.
    pub cpu_ns: u64,
    /// Time in which the run was ready and other programs had the CPU, ns; `None` if unknown.
    pub stalled_ns: Option<u64>,
    /// Instructions, if the machine counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<u64>,
    /// Mispredicted branches, if the processor counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch_misses: Option<u64>,
    /// Last-level cache misses, if the processor counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_misses: Option<u64>,
    /// Page faults, with and without input or output.
    pub faults: u64,
    pub switches: u64,
    /// CPU time between two samples, ns; 0 if the run was not sampled.
    pub period_ns: u64,
    pub n_lost: u64,
    /// Call chains, and the number of samples of each.
    pub samples: Vec<(u32, u32)>,
    /// The reasons of the run's waits with their time, ns; `None` if not watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Vec<(u32, u64)>>,
    /// Counted events. A run with these was not sampled, and its times are too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<CountedEvents>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedEvents {
    /// Lost records, or gaps with lost records.
    pub n_lost: u64,
    /// Call chains with the number of events. The counted thing follows the innermost function.
    pub chains: Vec<(u32, u64)>,
}

impl Profile {
    pub fn new(arms: Vec<String>, alpha: f64, seed: u64, period_ns: u64) -> Self {
        Self {
            format: FORMAT.into(),
            version: VERSION,
            arms,
            alpha,
            seed,
            period_ns,
            ..Self::default()
        }
    }

    /// Writes a new file. Errors: the file exists, or cannot be written.
    pub fn write(&self, path: &Path, readers: Readers) -> Result<()> {
        let shown = path.display();
        let file = create_new(path, OFlags::empty(), readers.file_mode())
            .with_context(|| format!("cannot create the profile {shown}"))?;
        let mut to = GzEncoder::new(file, Compression::default());
        serde_json::to_writer(&mut to, self)
            .map_err(anyhow::Error::from)
            .and_then(|()| Ok(to.finish()?.flush()?))
            .with_context(|| format!("cannot write the profile {shown}"))
    }

    /// Reads a profile. Errors: the file cannot be read, or is no profile.
    pub fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        let file =
            open_regular(path).with_context(|| format!("cannot read the profile {shown}"))?;
        let text = GzDecoder::new(BufReader::new(file)).take(BYTES_MAX);
        let profile: Self = serde_json::from_reader(BufReader::new(text))
            .with_context(|| format!("{shown} is no profile of `stillwell why`"))?;
        if profile.version > VERSION {
            bail!(
                "{shown} was written by a newer Stillwell (version {}); use that",
                profile.version
            );
        }
        ensure!(profile.is_sound(), "{shown} is damaged: a number in it is out of range");
        Ok(profile)
    }

    /// Whether every number of an arm, a function or a chain exists.
    fn is_sound(&self) -> bool {
        let has_function = |number: u32| (number as usize) < self.functions.len();
        let has_stack = |number: u32| (number as usize) < self.stacks.len();
        let is_run = |run: &ProfiledRun| {
            (run.arm as usize) < self.arms.len()
                && run.samples.iter().all(|it| has_stack(it.0))
                && run.waits.iter().flatten().all(|it| has_function(it.0))
                && run.events.iter().flat_map(|it| &it.chains).all(|it| has_stack(it.0))
        };
        let is_stack =
            |stack: &Vec<u32>| !stack.is_empty() && stack.iter().all(|&it| has_function(it));
        let is_alpha = self.alpha > 0.0 && self.alpha < 1.0;
        let is_ours = self.format == FORMAT && is_alpha && !self.arms.is_empty();
        is_ours && self.stacks.iter().all(is_stack) && self.runs.iter().all(is_run)
    }
}

/// The profile's path: the record's with an extension appended.
pub fn path_of(record: &Path) -> PathBuf {
    if record.extension().is_some_and(|extension| extension == EXTENSION) {
        return record.into();
    }
    let mut name = OsString::from(record);
    name.push(".");
    name.push(EXTENSION);
    name.into()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "makes files for the tests")]
mod tests {
    use super::*;
    use crate::profile::breakdown::fixture::made_up;
    use rustix::fs::{CWD, FileType, Mode};

    #[test]
    fn a_profile_is_read_as_it_was_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.swell.profile");
        let profile = made_up(4, 0.0);
        profile.write(&path, Readers::Owner).unwrap();
        assert_eq!(Profile::read(&path).unwrap(), profile);
        assert!(profile.write(&path, Readers::Owner).is_err());
    }

    #[test]
    fn a_damaged_profile_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let refused = |change: &dyn Fn(&mut Profile), why: &str| {
            let path = directory.path().join(why.replace(' ', "-"));
            let mut profile = made_up(4, 0.0);
            change(&mut profile);
            profile.write(&path, Readers::Owner).unwrap();
            let error = format!("{:#}", Profile::read(&path).unwrap_err());
            assert!(error.contains(why), "{error}");
        };
        refused(&|it| it.runs[0].samples.push((99, 1)), "damaged");
        refused(&|it| it.stacks.push(vec![99]), "out of range");
        refused(&|it| it.version = 2, "newer Stillwell");
        let text = directory.path().join("text");
        std::fs::write(&text, "no profile").unwrap();
        assert!(Profile::read(&text).unwrap_err().to_string().contains("is no profile"));
        let fifo = directory.path().join("fifo");
        rustix::fs::mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert!(format!("{:#}", Profile::read(&fifo).unwrap_err()).contains("a FIFO"));
    }

    #[test]
    fn the_profile_is_next_to_its_record() {
        assert_eq!(path_of(Path::new("d/a.swell")), Path::new("d/a.swell.profile"));
        assert_eq!(path_of(Path::new("d/a.swell.profile")), Path::new("d/a.swell.profile"));
    }
}
