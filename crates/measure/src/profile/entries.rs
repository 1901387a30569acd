//! The file of samples: the launcher's entries around the kernel's records (perf_event_open(2), "MMAP layout").

use std::io::{self, Read};

use crate::counting::{COUNTS_CALLS, OF_CALLS, OF_FAULTS};
use crate::fields::{long, word};
use crate::jit::JitFunction;
use crate::sampling::{
    ENTRY_HEAD_BYTES, MMAP2_PATH, RECORD_MMAP2, RUN_BEGINS, RUN_COMPILED, RUN_ENDS,
};
use crate::switches::{
    COMM_EXEC, RECORD_COMM, RECORD_EXIT, RECORD_FORK, RECORD_SAMPLE, RECORD_SWITCH, SWITCH_OUT,
    SWITCH_OUT_PREEMPT,
};
use crate::waiting::OF_WAITING;

/// Longest body of an entry: the kernel's records have a length of u16.
const BODY_BYTES_MAX: usize = 1 << 16;
/// Bytes that `sample_id_all` appends to a record other than a sample: process, thread (u32 each), time (u64).
const ID_BYTES: usize = 16;

/// A record of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskRecord {
    /// A file is mapped from this offset on.
    Map { process: u32, start: u64, len: u64, offset: u64, path: String },
    /// A process executed a program: its mappings are gone.
    Exec { process: u32 },
    /// A process with a copy of the address space of its parent.
    Fork { process: u32, parent: u32 },
    /// A task begins.
    NewTask { process: u32, thread: u32 },
    /// A task ended.
    Ended { thread: u32 },
    /// A task continues.
    Continues { thread: u32 },
    /// A task is taken off the CPU. The chain before this record shows where. `is_preempted`: it could go on.
    Stops { thread: u32, is_preempted: bool },
    /// The call chain of a task that is about to be taken off the CPU.
    Leaves { process: u32, thread: u32, chain: Vec<u64> },
    /// A sample: return addresses, the innermost first, with the kernel's marks between.
    Sample { process: u32, chain: Vec<u64> },
    /// A counted event and its call chain.
    Counted { process: u32, what: CountedEvent, chain: Vec<u64> },
}

/// A counted event beside time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedEvent {
    PageFault,
    SystemCall(u64),
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct SampledRun {
    pub step: u32,
    pub arm: u32,
    pub block: u32,
    pub has_kernel: bool,
    /// Whether all waits were seen.
    pub sees_waits: bool,
    /// CPU time between two samples, ns; 0 if the run was not sampled.
    pub period_ns: u64,
    pub n_lost: u64,
    /// One in so many events is counted; 0 if none is.
    pub counted_every: u64,
    /// Whether system calls are counted. Page faults always are.
    pub counts_calls: bool,
    /// Huge pages given to any program of the machine; `None` if they are not counted.
    pub n_huge_pages: Option<u64>,
    pub n_uncounted: u64,
    /// The records with their times, ns, in order.
    pub records: Vec<(u64, TaskRecord)>,
    /// Functions compiled at run time, each with its process.
    pub compiled: Vec<(u32, JitFunction)>,
}

/// Reads the next run; `None` at the end of the file. A run without an end, after a kill, is left out. Errors: the file
/// cannot be read, or is no list of entries.
pub fn next_run(from: &mut impl Read) -> io::Result<Option<SampledRun>> {
    let mut run = SampledRun::default();
    while let Some((kind, misc, body)) = next_entry(from)? {
        match kind {
            RUN_BEGINS => run = begun(&body).ok_or_else(damaged)?,
            RUN_ENDS => {
                run.n_lost = long(&body, 0).ok_or_else(damaged)?;
                run.sees_waits = long(&body, 8).ok_or_else(damaged)? != 0;
                run.n_uncounted = long(&body, 16).ok_or_else(damaged)?;
                run.n_huge_pages = long(&body, 24).filter(|&n| n != u64::MAX);
                // Each CPU has its own buffer. A stable sort keeps the order of simultaneous records.
                run.records.sort_by_key(|(time_ns, _)| *time_ns);
                return Ok(Some(run));
            }
            RUN_COMPILED => run.compiled.push(compiled(&body).ok_or_else(damaged)?),
            _ => run.records.extend(timed_record(kind, misc, &body)),
        }
    }
    Ok(None)
}

