//! Functions of just-in-time compilers, read after a run: `/tmp/perf-PID.map` has lines with start, size and name
//! (tools/perf/Documentation/jit-interface.txt in the kernel's sources), `jit-PID.dump` is mapped by the process
//! (jitdump-specification.txt there). Only functions of sampled addresses are kept. The files are removed, because a
//! later run may have the same process id.
#![expect(clippy::disallowed_methods, reason = "reads and removes files of the runs")]

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{Mode, OFlags};

use crate::fields;
use host::sys::file_owner;

/// First number of a jitdump file in this machine's byte order ("JiTD").
const DUMP_MAGIC: u32 = 0x4A69_5444;
/// `JIT_CODE_LOAD` and `JIT_CODE_MOVE`.
const CODE_LOAD: u32 = 0;
const CODE_MOVE: u32 = 1;
/// Bytes at the start of every record: kind, size (u32 each), time (u64).
const PREFIX: usize = 16;
/// Bytes of `JIT_CODE_LOAD` before the name: process, thread (u32 each), address twice, size, number (u64 each).
const LOAD: usize = 40;
/// Longer names are cut.
const NAME_BYTES_MAX: usize = 1024;
/// Most addresses that are kept, without the addresses of chains.
const ADDRESSES_MAX: usize = 1 << 20;
/// The kernel's file times are the times of its last tick (ktime_get_coarse_real_ts64()).
const TICK: Duration = Duration::from_millis(20);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JitFunction {
    pub start: u64,
    pub size: u64,
    pub name: String,
}

/// Files that a run may have written, and its sampled addresses.
#[derive(Debug)]
pub struct JitFiles {
    began: SystemTime,
    processes: BTreeSet<u32>,
    dumps: BTreeSet<(u32, PathBuf)>,
    addresses: HashSet<u64>,
    /// From the first to the last address of code without a file.
    made: Option<Range<u64>>,
}

impl JitFiles {
    /// For a run that begins now.
    pub fn from_now_on() -> Self {
        let began = SystemTime::now();
        let (processes, dumps) = (BTreeSet::new(), BTreeSet::new());
        Self { began, processes, dumps, addresses: HashSet::new(), made: None }
    }

    pub fn add_process(&mut self, process: u32) {
        self.processes.insert(process);
    }

    /// A mapped file of a process. Code that the process makes itself is named `//anon`.
    pub fn add_mapping(&mut self, process: u32, path: &[u8], at: Range<u64>) {
        if path == b"//anon" {
            let known = self.made.take().unwrap_or(at.clone());
            self.made = Some(known.start.min(at.start)..known.end.max(at.end));
        }
        let path = Path::new(OsStr::from_bytes(path));
        let name = path.file_name().map(OsStr::as_bytes).unwrap_or_default();
        if name.starts_with(b"jit-") && name.ends_with(b".dump") {
            self.dumps.insert((process, path.into()));
        }
    }

    pub fn add_address(&mut self, address: u64) {
        self.addresses.insert(address);
    }

    /// The copy of a stack, in which any word may be a return address.
    pub fn add_stack(&mut self, stack: &[u8]) {
        let Some(made) = self.made.as_ref().filter(|_| self.addresses.len() < ADDRESSES_MAX) else {
            return;
        };
        let words = stack.chunks_exact(8).filter_map(|it| it.try_into().ok());
        self.addresses.extend(words.map(u64::from_ne_bytes).filter(|it| made.contains(it)));
    }

    /// Reads the functions at the run's sampled addresses, and removes the files. `each` gets the functions of each
    /// process, the older ones first.
    pub fn take(&mut self, mut each: impl FnMut(u32, &JitFunction)) {
        let mut addresses: Vec<u64> = self.addresses.drain().collect();
        addresses.sort_unstable();
        for &process in &self.processes {
            let read =
                |file: File| read_map(BufReader::new(file), &addresses, |it| each(process, it));
            self.read(Path::new(&format!("/tmp/perf-{process}.map")), read);
        }
        for (process, path) in &self.dumps {
            let read =
                |file: File| read_dump(BufReader::new(file), &addresses, |it| each(*process, it));
            self.read(path, read);
        }
    }

    fn read(&self, path: &Path, read: impl FnOnce(File) -> io::Result<()>) {
        // Anyone can make such a file. Like perf, only those of root and of our own user are read.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(file) = rustix::fs::open(path, flags, Mode::empty()).map(File::from) else { return };
        let is_of_run = |meta: std::fs::Metadata| {
            let is_trusted = [0, file_owner()].contains(&meta.uid());
            let is_new = meta.modified().is_ok_and(|it| it + TICK >= self.began);
            meta.is_file() && is_trusted && is_new
        };
        if !file.metadata().is_ok_and(is_of_run) {
            return;
        }
        // Whatever was read before an error is useful.
        read(file).ok();
        std::fs::remove_file(path).ok();
    }
}

/// Whether any of these sorted addresses is in a function.
fn has_any(addresses: &[u64], start: u64, size: u64) -> bool {
    let at = addresses.partition_point(|&address| address < start);
    addresses.get(at).is_some_and(|&address| address - start < size)
}

fn read_map(
    mut from: impl BufRead,
    addresses: &[u64],
    mut each: impl FnMut(&JitFunction),
) -> io::Result<()> {
    let number = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line)? > 0 {
        let text = String::from_utf8_lossy(&line);
        let mut words = text.trim_end().splitn(3, ' ');
        let mut next = || number(words.next()?);
        if let (Some(start), Some(size)) = (next(), next())
            && has_any(addresses, start, size)
            && let Some(name) = words.next()
        {
            each(&JitFunction { start, size, name: cut(name) });
        }
        line.clear();
    }
    Ok(())
}

