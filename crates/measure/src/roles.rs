//! The processes that this program starts of itself: `argv[0]` tells them what to do.

use std::process::ExitCode;

use crate::{load, serve, stepped_clock, supervised};

/// Does the work of such a process, to its end. `None` if this is none of them.
pub fn serve_by_name() -> Option<ExitCode> {
    match std::env::args_os().next()?.to_str()? {
        serve::ARGV0 => {
            serve::serve();
            Some(ExitCode::SUCCESS)
        }
        load::ARGV0 => Some(load::serve()),
        supervised::ARGV0 => Some(supervised::serve()),
        stepped_clock::ARGV0 => Some(stepped_clock::serve()),
        _ => None,
    }
}
