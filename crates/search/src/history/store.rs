//! The SQLite file with all records, compressed, and their results.
//!
//! Several processes may write at once (SQLite's write-ahead log). Each record is one transaction, so a killed
//! process leaves a whole record or nothing.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use formats::unpacked;
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};
use sha2::{Digest as _, Sha256};

use crate::history::schema::{pack, unpack};
use crate::history::session::{SessionKey, StateOrder, hex};
use crate::history::{BenchmarkResult, RecordOrigin, StoredResult, database};

/// An open history.
#[derive(Debug)]
pub struct HistoryStore {
    pub(super) connection: Connection,
    path: PathBuf,
}

/// A record to add.
#[derive(Debug)]
pub struct NewRecord {
    pub origin: RecordOrigin,
    pub results: Vec<BenchmarkResult>,
    /// The content of its file.
    pub bytes: Vec<u8>,
}

/// Outcome of adding a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddOutcome {
    New,
    /// The record replaced an earlier state of the same session and has its number.
    Later,
    /// The history already had the record, or a later state.
    Known,
}

impl HistoryStore {
    /// Opens a history, or creates it.
    ///
    /// # Errors
    /// The file cannot be created, is no history, or is of a newer version.
    pub fn open(path: &Path) -> Result<Self> {
        Ok(Self { connection: database::to_write(path)?, path: path.into() })
    }

    /// Opens an existing history for reading. Read access to the file is enough.
    ///
    /// # Errors
    /// The file does not exist, or as [`HistoryStore::open`].
    pub fn open_existing(path: &Path) -> Result<Self> {
        Ok(Self { connection: database::to_read(path)?, path: path.into() })
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a record.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, new: &NewRecord) -> Result<AddOutcome> {
        self.try_add(new).with_context(|| format!("cannot add to {}", self.path.display()))
    }

    fn try_add(&mut self, new: &NewRecord) -> Result<AddOutcome> {
        // The digest is that of the plain file, so a compressed copy is the same record. Older histories have the
        // digests of the files as added.
        let as_is = hex(&Sha256::digest(&new.bytes));
        let text = unpacked(&new.bytes)?;
        let digest = hex(&Sha256::digest(&text));
        let packed = pack(&new.bytes)?;
        let session = SessionKey::of(&text);
        // Immediate: otherwise two writers that begin with a read would both fail to get the write lock.
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let known = transaction
            .query_row("SELECT id FROM record WHERE digest IN (?1, ?2)", [&digest, &as_is], |row| {
                row.get::<_, i64>(0)
            })
            .optional()?;
        if let Some(id) = known {
            let missing = missing(&transaction, id, &new.results)?;
            add_results(&transaction, id, missing.iter().copied())?;
            transaction.commit()?;
            return Ok(if missing.is_empty() { AddOutcome::Known } else { AddOutcome::Later });
        }
        let older = match &session {
            None => None,
            Some(session) => match find(&transaction, session)? {
                Some((_, StateOrder::NoLater)) => return Ok(AddOutcome::Known),
                Some((id, _)) => Some(id),
                None => None,
            },
        };
        if let Some(id) = older {
            transaction.execute("DELETE FROM result WHERE record = ?1", [id])?;
        }
        let origin = &new.origin;
        transaction.execute(
            "INSERT OR REPLACE INTO record (id, digest, session, file, machine, measured_s, surroundings, packed)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                older,
                digest,
                session.as_ref().map(SessionKey::id),
                origin.file,
                origin.machine,
                origin.measured_s,
                serde_json::to_string(&origin.surroundings)?,
                packed
            ],
        )?;
        add_results(&transaction, transaction.last_insert_rowid(), new.results.iter())?;
        transaction.commit()?;
        Ok(if older.is_some() { AddOutcome::Later } else { AddOutcome::New })
    }

    /// All results, or those of benchmarks with `filter` in their name.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn entries(&self, filter: Option<&str>) -> Result<Vec<StoredResult>> {
        self.try_entries(filter).with_context(|| format!("cannot read {}", self.path.display()))
    }

    fn try_entries(&self, filter: Option<&str>) -> Result<Vec<StoredResult>> {
        let origins = self.origins()?;
        let mut select = self.connection.prepare(
            "SELECT record, benchmark, arm, unit, n_runs, t0, t0_err, median, mean, nullif(revision, ''), committed_s, t0_is_limit
             FROM result WHERE ?1 IS NULL OR instr(benchmark, ?1) > 0",
        )?;
        let mut rows = select.query([filter])?;
        let mut entries = Vec::new();
        while let Some(row) = rows.next()? {
            let record: i64 = row.get(0)?;
            // Another process added this record after the first query.
            let Some(origin) = origins.get(&record) else { continue };
            let result = BenchmarkResult {
                benchmark: row.get(1)?,
                arm: row.get(2)?,
                unit: row.get(3)?,
                n_runs: usize::try_from(row.get::<_, i64>(4)?)?,
                t0: row.get(5)?,
                t0_err: row.get(6)?,
                median: row.get(7)?,
                mean: row.get(8)?,
                revision: row.get(9)?,
                committed_s: row.get(10)?,
                t0_is_limit: row.get(11)?,
            };
            entries.push(StoredResult { record, origin: Arc::clone(origin), result });
        }
        Ok(entries)
    }

    /// Origin of each record, by its number. The results of a record share it.
    fn origins(&self) -> Result<HashMap<i64, Arc<RecordOrigin>>> {
        let mut select = self
            .connection
            .prepare("SELECT id, file, machine, measured_s, surroundings FROM record")?;
        let mut rows = select.query([])?;
        let mut origins = HashMap::new();
        while let Some(row) = rows.next()? {
            let surroundings: String = row.get(4)?;
            let origin = RecordOrigin {
                file: row.get(1)?,
                machine: row.get(2)?,
                measured_s: row.get(3)?,
                surroundings: serde_json::from_str(&surroundings)?,
            };
            origins.insert(row.get(0)?, Arc::new(origin));
        }
        Ok(origins)
    }

    /// The file of a record, as added.
    ///
    /// # Errors
    /// No record has this number.
    pub fn bytes(&self, record: i64) -> Result<Vec<u8>> {
        let packed: Option<Vec<u8>> = self
            .connection
            .query_row("SELECT packed FROM record WHERE id = ?1", [record], |row| row.get(0))
            .optional()
            .with_context(|| format!("cannot read {}", self.path.display()))?;
        let packed =
            packed.with_context(|| format!("{} has no record {record}", self.path.display()))?;
        unpack(&packed)
    }
}

