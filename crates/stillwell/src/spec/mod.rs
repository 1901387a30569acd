//! What was said, and nothing else: pure, no defaults.

pub mod convert;
pub mod input;
pub mod load;
pub mod metrics;
pub mod rlimit;
pub mod run;
pub mod suite;
pub mod tim;
pub mod values;
pub mod workers;

pub use run::RunSpec;
