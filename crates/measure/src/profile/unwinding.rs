//! The call chain of a task, from copies of its registers and its stack.
//!
//! The crate framehop (0.16) unwinds saved stacks too. On x86-64 it follows the stack pointer, the frame pointer and the
//! return address alone, so a chain ends in code whose frame is found by another register, as with stacks that are aligned
//! anew. It does not know that a signal interrupted its caller, nor the trampolines of CPython. And it has another version of
//! gimli than addr2line.

use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use gimli::{CfaRule, Register, RegisterRule};

use crate::fields::long;
use crate::profile::frame_rules::{FrameRule, FrameRules};
use crate::profile::maps::AddressSpaces;
use crate::profile::names::is_file;
use crate::stack_copies::{FRAME_POINTER, PROGRAM_COUNTER, REGISTERS, STACK_POINTER, StackCopy};

/// Longest chain, as in a deep recursion.
const DEPTH_MAX: usize = 512;
/// One more than the largest register number.
const N_REGISTERS: usize = 33;
/// Bits of an address. ARM64 signs return addresses in the others.
const ADDRESS: u64 = (1 << 48) - 1;

/// A chain of addresses, the innermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnwoundChain {
    pub addresses: Vec<u64>,
    /// Whether the chain reaches the beginning of the stack.
    pub is_whole: bool,
}

#[derive(Debug, Default)]
pub struct Unwinder {
    files: Vec<(String, Option<FrameRules>)>,
    by_path: HashMap<String, u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct FrameRegisters([Option<u64>; N_REGISTERS]);

impl FrameRegisters {
    fn of(copy: &StackCopy<'_>) -> Self {
        let mut values = [None; N_REGISTERS];
        for ((_, number), bytes) in REGISTERS.iter().zip(copy.registers.chunks_exact(8)) {
            values[usize::from(*number)] = bytes.try_into().ok().map(u64::from_ne_bytes);
        }
        Self(values)
    }

    fn get(&self, number: u16) -> Option<u64> {
        self.0.get(usize::from(number)).copied().flatten()
    }

    fn set(&mut self, number: u16, value: Option<u64>) {
        if let Some(slot) = self.0.get_mut(usize::from(number)) {
            *slot = value;
        }
    }
}

/// The copy of a stack, and its address.
struct CopiedStack<'a> {
    start: u64,
    bytes: &'a [u8],
}

impl CopiedStack<'_> {
    fn read(&self, address: u64) -> Option<u64> {
        long(self.bytes, usize::try_from(address.checked_sub(self.start)?).ok()?)
    }
}

#[expect(clippy::large_enum_variant, reason = "lives on the stack, for one step of a chain")]
enum CallerFrame {
    /// The registers, and whether the caller was interrupted at its address.
    Found(FrameRegisters, bool),
    /// There is none: the program or the thread starts here.
    None,
    Unknown,
}

impl Unwinder {
    pub fn file(&mut self, path: &str) -> u32 {
        if let Some(&number) = self.by_path.get(path) {
            return number;
        }
        let number = self.files.len() as u32;
        self.files.push((path.into(), None));
        self.by_path.insert(path.into(), number);
        number
    }

