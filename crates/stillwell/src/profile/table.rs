//! The functions and call chains of a profile, each once.

use std::collections::HashMap;
use std::path::Path;

use crate::profile::jit::JitMaps;
use crate::profile::maps::AddressSpaces;
use crate::profile::names::file_name;
use crate::profile::saved::{Origin, ProfiledFunction};
use crate::profile::symbols::SymbolTable;

/// Addresses above this are marks in a call chain: `PERF_CONTEXT_MAX` (perf_event_open(2)).
const CONTEXT_MAX: u64 = -4095_i64 as u64;
/// `PERF_CONTEXT_KERNEL`: the kernel's addresses follow.
const CONTEXT_KERNEL: u64 = -128_i64 as u64;
/// Functions at which a whole call chain starts: of C and its threads, the dynamic linker, goroutines and Go's own stacks.
const ROOTS: [&str; 13] = [
    "_start",
    "main",
    "__libc_start_main",
    "__libc_start_call_main",
    "start_thread",
    "clone",
    "clone3",
    "_dl_start_user",
    "runtime.goexit",
    "runtime.rt0_go",
    "runtime.mstart",
    "runtime.mcall",
    "runtime.morestack",
];
/// What Go's linker puts behind the name of a function in assembler.
const GO_ASSEMBLER: &str = ".abi0";

/// Gives each function and each chain a number.
#[derive(Debug, Default)]
pub struct FunctionTable {
    pub functions: Vec<ProfiledFunction>,
    pub stacks: Vec<Vec<u32>>,
    /// Samples of programs, and those whose chain reaches the start of the program or of a thread.
    pub n_user: u64,
    pub n_whole: u64,
    /// The file of the own program of each arm, without its directory.
    own: Vec<String>,
    by_name: HashMap<(String, Origin), u32>,
    by_stack: HashMap<Vec<u32>, u32>,
    by_place: HashMap<(u32, u64), u32>,
    files: Vec<(String, Option<SymbolTable>)>,
    by_path: HashMap<String, u32>,
    kernel: Option<SymbolTable>,
    by_kernel_address: HashMap<u64, u32>,
    /// The compiled functions of the run whose samples come next.
    pub jit: JitMaps,
}

impl FunctionTable {
    /// A table for arms with these programs.
    pub fn new(programs: &[&str]) -> Self {
        let own = programs.iter().map(|program| file_name(program).into_owned()).collect();
        Self { own, ..Self::default() }
    }

    /// The number of a mapped file.
    pub fn file(&mut self, path: &str) -> u32 {
        if let Some(&number) = self.by_path.get(path) {
            return number;
        }
        let number = self.files.len() as u32;
        self.files.push((path.into(), None));
        self.by_path.insert(path.into(), number);
        number
    }

    /// The number of the call chain of a sample; `None` without an address.
    pub fn stack(&mut self, spaces: &AddressSpaces, process: u32, chain: &[u64]) -> Option<u32> {
        let mut frames = Vec::new();
        let mut is_kernel = false;
        let mut is_user_leaf = true;
        for (at, &address) in chain.iter().enumerate() {
            if address >= CONTEXT_MAX {
                is_kernel = address == CONTEXT_KERNEL;
                continue;
            }
            // All but the innermost are return addresses, behind the call.
            let is_leaf = frames.is_empty();
            let address = if is_leaf { address } else { address.saturating_sub(1) };
            if is_kernel {
                frames.push(self.kernel_function(address));
                is_user_leaf = false;
                continue;
            }
            match self.user_function(spaces, process, address) {
                Some(function) => frames.push(function),
                // A program without frame pointers leaves other numbers in the chain, which is no address of code.
                None if is_leaf => {
                    frames.push(self.function("[unknown]".into(), "", Origin::Unnamed))
                }
                None => break,
            }
            // A loop in a broken chain would never end.
            if at > 0 && frames.len() > 200 {
                break;
            }
        }
        let root = *frames.last()?;
        if is_user_leaf {
            self.n_user += 1;
            let name = self.functions[root as usize].name.as_str();
            let is_root = ROOTS.contains(&name.strip_suffix(GO_ASSEMBLER).unwrap_or(name));
            self.n_whole += u64::from(is_root);
        }
        frames.reverse();
        let next = self.stacks.len() as u32;
        let number = *self.by_stack.entry(frames.clone()).or_insert(next);
        if number == next {
            self.stacks.push(frames);
        }
        Some(number)
    }

