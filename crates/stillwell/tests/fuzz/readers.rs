//! The readers. Each goes as far as a verb does with a file that can be read.

use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path};

use clap::Parser as _;
use formats::{FileFormat, ReadOptions, Results, SourceFile, detect, limit_unpacked, unpacked};
use tempfile::TempDir;

use crate::cmd::assessment::Assessment;
use crate::cmd::usage;
use analysis::convert::of_record;
use analysis::convert::to_record::{self, ImportOptions};
use analysis::histogram::Histogram;
use analysis::launches;
use host::knobs::bench_cpus;
use host::{self, Host, Interrupts, SystemReport, journal, read_cpu_table, shield};
use measure::wire::{self, LauncherReply, LauncherRequest};
use measure::worker;
use model::spec::Cli;
use model::spec::suite::{SuiteItem, Text, Variant, parse};
use model::values::read_cpu_list;
use record::plan::suite::{VariantBuild, candidates};
use record::{Record, SuiteManifest};
use render::depth::Depth;
use render::{Styles, json, text};
use search::history::store::HistoryStore;
use search::pool::Pool;

/// Most bytes of an unpacked input.
const UNPACKED_BYTES_MAX: u64 = 1 << 20;
const BINS: usize = 48;

/// A record, from its text to the summary and JSON.
pub fn record(bytes: &[u8]) {
    if let Ok(record) = Record::parse(Path::new("r.swell"), bytes.to_vec()) {
        show(launches::gather(record));
    }
}

fn show(record: Record) {
    drop(of_record::results(&record));
    let histogram = Histogram::of(&record, BINS);
    let assessment = Assessment::of(record);
    for detail in [Depth::Brief, Depth::Verbose] {
        text::summary(assessment.judged(), histogram.as_ref(), detail, &Styles::colored());
    }
    let written = json::write(&mut Vec::new(), assessment.judged(), None);
    assert!(written.is_ok(), "JSON can be written into memory");
}

fn import(results: &Results) {
    if let Ok(record) = to_record::record(results, &ImportOptions::default()) {
        show(launches::gather(record));
    }
}

/// A file of another program, in its apparent format.
pub fn detected(bytes: &[u8]) {
    limit_unpacked(UNPACKED_BYTES_MAX);
    let Ok(plain) = unpacked(bytes) else { return };
    let Ok(format) = detect(&plain) else { return };
    let file = SourceFile { path: "file", bytes: &plain };
    if let Ok(results) = format.read(&[file], ReadOptions::default()) {
        import(&results);
    }
}

/// A file of another program, in every format.
pub fn formats(bytes: &[u8]) {
    limit_unpacked(UNPACKED_BYTES_MAX);
    for format in FileFormat::ALL {
        // criterion has a path for each benchmark.
        let file = |path| SourceFile { path, bytes };
        let files = [file("group/name/new/sample.json"), file("group/name/new/benchmark.json")];
        let _ = format.read(&files, ReadOptions::default());
    }
}

/// A suite file, up to the candidates of its benchmarks.
pub fn suite(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let text = Text { path: Path::new("s.toml"), text };
    match parse(text) {
        Err(mistake) => drop(mistake.to_string()),
        Ok(file) => {
            let planned = |variant: &SuiteItem<Variant>| VariantBuild {
                variant: Variant::clone(variant),
                ..VariantBuild::default()
            };
            let planned: Vec<VariantBuild> = file.variants.iter().map(planned).collect();
            drop(candidates(text, &file, &planned, "/"));
        }
    }
}

/// A line of a worker, and frames of the launcher.
pub fn worker(bytes: &[u8]) {
    for line in bytes.split(|&byte| byte == b'\n') {
        worker::read_as_every_answer(line);
    }
    // The launcher writes the length itself, so only the content varies.
    let frame = [&u32::try_from(bytes.len()).unwrap_or(0).to_le_bytes(), bytes].concat();
    drop(wire::receive::<LauncherReply>(&frame[..]));
    drop(wire::receive::<LauncherRequest>(&frame[..]));
}

pub(super) fn folder_of(name: &str, bytes: &[u8]) -> Option<TempDir> {
    let folder = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).ok()?;
    std::fs::write(folder.path().join(name), bytes).ok()?;
    Some(folder)
}

/// The file of a history.
pub fn history(bytes: &[u8]) {
    let Some(folder) = folder_of("h.db", bytes) else { return };
    if let Ok(store) = HistoryStore::open_existing(&folder.path().join("h.db")) {
        let entries = store.entries(None);
        entries.iter().for_each(|entry| drop(store.bytes(entry.record)));
    }
}

/// The manifests of a pool and of a suite, and the list of submissions.
pub fn folder(bytes: &[u8]) {
    let Some(folder) = folder_of("pool.json", bytes) else { return };
    if let Ok(pool) = Pool::open(folder.path()) {
        std::fs::write(folder.path().join("submissions.jsonl"), bytes).ok();
        drop(pool.submissions());
        let manifest = &pool.manifest;
        for task in 0..manifest.tasks.len().min(100) {
            drop(manifest.label(task));
            assert!(
                manifest.tasks_of(manifest.job_of(task)).contains(&task),
                "the job has its task"
            );
        }
    }
    std::fs::write(folder.path().join("suite.json"), bytes).ok();
    if let Ok(manifest) = SuiteManifest::read(folder.path()) {
        drop(manifest.records(folder.path()));
    }
}

/// A captured machine in text format, without its lists of numbers.
pub fn machine(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Some(folder) = folder_of("readme", b"") else { return };
    for (path, content) in text.lines().filter_map(|line| line.split_once('=')) {
        let (path, content) = (path.trim().replace(['{', '}'], ""), content.trim());
        let path = Path::new(&path);
        // Inputs may not write anywhere else.
        let is_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
        if is_inside && path.as_os_str().len() < 200 && path.components().count() < 20 {
            let path = folder.path().join(path);
            path.parent().map(std::fs::create_dir_all);
            std::fs::write(path, content.replace("\\n", "\n").replace("\\t", "\t") + "\n").ok();
        }
    }
    let host = Host::new(folder.path());
    drop(host::look(&host));
    drop(bench_cpus(&host, Some(&[0])));
    drop(SystemReport::new(&host, vec![0], true, None, None));
    drop(read_cpu_table(&host, None));
    drop(shield::find(&host));
    drop(shield::place(&host, None, &[[0, 1], [2, usize::MAX]]));
    drop(Interrupts::parse(&text));
    drop(read_cpu_list(&text));
}

/// The journal of a tuned machine.
pub fn journal(bytes: &[u8]) {
    let Some(folder) = folder_of("journal", bytes) else { return };
    let run = folder.path().join("run/stillwell");
    std::fs::create_dir_all(&run).ok();
    std::fs::rename(folder.path().join("journal"), run.join("journal")).ok();
    std::fs::set_permissions(run.join("journal"), PermissionsExt::from_mode(0o600)).ok();
    drop(journal::look(&Host::new(folder.path())));
}

/// Messages of an `mcp` client.
pub fn mcp(bytes: &[u8]) {
    crate::cmd::mcp::read_only(bytes);
}

/// A command line, a word on each line.
pub fn arguments(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let words: Vec<String> =
        std::iter::once("stillwell").chain(text.lines()).map(str::to_owned).collect();
    if let Err(error) = Cli::try_parse_from(&words)
        && !usage::is_answer(&error)
    {
        drop(usage::mistake(&error, &words));
    }
}
