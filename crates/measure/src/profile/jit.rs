//! Functions of just-in-time compilers, by process and address.

use std::collections::{BTreeMap, HashMap};

use crate::jit::JitFunction;
use crate::profile::names::file_name;

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
