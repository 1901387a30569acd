//! `--schema` of the verbs whose `--json` is a contract.

use anyhow::Result;

use crate::render::json::pretty;
use crate::render::schema;
use crate::terminal;
use crate::values::exit_code;

/// Prints the schema of these documents.
pub fn print_schema(documents: &[&str]) -> Result<u8> {
    pretty(&mut terminal::data(), &schema::schema(documents))?;
    Ok(exit_code::SUCCESS)
}
