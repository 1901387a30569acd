//! Files that wait for an offline CPU: they vanished with it, or cannot name it now.

use crate::Host;
use crate::files::Unread;
use crate::knobs::Format;
use crate::value_format::parse_cpu_mask;
use model::values::read_cpu_list;

const CPU: &str = "sys/devices/system/cpu";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Path below the root.
    pub path: String,
    pub cpus: Vec<usize>,
}

/// The offline CPU of a file that vanishes with its CPU.
pub(super) fn waiting_for(host: &Host, path: &str) -> Option<Waiting> {
    let starts = ["sys/devices/system/cpu/cpu", "sys/devices/system/cpu/cpufreq/policy"];
    let number = |start: &str| path.strip_prefix(start)?.split('/').next()?.parse::<usize>().ok();
    let number = starts.into_iter().find_map(number)?;
    let present = host.read_cpus(format!("{CPU}/present")).unwrap_or_default();
    let is_there = present.contains(&number) || host.exists(format!("{CPU}/cpu{number}"));
    (is_there && !host.online_cpus().contains(&number))
        .then(|| Waiting { path: path.to_owned(), cpus: vec![number] })
}

/// Whether a file has vanished with an offline CPU.
pub fn is_offline(host: &Host, path: &str) -> bool {
    waiting_for(host, path).is_some()
}

impl Host {
    /// Calls `look`, and returns the first existing file that could not be read, with the reason. So a caller that must
    /// not miss anything uses the same functions as others.
    pub(super) fn watched<T>(&self, look: impl FnOnce() -> T) -> (T, Option<Unread>) {
        let outer = self.begin_unread();
        let value = look();
        // The files of an offline CPU may stay, but no read of them succeeds.
        let unread = self.end_unread(outer);
        (value, unread.into_iter().find(|(path, _)| !is_offline(self, path)))
    }
}

/// The CPUs that the kernel omitted from a list because they are offline, although they were online when Stillwell
/// began. Before Linux 6.2 this happens to the masks of tasks.
pub(super) fn left_out(
    host: &Host,
    (path, format): (&str, Format),
    old: &str,
    now: &str,
    online_before: &[usize],
) -> Option<Waiting> {
    let online = host.online_cpus();
    let parse = |text: &str| match format {
        Format::CpuList | Format::Affinity => read_cpu_list(text.trim()),
        Format::CpuMask => parse_cpu_mask(text.trim()).ok(),
        _ => None,
    };
    let (old, now) = (parse(old)?, parse(now)?);
    let is_missing =
        |cpu: &usize| !now.contains(cpu) && !online.contains(cpu) && online_before.contains(cpu);
    let cpus: Vec<usize> = old.into_iter().filter(is_missing).collect();
    (!cpus.is_empty()).then(|| Waiting { path: path.to_owned(), cpus })
}
