//! JSON as text.

use std::io::{self, Write};

use serde::Serialize;

/// Writes a document as indented JSON with a final newline: all of it or, if it cannot be JSON, nothing.
pub fn pretty(to: &mut impl Write, document: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(document)?;
    text.push(b'\n');
    to.write_all(&text)?;
    to.flush()
}
