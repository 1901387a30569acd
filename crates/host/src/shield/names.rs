//! Names that the service, its control group and the tests' machine share.

/// The slice and the service whose group is used if systemd manages the groups.
pub(super) const SLICE: &str = "stillwell.slice";
pub(super) const SERVICE: &str = "stillwell-shield.service";