/// The stored record of the same session, and the order of the new one to it. Skips records that parted from the new
/// one.
fn find(transaction: &Transaction<'_>, new: &SessionKey<'_>) -> Result<Option<(i64, StateOrder)>> {
    let mut select =
        transaction.prepare("SELECT id, packed FROM record WHERE session = ?1 ORDER BY id")?;
    let mut rows = select.query([new.id()])?;
    while let Some(row) = rows.next()? {
        // Stillwell reports a damaged record when the user asks for it.
        let Ok(bytes) = unpack(&row.get::<_, Vec<u8>>(1)?) else { continue };
        match SessionKey::of(&bytes).map(|known| new.beside(&known)) {
            Some(StateOrder::Parted) | None => {}
            Some(beside) => return Ok(Some((row.get(0)?, beside))),
        }
    }
    Ok(None)
}

/// Results that a stored record lacks. An earlier `add` may have taken only some of its benchmarks.
fn missing<'a>(
    transaction: &Transaction<'_>,
    record: i64,
    results: &'a [BenchmarkResult],
) -> Result<Vec<&'a BenchmarkResult>> {
    let mut select = transaction.prepare(
        "SELECT benchmark, arm, unit, nullif(revision, '') FROM result WHERE record = ?1",
    )?;
    let key = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
    let known: HashSet<(String, String, String, Option<String>)> =
        select.query_map([record], key)?.collect::<rusqlite::Result<_>>()?;
    let is_missing = |it: &&BenchmarkResult| {
        !known.contains(&(
            it.benchmark.clone(),
            it.arm.clone(),
            it.unit.clone(),
            it.revision.clone(),
        ))
    };
    Ok(results.iter().filter(is_missing).collect())
}

