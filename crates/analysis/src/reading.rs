//! Times that another clock than Stillwell's own read, perhaps in coarse steps.

use record::{Record, Row};

/// Whether the compared values were read by the kernel, the program or another tool. Stillwell's own clocks count
/// nanoseconds.
pub fn is_read_elsewhere(record: &Record) -> bool {
    let rows = record.slices.as_ref().unwrap_or(&record.rows);
    record.header.imported.is_some() || rows.compares_other_values()
}

/// [`is_read_elsewhere`] of a run of a session.
pub fn is_row_read_elsewhere(row: &Row) -> bool {
    row.compared.decide_on.map_or(row.value.is_some(), |it| it.clock().is_none())
}
