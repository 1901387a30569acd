//! The programs of both builds in pairs, and what is new, gone or the same.
#![expect(clippy::disallowed_methods, reason = "looks for programs and reads them")]

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Result, bail, ensure};

use host::user_of_commands;
use measure::harnesses::{Asker, BenchmarkList, benchmarks, is_marked, recognise};
use model::spec::{GateSelection, GateVerb};
use model::words::text_of;
use record::plan::programs::ProgramBenchmark;
use record::plan::{Arm, Role};
use render::remedies::Audience;

use super::same::{Libraries, Sameness};
use super::timeout;
use super::trees::Trees;

/// Directories below a tree are searched so deep.
const DEPTH_MAX: usize = 7;
/// Where libtool puts shared libraries. The programs there need a script beside the directory.
const LIBTOOL: &str = ".libs";
/// Directories that hold no benchmark programs, but many files.
const SKIPPED: [&str; 1] = ["node_modules"];
/// The same beside Cargo's `deps`.
const SKIPPED_OF_CARGO: [&str; 3] = ["incremental", "build", "examples"];
/// Digits of the hash that Cargo appends to the name of a program.
const HASH: usize = 16;

/// A program that both builds have.
pub(super) struct Pair {
    /// Its path without a hash, or a command.
    pub name: String,
    /// The files of the old and the new build; `None` for a command that both execute.
    pub files: Option<[PathBuf; 2]>,
    /// The benchmarks of both, as each build lists them.
    pub common: [Vec<ProgramBenchmark>; 2],
}

/// What is measured, and what is not.
#[derive(Default)]
pub(super) struct Changes {
    /// The programs that differ.
    pub pairs: Vec<Pair>,
    /// Programs that are the same in both builds, byte for byte.
    pub same: Vec<String>,
    /// Those that differ only in the directory and the number of the build, and in what is not loaded.
    pub same_loaded: Vec<String>,
    /// Programs and benchmarks that only the new build has.
    pub new: Vec<String>,
    /// Those that only the old build has.
    pub gone: Vec<String>,
    /// Programs that do not list their benchmarks, with the reason.
    pub failing: Vec<String>,
}

impl Changes {
    /// Finds the programs, or those that the user names.
    ///
    /// # Errors
    /// A named program is in neither build, or there is no program at all.
    pub(super) fn find(trees: &Trees, verb: &GateVerb) -> Result<Self> {
        let mut all = Self::default();
        let [old, new] = [0, 1].map(|side| BuiltFiles::below(&trees.directories[side]));
        let libraries = Libraries::new(&trees.directories, [old.libraries, new.libraries]);
        let finder = Finder { trees, verb, libraries };
        if verb.programs.is_empty() {
            let [old, new] = [old.programs, new.programs];
            let names = old.keys().chain(new.keys().filter(|name| !old.contains_key(*name)));
            for name in names {
                all.take(&finder, name, [old.get(name), new.get(name)], false)?;
            }
        }
        for name in &verb.programs {
            let files = [0, 1].map(|side| file_named(&trees.directories[side], name));
            let is_command = files.iter().all(Option::is_none) && name.contains(' ');
            ensure!(
                is_command || files.iter().any(Option::is_some),
                "there is no program {name:?}, neither in {} nor in {}",
                trees.directories[0].display(),
                trees.directories[1].display()
            );
            all.take(&finder, name, [files[0].as_ref(), files[1].as_ref()], true)?;
        }
        let lists = [&mut all.same, &mut all.same_loaded, &mut all.new, &mut all.gone];
        let n_found: usize = lists.iter().map(|names| names.len()).sum();
        lists.into_iter().for_each(|names| names.sort());
        if n_found + all.pairs.len() + all.failing.len() == 0 {
            bail!(
                "there is no benchmark program of a known framework in {} and {}; build them first, or \
                 name them, for example 'java -jar target/benchmarks.jar' or 'pytest benchmarks' (docs/frameworks.md)",
                trees.directories[0].display(),
                trees.directories[1].display()
            );
        }
        Ok(all)
    }