fn add_results<'a>(
    transaction: &Transaction<'_>,
    record: i64,
    results: impl Iterator<Item = &'a BenchmarkResult>,
) -> Result<()> {
    let mut insert = transaction.prepare(
        "INSERT INTO result (record, benchmark, arm, unit, n_runs, t0, t0_err, median, mean, revision, committed_s, t0_is_limit)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?;
    for result in results {
        insert.execute(params![
            record,
            result.benchmark,
            result.arm,
            result.unit,
            i64::try_from(result.n_runs)?,
            result.t0,
            result.t0_err,
            result.median,
            result.mean,
            result.revision.as_deref().unwrap_or_default(),
            result.committed_s,
            result.t0_is_limit
        ])?;
    }
    Ok(())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write their own files")]
mod tests {
    use super::*;

    fn record(text: &str) -> NewRecord {
        let result = BenchmarkResult {
            benchmark: "fib".into(),
            arm: String::new(),
            unit: "ns".into(),
            n_runs: 12,
            t0: 1.5,
            t0_err: None,
            t0_is_limit: true,
            median: 1.6,
            mean: 1.7,
            revision: Some("v1".into()),
            committed_s: None,
        };
        let surroundings = vec![("kernel".to_owned(), "6.1".to_owned())];
        let origin =
            RecordOrigin { file: "a.swell".into(), surroundings, ..RecordOrigin::default() };
        NewRecord { origin, results: vec![result], bytes: text.into() }
    }

    #[test]
    fn a_record_is_kept_once_and_comes_back_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sub/history.db");
        let mut store = HistoryStore::open(&path).unwrap();
        let new = record("bytes of a file");
        assert_eq!(store.add(&new).unwrap(), AddOutcome::New);
        assert_eq!(store.add(&new).unwrap(), AddOutcome::Known);
        drop(store);
        let store = HistoryStore::open_existing(&path).unwrap();
        let entries = store.entries(None).unwrap();
        assert_eq!(entries.len(), 1);
        assert_eq!((&*entries[0].origin, &entries[0].result), (&new.origin, &new.results[0]));
        assert_eq!(store.bytes(entries[0].record).unwrap(), new.bytes);
        assert_eq!(store.entries(Some("zz")).unwrap(), []);
        assert_eq!(store.entries(Some("i")).unwrap().len(), 1);
    }

    /// Eight writers at once, and one that dies within a transaction.
    #[test]
    fn concurrent_writers_lose_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("history.db");
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    let mut store = HistoryStore::open(path).unwrap();
                    for i in 0..20 {
                        let added = store.add(&record(&format!("{writer} {i}"))).unwrap();
                        assert_eq!(added, AddOutcome::New);
                    }
                });
            }
        });
        let store = HistoryStore::open(&path).unwrap();
        store
            .connection
            .execute_batch("BEGIN IMMEDIATE; DELETE FROM result; DELETE FROM record;")
            .unwrap();
        // No commit, as after kill -9.
        drop(store);
        assert_eq!(HistoryStore::open(&path).unwrap().entries(None).unwrap().len(), 160);
    }

    #[test]
    fn other_databases_are_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("other.db");
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE mine (x)").unwrap();
        let error = format!("{:#}", HistoryStore::open(&path).unwrap_err());
        assert!(error.contains("a database of something else"), "{error}");
        let newer = directory.path().join("newer.db");
        drop(HistoryStore::open(&newer).unwrap());
        Connection::open(&newer).unwrap().pragma_update(None, "user_version", 99).unwrap();
        let error = format!("{:#}", HistoryStore::open(&newer).unwrap_err());
        assert!(error.contains("version 99"), "{error}");
        let text = directory.path().join("text.db");
        std::fs::write(&text, "hello, this is no database at all").unwrap();
        assert!(format!("{:#}", HistoryStore::open(&text).unwrap_err()).contains("text.db"));
        assert!(HistoryStore::open_existing(&directory.path().join("none.db")).is_err());
    }

    /// The history keeps the last state of a session, for any order of adding.
    #[test]
    fn a_session_is_one_record() {
        const END: &str = "{\"event\":\"end\",\"reason\":\"interrupted\"}\n";
        let header = "{\"format\":\"stillwell\",\"seed\":1}\n";
        let whole = format!("{header}[1]\n[2]\n{{\"event\":\"end\",\"reason\":\"complete\"}}\n");
        // `torn` is of a killed session, `cut` of an interrupted one.
        let (torn, cut) = (format!("{header}[1]\n[2"), format!("{header}[1]\n{END}"));
        let parted = format!("{header}[1]\n[3]\n{END}");
        let check = |states: &[(&str, AddOutcome)], expect: &[&str]| {
            let directory = tempfile::tempdir().unwrap();
            let mut store = HistoryStore::open(&directory.path().join("h.db")).unwrap();
            for (state, added) in states {
                let n_runs = state.len();
                let mut new = record(state);
                new.results[0].n_runs = n_runs;
                assert_eq!(store.add(&new).unwrap(), *added, "{state}");
            }
            let entries = store.entries(None).unwrap();
            let found: Vec<(i64, usize)> =
                entries.iter().map(|entry| (entry.record, entry.result.n_runs)).collect();
            let wanted: Vec<(i64, usize)> =
                (1..).zip(expect.iter().map(|text| text.len())).collect();
            assert_eq!(found, wanted);
            for (number, text) in (1..).zip(expect) {
                assert_eq!(store.bytes(number).unwrap(), text.as_bytes());
            }
        };
        use AddOutcome::{Known, Later, New};
        check(&[(&torn, New), (&cut, Later), (&whole, Later), (&whole, Known)], &[&whole]);
        check(&[(&whole, New), (&cut, Known), (&torn, Known)], &[&whole]);
        check(&[(&cut, New), (&torn, Known)], &[&cut]);
        check(&[(&cut, New), (&whole, Later), (&parted, New), (&cut, Known)], &[&whole, &parted]);
        let other = whole.replace("\"seed\":1", "\"seed\":2");
        check(&[(&cut, New), (&other, New)], &[&cut, &other]);
        // Converted records and files of other programs have no states.
        let imported = "{\"format\":\"stillwell\",\"imported\":{}}\n[1]\n";
        let longer = format!("{imported}[2]\n");
        check(&[(imported, New), (&longer, New)], &[imported, &longer]);
        check(&[("a\n", New), ("a\nb\n", New)], &["a\n", "a\nb\n"]);
    }
}
