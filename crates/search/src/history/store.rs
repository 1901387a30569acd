//! All records of a history, compressed, with their results. Several processes may write at once: each addition is one
//! line of the file, so a killed process leaves a whole record or nothing.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use formats::unpacked;
use sha2::{Digest as _, Sha256};

use crate::history::lines::{self, HistoryLine, LineEnd, StoredRecord};
use crate::history::session::{SessionKey, StateOrder, hex};
use crate::history::{BenchmarkResult, RecordOrigin, StoredCulprit, StoredResult};
use host::open_regular;

#[derive(Debug)]
pub struct HistoryStore {
    path: PathBuf,
    file: File,
    records: BTreeMap<i64, StoredRecord>,
    culprits: Vec<StoredCulprit>,
    end: LineEnd,
}

#[derive(Debug)]
pub struct NewRecord {
    pub origin: RecordOrigin,
    pub results: Vec<BenchmarkResult>,
    pub bytes: Vec<u8>,
    /// Whether the user named the revision. Then it replaces the stored one.
    pub is_revision_given: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddOutcome {
    New,
    /// The record replaced an earlier state of the same session and has its number.
    Later,
    /// The history already had the record, or a later state.
    Known,
}

impl HistoryStore {
    /// Opens a history, or creates it. Errors: the file cannot be created, is no history, or is of a newer version.
    pub fn open(path: &Path) -> Result<Self> {
        lines::to_append(path)
            .and_then(|file| Self::of(path, file))
            .with_context(|| cannot_use(path))
    }

    /// Opens an existing history. Read access to the file is enough. Errors: the file does not exist; or see
    /// [`HistoryStore::open`].
    pub fn open_existing(path: &Path) -> Result<Self> {
        // If the file cannot be examined, opening it says why.
        ensure!(
            path.try_exists().unwrap_or(true),
            "there is no history at {}; `stillwell history add RECORD…` makes one, --db FILE names another",
            path.display()
        );
        let read = || Self::of(path, open_regular(path)?);
        read().with_context(|| cannot_use(path))
    }

    fn of(path: &Path, file: File) -> Result<Self> {
        let (records, culprits) = (BTreeMap::new(), Vec::new());
        let mut store =
            Self { path: path.into(), file, records, culprits, end: LineEnd::default() };
        store.read_on()?;
        Ok(store)
    }

    /// Reads what others have added.
    fn read_on(&mut self) -> Result<()> {
        let (added, end) = lines::read(&self.file, self.end)?;
        added.into_iter().for_each(|line| self.take(line));
        self.end = end;
        Ok(())
    }