    /// Adds one program. `is_named`: the user wants it, so it has to have benchmarks.
    fn take(
        &mut self,
        finder: &Finder<'_>,
        name: &str,
        files: [Option<&PathBuf>; 2],
        is_named: bool,
    ) -> Result<()> {
        let listed = |side: usize| finder.listed(side, name, files[side], is_named);
        let has = |list: &[ProgramBenchmark], it: &ProgramBenchmark| {
            list.iter().any(|other| other.name == it.name)
        };
        let is_command = files.iter().all(Option::is_none);
        if let Some(same) = self.of_same(finder, files)? {
            // A test program without a benchmark is of no interest.
            same.extend(has_some(listed(0)).then(|| name.into()));
            return Ok(());
        }
        match files {
            [Some(_), None] => {
                let has_some = has_some(listed(0));
                self.gone.extend(has_some.then(|| name.into()));
                return Ok(());
            }
            [None, Some(_)] => {
                match listed(1) {
                    Ok(Some(BenchmarkList { failure: Some(why), .. })) | Err(why) => {
                        self.failing.push(format!("{name} (head): {}", joined(&why)));
                    }
                    found => self.new.extend(has_some(found).then(|| name.into())),
                }
                return Ok(());
            }
            _ => {}
        }
        match (listed(0), listed(1)) {
            (Ok(old), Ok(None))
                if !is_named && old.as_ref().is_none_or(BenchmarkList::is_empty) => {}
            (Ok(_), Ok(None)) => {
                self.failing.push(format!("{name} (head): it is of no framework that is known"));
            }
            (Ok(old), Ok(Some(new))) => {
                let old = old.unwrap_or_default();
                // A failure that both builds have is none of the new one, if they list the same all the same.
                let is_same = old
                    .benchmarks
                    .iter()
                    .map(|it| &it.name)
                    .eq(new.benchmarks.iter().map(|it| &it.name));
                if let Some(why) = new.failure.filter(|_| old.failure.is_none() || !is_same) {
                    self.failing.push(format!("{name} (head): {}", joined(&why)));
                }
                let (old, new) = (old.benchmarks, new.benchmarks);
                let (old, gone): (Vec<_>, Vec<_>) = old.into_iter().partition(|it| has(&new, it));
                let (new, added): (Vec<_>, Vec<_>) = new.into_iter().partition(|it| has(&old, it));
                let of = |benchmark: &ProgramBenchmark| format!("{name}: {}", benchmark.name);
                self.gone.extend(gone.iter().map(of));
                self.new.extend(added.iter().map(of));
                let common = [old, new];
                let files = [files[0].cloned(), files[1].cloned()];
                let [old, new] = files;
                let files = if is_command { None } else { old.zip(new).map(<[PathBuf; 2]>::from) };
                if !common[0].is_empty() {
                    self.pairs.push(Pair { name: name.into(), files, common });
                }
            }
            (Err(why), _) => self.failing.push(format!("{name} (base): {}", joined(&why))),
            (_, Err(why)) => self.failing.push(format!("{name} (head): {}", joined(&why))),
        }
        Ok(())
    }

    /// The list for a program that is the same in both builds and is not measured for that reason.
    fn of_same(
        &mut self,
        finder: &Finder<'_>,
        files: [Option<&PathBuf>; 2],
    ) -> Result<Option<&mut Vec<String>>> {
        let [Some(old), Some(new)] = files else { return Ok(None) };
        if finder.verb.select == Some(GateSelection::All) {
            return Ok(None);
        }
        Ok(match finder.libraries.compare([old, new])? {
            Sameness::Bytes => Some(&mut self.same),
            Sameness::Loaded => Some(&mut self.same_loaded),
            Sameness::Different => None,
        })
    }
}

/// What programs are looked for in.
struct Finder<'a> {
    trees: &'a Trees,
    verb: &'a GateVerb,
    libraries: Libraries,
}

impl Finder<'_> {
    /// The benchmarks of a program in a build; `None` if it is of no framework: a file may only look like one.
    fn listed(
        &self,
        side: usize,
        name: &str,
        file: Option<&PathBuf>,
        is_named: bool,
    ) -> Result<Option<BenchmarkList>, String> {
        let argv = match file {
            Some(file) => vec![text_of(file.as_os_str().as_encoded_bytes())],
            None => shell_words::split(name).map_err(|error| error.to_string())?,
        };
        let directories = vec![self.trees.directories[side].to_string_lossy().into_owned()];
        let arm = Arm { argv, directories, ..Arm::bare(name, Role::Candidate) };
        let user = user_of_commands(self.verb.machine.rights.as_root);
        let limit = Duration::from_nanos(timeout(self.verb).ns);
        let asker = Asker { run_as: user.as_ref(), limit };
        let words = |why: String| Audience::Workers.words(&why);
        let Some(harness) = recognise(&arm, asker).map_err(words)? else {
            return Ok(None);
        };
        let list = benchmarks(harness, &arm, asker).map_err(words)?;
        let is_empty = list.is_empty();
        match (list.failure, is_empty) {
            (Some(why), true) => Err(words(why)),
            (None, true) if is_named => {
                Err(format!("asked for its {} benchmarks, it lists no benchmark", harness.name()))
            }
            (failure, _) => Ok(Some(BenchmarkList { failure: failure.map(words), ..list })),
        }
    }
}

