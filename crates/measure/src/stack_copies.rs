//! Copies of the registers and of the top of the stack at each sample. They show the callers in a program without frame
//! pointers.

use perf_event::{Builder, SampleFlag};

use crate::fields::long;
use crate::wire::SamplingSettings;

/// Offsets in a sample of its process, the number of its addresses, and these (perf_event_open(2)).
pub const PROCESS_AT: usize = 8;
pub const CHAIN_LENGTH_AT: usize = 24;
pub const CHAIN_AT: usize = 32;

/// The copied registers: the kernel's number (asm/perf_regs.h) and DWARF's (System V ABI, AMD64 supplement, figure
/// 3.36; DWARF for the Arm 64-bit architecture, section 4.1), ordered by the kernel's.
#[cfg(target_arch = "x86_64")]
pub const REGISTERS: &[(u32, u16)] = &[
    (0, 0),
    (1, 3),
    (2, 2),
    (3, 1),
    (4, 4),
    (5, 5),
    (6, FRAME_POINTER),
    (7, STACK_POINTER),
    (8, PROGRAM_COUNTER),
    (16, 8),
    (17, 9),
    (18, 10),
    (19, 11),
    (20, 12),
    (21, 13),
    (22, 14),
    (23, 15),
];
#[cfg(target_arch = "x86_64")]
pub const FRAME_POINTER: u16 = 6;
#[cfg(target_arch = "x86_64")]
pub const STACK_POINTER: u16 = 7;
#[cfg(target_arch = "x86_64")]
pub const PROGRAM_COUNTER: u16 = 16;

#[cfg(target_arch = "aarch64")]
pub const REGISTERS: &[(u32, u16)] = &{
    let mut all = [(0, 0); 33];
    let mut n = 0;
    while n < all.len() {
        all[n] = (n as u32, n as u16);
        n += 1;
    }
    all
};
#[cfg(target_arch = "aarch64")]
pub const FRAME_POINTER: u16 = 29;
#[cfg(target_arch = "aarch64")]
pub const STACK_POINTER: u16 = 31;
#[cfg(target_arch = "aarch64")]
pub const PROGRAM_COUNTER: u16 = 32;

/// On other machines call chains need frame pointers.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub const REGISTERS: &[(u32, u16)] = &[];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub const FRAME_POINTER: u16 = 0;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub const STACK_POINTER: u16 = 1;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub const PROGRAM_COUNTER: u16 = 2;

/// Asks the kernel for registers and `stack_bytes` of the stack.
pub fn ask_for_stacks(builder: &mut Builder<'_>, stack_bytes: u32) {
    let mask = REGISTERS.iter().fold(0, |mask, (number, _)| mask | 1 << number);
    if mask != 0 {
        builder
            .sample(SampleFlag::REGS_USER | SampleFlag::STACK_USER)
            .sample_regs_user(mask)
            .sample_stack_user(stack_bytes);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackCopy<'a> {
    /// The registers in the order of [`REGISTERS`], 8 bytes each.
    pub registers: &'a [u8],
    /// The stack from its pointer on.
    pub stack: &'a [u8],
}

/// Where the call chain of a sample ends.
pub fn chain_end(body: &[u8]) -> Option<usize> {
    let n = usize::try_from(long(body, CHAIN_LENGTH_AT)?).ok()?;
    n.checked_mul(8)?.checked_add(CHAIN_AT).filter(|&end| end <= body.len())
}

/// The copies of a sample as [`cut_unused`] leaves it.
pub fn stack_copy(body: &[u8]) -> Option<StackCopy<'_>> {
    let (registers_at, size_at) = (chain_end(body)? + 8, size_at(body)?);
    let n_bytes = usize::try_from(long(body, size_at)?).ok()?;
    let stack = body.get(size_at + 8..)?.get(..n_bytes)?;
    Some(StackCopy { registers: body.get(registers_at..size_at)?, stack })
}

/// Cuts the part of a sample that the kernel did not fill. Layout behind the chain (perf_event_open(2)): kind of the
/// registers (u64), the registers, the size of the copy (u64), the copy, the filled size (u64), which becomes the size.
pub fn cut_unused(body: &mut Vec<u8>) {
    let Some(end) = chain_end(body) else { return };
    let filled = || {
        let (at, n_bytes) = (size_at(body)?, usize::try_from(long(body, size_at(body)?)?).ok()?);
        let n_filled = long(body, at + 8 + n_bytes)?;
        let kept = usize::try_from(n_filled).ok().filter(|&kept| kept <= n_bytes)?;
        Some((at, kept))
    };
    match filled() {
        Some((at, kept)) => {
            body[at..at + 8].copy_from_slice(&(kept as u64).to_ne_bytes());
            body.truncate(at + 8 + kept);
        }
        None => body.truncate(end),
    }
}

