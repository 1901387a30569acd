//! Empties the page cache for cold-cache measurements.
#![expect(
    clippy::disallowed_methods,
    reason = "writes to /proc, which no Host of captured files has"
)]

use anyhow::{Context as _, Result};

/// Writes dirty pages back, then drops the page cache, dentries and inodes (Documentation/admin-guide/sysctl/vm.rst,
/// drop_caches). The kernel drops only clean pages, so the sync comes first. Errors: not root, or /proc is read-only.
pub fn drop_caches() -> Result<()> {
    rustix::fs::sync();
    std::fs::write("/proc/sys/vm/drop_caches", "3").context(
        "cannot write \"3\" to /proc/sys/vm/drop_caches; run as root or leave --cold-cache out",
    )
}
