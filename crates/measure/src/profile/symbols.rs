//! Symbols of ELF files and of the kernel: which function is at an address.
#![expect(clippy::disallowed_methods, reason = "reads the files of the profiled programs")]

use std::cell::OnceCell;
use std::fs::File;
use std::path::{Path, PathBuf};

use addr2line::Loader;
use object::read::ReadCache;
use object::{Object, ObjectSection as _, ObjectSegment as _, SymbolKind};

use crate::profile::names::{file_name, readable};

const DEBUG_FILES: &str = "/usr/lib/debug";
/// Assumed size of a function whose symbol has none, as in hand-written assembly.
const UNSIZED_BYTES_MAX: u64 = 4096;

/// The functions of a file by their addresses.
#[derive(Default)]
pub struct SymbolTable {
    segments: LoadedSegments,
    functions: Vec<SymbolRange>,
    debug: Option<DebugInformation>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct SymbolRange {
    start: u64,
    end: u64,
    symbol: String,
}

impl SymbolTable {
    /// Reads the symbols of a file; without any, its debug file's, or else the exported functions. An unreadable file
    /// has no functions.
    pub fn from_file(path: &Path) -> Self {
        let Some(own) = read(path) else { return Self::default() };
        let ReadFile { mut table, debug_files, has_all_symbols } = own;
        for path in debug_files {
            if has_all_symbols && table.debug.is_some() {
                break;
            }
            let Some(found) = read(&path) else { continue };
            if !has_all_symbols && found.table.functions.len() > 1 {
                table.functions = found.table.functions;
            }
            table.debug = table.debug.or(found.table.debug);
        }
        table
    }

    /// Whether debug information names inlined functions.
    pub fn has_debug_information(&self) -> bool {
        self.debug.is_some()
    }

    pub fn has_functions(&self) -> bool {
        !self.functions.is_empty()
    }

    /// The functions at an offset of the file. With `inlined`, the functions inlined there come first, the innermost
    /// before the others; otherwise there is at most one.
    pub fn functions_at(&self, offset: u64, inlined: bool) -> Vec<FunctionAt> {
        let Some(address) = self.segments.address(offset) else { return Vec::new() };
        let symbol = self.symbol_at(address).map(|it| readable(&it.symbol));
        let debug = self.debug.as_ref();
        let mut functions = debug.map_or_else(Vec::new, |debug| debug.functions_at(address));
        if !inlined && functions.len() > 1 {
            let outermost = functions.split_off(functions.len() - 1);
            functions = outermost;
        }
        match (symbol, functions.last_mut()) {
            // Only the symbol is in both builds, so it names a function that is not inlined.
            (Some(name), Some(last)) => last.name = name,
            (Some(name), None) => functions.push(FunctionAt { name, line: None }),
            (None, _) => {}
        }
        functions
    }

    /// Code size of the function at an offset of the file, bytes.
    pub fn code_bytes(&self, offset: u64) -> Option<u64> {
        self.symbol_at(self.segments.address(offset)?).map(|it| it.end - it.start)
    }

    pub fn has_function(&self, name: &str) -> bool {
        // Only candidates are demangled, because that takes long for many symbols.
        let word = name.rsplit("::").next().unwrap_or(name);
        let word = word.split(['(', '<']).next().unwrap_or(word);
        let is_it = |it: &SymbolRange| it.symbol.contains(word) && readable(&it.symbol) == name;
        self.functions.iter().any(is_it)
    }

    fn symbol_at(&self, address: u64) -> Option<&SymbolRange> {
        let at = self.functions.partition_point(|it| it.start <= address);
        let symbol = self.functions.get(at.checked_sub(1)?)?;
        (address < symbol.end).then_some(symbol)
    }

    /// The kernel's functions; none if it hides their addresses (kernel.kptr_restrict).
    pub fn from_kernel() -> Self {
        let text = std::fs::read("/proc/kallsyms").unwrap_or_default();
        let functions = kernel_functions(&String::from_utf8_lossy(&text));
        Self { functions, ..Self::default() }
    }