/// The offset of the copy's size; `None` for a task without 64-bit registers, such as a kernel thread.
fn size_at(body: &[u8]) -> Option<usize> {
    /// `PERF_SAMPLE_REGS_ABI_64`.
    const OF_64_BITS: u64 = 2;
    let end = chain_end(body)?;
    (!REGISTERS.is_empty() && long(body, end)? == OF_64_BITS)
        .then_some(end + 8 + 8 * REGISTERS.len())
}

/// The largest copy that `--stack-kib` can ask for.
const GROWN_BYTES: u32 = 60 << 10;
/// The copies grow if at least this share of them ends before the stack does. Call chains are used if 90 % are whole.
const SHARE_MIN: f64 = 0.1;

#[derive(Debug)]
pub struct StackRoom {
    /// Bytes of a copy.
    pub bytes: u32,
    /// Whether the copies may grow.
    pub can_grow: bool,
    n_copies: u32,
    /// Copies of a stack that goes on beyond them.
    n_full: u32,
}

impl StackRoom {
    pub fn of(settings: &SamplingSettings) -> Self {
        let (bytes, can_grow) = (settings.stack_bytes, settings.stacks_grow);
        Self { bytes, can_grow, n_copies: 0, n_full: 0 }
    }

    /// Counts a sample of the run, as [`crate::stack_copies::cut_unused`] leaves it.
    pub fn count(&mut self, sample: &[u8]) {
        if let Some(copy) = stack_copy(sample) {
            self.n_copies += 1;
            self.n_full += u32::from(copy.stack.len() >= self.bytes as usize);
        }
    }

    /// Ends a run. Returns the larger size if the next run needs it. `has_compiled`: the run has named code that it
    /// compiled.
    pub fn end_run(&mut self, has_compiled: bool) -> Option<u32> {
        let is_short = f64::from(self.n_full) >= SHARE_MIN * f64::from(self.n_copies.max(1));
        (self.n_copies, self.n_full) = (0, 0);
        if !(self.can_grow && has_compiled && is_short) {
            return None;
        }
        self.can_grow = false;
        Some(GROWN_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::longs;

    fn sample(abi: u64, copied: &[u8], n_filled: u64) -> Vec<u8> {
        let registers: Vec<u64> = (100..).take(REGISTERS.len()).collect();
        let head = longs(&[7, 0, 5, 2, 1, 2, abi]);
        match abi {
            0 => [head, longs(&[0])].concat(),
            _ => {
                let size = longs(&[copied.len() as u64]);
                [head, longs(&registers), size, copied.to_vec(), longs(&[n_filled])].concat()
            }
        }
    }

    #[test]
    fn what_the_kernel_filled_is_kept() {
        let mut body = sample(2, &[1, 2, 3, 4, 5, 6, 7, 8], 3);
        cut_unused(&mut body);
        let copy = stack_copy(&body).unwrap();
        assert_eq!(copy.stack, [1, 2, 3]);
        assert_eq!(&copy.registers[..8], 100_u64.to_ne_bytes());
        assert_eq!(copy.registers.len(), 8 * REGISTERS.len());
    }

    /// A kernel task has none; a 32-bit program has others.
    #[test]
    fn a_sample_without_copies_ends_behind_its_chain() {
        for mut body in [sample(0, &[], 0), sample(1, &[1; 8], 8), sample(2, &[1; 8], 9)] {
            cut_unused(&mut body);
            assert_eq!(body.len(), CHAIN_AT + 16);
            assert_eq!(stack_copy(&body), None);
        }
    }

    #[test]
    fn no_damage_makes_it_panic() {
        let whole = sample(2, &[9; 16], 16);
        for n in 0..whole.len() {
            let mut body = whole[..n].to_vec();
            cut_unused(&mut body);
            stack_copy(&body);
        }
        for at in 0..whole.len() {
            let mut body = whole.clone();
            body[at] = 255;
            cut_unused(&mut body);
            stack_copy(&body);
        }
    }

    fn room(n_full: u32, can_grow: bool) -> StackRoom {
        StackRoom { bytes: 8192, can_grow, n_copies: 20, n_full }
    }

    #[test]
    fn copies_grow_once_and_only_for_code_compiled_at_run_time() {
        let mut short = room(2, true);
        assert_eq!((short.end_run(true), short.end_run(true)), (Some(GROWN_BYTES), None));
        assert_eq!(room(2, true).end_run(false), None);
        assert_eq!(room(1, true).end_run(true), None);
        assert_eq!(room(2, false).end_run(true), None);
        // A run without samples says nothing, and the next one is judged by its own.
        let mut later = StackRoom { n_copies: 0, ..room(0, true) };
        assert_eq!(later.end_run(true), None);
        (later.n_copies, later.n_full) = (20, 20);
        assert_eq!(later.end_run(true), Some(GROWN_BYTES));
    }
}
