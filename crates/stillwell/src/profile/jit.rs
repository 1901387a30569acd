//! Functions of just-in-time compilers: `/tmp/perf-PID.map`, a line for each with start, size and name
//! (tools/perf/Documentation/jit-interface.txt in the kernel's sources). CPython writes it with `-X perf`.

use std::collections::HashMap;

use crate::profile::symbols::read_small_file;

/// Largest file that is read.
const BYTES_MAX: u64 = 64 << 20;

/// The maps of all processes that were asked for.
#[derive(Debug, Default)]
pub struct JitMaps {
    of_process: HashMap<u32, Vec<JitFunction>>,
}

/// A function of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
struct JitFunction {
    start: u64,
    size: u64,
    name: String,
}

impl JitMaps {
    /// The function at an address of a process.
    pub fn find(&mut self, process: u32, address: u64) -> Option<&str> {
        let read = || {
            read_small_file(&format!("/tmp/perf-{process}.map"), BYTES_MAX)
                .map(|text| functions(&text))
                .unwrap_or_default()
        };
        let functions = self.of_process.entry(process).or_insert_with(read);
        let at = functions.partition_point(|function| function.start <= address);
        let function = functions.get(at.checked_sub(1)?)?;
        (address - function.start < function.size).then_some(function.name.as_str())
    }
}

/// The functions in the order of their addresses. Code that was moved has several lines; the last one counts.
fn functions(text: &str) -> Vec<JitFunction> {
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    let parse = |line: &str| {
        let mut words = line.splitn(3, ' ');
        let (start, size) = (number(words.next()?)?, number(words.next()?)?);
        Some(JitFunction { start, size, name: name(words.next()?.trim()) })
    };
    let mut found: Vec<JitFunction> = text.lines().rev().filter_map(parse).collect();
    found.sort_by_key(|function| function.start);
    found.dedup_by_key(|function| function.start);
    found
}

/// CPython writes `py::NAME:FILE`. The directory of the file is left out, so that two releases have the same names.
fn name(text: &str) -> String {
    match text.strip_prefix("py::").and_then(|rest| rest.rsplit_once(':')) {
        Some((function, file)) => format!("py::{function}:{}", super::names::file_name(file)),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_names_the_addresses_of_its_functions() {
        let text = "7f00 10 py::work:/srv/app/job.py\nbad line\n7f20 8 Builtin:Add x\n7f00 10 py::later:/b/job.py\n";
        let mut maps = JitMaps::default();
        maps.of_process.insert(5, functions(text));
        assert_eq!(maps.find(5, 0x7f0f), Some("py::later:job.py"));
        assert_eq!(maps.find(5, 0x7f10), None);
        assert_eq!(maps.find(5, 0x7f27), Some("Builtin:Add x"));
        assert_eq!(maps.find(5, 0), None);
    }
}