    pub fn chain(
        &mut self,
        spaces: &AddressSpaces,
        process: u32,
        copy: &StackCopy<'_>,
    ) -> UnwoundChain {
        let mut registers = FrameRegisters::of(copy);
        let mut chain = UnwoundChain::default();
        let (Some(mut at), Some(start)) =
            (registers.get(PROGRAM_COUNTER), registers.get(STACK_POINTER))
        else {
            return chain;
        };
        let stack = CopiedStack { start, bytes: copy.stack };
        chain.addresses.push(at);
        // The innermost function is at its address; the others are behind their calls.
        let mut is_exact = true;
        while chain.addresses.len() < DEPTH_MAX {
            let place = if is_exact { at } else { at.saturating_sub(1) };
            let Some((file, offset)) = spaces.find(process, place) else { break };
            let is_innermost = chain.addresses.len() == 1;
            let is_caller = |next: &FrameRegisters| {
                let address = next.get(PROGRAM_COUNTER).unwrap_or_default();
                // On ARM64 the innermost function need not have a frame. Every other function takes some of the stack.
                let has_moved = next.get(STACK_POINTER) > registers.get(STACK_POINTER)
                    || (is_innermost && address != at);
                has_moved && spaces.find(process, address.saturating_sub(1)).is_some()
            };
            let caller = match self.rules(file, offset) {
                Some((rules, rule)) => by_rule(rules, &rule, &registers, &stack),
                None => {
                    let mut caller = by_frame_pointer(&registers, &stack).filter(is_caller);
                    if caller.is_none() && !is_innermost && !is_file(&self.files[file as usize].0) {
                        caller = by_trampoline(&registers, &stack);
                    }
                    caller.map_or(CallerFrame::Unknown, |next| CallerFrame::Found(next, false))
                }
            };
            match caller {
                CallerFrame::Found(next, next_is_exact) if is_caller(&next) => {
                    at = next.get(PROGRAM_COUNTER).unwrap_or_default();
                    (registers, is_exact) = (next, next_is_exact);
                    chain.addresses.push(at);
                }
                CallerFrame::None => {
                    chain.is_whole = true;
                    break;
                }
                CallerFrame::Found(..) | CallerFrame::Unknown => break,
            }
        }
        chain
    }

    fn rules(&mut self, file: u32, offset: u64) -> Option<(&FrameRules, Rc<FrameRule>)> {
        let (path, rules) = &mut self.files[file as usize];
        let rules = rules.get_or_insert_with(|| match path.as_str() {
            "[vdso]" => FrameRules::from_vdso(),
            path => FrameRules::from_file(Path::new(path)),
        });
        let rule = rules.at(offset)?;
        Some((rules, rule))
    }
}

/// The caller by the compiler's rules.
fn by_rule(
    rules: &FrameRules,
    rule: &FrameRule,
    registers: &FrameRegisters,
    stack: &CopiedStack<'_>,
) -> CallerFrame {
    let of_register = |register: Register| registers.get(register.0);
    let memory = |address| stack.read(address);
    let value = |expression, first| rules.value(rule, expression, first, of_register, memory);
    let cfa = match rule.cfa {
        CfaRule::RegisterAndOffset { register, offset } => {
            of_register(register).map(|it| it.wrapping_add_signed(offset))
        }
        CfaRule::Expression(expression) => value(expression, None),
    };
    let Some(cfa) = cfa else { return CallerFrame::Unknown };
    let mut caller = registers.clone();
    caller.set(STACK_POINTER, Some(cfa));
    for (register, place) in &rule.registers {
        if *register == rule.return_address && *place == RegisterRule::Undefined {
            return CallerFrame::None;
        }
        let found = match *place {
            RegisterRule::Undefined | RegisterRule::Architectural => None,
            RegisterRule::SameValue => of_register(*register),
            RegisterRule::Offset(offset) => stack.read(cfa.wrapping_add_signed(offset)),
            RegisterRule::ValOffset(offset) => Some(cfa.wrapping_add_signed(offset)),
            RegisterRule::Register(other) => of_register(other),
            RegisterRule::Expression(expression) => value(expression, Some(cfa)).and_then(memory),
            RegisterRule::ValExpression(expression) => value(expression, Some(cfa)),
            RegisterRule::Constant(value) => Some(value),
        };
        caller.set(register.0, found);
    }
    // Without a rule, the return address is still in its register (ARM64).
    match caller.get(rule.return_address.0) {
        None => CallerFrame::Unknown,
        Some(0) => CallerFrame::None,
        Some(address) => {
            caller.set(PROGRAM_COUNTER, Some(address & ADDRESS));
            CallerFrame::Found(caller, rule.is_signal)
        }
    }
}

/// The caller by frame pointers, as the kernel finds it: for code compiled at run time, or by Go.
fn by_frame_pointer(registers: &FrameRegisters, stack: &CopiedStack<'_>) -> Option<FrameRegisters> {
    let at = registers.get(FRAME_POINTER)?;
    let (before, address) = (stack.read(at)?, stack.read(at.checked_add(8)?)?);
    let mut caller = registers.clone();
    caller.set(FRAME_POINTER, Some(before));
    caller.set(STACK_POINTER, Some(at + 16));
    caller.set(PROGRAM_COUNTER, Some(address & ADDRESS));
    Some(caller)
}