    pub fn kernel_name(&self, address: u64) -> Option<String> {
        self.symbol_at(address).map(|it| readable(&it.symbol))
    }
}

struct ReadFile {
    table: SymbolTable,
    /// Where the debug file may be.
    debug_files: Vec<PathBuf>,
    /// Whether the functions are complete, not just the exported ones.
    has_all_symbols: bool,
}

fn read(path: &Path) -> Option<ReadFile> {
    // Reads only what is needed: a debug file may have gigabytes. A FIFO would wait for its other end.
    let cache = ReadCache::new(path.is_file().then(|| File::open(path).ok())??);
    let file = object::File::parse(&cache).ok()?;
    let segments = LoadedSegments::of(&file);
    let directory = path.parent().unwrap_or(Path::new("/"));
    let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
    let has_lines = file.section_by_name(".debug_info").is_some_and(|it| it.size() > 0);
    let debug = has_lines.then(|| {
        let common = file.gnu_debugaltlink().ok().flatten();
        let common = common.map(|(name, _)| directory.join(text(name))).filter(|it| it.is_file());
        DebugInformation::new(path.into(), common)
    });
    let mut debug_files = Vec::new();
    if let Ok(Some([first, rest @ ..])) = file.build_id() {
        let hex: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
        debug_files.push(format!("{DEBUG_FILES}/.build-id/{first:02x}/{hex}.debug").into());
    }
    if let Ok(Some((name, _))) = file.gnu_debuglink() {
        let name = text(name);
        let below = directory.strip_prefix("/").unwrap_or(directory);
        debug_files.push(directory.join(&name));
        debug_files.push(directory.join(".debug").join(&name));
        debug_files.push(Path::new(DEBUG_FILES).join(below).join(&name));
    }
    let mut functions = functions(file.symbols());
    let has_all_symbols = !functions.is_empty();
    if !has_all_symbols {
        functions = self::functions(file.dynamic_symbols());
    }
    let table = SymbolTable { segments, functions, debug };
    Some(ReadFile { table, debug_files, has_all_symbols })
}

/// Sorted ranges that do not overlap. Of several names at one address, the plainest wins.
fn functions<'data>(
    symbols: impl Iterator<Item = impl object::ObjectSymbol<'data>>,
) -> Vec<SymbolRange> {
    let mut functions: Vec<(u64, u64, String)> = symbols
        .filter(|it| it.kind() == SymbolKind::Text && it.is_definition())
        .filter_map(|it| Some((it.address(), it.size(), it.name().ok()?.to_owned())))
        .filter(|(.., name)| !name.is_empty())
        .collect();
    let plainness =
        |name: &str| (name.bytes().take_while(|&byte| byte == b'_').count(), name.len());
    functions.sort_by(|a, b| {
        // At one address, a known size comes before a size of 0.
        let key = |it: &(u64, u64, String)| (it.0, it.1 == 0, plainness(&it.2));
        key(a).cmp(&key(b)).then_with(|| a.2.cmp(&b.2))
    });
    functions.dedup_by_key(|it| it.0);
    let next: Vec<u64> = functions.iter().skip(1).map(|it| it.0).chain([u64::MAX]).collect();
    let range = |((start, size, symbol), next): ((u64, u64, String), u64)| {
        let size = if size == 0 { UNSIZED_BYTES_MAX } else { size };
        SymbolRange { start, end: start.saturating_add(size).min(next), symbol }
    };
    functions.into_iter().zip(next).map(range).collect()
}

/// Lines `address type name [module]`; `t`, `T`, `w` and `W` are code (proc_kallsyms(5)).
fn kernel_functions(text: &str) -> Vec<SymbolRange> {
    let parse = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let start = u64::from_str_radix(words.next()?, 16).ok().filter(|&start| start > 0)?;
        let is_code = matches!(words.next()?, "t" | "T" | "w" | "W");
        is_code.then_some((start, words.next()?.to_owned()))
    };
    let mut functions: Vec<(u64, String)> = text.lines().filter_map(parse).collect();
    functions.sort_by_key(|(start, _)| *start);
    functions.dedup_by_key(|(start, _)| *start);
    let next: Vec<u64> = functions.iter().skip(1).map(|it| it.0).chain([u64::MAX]).collect();
    let range = |((start, symbol), end)| SymbolRange { start, end, symbol };
    functions.into_iter().zip(next).map(range).collect()
}

#[derive(Debug, Default)]
pub struct LoadedSegments(Vec<LoadedSegment>);

