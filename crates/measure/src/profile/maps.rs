//! The address spaces of the processes of a run: which file is mapped where, and the functions of just-in-time compilers.

use std::collections::{BTreeMap, HashMap};

use crate::jit::JitFunction;
use crate::profile::names::file_name;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// End of the mapping; its start is the key.
    end: u64,
    /// Offset of the start in the file.
    offset: u64,
    pub file: u32,
}

#[derive(Debug, Default)]
pub struct AddressSpaces {
    of_process: HashMap<u32, BTreeMap<u64, Mapping>>,
}

impl AddressSpaces {
    /// Forgets the mappings of a process that executes another program.
    pub fn exec(&mut self, process: u32) {
        self.of_process.remove(&process);
    }

    /// Gives a new process its parent's mappings.
    pub fn fork(&mut self, process: u32, parent: u32) {
        if let Some(maps) = self.of_process.get(&parent).cloned() {
            self.of_process.insert(process, maps);
        }
    }

    /// Adds a mapping, replacing those that it covers.
    pub fn map(&mut self, process: u32, start: u64, len: u64, offset: u64, file: u32) {
        let end = start.saturating_add(len);
        let maps = self.of_process.entry(process).or_default();
        let covered: Vec<u64> = maps
            .range(..end)
            .rev()
            .take_while(|(_, it)| it.end > start)
            .map(|(&at, _)| at)
            .collect();
        for at in covered {
            let Some(old) = maps.remove(&at) else { continue };
            if old.end > end {
                let rest = Mapping { offset: old.offset + (end - at), ..old };
                maps.insert(end, rest);
            }
            if at < start {
                maps.insert(at, Mapping { end: start, ..old });
            }
        }
        maps.insert(start, Mapping { end, offset, file });
    }

    /// The file at an address, and the offset in it.
    pub fn find(&self, process: u32, address: u64) -> Option<(u32, u64)> {
        let (start, map) = self.of_process.get(&process)?.range(..=address).next_back()?;
        (address < map.end).then(|| (map.file, map.offset + (address - start)))
    }
}

#[derive(Debug, Default)]
pub struct JitMaps {
    of_process: HashMap<u32, BTreeMap<u64, (u64, String)>>,
}

impl JitMaps {
    /// Adds a function, replacing an older one at the same place.
    pub fn add(&mut self, process: u32, function: &JitFunction) {
        let functions = self.of_process.entry(process).or_default();
        functions.insert(function.start, (function.size, name(&function.name)));
    }

    pub fn find(&self, process: u32, address: u64) -> Option<&str> {
        let (start, (size, name)) = self.of_process.get(&process)?.range(..=address).next_back()?;
        (address - start < *size).then_some(name.as_str())
    }
}

/// CPython writes `py::NAME:FILE`. The file's directory is removed, so two releases have the same names.
fn name(text: &str) -> String {
    match text.strip_prefix("py::").and_then(|rest| rest.rsplit_once(':')) {
        Some((function, file)) => format!("py::{function}:{}", file_name(file)),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_found_in_the_newest_mapping() {
        let mut spaces = AddressSpaces::default();
        spaces.map(1, 100, 100, 1000, 7);
        spaces.map(1, 150, 10, 0, 8);
        assert_eq!(spaces.find(1, 149), Some((7, 1049)));
        assert_eq!(spaces.find(1, 150), Some((8, 0)));
        assert_eq!(spaces.find(1, 160), Some((7, 1060)));
        assert_eq!(spaces.find(1, 200), None);
        assert_eq!(spaces.find(1, 99), None);
        assert_eq!(spaces.find(2, 150), None);
    }

    #[test]
    fn a_child_starts_with_the_mappings_of_its_parent_until_it_executes() {
        let mut spaces = AddressSpaces::default();
        spaces.map(1, 100, 100, 0, 7);
        spaces.fork(2, 1);
        assert_eq!(spaces.find(2, 100), Some((7, 0)));
        spaces.exec(2);
        assert_eq!(spaces.find(2, 100), None);
        assert_eq!(spaces.find(1, 100), Some((7, 0)));
    }

    #[test]
    fn an_address_has_the_newest_function_there() {
        let mut maps = JitMaps::default();
        for (start, size, name) in [
            (0x7f00, 16, "py::work:/srv/app/job.py"),
            (0x7f20, 8, "x"),
            (0x7f00, 16, "py::later:/b/job.py"),
        ] {
            maps.add(5, &JitFunction { start, size, name: name.into() });
        }
        assert_eq!(maps.find(5, 0x7f0f), Some("py::later:job.py"));
        assert_eq!(maps.find(5, 0x7f10), None);
        assert_eq!(maps.find(5, 0x7f27), Some("x"));
        assert_eq!(maps.find(5, 0), None);
        assert_eq!(maps.find(6, 0x7f0f), None);
    }
}
