//! JSON as text.

use std::io::{self, Write};

use serde::Serialize;

use crate::remedies::Audience;

/// Writes a document as indented JSON with a final newline: all of it or, if it cannot be JSON, nothing.
pub fn pretty(to: &mut impl Write, document: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(document)?;
    text.push(b'\n');
    to.write_all(&text)?;
    to.flush()
}

/// As [`pretty`], with the names of options that this audience has. A name has nothing in it that JSON escapes.
///
/// # Errors
/// `to` cannot be written.
pub fn pretty_for(
    to: &mut impl Write,
    document: &impl Serialize,
    audience: Audience,
) -> io::Result<()> {
    let text = serde_json::to_string_pretty(document)?;
    writeln!(to, "{}", audience.words(&text))?;
    to.flush()
}