fn has_some(found: Result<Option<BenchmarkList>, String>) -> bool {
    found.is_ok_and(|list| list.is_some_and(|list| !list.is_empty()))
}

/// A reason with what the program said, on one line.
fn joined(why: &str) -> String {
    let lines = why.lines().map(|line| line.trim_start_matches([' ', '|']).trim());
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// What a build has left.
#[derive(Default)]
struct BuiltFiles {
    /// The programs that may be of a framework, by their path without a hash; of several the newest.
    programs: BTreeMap<String, PathBuf>,
    /// The shared libraries.
    libraries: Vec<PathBuf>,
}

impl BuiltFiles {
    fn below(root: &Path) -> Self {
        let mut programs: BTreeMap<String, (SystemTime, PathBuf)> = BTreeMap::new();
        let (mut libraries, mut left) = (Vec::new(), vec![(root.to_path_buf(), 0)]);
        while let Some((directory, depth)) = left.pop() {
            let is_of_cargo = directory.join("deps").is_dir();
            let skipped = SKIPPED.iter().chain(SKIPPED_OF_CARGO.iter().filter(|_| is_of_cargo));
            let skipped: Vec<&&str> = skipped.collect();
            let is_of_libtool = directory.ends_with(LIBTOOL);
            for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
                let (path, name) = (entry.path(), entry.file_name());
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_dir() {
                    let is_skipped = skipped.iter().any(|it| name == **it)
                        || is_hidden(&name) && name != LIBTOOL;
                    left.extend((!is_skipped && depth < DEPTH_MAX).then(|| (path, depth + 1)));
                } else if !path.is_file() {
                    // A FIFO would wait for its other end.
                } else if name.to_string_lossy().contains(".so") {
                    libraries.push(path);
                } else if !is_of_libtool && may_be_benchmark(&path) {
                    let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy();
                    let made = path.metadata().and_then(|meta| meta.modified());
                    let made = made.unwrap_or(SystemTime::UNIX_EPOCH);
                    let newest = programs
                        .entry(without_hash(&name).into())
                        .or_insert_with(|| (made, path.clone()));
                    if made > newest.0 {
                        *newest = (made, path);
                    }
                }
            }
        }
        let programs = programs.into_iter().map(|(name, (_, path))| (name, path)).collect();
        Self { programs, libraries }
    }
}

fn is_hidden(name: &std::ffi::OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

fn may_be_benchmark(path: &Path) -> bool {
    let is_executable = path.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o111 != 0);
    let is_library = path.extension().is_some_and(|it| it == "rlib" || it == "d");
    is_executable && !is_library && is_marked(path)
}

/// The file of a name in a build: itself, or the newest with a hash behind it.
fn file_named(root: &Path, name: &str) -> Option<PathBuf> {
    let path = root.join(name);
    if path.is_file() {
        return Some(path);
    }
    let entries = std::fs::read_dir(path.parent()?).ok()?.flatten();
    let wanted = path.file_name()?.to_string_lossy().into_owned();
    let is_it = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        name.is_some_and(|name| name != wanted && without_hash(&name) == wanted)
            && path.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o111 != 0)
    };
    let found = entries.map(|entry| entry.path()).filter(is_it);
    found.max_by_key(|path| path.metadata().and_then(|meta| meta.modified()).ok())
}

/// A name without the hash that Cargo appends.
fn without_hash(name: &str) -> &str {
    let Some((before, hash)) = name.rsplit_once('-') else { return name };
    let is_hash = hash.len() == HASH && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hash { before } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_cargo_is_no_part_of_a_name() {
        assert_eq!(without_hash("deps/sort-0123456789abcdef"), "deps/sort");
        assert_eq!(without_hash("deps/sort-0123456789abcdeg"), "deps/sort-0123456789abcdeg");
        assert_eq!(without_hash("old-test"), "old-test");
    }
}
