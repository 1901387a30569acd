//! Replaces copies of stacks by whole call chains between the runs of a session: a second of samples has 8 MB of
//! copies, but only 0.3 MB of chains.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use rustix::fs::OFlags;

use crate::fields::{word, words};
use crate::profile::entries::{TaskRecord, next_entry, timed_record};
use crate::profile::maps::AddressSpaces;
use crate::profile::unwinding::{Unwinder, UnwoundChain};
use crate::sampling::{ENTRY_HEAD_BYTES, RUN_BEGINS, RUN_ENDS};
use crate::stack_copies::{CHAIN_AT, CHAIN_LENGTH_AT, PROCESS_AT, chain_end, stack_copy};
use crate::switches::RECORD_SAMPLE;
use host::UserDirectory;

/// `PERF_CONTEXT_USER`: the program's addresses follow.
const CONTEXT_USER: u64 = -512_i64 as u64;
/// Mark after the addresses of a chain that reaches the beginning of the stack. The kernel has no such mark.
pub const CHAIN_IS_WHOLE: u64 = -4000_i64 as u64;

/// Takes the samples out of the launcher's file, and keeps them with whole chains.
pub struct ChainKeeper {
    samples: File,
    /// Offset of the first sample that was not taken.
    taken: u64,
    kept: BufWriter<File>,
    unwinder: Unwinder,
}

struct EntryPlace {
    time_ns: u64,
    kind: u32,
    misc: u16,
    at: u64,
    n_bytes: usize,
    /// A change of the address space.
    change: Option<TaskRecord>,
}

impl ChainKeeper {
    /// Copies from one file to another. Errors: the first one cannot be opened.
    pub fn new(samples: &Path, kept: File) -> io::Result<Self> {
        let (directory, name) = UserDirectory::of(samples)?;
        let samples = directory.open_file(name, OFlags::RDWR, 0)?;
        Ok(Self { samples, taken: 0, kept: BufWriter::new(kept), unwinder: Unwinder::default() })
    }

    /// Takes the runs that have ended. No run may be active. Errors: the files cannot be read or written, or the
    /// samples are damaged.
    pub fn take(&mut self) -> io::Result<()> {
        let n_bytes = self.samples.metadata()?.len();
        let mut run = Vec::new();
        let mut from = BufReader::with_capacity(1 << 16, &self.samples);
        from.seek(SeekFrom::Start(self.taken))?;
        let (mut from, mut at) = (from.take(n_bytes - self.taken), self.taken);
        let mut runs = Vec::new();
        while let Some((kind, misc, body)) = next_entry(&mut from)? {
            at += ENTRY_HEAD_BYTES as u64;
            let (time_ns, change) = match timed_record(kind, misc, &body) {
                Some((time_ns, record)) => (time_ns, changes(record)),
                // The launcher's own entries: the first one, and those at the end.
                None if kind == RUN_BEGINS => (0, None),
                None => (u64::MAX, None),
            };
            run.push(EntryPlace { time_ns, kind, misc, at, n_bytes: body.len(), change });
            at += body.len() as u64;
            if kind == RUN_ENDS {
                runs.push(std::mem::take(&mut run));
                self.taken = at;
            }
        }
        runs.into_iter().try_for_each(|run| self.keep(run))?;
        self.kept.flush()?;
        if self.taken == n_bytes {
            // The launcher appends, so its next entry is the first again.
            self.samples.set_len(0)?;
            self.taken = 0;
        }
        Ok(())
    }

    /// Writes the entries of a run in order of time.
    fn keep(&mut self, mut run: Vec<EntryPlace>) -> io::Result<()> {
        run.sort_by_key(|entry| entry.time_ns);
        let mut spaces = AddressSpaces::default();
        for entry in run {
            let mut body = vec![0; entry.n_bytes];
            self.samples.read_exact_at(&mut body, entry.at)?;
            match entry.change {
                Some(TaskRecord::Exec { process }) => spaces.exec(process),
                Some(TaskRecord::Fork { process, parent }) => spaces.fork(process, parent),
                Some(TaskRecord::Map { process, start, len, offset, path }) => {
                    spaces.map(process, start, len, offset, self.unwinder.file(&path));
                }
                _ => {}
            }
            if entry.kind == RECORD_SAMPLE {
                self.make_whole(&spaces, &mut body);
            }
            let head = words(&[entry.kind, u32::from(entry.misc), body.len() as u32]);
            self.kept.write_all(&head)?;
            self.kept.write_all(&body)?;
        }
        Ok(())
    }

    /// Gives a sample the unwound chain, if that is longer or known to be whole.
    fn make_whole(&mut self, spaces: &AddressSpaces, body: &mut Vec<u8>) {
        if let Some(found) = self.unwound(spaces, body)
            && (found.is_whole || found.addresses.len() > n_own(body))
        {
            replace_chain(body, &found);
        }
    }

    /// Unwinds the copies of a sample, and cuts them off.
    fn unwound(&mut self, spaces: &AddressSpaces, body: &mut Vec<u8>) -> Option<UnwoundChain> {
        let end = chain_end(body)?;
        let process = word(body, PROCESS_AT)?;
        let chain = stack_copy(body).map(|it| self.unwinder.chain(spaces, process, &it));
        body.truncate(end);
        chain
    }
}

/// The position in a chain where the program's part begins.
fn user_at(body: &[u8]) -> Option<usize> {
    let mut chain = body[CHAIN_AT..].chunks_exact(8);
    chain.position(|it| *it == CONTEXT_USER.to_ne_bytes()).map(|at| at + 1)
}

/// Number of addresses in the program's part of a chain.
fn n_own(body: &[u8]) -> usize {
    user_at(body).map_or(0, |at| (body.len() - CHAIN_AT) / 8 - at)
}

