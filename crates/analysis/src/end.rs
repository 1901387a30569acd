//! The end of a session.

use record::{EndReason, Event, Record};

/// Reason for the end of the session; `None` if it was killed.
pub fn end_reason(record: &Record) -> Option<EndReason> {
    record.events.iter().rev().find_map(|event| match event {
        Event::End { reason } => Some(*reason),
        _ => None,
    })
}