/// A record of the kernel with its time; `None` for an entry of the launcher, and for other records.
pub fn timed_record(kind: u32, misc: u16, body: &[u8]) -> Option<(u64, TaskRecord)> {
    match kind {
        RUN_BEGINS..=RUN_COMPILED => None,
        OF_FAULTS.. => counted(kind, body),
        OF_WAITING.. => waiting_record(kind - OF_WAITING, misc, body),
        _ => record(kind, misc, body),
    }
}

/// Reads the next entry: kind, flags of the kernel's record, body. `None` at the end of the file. Errors: the file
/// cannot be read, or is no list of entries.
pub fn next_entry(from: &mut impl Read) -> io::Result<Option<(u32, u16, Vec<u8>)>> {
    let mut head = [0; ENTRY_HEAD_BYTES];
    if !is_filled(from, &mut head)? {
        return Ok(None);
    }
    let number = |at: usize| word(&head, at).unwrap_or_default();
    let n_bytes = number(8) as usize;
    if n_bytes > BODY_BYTES_MAX {
        return Err(damaged());
    }
    let mut body = vec![0; n_bytes];
    let misc = u16::try_from(number(4)).map_err(|_| damaged())?;
    Ok(is_filled(from, &mut body)?.then_some((number(0), misc, body)))
}

/// Fills the buffer; `false` if the file ends before.
fn is_filled(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the file of samples is damaged")
}

fn begun(body: &[u8]) -> Option<SampledRun> {
    let flags = word(body, 12)?;
    Some(SampledRun {
        step: word(body, 0)?,
        arm: word(body, 4)?,
        block: word(body, 8)?,
        has_kernel: flags & 1 != 0,
        period_ns: long(body, 16)?,
        counted_every: long(body, 24)?,
        counts_calls: flags & COUNTS_CALLS != 0,
        ..SampledRun::default()
    })
}

fn compiled(body: &[u8]) -> Option<(u32, JitFunction)> {
    let name = String::from_utf8_lossy(body.get(20..)?).into_owned();
    Some((word(body, 0)?, JitFunction { start: long(body, 4)?, size: long(body, 12)?, name }))
}

/// A record with its time; `None` for other kinds, and if it is too short.
fn record(kind: u32, misc: u16, body: &[u8]) -> Option<(u64, TaskRecord)> {
    if kind == RECORD_SAMPLE {
        let (time_ns, process, chain) = sample(body)?;
        return Some((time_ns, TaskRecord::Sample { process, chain }));
    }
    let time_ns = long(body, body.len().checked_sub(8)?)?;
    let record = match kind {
        RECORD_MMAP2 => map(body)?,
        RECORD_COMM if misc & COMM_EXEC != 0 => TaskRecord::Exec { process: word(body, 0)? },
        // Process, parent, thread, the thread's parent. A new thread is in the same process.
        RECORD_FORK => {
            let (process, parent, thread) = (word(body, 0)?, word(body, 4)?, word(body, 8)?);
            match process == parent {
                true => TaskRecord::NewTask { process, thread },
                false => TaskRecord::Fork { process, parent },
            }
        }
        RECORD_EXIT => TaskRecord::Ended { thread: word(body, 8)? },
        _ => return None,
    };
    Some((time_ns, record))
}

/// A record of the events that watch waits, with its time.
fn waiting_record(kind: u32, misc: u16, body: &[u8]) -> Option<(u64, TaskRecord)> {
    match kind {
        RECORD_SAMPLE => {
            let thread = word(body, 12)?;
            let (time_ns, process, chain) = sample(body)?;
            Some((time_ns, TaskRecord::Leaves { process, thread, chain }))
        }
        RECORD_SWITCH => {
            let (thread, time_ns) = (word(body, 4)?, long(body, 8)?);
            let is_preempted = misc & SWITCH_OUT_PREEMPT != 0;
            let record = match misc & SWITCH_OUT != 0 {
                true => TaskRecord::Stops { thread, is_preempted },
                false => TaskRecord::Continues { thread },
            };
            Some((time_ns, record))
        }
        _ => None,
    }
}