/// Replaces the program's part of a chain, or adds one.
fn replace_chain(body: &mut Vec<u8>, chain: &UnwoundChain) {
    let mark = match user_at(body) {
        Some(at) => {
            body.truncate(CHAIN_AT + 8 * at);
            None
        }
        None => Some(CONTEXT_USER),
    };
    let end = chain.is_whole.then_some(CHAIN_IS_WHOLE);
    for address in mark.into_iter().chain(chain.addresses.iter().copied()).chain(end) {
        body.extend(address.to_ne_bytes());
    }
    let n = ((body.len() - CHAIN_AT) / 8) as u64;
    body[CHAIN_LENGTH_AT..CHAIN_AT].copy_from_slice(&n.to_ne_bytes());
}

/// A record that changes an address space.
fn changes(record: TaskRecord) -> Option<TaskRecord> {
    let is_change = matches!(
        record,
        TaskRecord::Exec { .. } | TaskRecord::Fork { .. } | TaskRecord::Map { .. }
    );
    is_change.then_some(record)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "files of the test")]
mod tests {
    use super::*;
    use crate::fields::longs;
    use crate::profile::entries::next_run;
    use crate::sampling::RECORD_MMAP2;
    use crate::stack_copies::{PROGRAM_COUNTER, REGISTERS, STACK_POINTER};

    fn entry(kind: u32, body: &[u8]) -> Vec<u8> {
        [words(&[kind, 2, body.len() as u32]), body.to_vec()].concat()
    }

    fn sample(time_ns: u64, chain: &[u64]) -> Vec<u8> {
        let head = [longs(&[7]), words(&[30, 31]), longs(&[time_ns, chain.len() as u64])].concat();
        [head, longs(chain)].concat()
    }

    /// A run with a sample before its mapping, as from another CPU, and a sample without copies.
    fn run(step: u32) -> Vec<u8> {
        let values = REGISTERS.iter().map(|&(_, number)| match number {
            PROGRAM_COUNTER => 0x1500,
            STACK_POINTER => 0x7000,
            _ => 0x7008,
        });
        let copies = longs(&[&[2], &values.collect::<Vec<u64>>()[..], &[32]].concat());
        let stack = longs(&[0, 0x7008, 0x1600, 0]);
        let map = [words(&[30, 30]), longs(&[0x1000, 0x1000, 0]), vec![0; 24], words(&[5, 2])];
        let id = [words(&[30, 30]), longs(&[5])].concat();
        let body = [map.concat(), b"/no/such\0".to_vec(), vec![0; 7], id].concat();
        [
            entry(RUN_BEGINS, &[words(&[step, 0, 0, 1]), longs(&[1000, 0])].concat()),
            entry(RECORD_SAMPLE, &[sample(9, &[CONTEXT_USER, 0x1500]), copies, stack].concat()),
            entry(RECORD_MMAP2, &body),
            entry(RECORD_SAMPLE, &sample(8, &[CONTEXT_USER, 0x1900])),
            entry(RUN_ENDS, &longs(&[0, 1, 0])),
        ]
        .concat()
    }

    #[test]
    fn ended_runs_are_taken_and_leave_the_file_empty() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        std::fs::write(&from, run(4)).unwrap();
        let mut keeper = ChainKeeper::new(&from, File::create(&to).unwrap()).unwrap();
        keeper.take().unwrap();
        assert_eq!(std::fs::metadata(&from).unwrap().len(), 0);
        // Of the next two runs, one has not ended: it is taken later.
        let both = [run(5), run(6)].concat();
        std::fs::write(&from, &both[..both.len() - 20]).unwrap();
        keeper.take().unwrap();
        std::fs::write(&from, &both).unwrap();
        keeper.take().unwrap();
        assert_eq!(std::fs::metadata(&from).unwrap().len(), 0);
        let kept = std::fs::read(&to).unwrap();
        let mut kept = &kept[..];
        let chain = |chain: &[u64]| TaskRecord::Sample { process: 30, chain: chain.to_vec() };
        for step in [4, 5, 6] {
            let run = next_run(&mut kept).unwrap().unwrap();
            assert_eq!((run.step, run.records.len()), (step, 3));
            let records: Vec<TaskRecord> = run.records.into_iter().map(|(_, it)| it).collect();
            assert_eq!(records[1], chain(&[CONTEXT_USER, 0x1900]));
            assert_eq!(records[2], chain(&[CONTEXT_USER, 0x1500, 0x1600]));
        }
        assert_eq!(next_run(&mut kept).unwrap(), None);
    }

    #[test]
    fn the_programs_part_of_a_chain_is_replaced() {
        let replaced = |chain: &[u64], is_whole| {
            let mut body = sample(9, chain);
            let n = n_own(&body);
            replace_chain(&mut body, &UnwoundChain { addresses: vec![1, 3], is_whole });
            let Some((_, TaskRecord::Sample { chain, .. })) = timed_record(RECORD_SAMPLE, 0, &body)
            else {
                panic!("no sample");
            };
            (n, chain)
        };
        // The kernel's part is kept.
        let kernel = u64::MAX - 127;
        let own = [kernel, 9, CONTEXT_USER, 1, 2, 5];
        assert_eq!(replaced(&own, false), (3, vec![kernel, 9, CONTEXT_USER, 1, 3]));
        let whole = vec![kernel, 9, CONTEXT_USER, 1, 3, CHAIN_IS_WHOLE];
        assert_eq!(replaced(&own, true), (3, whole));
        assert_eq!(replaced(&[kernel, 9], false), (0, vec![kernel, 9, CONTEXT_USER, 1, 3]));
    }
}
