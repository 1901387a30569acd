//! `--schema` of the verbs whose `--json` is a contract.

use anyhow::Result;

use host::terminal;
use model::values::exit_code;
use render::json::pretty;
use render::schema;

/// Prints the schema of these documents.
pub fn print_schema(documents: &[&str]) -> Result<u8> {
    pretty(&mut terminal::data(), &schema::schema(documents))?;
    Ok(exit_code::SUCCESS)
}
