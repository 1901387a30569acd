//! The only place that changes the machine: a value into a file of the knob table.
#![expect(clippy::disallowed_methods, reason = "this is where the machine is changed")]

use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::thread::Pid;

use crate::host::Host;
use crate::host::files::{READ_BYTES_MAX, read_capped};
use crate::host::journal::Item;
use crate::host::knobs::{Format, Knob};
use crate::host::processes::{self, Process};
use crate::sys;
use crate::values::read_cpu_list;

/// Long enough for a machine that is busy.
const SETTLE_MS_MAX: u32 = 500;
/// Bytes of a model-specific register (msr(4)).
const REGISTER_BYTES: usize = 8;

impl Host {
    /// The value of a file of a knob, without white space at its end; `None` when it cannot be read.
    pub(super) fn read_knob(&self, format: Format, path: &str) -> Option<String> {
        self.read_original(format, path).map(|text| text.trim_end().to_owned())
    }

    /// What a file of the journal holds now.
    pub fn read_item(&self, item: &Item) -> Option<String> {
        self.read_knob(item.file.format, &item.kept.path)
    }

    /// The same with every byte that was there, so that it can be put back. `None` also for bytes that are no text.
    pub(super) fn read_original(&self, format: Format, path: &str) -> Option<String> {
        match format {
            Format::MsrBit { register, bit } => {
                let value = self.read_register(path, register).ok()?;
                Some((value >> bit & 1).to_string())
            }
            Format::Unit => Some(if self.is_active(path) { "active" } else { "inactive" }.into()),
            Format::Affinity => processes::allowed_cpus(self, path),
            _ => read_capped(&self.below_root(Path::new(path)), READ_BYTES_MAX)
                .filter(|text| !text.contains(char::REPLACEMENT_CHARACTER)),
        }
    }

    /// Whether a file still holds what was written to it, as far as the kernel could take it: before Linux 6.2 it left the
    /// CPUs that are offline out of the mask of a thread (`cpuset_cpus_allowed()` in kernel/cgroup/cpuset.c).
    pub(super) fn is_still(&self, format: Format, written: &str, now: &str) -> bool {
        let online =
            || self.read("sys/devices/system/cpu/online").and_then(|list| read_cpu_list(&list));
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

    /// Waits a moment for something that the kernel does after it has taken a write: limits of the frequency come into force
    /// when its work queue runs (`cpufreq_notifier_max()` in drivers/cpufreq/cpufreq.c).
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

    /// Writes a value. A path that is not of this knob is refused, and so is a symbolic link at any place in it: with
    /// one, a file outside of the root could be meant.
    ///
    /// # Errors
    /// The kernel's answer.
    pub(super) fn write_knob(&self, knob: &Knob, path: &str, value: &str) -> io::Result<()> {
        let Some(file) = knob.file(path) else {
            let why = format!("{path:?} is no file of the knob {:?}", knob.name);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        };
        crate::host::kill::kill_point();
        #[cfg(test)]
        if let Some(kernel) = self.kernel {
            return kernel(self, file.format, path, value);
        }
        self.write_value(file.format, path, value)
    }

    pub(super) fn write_value(&self, format: Format, path: &str, value: &str) -> io::Result<()> {
        match format {
            Format::MsrBit { register, bit } => self.write_register_bit(path, register, bit, value),
            Format::Unit => self.switch_unit(path, value),
            Format::Affinity => self.move_kernel_thread(path, value),
            _ => {
                let flags = OFlags::WRONLY | OFlags::TRUNC;
                // One write: the kernel takes each as a whole value.
                let n = std::fs::File::from(self.open_without_links(path, flags)?)
                    .write(value.as_bytes())?;
                if n == value.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
            }
        }
    }

    /// openat(2) one component at a time, because `O_NOFOLLOW` looks at the last one only and openat2(2) is often
    /// forbidden in containers.
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

    /// Makes a directory that has one of these names.
    pub(super) fn make_directory(&self, path: &str, names: &[&str]) -> io::Result<()> {
        let (parent, name) = self.parent_of(path, names)?;
        match rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes one; that it is not there is no error.
    pub(super) fn remove_directory(&self, path: &str, names: &[&str]) -> io::Result<()> {
        let (parent, name) = self.parent_of(path, names)?;
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

    fn read_register(&self, path: &str, register: u64) -> io::Result<u64> {
        let file = std::fs::File::from(self.open_without_links(path, OFlags::RDONLY)?);
        let mut bytes = [0; REGISTER_BYTES];
        file.read_exact_at(&mut bytes, register)?;
        Ok(u64::from_ne_bytes(bytes))
    }

    /// Only the bit: the others of the register belong to the firmware and the kernel.
    fn write_register_bit(
        &self,
        path: &str,
        register: u64,
        bit: u8,
        value: &str,
    ) -> io::Result<()> {
        let old = self.read_register(path, register)?;
        let new = match value {
            "0" => old & !(1 << bit),
            "1" => old | 1 << bit,
            _ => return Err(io::ErrorKind::InvalidInput.into()),
        };
        let file = std::fs::File::from(self.open_without_links(path, OFlags::WRONLY)?);
        file.write_all_at(&new.to_ne_bytes(), register)
    }

    /// Nothing but a thread of the kernel: the number of one that has ended may have become somebody's.
    fn move_kernel_thread(&self, path: &str, value: &str) -> io::Result<()> {
        let is_it = |pid: &u32| Process::read(self, *pid).is_some_and(|it| it.is_kernel_thread());
        let pid = processes::pid_of(path).filter(is_it);
        let pid = pid.and_then(|pid| Pid::from_raw(pid.cast_signed())).ok_or(Errno::SRCH)?;
        if self.root != Path::new("/") {
            return Err(io::Error::other("threads belong to the machine that is running"));
        }
        sys::bind(Some(pid), &read_cpu_list(value).ok_or(io::ErrorKind::InvalidInput)?)
    }

    /// A service is active as long as it has processes. Version 1 of control groups has systemd's below `systemd`.
    fn is_active(&self, path: &str) -> bool {
        let version_1 = path.replacen("sys/fs/cgroup/", "sys/fs/cgroup/systemd/", 1);
        let has_processes = |path: &str| self.read(format!("{path}/cgroup.procs"));
        [path, &version_1].into_iter().filter_map(has_processes).any(|procs| !procs.is_empty())
    }

    fn switch_unit(&self, path: &str, value: &str) -> io::Result<()> {
        let unit = path.rsplit('/').next().unwrap_or(path);
        let verb = if value == "active" { "start" } else { "stop" };
        if self.root != Path::new("/") {
            return Err(io::Error::other("services belong to the machine that is running"));
        }
        let output = std::process::Command::new("systemctl")
            .args(["--no-ask-password", verb, unit])
            .output()?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(io::Error::other(format!("systemctl {verb} {unit}: {}", said.trim())))
    }
}
