//! The SQLite file: every record, compressed, and its results. Several programs may write it at once (SQLite's write-ahead log);
//! each record is one transaction, so one that is killed leaves all of a record or nothing of it.
#![expect(clippy::disallowed_methods, reason = "makes the directory of the database")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};
use sha2::{Digest as _, Sha256};

use crate::history::{Entry, Origin, Taken};

/// Longest wait for another writer.
const WAIT: Duration = Duration::from_secs(30);

/// Each brings the schema from one version to the next; `PRAGMA user_version` says how many were applied. They are never
/// changed, only added to.
const MIGRATIONS: &[&str] = &["
    CREATE TABLE record (
        id INTEGER PRIMARY KEY,
        digest TEXT NOT NULL UNIQUE,
        file TEXT NOT NULL,
        machine TEXT NOT NULL,
        measured_s INTEGER NOT NULL,
        revision TEXT,
        committed_s INTEGER,
        surroundings TEXT NOT NULL,
        packed BLOB NOT NULL
    ) STRICT;
    CREATE TABLE result (
        record INTEGER NOT NULL REFERENCES record(id) ON DELETE CASCADE,
        benchmark TEXT NOT NULL,
        arm TEXT NOT NULL,
        unit TEXT NOT NULL,
        n_runs INTEGER NOT NULL,
        t0 REAL NOT NULL,
        t0_err REAL,
        median REAL NOT NULL,
        mean REAL NOT NULL,
        PRIMARY KEY (record, benchmark, arm, unit)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX result_by_benchmark ON result (benchmark, arm);
    "];

/// An open history.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

/// A record to be kept.
#[derive(Debug)]
pub struct NewRecord {
    pub origin: Origin,
    pub results: Vec<Taken>,
    /// The bytes of its file.
    pub bytes: Vec<u8>,
}

impl Store {
    /// Opens a history, or makes one.
    ///
    /// # Errors
    /// It cannot be made, is no history, or is of a newer version.
    pub fn open(path: &Path) -> Result<Self> {
        if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty())
        {
            std::fs::create_dir_all(directory)
                .with_context(|| format!("cannot make {}", directory.display()))?;
        }
        Self::connect(path, Connection::open(path))
    }

    /// Opens a history that is there.
    ///
    /// # Errors
    /// As [`Store::open`], and there is none.
    pub fn open_existing(path: &Path) -> Result<Self> {
        ensure!(
            path.exists(),
            "there is no history at {}; `stillwell history add RECORD…` makes one, --db FILE names another",
            path.display()
        );
        Self::connect(path, Connection::open(path))
    }

    fn connect(path: &Path, opened: rusqlite::Result<Connection>) -> Result<Self> {
        let shown = || format!("cannot use {} as a history", path.display());
        let mut connection = opened.with_context(shown)?;
        connection.busy_timeout(WAIT).with_context(shown)?;
        // A database in write-ahead mode keeps what was committed when a writer is killed (sqlite.org/wal.html).
        connection.pragma_update(None, "journal_mode", "wal").with_context(shown)?;
        connection.pragma_update(None, "foreign_keys", true).with_context(shown)?;
        migrate(&mut connection, MIGRATIONS).with_context(shown)?;
        Ok(Self { connection, path: path.into() })
    }

    /// Keeps a record. `false`: it is there already.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, new: &NewRecord) -> Result<bool> {
        self.try_add(new).with_context(|| format!("cannot add to {}", self.path.display()))
    }

    fn try_add(&mut self, new: &NewRecord) -> Result<bool> {
        let NewRecord { origin, results, bytes } = new;
        let digest = hex(&Sha256::digest(bytes));
        let packed = pack(bytes)?;
        // Immediate: two writers that both began to read would both have to give up.
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let known = transaction
            .query_row("SELECT id FROM record WHERE digest = ?1", [&digest], |row| {
                row.get::<_, i64>(0)
            })
            .optional()?;
        if known.is_some() {
            return Ok(false);
        }
        transaction.execute(
            "INSERT INTO record (digest, file, machine, measured_s, revision, committed_s, surroundings, packed)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                digest,
                origin.file,
                origin.machine,
                origin.measured_s,
                origin.revision,
                origin.committed_s,
                serde_json::to_string(&origin.surroundings)?,
                packed
            ],
        )?;
        let record = transaction.last_insert_rowid();
        let mut insert = transaction.prepare(
            "INSERT INTO result (record, benchmark, arm, unit, n_runs, t0, t0_err, median, mean)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?;
        for result in results {
            let Taken { benchmark, arm, unit, n_runs, t0, t0_err, median, mean } = result;
            insert.execute(params![
                record,
                benchmark,
                arm,
                unit,
                i64::try_from(*n_runs)?,
                t0,
                t0_err,
                median,
                mean
            ])?;
        }
        drop(insert);
        transaction.commit()?;
        Ok(true)
    }

    /// All results, or those of benchmarks with this text in their name.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn entries(&self, filter: Option<&str>) -> Result<Vec<Entry>> {
        self.try_entries(filter).with_context(|| format!("cannot read {}", self.path.display()))
    }

    fn try_entries(&self, filter: Option<&str>) -> Result<Vec<Entry>> {
        let origins = self.origins()?;
        let mut select = self.connection.prepare(
            "SELECT record, benchmark, arm, unit, n_runs, t0, t0_err, median, mean
             FROM result WHERE ?1 IS NULL OR instr(benchmark, ?1) > 0",
        )?;
        let mut rows = select.query([filter])?;
        let mut entries = Vec::new();
        while let Some(row) = rows.next()? {
            let record: i64 = row.get(0)?;
            // One that another program has added since.
            let Some(origin) = origins.get(&record) else { continue };
            let taken = Taken {
                benchmark: row.get(1)?,
                arm: row.get(2)?,
                unit: row.get(3)?,
                n_runs: usize::try_from(row.get::<_, i64>(4)?)?,
                t0: row.get(5)?,
                t0_err: row.get(6)?,
                median: row.get(7)?,
                mean: row.get(8)?,
            };
            entries.push(Entry { record, origin: Arc::clone(origin), taken });
        }
        Ok(entries)
    }

    /// What is known of each record, by its number. Records have many results, which share it.
    fn origins(&self) -> Result<HashMap<i64, Arc<Origin>>> {
        let mut select = self.connection.prepare(
            "SELECT id, file, machine, measured_s, revision, committed_s, surroundings FROM record",
        )?;
        let mut rows = select.query([])?;
        let mut origins = HashMap::new();
        while let Some(row) = rows.next()? {
            let surroundings: String = row.get(6)?;
            let origin = Origin {
                file: row.get(1)?,
                machine: row.get(2)?,
                measured_s: row.get(3)?,
                revision: row.get(4)?,
                committed_s: row.get(5)?,
                surroundings: serde_json::from_str(&surroundings)?,
            };
            origins.insert(row.get(0)?, Arc::new(origin));
        }
        Ok(origins)
    }

    /// The file of a record, as it was added.
    ///
    /// # Errors
    /// There is none with this number.
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