/// A counted event with its time. For a system call, the chain is followed by the length of the tracepoint's data (u32)
/// and the data, with the number of the call after the 8 common bytes (events/raw_syscalls/sys_enter/format in
/// tracefs).
fn counted(kind: u32, body: &[u8]) -> Option<(u64, TaskRecord)> {
    let (time_ns, process, chain) = sample(body)?;
    let what = match kind.checked_sub(OF_CALLS) {
        None => CountedEvent::PageFault,
        Some(_) => {
            let n_bytes = usize::try_from(long(body, 24)?).ok()?.checked_mul(8)?;
            CountedEvent::SystemCall(long(body, n_bytes.checked_add(32 + 4 + 8)?)?)
        }
    };
    Some((time_ns, TaskRecord::Counted { process, what, chain }))
}

/// Time, process and call chain of a sample: address (u64), process, thread (u32 each), time, number of addresses (u64
/// each), the addresses.
fn sample(body: &[u8]) -> Option<(u64, u32, Vec<u64>)> {
    let (ip, process, time_ns) = (long(body, 0)?, word(body, 8)?, long(body, 16)?);
    let n = usize::try_from(long(body, 24)?).ok()?;
    let addresses = body.get(32..)?.chunks_exact(8).take(n);
    let mut chain: Vec<u64> = addresses.filter_map(|bytes| long(bytes, 0)).collect();
    if chain.is_empty() {
        chain.push(ip);
    }
    Some((time_ns, process, chain))
}

