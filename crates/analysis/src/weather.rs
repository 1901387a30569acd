//! A wandering machine, for simulations of whole sessions.

use stats::Stream;

use crate::walls::Slots;

/// Makes times from a floor, a drift, and bursts that lengthen some runs.
pub struct Weather<'a> {
    pub stream: &'a mut Stream,
    /// Share of runs that a burst lengthens.
    pub bursts: f64,
    drift: f64,
}

impl<'a> Weather<'a> {
    pub fn new(stream: &'a mut Stream, bursts: f64) -> Self {
        Self { stream, bursts, drift: 0.0 }
    }

    /// The time of a program with log time `level`, in units of the time at level 0.
    pub fn time(&mut self, level: f64) -> f64 {
        self.drift = 0.98 * self.drift + 0.002 * normal(self.stream);
        let floor = -0.004 * (1.0 - self.stream.unit()).ln();
        let is_hit = self.stream.unit() < self.bursts;
        let burst = if is_hit { 0.05 + 0.4 * self.stream.unit() } else { 0.0 };
        (level + self.drift).exp() * (1.0 + floor + burst)
    }

    /// Adds a block with both arms in random order; `levels` of the reference and of the new arm.
    pub fn run_block(&mut self, slots: &mut Slots, levels: [f64; 2]) {
        let is_new_first = self.stream.unit() < 0.5;
        let [first, second] = if is_new_first { [levels[1], levels[0]] } else { levels };
        let (first, second) = ((0, self.time(first)), (1, self.time(second)));
        if is_new_first { slots.push(second, first) } else { slots.push(first, second) }
    }
}

pub fn normal(stream: &mut Stream) -> f64 {
    let radius = (-2.0 * (1.0 - stream.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * stream.unit()).cos()
}
