//! The functions and call chains of a profile, each once.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::rc::Rc;

use crate::profile::kernel_entry::{entry, wait};
use crate::profile::maps::{AddressSpaces, JitMaps};
use crate::profile::names::{file_name, is_file};
use crate::profile::saved::{FunctionOrigin, ProfiledFunction};
use crate::profile::symbols::SymbolTable;
use crate::profile::whole_chains::CHAIN_IS_WHOLE;

/// Addresses above this are marks in a call chain: `PERF_CONTEXT_MAX` (perf_event_open(2)).
const CONTEXT_MAX: u64 = -4095_i64 as u64;
/// `PERF_CONTEXT_KERNEL`: the kernel's addresses follow.
const CONTEXT_KERNEL: u64 = -128_i64 as u64;
/// Functions at which a whole call chain starts: of C and its threads, the dynamic linker, goroutines and Go's own
/// stacks.
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
/// Prefix of the dynamic linker's file name.
const LINKER: &str = "ld-";
/// A longer chain is a broken one with a loop.
const FRAMES_MAX: usize = 1000;
/// Suffix of Go's linker for assembler functions.
const GO_ASSEMBLER: &str = ".abi0";

#[derive(Default)]
pub struct FunctionTable {
    pub functions: Vec<ProfiledFunction>,
    pub stacks: Vec<Vec<u32>>,
    /// Samples of programs, and those whose chain reaches the start of the program or of a thread.
    pub n_user: u64,
    pub n_whole: u64,
    /// The compiled functions of the run whose samples come next.
    pub jit: JitMaps,
    /// Python files with different names in the arms. Their functions are named without them.
    pub scripts: BTreeSet<String>,
    /// The file of each arm's own program, without its directory.
    own: Vec<String>,
    /// The files that some arms map and others do not, for each arm.
    files_of_arms: Vec<BTreeSet<String>>,
    by_name: HashMap<(String, FunctionOrigin), u32>,
    by_stack: HashMap<Vec<u32>, u32>,
    by_place: HashMap<(u32, u64), Rc<CodePlace>>,
    files: Vec<MappedFile>,
    by_path: HashMap<String, u32>,
    /// Whether all files that only some arms have come with debug information.
    has_own_lines: Option<bool>,
    /// Samples by line in the last arm, for each function.
    lines: HashMap<u32, BTreeMap<(String, u32), u64>>,
    kernel: Option<SymbolTable>,
    by_kernel_address: HashMap<u64, u32>,
}

struct MappedFile {
    path: String,
    symbols: Option<SymbolTable>,
}

impl MappedFile {
    fn symbols(&mut self) -> &SymbolTable {
        self.symbols.get_or_insert_with(|| SymbolTable::from_file(Path::new(&self.path)))
    }
}

/// The functions at an offset of a file.
#[derive(Debug, Default)]
struct CodePlace {
    /// The innermost inlined function first.
    functions: Vec<u32>,
    line: Option<(String, u32)>,
    code_bytes: Option<u64>,
}

impl FunctionTable {
    /// A table for arms with these programs, which map these files.
    pub fn new(programs: &[&str], mut files_of_arms: Vec<BTreeSet<String>>) -> Self {
        let own = programs.iter().map(|program| file_name(program).to_owned()).collect();
        let in_all = files_of_arms.iter().cloned().reduce(|all, it| &all & &it).unwrap_or_default();
        files_of_arms.iter_mut().for_each(|files| *files = &*files - &in_all);
        Self { own, files_of_arms, ..Self::default() }
    }

    /// Whether a function of a file is divided into its inlined functions. If only one of two builds had this
    /// information, the same functions would have different names.
    fn shows_inlined(&mut self, path: &str) -> bool {
        if !self.files_of_arms.iter().any(|files| files.contains(path)) {
            return true;
        }
        if let Some(known) = self.has_own_lines {
            return known;
        }
        let paths: BTreeSet<String> = self.files_of_arms.iter().flatten().cloned().collect();
        let is_told = |path: &String| {
            let number = self.file(path);
            let symbols = self.files[number as usize].symbols();
            !symbols.has_functions() || symbols.has_debug_information()
        };
        let has_lines = paths.iter().all(is_told);
        *self.has_own_lines.insert(has_lines)
    }