/// Process, thread (u32 each), address, length, offset (u64 each), 24 bytes that name the file, protection, flags (u32
/// each), the path with a NUL.
fn map(body: &[u8]) -> Option<TaskRecord> {
    let path = body.get(MMAP2_PATH..body.len().checked_sub(ID_BYTES)?)?;
    let path = path.split(|&byte| byte == 0).next()?;
    Some(TaskRecord::Map {
        process: word(body, 0)?,
        start: long(body, 8)?,
        len: long(body, 16)?,
        offset: long(body, 24)?,
        path: String::from_utf8_lossy(path).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::{longs, words};

    fn entry(kind: u32, misc: u32, body: &[u8]) -> Vec<u8> {
        [words(&[kind, misc, body.len() as u32]), body.to_vec()].concat()
    }

    fn begin() -> Vec<u8> {
        entry(RUN_BEGINS, 0, &[words(&[4, 1, 2, 1 + COUNTS_CALLS]), longs(&[250_000, 16])].concat())
    }

    fn sample_of(time_ns: u64, chain: &[u64]) -> Vec<u8> {
        let body = [longs(&[7]), words(&[30, 31]), longs(&[time_ns, chain.len() as u64])].concat();
        entry(RECORD_SAMPLE, 2, &[body, longs(chain)].concat())
    }

    fn end() -> Vec<u8> {
        entry(RUN_ENDS, 0, &longs(&[3, 1, 5, 7]))
    }

    #[test]
    fn a_run_has_its_records_in_the_order_of_time() {
        let id = [words(&[30, 30]), longs(&[5])].concat();
        let map = [
            [words(&[30, 30]), longs(&[0x1000, 0x2000, 0x40])].concat(),
            vec![0; 24],
            words(&[5, 2]),
            b"/bin/a\0\0".to_vec(),
            id.clone(),
        ];
        let comm = [words(&[30, 30]), b"a\0\0\0\0\0\0\0".to_vec(), id].concat();
        let fork = [words(&[40, 30, 40, 30]), longs(&[8]), words(&[40, 40]), longs(&[8])].concat();
        let thread = [words(&[30, 30, 41, 30]), longs(&[8]), words(&[30, 41]), longs(&[8])];
        let leaving = [longs(&[7]), words(&[30, 31]), longs(&[11, 1, 9])];
        let file = [
            begin(),
            sample_of(9, &[1, 2]),
            entry(RECORD_FORK, 0, &fork),
            entry(RECORD_FORK, 0, &thread.concat()),
            // A new name alone is not an exec.
            entry(RECORD_COMM, 0, &comm),
            entry(RECORD_COMM, COMM_EXEC.into(), &comm),
            entry(RECORD_MMAP2, 0, &map.concat()),
            entry(77, 0, &[0; 40]),
            sample_of(10, &[]),
            entry(OF_WAITING + RECORD_SAMPLE, 2, &leaving.concat()),
            entry(
                OF_WAITING + RECORD_SWITCH,
                SWITCH_OUT.into(),
                &[words(&[30, 31]), longs(&[11])].concat(),
            ),
            entry(OF_WAITING + RECORD_SWITCH, 0, &[words(&[30, 31]), longs(&[12])].concat()),
            entry(RUN_COMPILED, 0, &[words(&[30]), longs(&[0x5000, 16]), b"f".to_vec()].concat()),
            end(),
        ];
        let run = next_run(&mut &file.concat()[..]).unwrap().unwrap();
        let path = "/bin/a".to_owned();
        let compiled = JitFunction { start: 0x5000, size: 16, name: "f".into() };
        assert_eq!(run.compiled, [(30, compiled)]);
        assert_eq!((run.step, run.arm, run.block, run.has_kernel), (4, 1, 2, true));
        assert_eq!((run.period_ns, run.n_lost, run.sees_waits), (250_000, 3, true));
        let records: Vec<TaskRecord> = run.records.into_iter().map(|(_, it)| it).collect();
        assert_eq!(
            records,
            [
                TaskRecord::Exec { process: 30 },
                TaskRecord::Map { process: 30, start: 0x1000, len: 0x2000, offset: 0x40, path },
                TaskRecord::Fork { process: 40, parent: 30 },
                TaskRecord::NewTask { process: 30, thread: 41 },
                TaskRecord::Sample { process: 30, chain: vec![1, 2] },
                TaskRecord::Sample { process: 30, chain: vec![7] },
                TaskRecord::Leaves { process: 30, thread: 31, chain: vec![9] },
                TaskRecord::Stops { thread: 31, is_preempted: false },
                TaskRecord::Continues { thread: 31 },
            ]
        );
    }

    #[test]
    fn page_faults_and_system_calls_are_counted() {
        let event = |time_ns| [longs(&[7]), words(&[30, 31]), longs(&[time_ns, 1, 5])].concat();
        let call = [event(14), words(&[60, 0, 0]), longs(&[39])].concat();
        let faults = entry(OF_FAULTS + RECORD_SAMPLE, 2, &event(13));
        let calls = entry(OF_CALLS + RECORD_SAMPLE, 2, &call);
        let run = next_run(&mut &[begin(), faults, calls, end()].concat()[..]).unwrap().unwrap();
        assert_eq!((run.counted_every, run.counts_calls, run.n_uncounted), (16, true, 5));
        assert_eq!(run.n_huge_pages, Some(7));
        let counted = |what| TaskRecord::Counted { process: 30, what, chain: vec![5] };
        let [fault, call] = [CountedEvent::PageFault, CountedEvent::SystemCall(39)].map(counted);
        assert_eq!(run.records, [(13, fault), (14, call)]);
    }

    #[test]
    fn a_file_that_was_cut_has_the_whole_runs() {
        let file = [begin(), sample_of(9, &[1]), end(), begin(), sample_of(9, &[1])].concat();
        let mut rest = &file[..];
        assert!(next_run(&mut rest).unwrap().is_some());
        assert!(next_run(&mut rest).unwrap().is_none());
        for n in 0..file.len() {
            next_run(&mut &file[..n]).unwrap();
        }
    }

    #[test]
    fn damage_is_an_error_and_not_a_huge_allocation() {
        let file = words(&[u32::MAX; 3]);
        assert_eq!(next_run(&mut &file[..]).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
