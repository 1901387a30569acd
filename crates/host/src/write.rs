//! The only module that changes the machine: it writes values to files of the knob table.
#![expect(clippy::disallowed_methods, reason = "this is where the machine is changed")]

use std::io::{self, Write as _};
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::thread::Pid;

use crate::files::{READ_BYTES_MAX, is_gone};
use crate::journal::Item;
use crate::knobs::{Format, Knob};
use crate::mounts::{self, Mount};
use crate::processes::{self, Process};
use crate::{Host, fault, sys};
use model::values::read_cpu_list;

/// Enough time for a busy machine. The imitation of the kernel in tests takes none.
const SETTLE_MS_MAX: u32 = if cfg!(test) { 2 } else { 500 };

impl Host {
    /// Reads a file of a knob, without trailing white space. `None` if it cannot be read.
    pub(super) fn read_knob(&self, format: Format, path: &str) -> Option<String> {
        self.try_read_knob(format, path).ok()
    }

    /// Reads a file of a knob, without trailing white space. Errors: see `Host::read_original`.
    pub(super) fn try_read_knob(&self, format: Format, path: &str) -> io::Result<String> {
        self.read_original(format, path).map(|text| text.trim_end().to_owned())
    }

    /// Reads the current content of a file in the journal. Errors: see `Host::read_original`.
    pub fn read_item(&self, item: &Item) -> io::Result<String> {
        self.try_read_knob(item.file.format, &item.kept.path)
    }

    /// Reads a file of a knob with every byte, for the restoration. Errors: the kernel's error, or the bytes are not
    /// text.
    pub(super) fn read_original(&self, format: Format, path: &str) -> io::Result<String> {
        match format {
            Format::Timer => self.timer_state(path),
            Format::Unit => Ok(if self.try_active(path)? { "active" } else { "inactive" }.into()),
            Format::Affinity => processes::try_allowed_cpus(self, path),
            Format::RequestedMask => {
                let requested = format!("{path}_requested");
                let path = if self.try_exists(requested.as_ref())? { &requested } else { path };
                self.read_original(Format::CpuMask, path)
            }
            _ => {
                let text = self.try_read(path.as_ref(), READ_BYTES_MAX)?;
                let is_text = !text.contains(char::REPLACEMENT_CHARACTER);
                if is_text { Ok(text) } else { Err(io::ErrorKind::InvalidData.into()) }
            }
        }
    }

    /// Whether a file still holds the written value, as far as the kernel could take it. Before Linux 6.2 the kernel
    /// removed offline CPUs from the mask of a thread (`cpuset_cpus_allowed()` in kernel/cgroup/cpuset.c).
    pub(super) fn is_still(&self, format: Format, written: &str, now: &str) -> bool {
        let online = || self.read_cpus("sys/devices/system/cpu/online");
        let is_same_online = || {
            let (online, mut written, mut now) =
                (online()?, read_cpu_list(written)?, read_cpu_list(now)?);
            written.retain(|cpu| online.contains(cpu));
            now.retain(|cpu| online.contains(cpu));
            Some(written == now)
        };
        format.is_still(written, now)
            || (format == Format::Affinity && is_same_online().unwrap_or(false))
    }

