//! Arguments that make this program a busy process.

pub const ARGV0: &str = "stillwell-load";
/// First argument of a process that runs a load.
pub const BUSY: &str = "busy";
/// First argument of a process that exits at once.
pub const END: &str = "end";
