//! The steps in which times are read, as from a coarse clock or from printed decimals.

/// A remainder below this share of the time may come from the rounding of doubles.
const ROUNDING: f64 = 1e-9;
/// A step that is a smaller share of the shortest time does not matter.
const SHARE_MIN: f64 = 1e-6;

/// The step in which times are read: the largest number of which all are multiples. Constant memory, and one division for
/// a time that is a multiple of the step so far, or once there is no step.
///
/// ```
/// use stillwell_stats::series::Resolution;
/// let mut read = Resolution::default();
/// [0.27, 0.33, 0.27, 0.42].iter().for_each(|&time| read.add(time));
/// assert!((read.step().unwrap() - 0.03).abs() < 1e-9);
/// assert!((read.share().unwrap() - 0.03 / 0.27).abs() < 1e-9);
/// read.add(0.31415926535);
/// assert_eq!(read.step(), None);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Resolution {
    /// 0 without times.
    tick: f64,
    shortest: f64,
    longest: f64,
}

impl Resolution {
    /// Takes in a time. A time of 0 is a multiple of every step.
    pub fn add(&mut self, time: f64) {
        let time = time.abs();
        if time == 0.0 {
            return;
        }
        let is_first = self.tick == 0.0;
        self.tick = if is_first { time } else { common_tick(self.tick, time) };
        self.shortest = if is_first { time } else { self.shortest.min(time) };
        self.longest = self.longest.max(time);
    }

    /// The step. Equal times show none, so it is their last decimal place there. `None` if the times are not rounded.
    pub fn step(&self) -> Option<f64> {
        let step = if self.shortest < self.longest { self.tick } else { last_place(self.longest)? };
        (step >= SHARE_MIN * self.shortest).then_some(step)
    }

    /// The step ÷ the shortest time.
    pub fn share(&self) -> Option<f64> {
        Some(self.step()? / self.shortest)
    }
}

/// The largest power of ten of which the time is a multiple.
fn last_place(time: f64) -> Option<f64> {
    if time == 0.0 {
        return None;
    }
    let first = time.log10().floor() as i32;
    let mut places = (0..7).map(|place| 10f64.powi(first - place));
    places.find(|place| (time / place - (time / place).round()).abs() <= ROUNDING)
}

/// The largest number of which both are multiples (Euclid's algorithm). `tick` if it is almost 0 beside the time.
pub(super) fn common_tick(tick: f64, time: f64) -> f64 {
    let (mut a, mut b) = (time, tick);
    while b > ROUNDING * time {
        (a, b) = (b, (a - (a / b).round() * b).abs());
    }
    a.min(tick)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prng::Stream;

    fn read(times: impl IntoIterator<Item = f64>) -> Resolution {
        let mut read = Resolution::default();
        times.into_iter().for_each(|time| read.add(time));
        read
    }

    #[test]
    fn the_order_of_the_times_does_not_matter() {
        for times in [[0.0, 990.0, 1540.0, 990.0], [1540.0, 990.0, 0.0, 1540.0]] {
            assert_eq!(read(times).step(), Some(110.0));
            assert_eq!(read(times).share(), Some(110.0 / 990.0));
        }
    }

    #[test]
    fn equal_times_are_read_to_their_last_decimal_place() {
        let close =
            |step: Option<f64>, expected: f64| (step.unwrap() / expected - 1.0).abs() < 1e-9;
        assert!(close(read([0.28; 9]).step(), 0.01));
        assert!(close(read([280e6; 9]).step(), 10e6));
        assert!(close(read([5.0; 9]).step(), 1.0));
        assert_eq!(read([12_345_678.0; 9]).step(), None);
        assert_eq!(read([0.0; 9]).step(), None);
    }

    #[test]
    fn times_that_are_not_rounded_show_no_step() {
        let mut stream = Stream::new(3);
        assert_eq!(read((0..20).map(|_| 1.0 + stream.unit())).step(), None);
        assert_eq!(read([]).step(), None);
        // Nanoseconds of a second.
        assert_eq!(read([1e9, 1e9 + 7.0, 1e9 + 10.0]).step(), None);
    }
}
