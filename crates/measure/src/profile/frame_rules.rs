//! Finds the caller of code by the call frame information that compilers write into every file for exceptions (DWARF 5,
//! section 6.4; Linux Standard Base Core 5.0, section 10.6).
#![expect(clippy::disallowed_methods, reason = "reads the files of the profiled programs")]

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::rc::Rc;

use gimli::{
    BaseAddresses, CfaRule, CieOrFde, EhFrame, EhFrameOffset, Encoding, EndianSlice,
    EvaluationResult, NativeEndian, Register, RegisterRule, UnwindContext, UnwindExpression,
    UnwindSection as _, Value,
};
use object::read::ReadCache;
use object::{Object as _, ObjectSection as _};

use crate::profile::symbols::LoadedSegments;
use host::sys;

/// Larger unwind tables are assumed to be corrupt, bytes.
const BYTES_MAX: u64 = 256 << 20;
/// Most rules that are kept.
const RULES_MAX: usize = 1 << 17;

#[derive(Debug, Default)]
pub struct FrameRules {
    segments: LoadedSegments,
    bytes: Vec<u8>,
    bases: BaseAddresses,
    /// Start, end and place in the bytes of each function, by address.
    functions: Vec<(u64, u64, usize)>,
    known: HashMap<u64, Option<Rc<FrameRule>>>,
}

#[derive(Debug)]
pub struct FrameRule {
    /// Where the caller's stack ended before the call.
    pub cfa: CfaRule<usize>,
    pub registers: Vec<(Register, RegisterRule<usize>)>,
    pub return_address: Register,
    /// Whether the kernel made the call: the caller was interrupted at its address, not behind a call instruction.
    pub is_signal: bool,
    encoding: Encoding,
}

impl FrameRules {
    /// Reads the rules of a file. An unreadable file has none.
    pub fn from_file(path: &Path) -> Self {
        let read = || {
            let cache = ReadCache::new(path.is_file().then(|| File::open(path).ok())??);
            let file = object::File::parse(&cache).ok()?;
            Self::from_object(&file)
        };
        read().unwrap_or_default()
    }

    /// Reads the rules of the code that the kernel maps into every process.
    pub fn from_vdso() -> Self {
        let read = || {
            let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
            let line = maps.lines().find(|line| line.ends_with("[vdso]"))?;
            let (start, rest) = line.split_once('-')?;
            let address = |text: &str| u64::from_str_radix(text, 16).ok();
            let (start, end) = (address(start)?, address(rest.split(' ').next()?)?);
            let mut bytes = vec![0; usize::try_from(end.checked_sub(start)?).ok()?];
            let mut memory = sys::with_own_files(|| File::open("/proc/self/mem")).ok()?;
            memory.seek(SeekFrom::Start(start)).ok()?;
            memory.read_exact(&mut bytes).ok()?;
            let file = object::File::parse(&bytes[..]).ok()?;
            Self::from_object(&file)
        };
        read().unwrap_or_default()
    }

