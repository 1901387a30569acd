//! `convert`: the times that another program has measured, as a record.

#![expect(clippy::disallowed_methods, reason = "opens the file and asks how old it is")]

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, ensure};
use jiff::{Timestamp, tz::TimeZone};

use crate::cli::ConvertVerb;
use crate::cmd::exports::directory_of;
use crate::convert::{self, Session, Source};
use crate::host::Facts;
use crate::metric::Metric;
use crate::record::{EndReason, Event, FORMAT, Header, Imported, Layout, Row, VERSION, Writer};

/// Rows are written in pieces of this size.
const PIECE_BYTES: usize = 1 << 20;

/// Reads, and writes a whole record or none.
pub fn convert(verb: &ConvertVerb) -> Result<u8> {
    let shown = verb.file.display();
    ensure!(verb.record.symlink_metadata().is_err(), exists(&verb.record));
    let file = File::open(&verb.file).with_context(|| format!("cannot read {shown}"))?;
    let modified = file.metadata().and_then(|meta| meta.modified());
    let modified = modified.with_context(|| format!("cannot read {shown}"))?;
    let name = verb.file.file_name().unwrap_or(verb.file.as_os_str()).to_string_lossy();
    let source = Source { name: &name, unit: verb.unit };
    let found = verb.from.read(&mut BufReader::new(file), source);
    let reference = verb.reference.as_deref();
    let session = found.and_then(|found| convert::session(&found, verb.warmup, reference));
    let Session { plan, rows } = session.with_context(|| shown.to_string())?;
    let layout = Layout::new(&[Metric::WallNs]);
    let created = Timestamp::try_from(modified)?.to_zoned(TimeZone::system());
    let header = Header {
        format: FORMAT.into(),
        version: VERSION,
        tool: concat!("stillwell ", env!("CARGO_PKG_VERSION")).into(),
        created: created.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
        command_line: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        clock_origin_ns: 0,
        columns: layout.names(),
        plan,
        facts: Facts::default(),
        gaps: vec![convert::gap(&shown.to_string())],
        imported: Some(Imported { file: shown.to_string(), from: verb.from.name().into() }),
    };
    write(&verb.record, &header, &layout, &rows)?;
    let n_commands = header.plan.candidates().count();
    let n_warmups = rows.iter().filter(|row| row.block.is_none()).count();
    let n_runs = rows.len() - n_warmups;
    super::print(&format!(
        "commands: {n_commands}, runs: {n_runs}, warm-up runs: {n_warmups}\nrecord: {}\n",
        verb.record.display()
    ))?;
    Ok(0)
}

fn exists(record: &Path) -> anyhow::Error {
    anyhow!("the record {} exists already; choose another name or remove it", record.display())
}

/// Under another name until it is whole; that file is removed if anything goes wrong.
fn write(path: &Path, header: &Header, layout: &Layout, rows: &[Row]) -> Result<()> {
    let cannot_write = || format!("cannot write the record {}", path.display());
    let mut file = tempfile::Builder::new()
        .make_in(directory_of(path), |path| Writer::create(path, header).map_err(io::Error::other))
        .with_context(cannot_write)?;
    let mut lines = Vec::new();
    for row in rows {
        layout.encode(row, &mut lines);
        if lines.len() >= PIECE_BYTES {
            file.as_file_mut().append(&lines).with_context(cannot_write)?;
            lines.clear();
        }
    }
    let writer = file.as_file_mut();
    writer.append(&lines).with_context(cannot_write)?;
    writer.append_event(&Event::End { reason: EndReason::Complete }).with_context(cannot_write)?;
    // Who made a record of this name in the meantime keeps it.
    match file.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => Err(exists(path)),
        Err(failed) => Err(failed.error).with_context(cannot_write),
    }
}