    /// Whether an arm's programs have a function of this name. `true` if unknown.
    fn is_in(&mut self, arm: usize, name: &str) -> bool {
        let paths: Vec<String> = self.files_of_arms[arm].iter().cloned().collect();
        let mut files: Vec<usize> = paths.iter().map(|path| self.file(path) as usize).collect();
        files.retain(|&at| self.files[at].symbols().has_functions());
        files.is_empty() || files.iter().any(|&at| self.files[at].symbols().has_function(name))
    }

    /// Adds each function's line with the most samples, and the functions that an arm lacks. `n` has each function's
    /// samples in each arm.
    pub fn finish(&mut self, n: &HashMap<u32, Vec<u64>>, n_min: u64) {
        for (&function, lines) in &self.lines {
            let most = lines.iter().max_by_key(|(_, n)| **n);
            self.functions[function as usize].line =
                most.map(|((file, line), _)| format!("{file}:{line}"));
        }
        let is_one_sided =
            |n: &&Vec<u64>| n.len() == 2 && n.contains(&0) && n.iter().sum::<u64>() >= n_min;
        for (&function, n) in n.iter().filter(|(_, n)| is_one_sided(n)) {
            let about = &self.functions[function as usize];
            let (name, is_user) = (about.name.clone(), about.origin == FunctionOrigin::User);
            let arm = usize::from(n[0] > 0);
            let is_of_arms =
                self.files_of_arms.iter().flatten().any(|path| file_name(path) == about.file);
            if is_user && is_of_arms && !self.is_in(arm, &name) {
                self.functions[function as usize].missing_in = Some(arm as u32);
            }
        }
    }

    pub fn file(&mut self, path: &str) -> u32 {
        if let Some(&number) = self.by_path.get(path) {
            return number;
        }
        let number = self.files.len() as u32;
        self.files.push(MappedFile { path: path.into(), symbols: None });
        self.by_path.insert(path.into(), number);
        number
    }

    /// The number of a sample's call chain; `None` without an address.
    pub fn stack(
        &mut self,
        arm: usize,
        spaces: &AddressSpaces,
        process: u32,
        chain: &[u64],
    ) -> Option<u32> {
        // From the innermost on.
        let (mut frames, mut n_kernel): (Vec<u32>, usize) = (Vec::new(), 0);
        let (mut is_kernel, mut is_whole) = (false, false);
        for &address in chain {
            if address >= CONTEXT_MAX {
                is_kernel = address == CONTEXT_KERNEL;
                is_whole |= address == CHAIN_IS_WHOLE;
                continue;
            }
            // All but the innermost are return addresses, behind the call.
            let is_leaf = frames.is_empty();
            let address = if is_leaf { address } else { address.saturating_sub(1) };
            if is_kernel {
                frames.push(self.kernel_function(address));
                n_kernel += 1;
                continue;
            }
            match self.place(spaces, process, address) {
                Some(place) => {
                    self.count(arm, &place, is_leaf);
                    frames.extend(&place.functions);
                }
                // Without frame pointers, the chain contains numbers that are no code addresses.
                None if is_leaf => {
                    frames.push(self.function("[unknown]".into(), "", FunctionOrigin::Unnamed))
                }
                None => break,
            }
            // A loop in a broken chain would never end.
            if frames.len() > FRAMES_MAX {
                break;
            }
        }
        let names = frames[..n_kernel].iter().rev();
        let names = names.map(|&at| self.functions[at as usize].name.as_str());
        if let Some(entry) = entry(names) {
            let entry = self.function(entry, "kernel", FunctionOrigin::Entry);
            frames.insert(n_kernel, entry);
        }
        let root = *frames.last()?;
        // The dynamic linker is built without frame pointers, and takes much of a short program's time.
        let is_linker = self.functions[frames[0] as usize].file.starts_with(LINKER);
        if n_kernel == 0 && !is_linker {
            self.n_user += 1;
            let name = self.functions[root as usize].name.as_str();
            is_whole |= ROOTS.contains(&name.strip_suffix(GO_ASSEMBLER).unwrap_or(name));
            self.n_whole += u64::from(is_whole);
        }
        frames.reverse();
        Some(self.number(frames))
    }