    fn from_object<'data>(file: &object::File<'data, impl object::ReadRef<'data>>) -> Option<Self> {
        if !file.is_64() || file.is_little_endian() != cfg!(target_endian = "little") {
            return None;
        }
        let section = file.section_by_name(".eh_frame").filter(|it| it.size() < BYTES_MAX)?;
        let bytes = section.data().ok()?.to_vec();
        let mut bases = BaseAddresses::default().set_eh_frame(section.address());
        if let Some(text) = file.section_by_name(".text") {
            bases = bases.set_text(text.address());
        }
        let mut functions = Vec::new();
        let frames = EhFrame::new(&bytes, NativeEndian);
        let mut entries = frames.entries(&bases);
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(entry) = entry else { continue };
            let Ok(entry) = entry.parse(EhFrame::cie_from_offset) else { continue };
            functions.push((entry.initial_address(), entry.end_address(), entry.offset()));
        }
        functions.sort_unstable();
        let segments = LoadedSegments::of(file);
        Some(Self { segments, bytes, bases, functions, known: HashMap::new() })
    }

    /// The rules for code at an offset of the file, if it has any.
    pub fn at(&mut self, offset: u64) -> Option<Rc<FrameRule>> {
        if let Some(known) = self.known.get(&offset) {
            return known.clone();
        }
        if self.known.len() >= RULES_MAX {
            self.known.clear();
        }
        let rule = self.read(offset).map(Rc::new);
        self.known.insert(offset, rule.clone());
        rule
    }

    fn read(&self, offset: u64) -> Option<FrameRule> {
        let address = self.segments.address(offset)?;
        let next = self.functions.partition_point(|(start, ..)| *start <= address);
        let &(_, end, at) = self.functions.get(next.checked_sub(1)?)?;
        if address >= end {
            return None;
        }
        let frames = EhFrame::new(&self.bytes, NativeEndian);
        let entry =
            frames.fde_from_offset(&self.bases, EhFrameOffset(at), EhFrame::cie_from_offset);
        let entry = entry.ok()?;
        let mut context = UnwindContext::new();
        let row =
            entry.unwind_info_for_address(&frames, &self.bases, &mut context, address).ok()?;
        Some(FrameRule {
            cfa: row.cfa().clone(),
            registers: row.registers().cloned().collect(),
            return_address: entry.cie().return_address_register(),
            is_signal: entry.is_signal_trampoline(),
            encoding: entry.cie().encoding(),
        })
    }

    /// The value of a rule's expression. `first` is initially on the expression's stack.
    pub fn value(
        &self,
        rule: &FrameRule,
        expression: UnwindExpression<usize>,
        first: Option<u64>,
        register: impl Fn(Register) -> Option<u64>,
        memory: impl Fn(u64) -> Option<u64>,
    ) -> Option<u64> {
        let frames: EhFrame<EndianSlice<'_, NativeEndian>> =
            EhFrame::new(&self.bytes, NativeEndian);
        let mut evaluation = expression.get(&frames).ok()?.evaluation(rule.encoding);
        evaluation.set_max_iterations(1000);
        if let Some(first) = first {
            evaluation.set_initial_value(first);
        }
        let mut result = evaluation.evaluate().ok()?;
        loop {
            result = match result {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresRegister { register: number, .. } => {
                    evaluation.resume_with_register(Value::Generic(register(number)?)).ok()?
                }
                EvaluationResult::RequiresMemory { address, size: 8, .. } => {
                    evaluation.resume_with_memory(Value::Generic(memory(address)?)).ok()?
                }
                _ => return None,
            };
        }
        evaluation.value_result()?.to_u64(u64::MAX).ok()
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::stack_copies::{PROGRAM_COUNTER, STACK_POINTER};

    /// At a function's first instruction, the return address is on top of the stack.
    #[test]
    fn the_rules_of_this_program_are_found() {
        let mut rules = FrameRules::from_file(Path::new("/proc/self/exe"));
        assert!(rules.functions.len() > 1000);
        let start = rules.functions[500].0;
        let offset = rules.segments.offset(start).unwrap();
        let rule = rules.at(offset).unwrap();
        let register = Register(STACK_POINTER);
        assert_eq!(rule.cfa, CfaRule::RegisterAndOffset { register, offset: 8 });
        assert_eq!(rule.return_address, Register(PROGRAM_COUNTER));
        assert!(rule.registers.contains(&(rule.return_address, RegisterRule::Offset(-8))));
        assert!(Rc::ptr_eq(&rule, &rules.at(offset).unwrap()), "read once");
        assert!(rules.at(u64::MAX).is_none());
        assert!(FrameRules::from_file(Path::new("/nonexistent")).at(0).is_none());
    }

    /// The stubs of library functions have an expression (System V ABI, AMD64 supplement, section 5.2).
    #[test]
    fn an_expression_is_computed_from_registers() {
        // breg7 8; breg16 0; lit15; and; lit11; ge; lit3; shl; plus: 8 more behind the push.
        let bytes = vec![0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22];
        let rules = FrameRules { bytes, ..FrameRules::default() };
        let rule = FrameRule {
            cfa: CfaRule::Expression(UnwindExpression { offset: 0, length: 11 }),
            registers: Vec::new(),
            return_address: Register(PROGRAM_COUNTER),
            is_signal: false,
            encoding: Encoding { format: gimli::Format::Dwarf32, version: 4, address_size: 8 },
        };
        let value = |counter: u64| {
            let register = |it: Register| Some(if it.0 == STACK_POINTER { 1000 } else { counter });
            let expression = UnwindExpression { offset: 0, length: 11 };
            rules.value(&rule, expression, None, register, |_| None)
        };
        assert_eq!((value(0x2000), value(0x200b)), (Some(1008), Some(1016)));
    }

    #[test]
    fn the_kernels_part_has_rules() {
        assert!(!FrameRules::from_vdso().functions.is_empty());
    }
}
