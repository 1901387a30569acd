//! A union of time intervals.

/// Intervals without overlap, in order.
#[derive(Debug, Default)]
pub struct Intervals(Vec<(u64, u64)>);

impl Intervals {
    pub fn add(&mut self, from_ns: u64, to_ns: u64) {
        if from_ns >= to_ns {
            return;
        }
        let first = self.0.partition_point(|(_, end_ns)| *end_ns < from_ns);
        let after = self.0.partition_point(|(start_ns, _)| *start_ns <= to_ns);
        let touched = &self.0[first..after];
        let from_ns = touched.first().map_or(from_ns, |it| it.0.min(from_ns));
        let to_ns = touched.last().map_or(to_ns, |it| it.1.max(to_ns));
        self.0.splice(first..after, [(from_ns, to_ns)]);
    }

    pub fn sum_ns(&self) -> u64 {
        self.0.iter().map(|(from_ns, to_ns)| to_ns - from_ns).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_between_intervals_do_not_count() {
        let mut found = Intervals::default();
        found.add(10, 20);
        found.add(30, 40);
        found.add(35, 45);
        assert_eq!(found.sum_ns(), 10 + 15);
        found.add(15, 50);
        assert_eq!(found.sum_ns(), 40);
        found.add(55, 55);
        assert_eq!(found.sum_ns(), 40);
        found.add(0, 5);
        found.add(2, 12);
        assert_eq!(found.sum_ns(), 50);
    }
}
