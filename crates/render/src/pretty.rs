//! JSON as text.

use std::io::{self, Write};

use serde::Serialize;

/// Writes indented JSON with a final newline, or nothing if the document cannot be JSON.
pub fn pretty(to: &mut impl Write, document: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(document)?;
    text.push(b'\n');
    to.write_all(&text)?;
    to.flush()
}
