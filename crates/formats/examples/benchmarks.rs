//! Prints the benchmarks of a file of any tool: `cargo run --example benchmarks FILE`.

use std::path::PathBuf;

use stillwell_formats::statistics::summary;
use stillwell_formats::{ReadOptions, read};

fn main() -> anyhow::Result<()> {
    let path: PathBuf = std::env::args_os().nth(1).unwrap_or_default().into();
    let results = read(&path, ReadOptions::default())?;
    let mut text = format!("{}\n", results.tool);
    for (label, benchmark) in results.labels().iter().zip(&results.benchmarks) {
        let center = summary(benchmark).center().unwrap_or(f64::NAN);
        text.push_str(&format!("{label}: {center} {}\n", benchmark.unit.name()));
    }
    for note in &results.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes())?;
    Ok(())
}
