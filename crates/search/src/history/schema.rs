//! The tables of a history, and migrations from older versions.

use std::collections::HashMap;

use anyhow::{Context as _, Result, ensure};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::history::session::{SessionKey, StateOrder};

/// A step from one version of the schema to the next.
#[derive(Clone, Copy)]
struct Migration {
    sql: &'static str,
    /// A further step in Rust, after the SQL.
    then: Option<fn(&Transaction<'_>) -> Result<()>>,
}

/// All migrations; `PRAGMA user_version` counts the applied ones. Add new ones at the end and never change an old
/// one.
const MIGRATIONS: &[Migration] = &[
    Migration {
        sql: "
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
    ",
        then: None,
    },
    // The results of a record may be of several commits. A record may be a later state of a stored one.
    Migration {
        sql: "
    ALTER TABLE result ADD COLUMN revision TEXT;
    ALTER TABLE result ADD COLUMN committed_s INTEGER;
    UPDATE result SET (revision, committed_s) =
        (SELECT revision, committed_s FROM record WHERE id = result.record);
    ALTER TABLE record DROP COLUMN revision;
    ALTER TABLE record DROP COLUMN committed_s;
    ALTER TABLE record ADD COLUMN session TEXT;
    CREATE INDEX record_by_session ON record (session);
    ",
        then: Some(find_sessions),
    },
    // t0 of a record may be only an upper limit.
    Migration {
        sql: "ALTER TABLE result ADD COLUMN t0_is_limit INTEGER NOT NULL DEFAULT 0;",
        then: None,
    },
    // A record may have one benchmark at several commits. An unknown commit is empty text, as NULL is no part of a key.
    Migration {
        sql: "
    ALTER TABLE result RENAME TO result_of_one_commit;
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
        revision TEXT NOT NULL,
        committed_s INTEGER,
        t0_is_limit INTEGER NOT NULL,
        PRIMARY KEY (record, benchmark, arm, unit, revision)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO result SELECT record, benchmark, arm, unit, n_runs, t0, t0_err, median, mean,
        ifnull(revision, ''), committed_s, t0_is_limit FROM result_of_one_commit;
    DROP TABLE result_of_one_commit;
    CREATE INDEX result_by_benchmark ON result (benchmark, arm);
    ",
        then: None,
    },
    // Commits that a search found.
    Migration {
        sql: "
    CREATE TABLE culprit (
        benchmark TEXT NOT NULL,
        good TEXT NOT NULL,
        bad TEXT NOT NULL,
        head TEXT NOT NULL,
        base TEXT NOT NULL,
        subject TEXT NOT NULL,
        n_commits INTEGER NOT NULL,
        ratio REAL NOT NULL,
        lo REAL,
        hi REAL,
        layout TEXT NOT NULL,
        found_s INTEGER NOT NULL,
        PRIMARY KEY (benchmark, good, bad, head)
    ) STRICT, WITHOUT ROWID;
    ",
        then: None,
    },
];

/// Creates the tables, or migrates them to the newest version.
///
/// # Errors
/// The database is no history, or is of a newer version.
pub fn migrate(connection: &mut Connection) -> Result<()> {
    apply(connection, MIGRATIONS)
}

/// Whether the database has the newest version.
///
/// # Errors
/// The file is no database.
pub fn is_current(connection: &Connection) -> Result<bool> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok(usize::try_from(version) == Ok(MIGRATIONS.len()))
}

fn apply(connection: &mut Connection, migrations: &[Migration]) -> Result<()> {
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
        transaction.execute_batch(migration.sql)?;
        if let Some(then) = migration.then {
            then(&transaction)?;
        }
    }
    transaction.pragma_update(None, "user_version", i64::try_from(migrations.len())?)?;
    Ok(transaction.commit()?)
}

