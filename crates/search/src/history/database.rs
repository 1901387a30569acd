//! Opens the file of a history for writing, or for reading without write access.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use rustix::fs::OFlags;

use crate::history::schema;
use host::open_regular;
use host::user_files::{make_directories, open_to_write};

/// Longest wait for another writer.
const WAIT: Duration = Duration::from_secs(30);
/// Time between two tries where SQLite itself does not wait.
const RETRY: Duration = Duration::from_millis(10);
/// Most tries: about as long as [`WAIT`].
const TRIES: u32 = 3000;

const WRITES: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);
/// Flags for a file that does not change, with a name by [`immutable`].
const READS: OpenFlags = OpenFlags::SQLITE_OPEN_READ_ONLY
    .union(OpenFlags::SQLITE_OPEN_NO_MUTEX)
    .union(OpenFlags::SQLITE_OPEN_URI);

/// Opens a history, or creates it.
///
/// # Errors
/// The file cannot be created, is no history, or is of a newer version.
pub fn to_write(path: &Path) -> Result<Connection> {
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        // The default place is the state directory, which is private.
        make_directories(directory, 0o700)
            .with_context(|| format!("cannot make {}", directory.display()))?;
    }
    let make = || -> Result<Connection> {
        // SQLite itself would follow a link, also with the rights that sudo lends.
        if path.exists() {
            open_regular(path)?;
        } else {
            open_to_write(path, OFlags::CREATE, 0o644)?;
        }
        refuse_other_companions(path)?;
        let mut connection = connect(&file(path)?, WRITES)?;
        prepare(&mut connection)?;
        Ok(connection)
    };
    make().map_err(in_words).with_context(|| cannot_use(path))
}

/// Opens an existing history.
///
/// # Errors
/// The file does not exist, or as [`to_write`].
pub fn to_read(path: &Path) -> Result<Connection> {
    ensure!(
        path.exists(),
        "there is no history at {}; `stillwell history add RECORD…` makes one, --db FILE names another",
        path.display()
    );
    let open = || -> Result<Connection> {
        open_regular(path)?;
        refuse_other_companions(path)?;
        let file = file(path)?;
        let mut connection = connect(&file, WRITES)?;
        let mut is_current = schema::is_current(&connection);
        if is_current.as_ref().is_err_and(is_refused) && !companion(&file, "-wal").exists() {
            // Even readers in write-ahead mode write to files beside the database. Without a log no writer is active,
            // so the database can be read as immutable.
            connection = connect(Path::new(&immutable(&file)), READS)?;
            is_current = schema::is_current(&connection);
        }
        if !is_current? {
            prepare(&mut connection).map_err(|error| match is_refused(&error) {
                true => error.context("it is of an older version, and has to be brought up to date by who may write it"),
                false => error,
            })?;
        }
        Ok(connection)
    };
    open().map_err(in_words).with_context(|| cannot_use(path))
}

/// The absolute path. SQLite gives relative names such as `:memory:` or `file:x` another meaning.
fn file(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).context("it cannot be found")
}

fn connect(name: &Path, flags: OpenFlags) -> Result<Connection> {
    let connection = Connection::open_with_flags(name, flags)?;
    connection.busy_timeout(WAIT)?;
    Ok(connection)
}

/// Prepares a connection for writing and migrates to the newest version.
fn prepare(connection: &mut Connection) -> Result<()> {
    // A database in write-ahead mode keeps what was committed when a writer is killed (sqlite.org/wal.html).
    change_to_wal(connection)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    schema::migrate(connection)
}

/// Turns write-ahead mode on. SQLite does not wait here: if two connections change the mode of a new database at once, one
/// is told at once that it is locked, whatever the busy timeout.
#[expect(clippy::disallowed_methods, reason = "SQLite tells nobody when a lock is free")]
fn change_to_wal(connection: &Connection) -> Result<()> {
    let is_wal = |mode: String| mode.eq_ignore_ascii_case("wal");
    for n_tries in 1.. {
        if connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).is_ok_and(is_wal) {
            return Ok(());
        }
        match connection.pragma_update(None, "journal_mode", "wal") {
            Err(error) if is_busy(&error) && n_tries < TRIES => std::thread::sleep(RETRY),
            done => return Ok(done?),
        }
    }
    Ok(())
}

fn is_busy(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

fn cannot_use(path: &Path) -> String {
    format!("cannot use {} as a history", path.display())
}

/// SQLite's errors with a remedy.
fn in_words(error: anyhow::Error) -> anyhow::Error {
    let failed = error.chain().find_map(|cause| cause.downcast_ref::<rusqlite::Error>());
    let text = match failed.and_then(rusqlite::Error::sqlite_error_code) {
        Some(ErrorCode::NotADatabase) => "it is no SQLite database; --db FILE names another file",
        Some(ErrorCode::DatabaseCorrupt) => {
            "the database is damaged; restore a copy, or begin a new one with --db FILE"
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another program is writing to it; try again when that has ended"
        }
        _ => return error,
    };
    anyhow::Error::msg(text)
}

/// Whether write access is missing.
fn is_refused(error: &anyhow::Error) -> bool {
    let code = error.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error_code);
    matches!(code, Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen))
}

/// Refuses what SQLite would open beside the database and what is no file: it would not say so.
fn refuse_other_companions(path: &Path) -> Result<()> {
    for suffix in ["-wal", "-shm", "-journal"] {
        let companion = companion(path, suffix);
        let is_other = companion.symlink_metadata().is_ok_and(|meta| !meta.is_file());
        ensure!(
            !is_other,
            "SQLite keeps a file of its own at {}, and something else is there; remove it",
            companion.display()
        );
    }
    Ok(())
}

/// A file that SQLite keeps beside the database (sqlite.org/tempfiles.html).
fn companion(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The URI of a file that no process changes (`immutable=1`, sqlite.org/uri.html).
fn immutable(path: &Path) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-".contains(byte);
    let escaped = path.as_os_str().as_encoded_bytes().iter().map(|byte| match plain(byte) {
        true => char::from(*byte).to_string(),
        false => format!("%{byte:02x}"),
    });
    format!("file:{}?immutable=1", escaped.collect::<String>())
}