    fn take(&mut self, line: HistoryLine) {
        match line {
            HistoryLine::Record(record) => {
                self.records.insert(record.number, record);
            }
            HistoryLine::More { record, results } => {
                if let Some(record) = self.records.get_mut(&record) {
                    let new: HashSet<_> = results.iter().map(name).collect();
                    record.results.retain(|it| !new.contains(&name(it)));
                    record.results.extend(results);
                    sort(&mut record.results);
                }
            }
            HistoryLine::Culprits(found) => {
                let ends =
                    |it: &StoredCulprit| (it.benchmark.clone(), it.good.clone(), it.bad.clone());
                let searched: HashSet<_> = found.iter().map(ends).collect();
                self.culprits.retain(|it| !searched.contains(&ends(it)));
                self.culprits.extend(found);
                self.culprits.sort_by(|a, b| (a.found_s, &a.head).cmp(&(b.found_s, &b.head)));
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file ends within a line: a writer is writing it, or was killed.
    pub fn is_cut(&self) -> bool {
        self.end.is_cut
    }

    /// Adds a record.
    pub fn add(&mut self, new: &NewRecord) -> Result<AddOutcome> {
        self.locked(|store| store.line_of(new))
    }

    /// Stores the commits that a search found, in place of those from an earlier search with the same ends.
    pub fn add_culprits(&mut self, culprits: &[StoredCulprit]) -> Result<()> {
        self.locked(|_| Ok(((), Some(HistoryLine::Culprits(culprits.to_vec())))))
    }

    /// Appends the line that `decide` makes of the current content, while no other process writes.
    fn locked<T>(
        &mut self,
        decide: impl FnOnce(&Self) -> Result<(T, Option<HistoryLine>)>,
    ) -> Result<T> {
        let add = || -> Result<T> {
            lines::lock(&self.file)?;
            self.read_on()?;
            let (outcome, line) = decide(self)?;
            if let Some(line) = line {
                self.end = lines::append(&self.file, self.end, &line)?;
                self.take(line);
            }
            Ok(outcome)
        };
        let outcome = add();
        lines::unlock(&self.file);
        outcome.with_context(|| format!("cannot add to {}", self.path.display()))
    }

    /// The line to write for a record, if any.
    fn line_of(&self, new: &NewRecord) -> Result<(AddOutcome, Option<HistoryLine>)> {
        for it in &new.results {
            let is_finite = [it.t0, it.median, it.mean].iter().all(|value| value.is_finite());
            ensure!(is_finite, "{:?} has a value that is no number", it.benchmark);
        }
        // The digest of the plain file, so a compressed copy is the same record.
        let text = unpacked(&new.bytes)?;
        let digest = hex(&Sha256::digest(&text));
        if let Some(known) = self.records.values().find(|it| it.digest == digest) {
            let results = missing(known, new);
            if results.is_empty() {
                return Ok((AddOutcome::Known, None));
            }
            let line = HistoryLine::More { record: known.number, results };
            return Ok((AddOutcome::Later, Some(line)));
        }
        let session = SessionKey::of(&text);
        let (outcome, number) = match session.as_ref().and_then(|session| self.find(session)) {
            Some((_, StateOrder::NoLater)) => return Ok((AddOutcome::Known, None)),
            Some((number, _)) => (AddOutcome::Later, number),
            None => (AddOutcome::New, self.records.keys().next_back().map_or(1, |last| last + 1)),
        };
        let mut results = new.results.clone();
        sort(&mut results);
        let record = StoredRecord {
            number,
            digest,
            session: session.as_ref().map(SessionKey::id),
            origin: Arc::new(new.origin.clone()),
            results,
            packed: pack(&new.bytes)?,
        };
        Ok((outcome, Some(HistoryLine::Record(record))))
    }

    /// The number of the stored record of the same session, and the new record's order to it. Skips records that parted
    /// from the new one.
    fn find(&self, new: &SessionKey<'_>) -> Option<(i64, StateOrder)> {
        let id = new.id();
        let same = self.records.values().filter(|it| it.session.as_ref() == Some(&id));
        same.filter_map(|it| {
            // Stillwell reports a damaged record when the user asks for it.
            let bytes = unpack(&it.packed).ok()?;
            Some((it.number, new.beside(&SessionKey::of(&bytes)?)))
        })
        .find(|(_, order)| *order != StateOrder::Parted)
    }

    /// All results, or only of benchmarks with `filter` in their name.
    pub fn entries(&self, filter: Option<&str>) -> Vec<StoredResult> {
        let is_wanted =
            |it: &&BenchmarkResult| filter.is_none_or(|part| it.benchmark.contains(part));
        let of_record = |record: &StoredRecord| {
            let stored = |result: &BenchmarkResult| StoredResult {
                record: record.number,
                origin: Arc::clone(&record.origin),
                result: result.clone(),
            };
            record.results.iter().filter(is_wanted).map(stored).collect::<Vec<_>>()
        };
        self.records.values().flat_map(of_record).collect()
    }

    pub fn culprits(&self) -> &[StoredCulprit] {
        &self.culprits
    }

    /// The file of a record, as added. Errors: no record has this number.
    pub fn bytes(&self, record: i64) -> Result<Vec<u8>> {
        let found = self.records.get(&record);
        let found =
            found.with_context(|| format!("{} has no record {record}", self.path.display()))?;
        unpack(&found.packed)
    }
}

fn cannot_use(path: &Path) -> String {
    format!("cannot use {} as a history", path.display())
}

/// Identifies a result in a record, except among several revisions of one program.
fn name(it: &BenchmarkResult) -> (&str, &str, &str, bool) {
    (&it.benchmark, &it.arm, &it.unit, it.better().is_lower())
}

fn sort(results: &mut [BenchmarkResult]) {
    results.sort_by(|a, b| (name(a), &a.revision).cmp(&(name(b), &b.revision)));
}

/// Results that a stored record lacks, or has of another revision than the user gives. An earlier `add` may have taken
/// only some of its benchmarks.
fn missing(record: &StoredRecord, new: &NewRecord) -> Vec<BenchmarkResult> {
    let known: HashMap<_, _> = record.results.iter().map(|it| (name(it), &it.revision)).collect();
    let is_known = |it: &BenchmarkResult| {
        let revision = known.get(&name(it));
        revision.is_some_and(|known| !new.is_revision_given || **known == it.revision)
    };
    new.results.iter().filter(|it| !is_known(it)).cloned().collect()
}

fn pack(bytes: &[u8]) -> Result<String> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(bytes)?;
    Ok(BASE64.encode(packer.finish()?))
}

fn unpack(packed: &str) -> Result<Vec<u8>> {
    let packed = BASE64.decode(packed).context("the record is damaged")?;
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(&packed[..])
        .read_to_end(&mut bytes)
        .context("the record is damaged")?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
