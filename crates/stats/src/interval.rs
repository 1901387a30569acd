//! A closed interval of the real line, the type of every interval that the crate computes.

/// `[lo, hi]`; an end without a bound is infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

impl Interval {
    /// The whole line, which is the interval before any data.
    pub const ALL: Self = Self { lo: f64::NEG_INFINITY, hi: f64::INFINITY };

    /// Whether `x` lies inside, ends included.
    pub fn contains(self, x: f64) -> bool {
        self.lo <= x && x <= self.hi
    }

    /// Whether both ends are closer to 0 than `margin`.
    pub fn is_within(self, margin: f64) -> bool {
        -margin < self.lo && self.hi < margin
    }

    /// Half of the width, the number after "+-", in the unit of the ends.
    pub fn half_width(self) -> f64 {
        (self.hi - self.lo) / 2.0
    }

    /// The common part of both intervals, or `None` if there is none.
    ///
    /// ```
    /// use stillwell_stats::Interval;
    /// let (a, b) = (Interval { lo: 0.0, hi: 2.0 }, Interval { lo: 1.0, hi: 3.0 });
    /// assert_eq!(a.intersect(b), Some(Interval { lo: 1.0, hi: 2.0 }));
    /// ```
    pub fn intersect(self, other: Self) -> Option<Self> {
        let common = Self { lo: self.lo.max(other.lo), hi: self.hi.min(other.hi) };
        (common.lo <= common.hi).then_some(common)
    }

    /// The exponential of both ends: an interval of log ratios becomes one of ratios.
    pub fn exp(self) -> Self {
        Self { lo: self.lo.exp(), hi: self.hi.exp() }
    }
}
