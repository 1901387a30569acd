//! How much of the stack is copied. Calls of Python functions, and of other code that is compiled at run time, take several
//! times the stack of compiled ones, so their callers may be beyond the copy.

use crate::stack_copies::stack_copy;
use crate::wire::SamplingSettings;

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