fn read_dump(
    mut from: impl Read,
    addresses: &[u64],
    mut each: impl FnMut(&JitFunction),
) -> io::Result<()> {
    let word = |bytes: &[u8], at: usize| fields::word(bytes, at).unwrap_or(0);
    let long = |bytes: &[u8], at: usize| fields::long(bytes, at).unwrap_or(0);
    // Magic, version, size of the header.
    let mut head = [0; 12];
    from.read_exact(&mut head)?;
    if word(&head, 0) != DUMP_MAGIC {
        return Ok(());
    }
    skip(&mut from, u64::from(word(&head, 8)).saturating_sub(head.len() as u64))?;
    let mut names: Vec<(u64, String)> = Vec::new();
    loop {
        let mut prefix = [0; PREFIX];
        from.read_exact(&mut prefix)?;
        let rest = u64::from(word(&prefix, 4)).saturating_sub(PREFIX as u64);
        let mut body = Vec::new();
        from.by_ref().take(rest.min((LOAD + NAME_BYTES_MAX) as u64)).read_to_end(&mut body)?;
        skip(&mut from, rest - body.len() as u64)?;
        let function = match word(&prefix, 0) {
            CODE_LOAD => {
                let name = body.get(LOAD..).unwrap_or_default().split(|&byte| byte == 0).next();
                let name = String::from_utf8_lossy(name.unwrap_or_default()).into_owned();
                names.push((long(&body, 32), name.clone()));
                JitFunction { start: long(&body, 16), size: long(&body, 24), name }
            }
            CODE_MOVE => {
                let number = long(&body, 40);
                let name = names.iter().rev().find(|it| it.0 == number);
                let Some((_, name)) = name else { continue };
                JitFunction { start: long(&body, 24), size: long(&body, 32), name: name.clone() }
            }
            _ => continue,
        };
        if has_any(addresses, function.start, function.size) {
            each(&function);
        }
    }
}

fn skip(from: &mut impl Read, n: u64) -> io::Result<()> {
    io::copy(&mut from.take(n), &mut io::sink()).map(drop)
}

fn cut(name: &str) -> String {
    name.char_indices().take_while(|(at, _)| *at < NAME_BYTES_MAX).map(|(_, it)| it).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::{longs, words};

    fn found(read: impl FnOnce(&mut dyn FnMut(&JitFunction))) -> Vec<(u64, String)> {
        let mut found = Vec::new();
        read(&mut |it: &JitFunction| found.push((it.start, it.name.clone())));
        found
    }

    #[test]
    fn a_map_names_the_functions_of_sampled_addresses() {
        let text =
            b"7f00 10 py::work:/srv/job.py\nbad line\n7f20 8 Builtin:Add x\n0x7f30 8 other\n";
        let addresses = [0x7f0f, 0x7f27, 0x7f28];
        let found = found(|each| read_map(&text[..], &addresses, each).unwrap());
        assert_eq!(
            found,
            [(0x7f00, "py::work:/srv/job.py".into()), (0x7f20, "Builtin:Add x".into())]
        );
    }

    #[test]
    fn a_dump_names_code_that_was_loaded_and_code_that_was_moved() {
        let record = |kind: u32, body: &[u8]| {
            [words(&[kind, (PREFIX + body.len()) as u32]), longs(&[5]), body.to_vec()].concat()
        };
        let load = |start: u64, number: u64, name: &str| {
            let numbers = longs(&[start, start, 16, number]);
            let code = [0x90; 16];
            record(
                CODE_LOAD,
                &[&words(&[7, 7])[..], &numbers, name.as_bytes(), &[0], &code].concat(),
            )
        };
        let moved = [words(&[7, 7]), longs(&[0, 0x1000, 0x3000, 16, 1])].concat();
        let file = [
            words(&[DUMP_MAGIC, 1, 40]),
            vec![0; 28],
            load(0x1000, 1, "first"),
            record(3, &[0; 8]),
            load(0x2000, 2, "second"),
            record(CODE_MOVE, &moved),
        ]
        .concat();
        let addresses = [0x1008, 0x3008];
        let found = found(|each| {
            // The file ends between two records.
            let end = read_dump(&file[..], &addresses, each).unwrap_err();
            assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
        });
        assert_eq!(found, [(0x1000, "first".into()), (0x3000, "first".into())]);
        for n in 0..file.len() {
            read_dump(&file[..n], &addresses, |_| ()).ok();
        }
    }

    #[test]
    fn a_file_of_another_user_is_not_read_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("perf-1.map");
        let files = JitFiles::from_now_on();
        let is_read = || {
            let mut is_read = false;
            files.read(&path, |_| {
                is_read = true;
                Ok(())
            });
            is_read
        };
        std::fs::write(&path, "").unwrap();
        assert!(is_read() && !path.exists());
        std::fs::write(&path, "").unwrap();
        if std::os::unix::fs::chown(&path, Some(54321), None).is_ok() {
            assert!(!is_read() && path.exists());
        }
    }

    /// Without frame pointers, only the copy of the stack has the return address.
    #[test]
    fn words_of_a_stack_count_if_they_may_be_code_of_the_run() {
        let mut files = JitFiles::from_now_on();
        let stack: Vec<u8> =
            [0x7f10_u64, 5, 0x9000].iter().flat_map(|it| it.to_ne_bytes()).collect();
        files.add_stack(&stack);
        assert!(files.addresses.is_empty());
        files.add_mapping(1, b"/lib/libc.so.6", 0..0xffff);
        files.add_mapping(1, b"//anon", 0x7f00..0x7f20);
        files.add_stack(&stack);
        assert_eq!(files.addresses.iter().copied().collect::<Vec<u64>>(), [0x7f10]);
    }
}