fn migrate(connection: &mut Connection, migrations: &[&str]) -> Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let n_applied = usize::try_from(version).unwrap_or(usize::MAX);
    ensure!(
        n_applied <= migrations.len(),
        "it is of version {version}, and this stillwell knows up to {}; use a newer one",
        migrations.len()
    );
    if n_applied == 0 {
        let n_tables: i64 = transaction.query_row(
            "SELECT count(*) FROM sqlite_schema WHERE type = 'table'",
            [],
            |row| row.get(0),
        )?;
        ensure!(n_tables == 0, "it is a database of something else");
    }
    for migration in &migrations[n_applied..] {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "user_version", i64::try_from(migrations.len())?)?;
    Ok(transaction.commit()?)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn pack(bytes: &[u8]) -> Result<Vec<u8>> {
    use std::io::Write as _;
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(bytes)?;
    Ok(packer.finish()?)
}

fn unpack(packed: &[u8]) -> Result<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(packed)
        .read_to_end(&mut bytes)
        .context("the record is damaged")?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(text: &str) -> NewRecord {
        let taken = Taken {
            benchmark: "fib".into(),
            arm: String::new(),
            unit: "ns".into(),
            n_runs: 12,
            t0: 1.5,
            t0_err: None,
            median: 1.6,
            mean: 1.7,
        };
        let surroundings = vec![("kernel".to_owned(), "6.1".to_owned())];
        let origin = Origin { file: "a.swell".into(), surroundings, ..Origin::default() };
        NewRecord { origin, results: vec![taken], bytes: text.into() }
    }

    #[test]
    fn a_record_is_kept_once_and_comes_back_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sub/history.db");
        let mut store = Store::open(&path).unwrap();
        let new = record("bytes of a file");
        assert!(store.add(&new).unwrap());
        assert!(!store.add(&new).unwrap());
        drop(store);
        let store = Store::open_existing(&path).unwrap();
        let entries = store.entries(None).unwrap();
        assert_eq!(entries.len(), 1);
        assert_eq!((&*entries[0].origin, &entries[0].taken), (&new.origin, &new.results[0]));
        assert_eq!(store.bytes(entries[0].record).unwrap(), new.bytes);
        assert_eq!(store.entries(Some("zz")).unwrap(), []);
        assert_eq!(store.entries(Some("i")).unwrap().len(), 1);
    }

    /// Eight writers at once, and one that dies in the middle of its record.
    #[test]
    fn nothing_is_lost_by_writers_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("history.db");
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    let mut store = Store::open(path).unwrap();
                    for i in 0..20 {
                        assert!(store.add(&record(&format!("{writer} {i}"))).unwrap());
                    }
                });
            }
        });
        let store = Store::open(&path).unwrap();
        store
            .connection
            .execute_batch("BEGIN IMMEDIATE; DELETE FROM result; DELETE FROM record;")
            .unwrap();
        // Without a commit, as after kill -9.
        drop(store);
        assert_eq!(Store::open(&path).unwrap().entries(None).unwrap().len(), 160);
    }

    #[test]
    fn what_is_no_history_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("other.db");
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE mine (x)").unwrap();
        let error = format!("{:#}", Store::open(&path).unwrap_err());
        assert!(error.contains("a database of something else"), "{error}");
        let newer = directory.path().join("newer.db");
        drop(Store::open(&newer).unwrap());
        Connection::open(&newer).unwrap().pragma_update(None, "user_version", 99).unwrap();
        let error = format!("{:#}", Store::open(&newer).unwrap_err());
        assert!(error.contains("version 99"), "{error}");
        let text = directory.path().join("text.db");
        std::fs::write(&text, "hello, this is no database at all").unwrap();
        assert!(format!("{:#}", Store::open(&text).unwrap_err()).contains("text.db"));
        assert!(Store::open_existing(&directory.path().join("none.db")).is_err());
    }

    /// A later version finds what an earlier one has written.
    #[test]
    fn migrations_are_applied_once_each() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("history.db");
        Store::open(&path).unwrap().add(&record("x")).unwrap();
        let mut connection = Connection::open(&path).unwrap();
        let later = [MIGRATIONS, &["ALTER TABLE result ADD COLUMN note TEXT;"]].concat();
        for _ in 0..2 {
            migrate(&mut connection, &later).unwrap();
        }
        let n: i64 = connection
            .query_row("SELECT count(*) FROM result WHERE note IS NULL", [], |row| row.get(0))
            .unwrap();
        assert_eq!(n, 1);
    }
}
