//! The exit codes of every verb, as in docs/commands.md. `load -- COMMAND`, `shield exec` and `link-order` pass on the
//! exit code of their command.

/// The verb did its work. With `--fail-on`: nothing is slower; `check`: every command is stable.
pub const SUCCESS: u8 = 0;

/// A check failed, or a part is missing. With `--fail-on`: something is slower. `check`: a command is not stable.
/// `system show`: a knob is not tuned. `system tune`, `system reset` and `shield off`: some knobs could not be set or
/// put back. `shield status`: no shield holds.
pub const CHECK_FAILED: u8 = 1;

/// A mistake of the user, a fault of Stillwell, or a failed command.
pub const ERROR: u8 = 2;

/// Too little data for a finding. With `--fail-on`: a verdict is undecided. `check`: a command has too few runs.
pub const UNDECIDED: u8 = 3;

/// `bisect --step` had an error. git then ends its search; it would take [`ERROR`] for a bad commit.
pub const ABORTS_GIT: u8 = 128;

/// A run or a worker's answer exceeded `--timeout` (as in timeout(1)).
pub const TIMEOUT: u8 = 124;

/// SIGINT or SIGTERM ended the session: 128 + SIGINT, as in a shell.
pub const INTERRUPTED: u8 = 130;