/// Offset and size in the file, and the linked address.
#[derive(Clone, Copy, Debug)]
struct LoadedSegment {
    offset: u64,
    size: u64,
    address: u64,
}

impl LoadedSegments {
    pub fn of<'data>(file: &impl Object<'data>) -> Self {
        let all = file.segments().map(|it| {
            let (offset, size) = it.file_range();
            LoadedSegment { offset, size, address: it.address() }
        });
        Self(all.collect())
    }

    /// The address that an offset of the file is linked to.
    pub fn address(&self, offset: u64) -> Option<u64> {
        let is_here = |it: &&LoadedSegment| offset.wrapping_sub(it.offset) < it.size;
        let segment = self.0.iter().find(is_here)?;
        Some(segment.address + (offset - segment.offset))
    }

    /// The offset in the file of an address.
    #[cfg(test)]
    pub fn offset(&self, address: u64) -> Option<u64> {
        let is_here = |it: &&LoadedSegment| address.wrapping_sub(it.address) < it.size;
        let segment = self.0.iter().find(is_here)?;
        Some(segment.offset + (address - segment.address))
    }
}

/// Deepest level of inlining.
const DEPTH_MAX: usize = 50;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionAt {
    pub name: String,
    pub line: Option<(String, u32)>,
}

/// The debug information of a file, mapped and read when first needed.
pub struct DebugInformation {
    file: PathBuf,
    /// The file with what several debug files share (dwz).
    common: Option<PathBuf>,
    loader: OnceCell<Option<Loader>>,
}

impl DebugInformation {
    pub fn new(file: PathBuf, common: Option<PathBuf>) -> Self {
        Self { file, common, loader: OnceCell::new() }
    }

    /// The functions at an address: the innermost inlined one first. Empty if the file does not tell.
    pub fn functions_at(&self, address: u64) -> Vec<FunctionAt> {
        let load = || Loader::new_with_sup(&self.file, self.common.as_ref()).ok();
        let mut functions = Vec::new();
        let Some(loader) = self.loader.get_or_init(load) else { return functions };
        let Ok(mut frames) = loader.find_frames(address) else { return functions };
        while let Ok(Some(frame)) = frames.next() {
            let Some(name) = frame.function.as_ref().and_then(|it| it.raw_name().ok()) else {
                break;
            };
            let line =
                frame.location.and_then(|it| Some((file_name(it.file?).to_owned(), it.line?)));
            functions.push(FunctionAt { name: readable(&name), line });
            if functions.len() > DEPTH_MAX {
                break;
            }
        }
        functions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_list_names_code_alone() {
        let text = "0000000000000000 T hidden\nffffffff81000000 T _text\nffffffff81000100 t work.isra.0\n\
                    ffffffff81000180 D data\nffffffff81000200 W other\t[module]\n";
        let functions = kernel_functions(text);
        let table = SymbolTable { functions, ..SymbolTable::default() };
        let name = |address| table.kernel_name(address);
        assert_eq!(name(0xffff_ffff_8100_01ff).as_deref(), Some("work"));
        assert_eq!(name(0xffff_ffff_8100_0200).as_deref(), Some("other"));
        assert_eq!(name(0xffff_ffff_80ff_ffff), None);
        assert_eq!(kernel_functions("0000000000000000 T hidden\n"), []);
    }

    /// A function of this test program is found at the offset of its code.
    #[test]
    fn a_file_names_its_functions() {
        let table = SymbolTable::from_file(Path::new("/proc/self/exe"));
        assert!(table.functions.len() > 1000);
        assert!(table.functions.windows(2).all(|pair| pair[0].end <= pair[1].start));
        let main = table.functions.iter().find(|it| it.symbol == "main").unwrap();
        let offset = table.segments.offset(main.start).unwrap();
        // Cargo builds tests with lines.
        for inlined in [true, false] {
            let found = table.functions_at(offset, inlined);
            assert_eq!(found.last().unwrap().name, "main", "{found:?}");
            assert!(inlined || found.len() == 1);
        }
        assert!(table.has_function("main") && !table.has_function("mai"));
        assert_eq!(table.code_bytes(offset), Some(main.end - main.start));
        assert_eq!(table.functions_at(u64::MAX, true), []);
        assert!(SymbolTable::from_file(Path::new("/nonexistent")).functions.is_empty());
    }
}
