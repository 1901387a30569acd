//! Noise with a name: where the time went that a benchmark has lost, or an empty loop. Only `sampler`, `tracer`, `runs`, `osnoise::tracing` and
//! `verdict` touch the machine; `counts` and `points` read it through [`crate::host::Host`].

mod attribute;
mod blame;
mod counts;
pub mod osnoise;
mod points;
mod registers;
mod report;
mod runs;
mod sampler;
mod ticks;
mod trace;
mod tracer;
mod verdict;
mod watch;

pub use blame::Ran;
#[cfg(test)]
pub use counts::Machine;
#[cfg(test)]
pub use report::ClockReport;
pub use report::{CpuNoise, EDGES_NS, Evidence, Report};
pub use runs::RunTracer;
pub use ticks::Clock;
pub use verdict::{MachineVerdict, NoVerdict, machine_verdict};
pub use watch::{Asked, Found, watch};
