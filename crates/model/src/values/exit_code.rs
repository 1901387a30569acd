//! The exit codes of every verb, as the README lists them. A command that Stillwell only waits for
//! (`load -- COMMAND`, `shield exec`, `link-order`) gives its own exit code.

/// The verb did its work. With `--fail-on`: nothing is slower; `check`: every command is stable.
pub const SUCCESS: u8 = 0;

/// The verb did its work, and a check failed or a part is missing. With `--fail-on`: something is slower. `check`: a
/// command is not stable. `system show`: a knob is not tuned. `system tune`, `system reset` and `shield off`: some
/// knobs could not be set or put back. `shield status`: no shield holds.
pub const CHECK_FAILED: u8 = 1;

/// An error of the user or of Stillwell, or a command that failed.
pub const ERROR: u8 = 2;

/// The verb did its work, and there is too little data for a finding. With `--fail-on`: a verdict is undecided;
/// `check`: a command has too few runs.
pub const UNDECIDED: u8 = 3;

/// An error of `bisect --step`: git ends its search, where it would take [`ERROR`] for a bad commit.
pub const ABORTS_GIT: u8 = 128;

/// A run, or the answer of a worker, took longer than `--timeout`, as in timeout(1).
pub const TIMEOUT: u8 = 124;

/// SIGINT or SIGTERM ended the session: 128 + SIGINT, as in a shell.
pub const INTERRUPTED: u8 = 130;
