//! The noise of a machine and its sources: the time that a benchmark or an empty loop loses. Only `sampler`,
//! `tracer`, `runs` and `core_pairs` touch the machine; `counts` and `points` read it through [`host::Host`].

mod attribute;
mod blame;
pub mod core_pairs;
pub mod core_probes;
mod counts;
mod cpu_noise;
mod points;
mod runs;
mod sampler;
mod ticks;
mod trace;
mod tracer;
mod watch;

pub use blame::RunInterval;
pub use counts::MachineCounts;
pub use cpu_noise::{ClockReport, CpuNoise, EDGES_NS, NoiseEvidence, NoiseReport};
pub use runs::RunTracer;
pub use ticks::LoopClock;
pub use watch::{NoiseRequest, NoiseResult, quietest_of, watch};