/// The caller of the code that CPython 3.12 makes for each Python function: it takes 8 bytes of the stack and calls the
/// interpreter, which may have no frame pointers (Python/asm_trampoline.S).
fn by_trampoline(registers: &FrameRegisters, stack: &CopiedStack<'_>) -> Option<FrameRegisters> {
    let at = registers.get(STACK_POINTER)?.checked_add(8)?;
    let mut caller = registers.clone();
    caller.set(STACK_POINTER, Some(at + 8));
    caller.set(PROGRAM_COUNTER, Some(stack.read(at)? & ADDRESS));
    Some(caller)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy_of(values: &[(u16, u64)]) -> Vec<u8> {
        let value = |number: u16| values.iter().find(|it| it.0 == number).map_or(0, |it| it.1);
        REGISTERS.iter().flat_map(|&(_, number)| value(number).to_ne_bytes()).collect()
    }

    /// Each frame has the caller's frame pointer and the return address.
    #[test]
    fn frame_pointers_are_followed_where_a_file_has_no_rules() {
        let (mut unwinder, mut spaces) = (Unwinder::default(), AddressSpaces::default());
        spaces.map(1, 1000, 1000, 0, unwinder.file("/no/such/file"));
        let at = 0x7000;
        let start = [(PROGRAM_COUNTER, 1500), (STACK_POINTER, at), (FRAME_POINTER, at + 8)];
        let registers = copy_of(&start);
        // Finally, the frame's content is in no mapping.
        let words = [0, at + 32, 1600, 0, at + 48, 1700, 0, 77, 1800, 0];
        let stack: Vec<u8> = words.iter().flat_map(|it: &u64| it.to_ne_bytes()).collect();
        let mut chain = |n_bytes: usize| {
            let copy = StackCopy { registers: &registers, stack: &stack[..n_bytes] };
            unwinder.chain(&spaces, 1, &copy)
        };
        let whole = chain(stack.len());
        assert_eq!(whole.addresses, [1500, 1600, 1700]);
        assert!(!whole.is_whole);
        assert_eq!(chain(24).addresses, [1500, 1600]);
        assert_eq!(chain(0).addresses, [1500]);
    }

    /// The caller has no frame pointer; the stack has it.
    #[test]
    fn the_caller_of_code_without_a_file_is_where_the_stack_says() {
        let chain_in = |path: &str| {
            let (mut unwinder, mut spaces) = (Unwinder::default(), AddressSpaces::default());
            spaces.map(1, 1000, 100, 0, unwinder.file("/no/such/file"));
            spaces.map(1, 2000, 100, 0, unwinder.file(path));
            let start = [(PROGRAM_COUNTER, 1050), (STACK_POINTER, 0x7000), (FRAME_POINTER, 0x7000)];
            let registers = copy_of(&start);
            let words = [5_u64, 2050, 9, 1060];
            let stack: Vec<u8> = words.iter().flat_map(|it| it.to_ne_bytes()).collect();
            let copy = StackCopy { registers: &registers, stack: &stack };
            unwinder.chain(&spaces, 1, &copy).addresses
        };
        assert_eq!(chain_in("//anon"), [1050, 2050, 1060]);
        assert_eq!(chain_in("/no/such/other"), [1050, 2050]);
    }

    #[test]
    fn a_frame_that_is_its_own_caller_ends_the_chain() {
        let (mut unwinder, mut spaces) = (Unwinder::default(), AddressSpaces::default());
        spaces.map(1, 1000, 1000, 0, unwinder.file("/no/such/file"));
        let registers =
            copy_of(&[(PROGRAM_COUNTER, 1500), (STACK_POINTER, 0x7000), (FRAME_POINTER, 0x7000)]);
        let stack: Vec<u8> = [0x7000_u64, 1600].iter().flat_map(|it| it.to_ne_bytes()).collect();
        let copy = StackCopy { registers: &registers, stack: &stack };
        assert_eq!(unwinder.chain(&spaces, 1, &copy).addresses, [1500, 1600]);
        let none = StackCopy { registers: &[], stack: &[] };
        assert_eq!(unwinder.chain(&spaces, 1, &none), UnwoundChain::default());
    }
}