    fn user_function(&mut self, spaces: &AddressSpaces, process: u32, address: u64) -> Option<u32> {
        let (file, offset) = spaces.find(process, address)?;
        let path = self.files[file as usize].0.clone();
        if !path.starts_with('/') || path.starts_with("//anon") || path.starts_with("/dev/") {
            // Compiled at run time, or a part that the kernel gives, such as [vdso].
            let jit = self.jit.find(process, address).map(str::to_owned);
            return Some(match jit {
                Some(name) => self.function(name, "", Origin::User),
                None if path.starts_with('[') => self.function(path, "", Origin::Unnamed),
                None => self.function("[compiled at run time]".into(), "", Origin::Unnamed),
            });
        }
        if let Some(&known) = self.by_place.get(&(file, offset)) {
            return Some(known);
        }
        let table = &mut self.files[file as usize].1;
        let table = table.get_or_insert_with(|| SymbolTable::of_file(Path::new(&path)));
        let found = table.name_at(offset);
        let library = file_name(&path).into_owned();
        let function = match found {
            Some(name) => self.function(name, &library, Origin::User),
            None => {
                let is_own =
                    self.own.contains(&library) && self.own.iter().any(|it| *it != library);
                let name = if is_own { "[program]".into() } else { format!("[{library}]") };
                self.function(name, &library, Origin::Unnamed)
            }
        };
        self.by_place.insert((file, offset), function);
        Some(function)
    }

    fn kernel_function(&mut self, address: u64) -> u32 {
        if let Some(&known) = self.by_kernel_address.get(&address) {
            return known;
        }
        let kernel = self.kernel.get_or_insert_with(SymbolTable::of_kernel);
        let name = kernel.kernel_name(address).unwrap_or_else(|| "[kernel]".into());
        let function = self.function(name, "kernel", Origin::Kernel);
        self.by_kernel_address.insert(address, function);
        function
    }

    /// The number of a function. Two builds have it in files of different names, so the name alone counts.
    fn function(&mut self, name: String, file: &str, origin: Origin) -> u32 {
        let next = self.functions.len() as u32;
        let number = *self.by_name.entry((name.clone(), origin)).or_insert(next);
        if number == next {
            self.functions.push(ProfiledFunction { name, file: file.into(), origin });
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: u64 = -512_i64 as u64;

    #[test]
    fn a_chain_is_kept_from_the_outermost_function_to_the_innermost() {
        let mut table = FunctionTable::new(&["/bin/a", "/bin/b"]);
        let mut spaces = AddressSpaces::default();
        for (at, name) in ["/no/a", "/no/b", "/no/c"].iter().enumerate() {
            let file = table.file(name);
            spaces.map(1, 1000 * (at as u64 + 1), 1000, 0, file);
        }
        // The last address is in no mapping: the chain ends before it.
        let stack = table.stack(&spaces, 1, &[USER, 1500, 3001, 77]).unwrap();
        let names: Vec<&str> = table.stacks[stack as usize]
            .iter()
            .map(|&it| table.functions[it as usize].name.as_str())
            .collect();
        // Programs without symbols match each other; a library is called by its name.
        assert_eq!(names, ["[c]", "[program]"]);
        assert_eq!(table.stack(&spaces, 1, &[USER, 2500, 3001, 77]), Some(stack));
        let unknown = table.stack(&spaces, 1, &[USER, 9, 9]).unwrap();
        assert_eq!(table.stacks[unknown as usize].len(), 1);
        assert_eq!(table.stack(&spaces, 1, &[USER]), None);
        assert_eq!((table.n_user, table.n_whole), (3, 0));
    }
}
