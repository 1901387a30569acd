//! A suite on many machines.
//!
//! A pool is a folder that all machines share, with the manifest ([`manifest`]), the records of finished tasks and the
//! messages of failed ones. The queue (Slurm, or another one through a command template) decides when and where a job
//! runs. One file, which appears atomically and only once, decides whether a task is done.

pub mod collect;
pub mod manifest;
pub mod progress;
pub mod queue;
pub mod submit;

pub use manifest::{Pool, PoolManifest};
pub use progress::{PoolProgress, TaskState};
