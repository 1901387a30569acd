//! Arithmetic of values with errors, by first-order propagation for independent errors (JCGM
//! 100:2008, section 5.1.2).

/// An estimate with its standard error, both in the same unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointEstimate {
    /// Best estimate.
    pub value: f64,
    /// Standard error, not negative.
    pub err: f64,
}

impl PointEstimate {
    /// `self - other`; error `sqrt(a^2 + b^2)`.
    ///
    /// ```
    /// use stillwell_stats::PointEstimate;
    /// let (run, shell) = (PointEstimate { value: 9.0, err: 4.0 }, PointEstimate { value: 2.0, err: 3.0 });
    /// assert_eq!(run.minus(shell), PointEstimate { value: 7.0, err: 5.0 });
    /// ```
    pub fn minus(self, other: Self) -> Self {
        Self { value: self.value - other.value, err: self.err.hypot(other.err) }
    }

    /// `self / other`, dimensionless; error `sqrt(a^2 + (r b)^2) / |y|` with the ratio `r`.
    ///
    /// Infinite or NaN if `other` is zero. A first-order formula is accurate while `other` is many
    /// errors away from zero.
    ///
    /// ```
    /// use stillwell_stats::PointEstimate;
    /// let (new, old) = (PointEstimate { value: 6.0, err: 0.3 }, PointEstimate { value: 2.0, err: 0.0 });
    /// assert_eq!(new.over(old), PointEstimate { value: 3.0, err: 0.15 });
    /// ```
    pub fn over(self, other: Self) -> Self {
        let ratio = self.value / other.value;
        Self { value: ratio, err: self.err.hypot(ratio * other.err) / other.value.abs() }
    }
}

/// `(num - control) / (den - control)`, the ratio of two times that contain one overhead.
///
/// Numerator and denominator share the error of the control, so most of it cancels near a ratio `r`
/// of 1. Error: `sqrt(n^2 + (r d)^2 + ((r - 1) c)^2) / |den - control|`.
///
/// ```
/// use stillwell_stats::{PointEstimate, propagate::ratio_minus_control};
/// let t = PointEstimate { value: 5.0, err: 0.0 };
/// let shell = PointEstimate { value: 1.0, err: 0.5 };
/// assert_eq!(ratio_minus_control(t, t, shell), PointEstimate { value: 1.0, err: 0.0 });
/// ```
pub fn ratio_minus_control(
    num: PointEstimate,
    den: PointEstimate,
    control: PointEstimate,
) -> PointEstimate {
    let below = den.value - control.value;
    let ratio = (num.value - control.value) / below;
    let independent = num.err.hypot(ratio * den.err);
    PointEstimate {
        value: ratio,
        err: independent.hypot((ratio - 1.0) * control.err) / below.abs(),
    }
}