/// Sets the session of each record. Of several states of one record, it keeps only the last, which contains the
/// others.
fn find_sessions(transaction: &Transaction<'_>) -> Result<()> {
    let mut select = transaction.prepare("SELECT id FROM record ORDER BY id")?;
    let ids: Vec<i64> = select.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let packed = |id: i64| -> Result<Vec<u8>> {
        let select = "SELECT packed FROM record WHERE id = ?1";
        Ok(transaction.query_row(select, [id], |row| row.get(0))?)
    };
    let mut kept: HashMap<String, Vec<i64>> = HashMap::new();
    for id in ids {
        // Stillwell reports a damaged record when the user asks for it.
        let Ok(bytes) = unpack(&packed(id)?) else { continue };
        let Some(session) = SessionKey::of(&bytes) else { continue };
        transaction.execute("UPDATE record SET session = ?1 WHERE id = ?2", (session.id(), id))?;
        let others = kept.entry(session.id()).or_default();
        let mut superseded = None;
        for (at, &other) in others.iter().enumerate() {
            let bytes = unpack(&packed(other)?)?;
            match SessionKey::of(&bytes).map(|other| session.beside(&other)) {
                Some(StateOrder::Later) => superseded = Some((at, other)),
                Some(StateOrder::NoLater) => superseded = Some((at, id)),
                Some(StateOrder::Parted) | None => {}
            }
        }
        match superseded {
            None => others.push(id),
            Some((at, older)) => {
                transaction.execute("DELETE FROM result WHERE record = ?1", [older])?;
                transaction.execute("DELETE FROM record WHERE id = ?1", [older])?;
                others[at] = if older == id { others[at] } else { id };
            }
        }
    }
    Ok(())
}

/// Compresses bytes with gzip.
pub fn pack(bytes: &[u8]) -> Result<Vec<u8>> {
    use std::io::Write as _;
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(bytes)?;
    Ok(packer.finish()?)
}

/// The bytes before [`pack`].
///
/// # Errors
/// The bytes are damaged.
pub fn unpack(packed: &[u8]) -> Result<Vec<u8>> {
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

    const HEADER: &str = "{\"format\":\"stillwell\",\"seed\":1}\n";

    /// A history of schema version 1 with these records.
    fn of_the_first_version(records: &[&str]) -> Connection {
        let mut connection = Connection::open_in_memory().unwrap();
        apply(&mut connection, &MIGRATIONS[..1]).unwrap();
        for (number, text) in (1_i64..).zip(records) {
            connection
                .execute(
                    "INSERT INTO record VALUES (?1, ?2, 'f', 'm', 0, 'v1', 77, '[]', ?3)",
                    (number, number.to_string(), pack(text.as_bytes()).unwrap()),
                )
                .unwrap();
            connection
                .execute(
                    "INSERT INTO result VALUES (?1, 'b', '', 'ns', 9, 1, NULL, 1, 1)",
                    [number],
                )
                .unwrap();
        }
        connection
    }

    fn records(connection: &Connection) -> Vec<i64> {
        let mut select = connection.prepare("SELECT id FROM record ORDER BY id").unwrap();
        select.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    #[test]
    fn results_have_the_commit_that_their_record_had() {
        let mut connection = of_the_first_version(&["{}"]);
        for _ in 0..2 {
            migrate(&mut connection).unwrap();
        }
        assert!(is_current(&connection).unwrap());
        let found: (String, i64) = connection
            .query_row("SELECT revision, committed_s FROM result", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .unwrap();
        assert_eq!(found, ("v1".into(), 77));
    }

    #[test]
    fn of_the_states_of_a_session_the_last_one_stays() {
        let cut = format!("{HEADER}[1]\n{{\"event\":\"end\",\"reason\":\"interrupted\"}}\n");
        let whole = format!("{HEADER}[1]\n[2]\n{{\"event\":\"end\",\"reason\":\"complete\"}}\n");
        let parted = format!("{HEADER}[1]\n[3]\n");
        let other = cut.replace("\"seed\":1", "\"seed\":2");
        let imported = "{\"format\":\"stillwell\",\"imported\":{}}\n[1]\n".to_owned();
        let longer = format!("{imported}[2]\n");
        let all = [&cut, &whole, &cut, &parted, &other, &imported, &longer, "not ours"];
        let all: Vec<&str> = all.into_iter().map(|text: &str| text).collect();
        let mut connection = of_the_first_version(&all);
        connection.execute("UPDATE record SET packed = x'00' WHERE id = 8", []).unwrap();
        migrate(&mut connection).unwrap();
        assert_eq!(records(&connection), [2, 4, 5, 6, 7, 8]);
        let n_results: i64 =
            connection.query_row("SELECT count(*) FROM result", [], |row| row.get(0)).unwrap();
        assert_eq!(n_results, 6);
    }

    /// A later version reads the data of an earlier one.
    #[test]
    fn migrations_are_applied_once_each() {
        let mut connection = of_the_first_version(&["{}"]);
        let added =
            Migration { sql: "ALTER TABLE result ADD COLUMN note TEXT DEFAULT 'x';", then: None };
        let later = [MIGRATIONS, &[added]].concat();
        for _ in 0..2 {
            apply(&mut connection, &later).unwrap();
        }
        let n: i64 = connection
            .query_row("SELECT count(*) FROM result WHERE note = 'x'", [], |row| row.get(0))
            .unwrap();
        assert_eq!(n, 1);
    }
}
