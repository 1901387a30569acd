//! The kernel's tracepoints, as tracefs describes them (Documentation/trace/events.rst).

use std::io;

use serde::{Deserialize, Serialize};

use crate::{Host, sys};

/// Folders of events, where tracefs may be mounted.
pub const EVENT_FOLDERS: [&str; 2] =
    ["sys/kernel/tracing/events", "sys/kernel/debug/tracing/events"];

/// The file `format` of an event.
#[derive(Clone, Debug)]
pub struct EventFormat {
    text: String,
}

impl EventFormat {
    /// Reads the format of an event, for example `sched/sched_switch`.
    pub fn read(host: &Host, events: &str, name: &str) -> Option<Self> {
        Some(Self { text: host.read(format!("{events}/{name}/format"))? })
    }

    /// Number of the event.
    pub fn id(&self) -> Option<u64> {
        self.text.lines().find_map(|line| line.strip_prefix("ID: "))?.trim().parse().ok()
    }

    /// Offset of a field: `field:pid_t next_pid; offset:56; size:4; signed:1;`.
    pub fn offset(&self, name: &str) -> Option<usize> {
        self.text.lines().find_map(|line| {
            let (declared, rest) = line.trim().strip_prefix("field:")?.split_once(';')?;
            let declared = declared.split('[').next()?.split_ascii_whitespace().next_back()?;
            let offset = rest.trim().strip_prefix("offset:")?.split(';').next()?.parse().ok()?;
            (declared == name).then_some(offset)
        })
    }
}

/// The tracepoint at which a task becomes ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WakeTracepoint {
    pub id: u64,
    /// Offset of the task's number in the data.
    pub thread_at: usize,
}

pub fn wake_tracepoint(host: &Host) -> Option<WakeTracepoint> {
    let format = event_format(host, "sched/sched_waking")?;
    Some(WakeTracepoint { id: format.id()?, thread_at: format.offset("pid")? })
}

/// Number of the event at the start of each system call.
pub fn system_call_tracepoint(host: &Host) -> Option<u64> {
    event_format(host, "raw_syscalls/sys_enter")?.id()
}

fn event_format(host: &Host, name: &'static str) -> Option<EventFormat> {
    let find = move |host: &Host| {
        EVENT_FOLDERS.iter().find_map(|events| EventFormat::read(host, events, name))
    };
    with_tracefs(host, find).ok().flatten()
}

/// Reads tracefs. If that finds nothing, one thread mounts it for itself alone, and reads again. Errors: tracefs is not
/// mounted where it belongs, and cannot be mounted.
pub fn with_tracefs<T: Send + 'static>(
    host: &Host,
    read: impl Fn(&Host) -> Option<T> + Send + 'static,
) -> io::Result<Option<T>> {
    if let Some(found) = read(host) {
        return Ok(Some(found));
    }
    let host = host.clone();
    let mount = move || {
        sys::mount_tracefs_for_this_thread()?;
        Ok(read(&host))
    };
    // Nothing is timed yet, and the thread ends here.
    std::thread::Builder::new().spawn(mount)?.join().unwrap_or(Ok(None))
}
