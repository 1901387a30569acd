//! The time for reading the kernel's counts of the runs, which Stillwell does between the runs.

use crate::clock::monotonic_ns;

/// The sum so far; `None` if the launcher reads no counts.
#[derive(Clone, Copy, Debug)]
pub struct ReadingTime {
    sum_ns: Option<u64>,
}

impl ReadingTime {
    /// A sum of zero. `reads`: whether the launcher reads any counts.
    pub fn new(reads: bool) -> Self {
        Self { sum_ns: reads.then_some(0) }
    }

    /// The time now, if the launcher reads any counts.
    pub fn start(self) -> Option<u64> {
        self.sum_ns.map(|_| monotonic_ns())
    }

    pub fn add_since(&mut self, start_ns: Option<u64>) {
        if let (Some(sum_ns), Some(start_ns)) = (&mut self.sum_ns, start_ns) {
            *sum_ns += monotonic_ns() - start_ns;
        }
    }

    pub fn sum_ns(self) -> Option<u64> {
        self.sum_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_added_up_where_something_is_read() {
        let mut time = ReadingTime::new(true);
        time.add_since(None);
        assert_eq!(time.sum_ns(), Some(0));
        let start_ns = time.start().unwrap();
        time.add_since(Some(start_ns - 1_000));
        assert!(time.sum_ns().unwrap() >= 1_000);
        let mut none = ReadingTime::new(false);
        none.add_since(none.start());
        assert_eq!((none.start(), none.sum_ns()), (None, None));
    }
}