    /// Waits briefly for a delayed effect of a write. Frequency limits take effect when the kernel's work queue runs
    /// (`cpufreq_notifier_max()` in drivers/cpufreq/cpufreq.c).
    pub(super) fn wait_until(&self, is_so: impl Fn() -> bool) {
        for _ in 0..SETTLE_MS_MAX {
            if is_so() {
                return;
            }
            #[cfg(test)]
            if let Some(moment) = self.moment {
                moment(self);
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    /// Writes a value. It refuses a path that does not belong to this knob, and a symbolic link anywhere in the path,
    /// which could lead outside of the root.
    pub(super) fn write_knob(&self, knob: &Knob, path: &str, value: &str) -> io::Result<()> {
        let Some(file) = knob.file(path) else {
            let why = format!("{path:?} is no file of the knob {:?}", knob.name);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        };
        #[cfg(test)]
        if let Some(kernel) = self.kernel {
            return fault::by_kernel(path, || kernel(self, file.format, path, value));
        }
        self.write_value(file.format, path, value)
    }

    pub(super) fn write_value(&self, format: Format, path: &str, value: &str) -> io::Result<()> {
        fault::changes(path)?;
        match format {
            Format::Timer => self.switch_timer(path, value),
            Format::Unit => self.switch(path.rsplit('/').next().unwrap_or(path), value),
            Format::Affinity => self.move_kernel_thread(path, value),
            _ => {
                let flags = OFlags::WRONLY | OFlags::TRUNC;
                // Write once: the kernel takes each write as a whole value.
                let n = std::fs::File::from(self.open_without_links(path, flags)?)
                    .write(value.as_bytes())?;
                if n == value.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
            }
        }
    }

    /// Opens one component at a time with openat(2). `O_NOFOLLOW` checks only the last component, and containers often
    /// forbid openat2(2).
    fn open_without_links(&self, path: &str, flags: OFlags) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut at = openat(CWD, &self.root, directory, Mode::empty())?;
        let (parents, name) = path.rsplit_once('/').unwrap_or(("", path));
        for parent in parents.split('/').filter(|parent| !parent.is_empty()) {
            at = openat(&at, parent, directory | OFlags::NOFOLLOW, Mode::empty())?;
        }
        Ok(openat(&at, name, flags, Mode::empty())?)
    }

    /// Writes another program's set of CPUs, to put back what the kernel took from it.
    pub(super) fn write_set(&self, path: &str, value: &str) -> io::Result<()> {
        let names = ["cpuset.cpus", "cpus", "tasks", "cpuset.cpus.partition"];
        let is_group = |mount: &Mount| {
            let rest = path.strip_prefix(mount.relative_point());
            mount.fs_type.starts_with("cgroup") && rest.is_some_and(|rest| rest.starts_with('/'))
        };
        let is_named = path.rsplit('/').next().is_some_and(|name| names.contains(&name));
        let is_plain = path.split('/').all(|part| !matches!(part, "" | "." | ".."));
        if !is_named || !is_plain || !mounts::read(self).iter().any(is_group) {
            let why = format!("{path:?} is no file of a set of CPUs");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        self.write_value(Format::Word, path, value)
    }

    /// Makes a directory, if it has one of these names.
    pub(super) fn make_directory(&self, path: &str, names: &[&str]) -> io::Result<()> {
        let (parent, name) = self.parent_of(path, names)?;
        fault::changes(path)?;
        match rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes such a directory. A missing directory is no error.
    pub(super) fn remove_directory(&self, path: &str, names: &[&str]) -> io::Result<()> {
        let (parent, name) = self.parent_of(path, names)?;
        fault::changes(path)?;
        match rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn parent_of<'a>(&self, path: &'a str, names: &[&str]) -> io::Result<(OwnedFd, &'a str)> {
        let (parent, name) = path.rsplit_once('/').ok_or(io::ErrorKind::InvalidInput)?;
        if !names.contains(&name) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok((self.open_without_links(parent, OFlags::PATH | OFlags::DIRECTORY)?, name))
    }

    /// Moves only kernel threads. The kernel may have given an ended thread's id to a user's process.
    fn move_kernel_thread(&self, path: &str, value: &str) -> io::Result<()> {
        let is_it = |pid: &u32| Process::read(self, *pid).is_some_and(|it| it.is_kernel_thread());
        let pid = processes::pid_of(path).filter(is_it);
        let pid = pid.and_then(|pid| Pid::from_raw(pid.cast_signed())).ok_or(Errno::SRCH)?;
        if !self.is_this_machine() {
            return Err(io::Error::other("threads belong to the machine that is running"));
        }
        sys::bind(Some(pid), &read_cpu_list(value).ok_or(io::ErrorKind::InvalidInput)?)
    }

    /// Whether a service is active: it is while it has processes. Version 1 of control groups has systemd's groups
    /// below `systemd`.
    pub(super) fn is_active(&self, path: &str) -> bool {
        self.try_active(path).unwrap_or(false)
    }

    /// Whether a service is active.
    fn try_active(&self, path: &str) -> io::Result<bool> {
        let version_1 = path.replacen("sys/fs/cgroup/", "sys/fs/cgroup/systemd/", 1);
        for group in [path, &version_1] {
            match self.try_read(format!("{group}/cgroup.procs").as_ref(), READ_BYTES_MAX) {
                Ok(procs) if !procs.trim_end().is_empty() => return Ok(true),
                Err(error) if !is_gone(&error) => return Err(error),
                _ => {}
            }
        }
        Ok(false)
    }
}
