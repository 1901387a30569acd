//! A suite on many machines. A pool is a folder that all of them see: what is to be measured ([`manifest`]), the records of the tasks
//! that are done, and what became of the others. The queue (Slurm, or another one by a command template) only decides when and where;
//! whether a task is done is decided by one file that appears at once, whole, and never twice.

pub mod collect;
pub mod manifest;
pub mod progress;
pub mod queue;
pub mod submit;
pub mod task;

pub use manifest::{Pool, PoolManifest};
pub use progress::{PoolProgress, TaskState};
