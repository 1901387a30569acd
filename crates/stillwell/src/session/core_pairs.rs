//! CPUs that slow each other: measured once after each boot, and kept.

use std::io;
use std::path::Path;

use host::user_files::replace;
use host::{CorePairs, Host, look, open_regular, pairs_to_measure, read_cpu_table};
use measure::noise::core_pairs::measure_core_pairs;
use record::cores_path;

/// Pairs of CPUs that share a core although the machine does not report it.
pub fn hidden_siblings(host: &Host) -> Vec<[usize; 2]> {
    core_pairs(host).map(|pairs| pairs.siblings()).unwrap_or_default()
}

/// How much CPUs slow each other, measured since the boot or now. `None` without a pair to measure, and on hardware,
/// which reports the threads of a core.
pub fn core_pairs(host: &Host) -> Option<CorePairs> {
    if !host.is_this_machine() || look(host).facts.virtualisation.is_none() {
        return None;
    }
    if pairs_to_measure(&read_cpu_table(host, None)).is_empty() {
        return None;
    }
    // Without a place to keep them, they are measured in each session.
    let path = cores_path().ok();
    let kept = path.as_deref().and_then(read).filter(|pairs| pairs.hold_for(host));
    if kept.is_some() {
        return kept;
    }
    let pairs = measure_core_pairs(host)?;
    if let Some(path) = path.filter(|_| pairs.busy.is_empty()) {
        write(&path, &pairs).ok();
    }
    Some(pairs)
}

fn read(path: &Path) -> Option<CorePairs> {
    serde_json::from_str(&io::read_to_string(open_regular(path).ok()?).ok()?).ok()
}

/// Replaces the whole file: another process may be reading.
fn write(path: &Path, pairs: &CorePairs) -> io::Result<()> {
    replace(path, 0o600, &serde_json::to_vec(pairs)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::{CorePair, expand};

    #[test]
    fn what_was_kept_holds_until_the_next_boot() {
        let machine = |boot: &str| {
            let boot = format!("proc/sys/kernel/random/boot_id = {boot}");
            expand(&format!("sys/devices/system/cpu/online = 0-1\n{boot}\n"))
        };
        let (_directory, host) = machine("one");
        let pair = CorePair { cpus: [0, 1], slowdown: 1.5, interval: [1.4, 1.6] };
        let pairs = CorePairs { pairs: vec![pair], ..CorePairs::empty(&host) };
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cores.json");
        write(&path, &pairs).unwrap();
        assert_eq!(read(&path), Some(pairs.clone()));
        assert!(pairs.hold_for(&host));
        assert!(!pairs.hold_for(&machine("two").1));
        replace(&path, 0o600, b"{\"boot_id\": 1}").unwrap();
        assert_eq!(read(&path), None);
    }

    #[test]
    fn a_machine_of_files_is_not_measured() {
        let (_directory, host) = expand("sys/devices/system/cpu/online = 0-3\n");
        assert_eq!(core_pairs(&host), None);
    }
}