    /// The number of the call chain of a counted event, which follows the innermost function.
    pub fn event(
        &mut self,
        arm: usize,
        spaces: &AddressSpaces,
        (process, chain): (u32, &[u64]),
        what: String,
    ) -> u32 {
        let mut frames = vec![self.function(what, "", FunctionOrigin::Event)];
        for &address in chain.iter().filter(|&&address| address < CONTEXT_MAX) {
            let address = if frames.len() == 1 { address } else { address.saturating_sub(1) };
            let Some(place) = self.place(spaces, process, address) else { break };
            self.count(arm, &place, false);
            frames.extend(&place.functions);
            if frames.len() > FRAMES_MAX {
                break;
            }
        }
        frames.reverse();
        self.number(frames)
    }

    /// The number of something that is counted for a whole run.
    pub fn event_of_run(&mut self, what: &str) -> u32 {
        let event = self.function(what.into(), "", FunctionOrigin::Event);
        self.number(vec![event])
    }

    /// The number of a chain, the outermost function first.
    fn number(&mut self, frames: Vec<u32>) -> u32 {
        let next = self.stacks.len() as u32;
        let number = *self.by_stack.entry(frames.clone()).or_insert(next);
        if number == next {
            self.stacks.push(frames);
        }
        number
    }

    /// The number of what a task with this call chain waits for.
    pub fn wait(&mut self, chain: &[u64]) -> u32 {
        let mut names: Vec<String> = Vec::new();
        let kernel = chain.iter().skip_while(|&&address| address != CONTEXT_KERNEL).skip(1);
        for &address in kernel.take_while(|&&address| address < CONTEXT_MAX) {
            let function = self.kernel_function(address);
            names.push(self.functions[function as usize].name.clone());
        }
        let name = wait(names.iter().rev().map(String::as_str));
        self.function(name, "kernel", FunctionOrigin::Wait)
    }

    /// The functions at an address; `None` outside of all mappings.
    fn place(
        &mut self,
        spaces: &AddressSpaces,
        process: u32,
        address: u64,
    ) -> Option<Rc<CodePlace>> {
        let (file, offset) = spaces.find(process, address)?;
        if let Some(known) = self.by_place.get(&(file, offset)) {
            return Some(Rc::clone(known));
        }
        let path = self.files[file as usize].path.clone();
        if !is_file(&path) {
            // Compiled at run time, or mapped by the kernel, such as [vdso].
            let jit =
                self.jit.find(process, address).map(|name| self.without_script(name).to_owned());
            let function = match jit {
                Some(name) => self.function(name, "", FunctionOrigin::User),
                None if path.starts_with('[') => self.function(path, "", FunctionOrigin::Unnamed),
                None => self.function("[compiled at run time]".into(), "", FunctionOrigin::Unnamed),
            };
            return Some(Rc::new(CodePlace { functions: vec![function], ..CodePlace::default() }));
        }
        let shows_inlined = self.shows_inlined(&path);
        let symbols = self.files[file as usize].symbols();
        let (found, code_bytes) =
            (symbols.functions_at(offset, shows_inlined), symbols.code_bytes(offset));
        let library = file_name(&path).to_owned();
        let line = found.first().and_then(|it| it.line.clone());
        let named =
            found.into_iter().map(|it| self.function(it.name, &library, FunctionOrigin::User));
        let mut functions: Vec<u32> = named.collect();
        if functions.is_empty() {
            let is_own = self.own.contains(&library) && self.own.iter().any(|it| *it != library);
            let name = if is_own { "[program]".into() } else { format!("[{library}]") };
            functions.push(self.function(name, &library, FunctionOrigin::Unnamed));
        }
        let place = Rc::new(CodePlace { functions, line, code_bytes });
        self.by_place.insert((file, offset), Rc::clone(&place));
        Some(place)
    }

    /// The name of a Python function, `py::NAME:FILE`, without a file that only one arm has.
    fn without_script<'name>(&self, name: &'name str) -> &'name str {
        match name.rsplit_once(':') {
            Some((function, file)) if self.scripts.contains(file) => function,
            _ => name,
        }
    }

    /// Counts a sample for its functions.
    fn count(&mut self, arm: usize, place: &CodePlace, is_leaf: bool) {
        if let (Some(bytes), Some(&outermost)) = (place.code_bytes, place.functions.last()) {
            let known = &mut self.functions[outermost as usize].code_bytes;
            known.resize(self.own.len(), 0);
            known[arm] = known[arm].max(bytes);
        }
        let (Some(line), Some(&function)) = (&place.line, place.functions.first()) else { return };
        self.functions[function as usize].source.get_or_insert_with(|| line.0.clone());
        // The last arm has the newest source.
        if is_leaf && arm + 1 == self.own.len() {
            *self.lines.entry(function).or_default().entry(line.clone()).or_default() += 1;
        }
    }

    fn kernel_function(&mut self, address: u64) -> u32 {
        if let Some(&known) = self.by_kernel_address.get(&address) {
            return known;
        }
        let kernel = self.kernel.get_or_insert_with(SymbolTable::from_kernel);
        let name = kernel.kernel_name(address).unwrap_or_else(|| "[kernel]".into());
        let function = self.function(name, "kernel", FunctionOrigin::Kernel);
        self.by_kernel_address.insert(address, function);
        function
    }

    /// The number of a function. Two builds have it in files of different names, so the name alone counts.
    fn function(&mut self, name: String, file: &str, origin: FunctionOrigin) -> u32 {
        let next = self.functions.len() as u32;
        let number = *self.by_name.entry((name.clone(), origin)).or_insert(next);
        if number == next {
            self.functions.push(ProfiledFunction::new(name, file, origin));
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
        let mut table = FunctionTable::new(&["/bin/a", "/bin/b"], vec![BTreeSet::new(); 2]);
        let mut spaces = AddressSpaces::default();
        for (at, name) in ["/no/a", "/no/b", "/no/c"].iter().enumerate() {
            let file = table.file(name);
            spaces.map(1, 1000 * (at as u64 + 1), 1000, 0, file);
        }
        // The last address is in no mapping: the chain ends before it.
        let stack = table.stack(0, &spaces, 1, &[USER, 1500, 3001, 77]).unwrap();
        let names: Vec<&str> = table.stacks[stack as usize]
            .iter()
            .map(|&it| table.functions[it as usize].name.as_str())
            .collect();
        // Programs without symbols match each other; a library is called by its name.
        assert_eq!(names, ["[c]", "[program]"]);
        assert_eq!(table.stack(0, &spaces, 1, &[USER, 2500, 3001, 77]), Some(stack));
        table.scripts.insert("old.py".into());
        let names = ["py::work:old.py", "py::work:json.py"].map(|it| table.without_script(it));
        assert_eq!(names, ["py::work", "py::work:json.py"]);
        let unknown = table.stack(0, &spaces, 1, &[USER, 9, 9]).unwrap();
        assert_eq!(table.stacks[unknown as usize].len(), 1);
        assert_eq!(table.stack(0, &spaces, 1, &[USER]), None);
        assert_eq!((table.n_user, table.n_whole), (3, 0));
    }
}
