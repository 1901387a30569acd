//! Opening the file of a history: to write it, or to read it where we may not write.
#![expect(clippy::disallowed_methods, reason = "makes the directory of the database")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use rustix::fs::{Mode, OFlags};

use crate::history::schema;
use crate::host::with_their_files;

/// Longest wait for another writer.
const WAIT: Duration = Duration::from_secs(30);

const WRITES: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);
/// Of a file that does not change, named by [`immutable`].
const READS: OpenFlags = OpenFlags::SQLITE_OPEN_READ_ONLY
    .union(OpenFlags::SQLITE_OPEN_NO_MUTEX)
    .union(OpenFlags::SQLITE_OPEN_URI);

/// One that is there, or a new one.
///
/// # Errors
/// It cannot be made, is no history, or is of a newer version.
pub fn to_write(path: &Path) -> Result<Connection> {
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        with_their_files(|| std::fs::create_dir_all(directory))
            .with_context(|| format!("cannot make {}", directory.display()))?;
    }
    let make = || -> Result<Connection> {
        if !path.exists() {
            // SQLite would make it ours, where it is to be of whoever asked for root; its logs have the owner of the file.
            let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
            with_their_files(|| Ok(rustix::fs::open(path, flags, Mode::from_raw_mode(0o644))?))?;
        }
        let mut connection = connect(&file(path)?, WRITES)?;
        prepare(&mut connection)?;
        Ok(connection)
    };
    make().with_context(|| cannot_use(path))
}

/// One that is there.
///
/// # Errors
/// There is none, or as [`to_write`].
pub fn to_read(path: &Path) -> Result<Connection> {
    ensure!(
        path.exists(),
        "there is no history at {}; `stillwell history add RECORD…` makes one, --db FILE names another",
        path.display()
    );
    let open = || -> Result<Connection> {
        let file = file(path)?;
        let mut connection = connect(&file, WRITES)?;
        let mut is_current = schema::is_current(&connection);
        if is_current.as_ref().is_err_and(is_refused) && !log_of(&file).exists() {
            // Readers of a database in write-ahead mode write beside it, too. Where nobody writes it can be read without that.
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
    open().with_context(|| cannot_use(path))
}

/// SQLite would take some names for something else: `:memory:`, and what begins with `file:`.
fn file(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).context("it cannot be found")
}

fn connect(name: &Path, flags: OpenFlags) -> Result<Connection> {
    let connection = Connection::open_with_flags(name, flags)?;
    connection.busy_timeout(WAIT)?;
    Ok(connection)
}

/// For writing, and of the newest version.
fn prepare(connection: &mut Connection) -> Result<()> {
    // A database in write-ahead mode keeps what was committed when a writer is killed (sqlite.org/wal.html).
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    schema::migrate(connection)
}

fn cannot_use(path: &Path) -> String {
    format!("cannot use {} as a history", path.display())
}

/// Whether we may not write.
fn is_refused(error: &anyhow::Error) -> bool {
    let code = error.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error_code);
    matches!(code, Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen))
}

/// Where SQLite keeps what is not yet in the file.
fn log_of(path: &Path) -> PathBuf {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}

/// The name of a file of which SQLite may take for granted that nobody changes it (sqlite.org/uri.html).
fn immutable(path: &Path) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-".contains(byte);
    let escaped = path.as_os_str().as_encoded_bytes().iter().map(|byte| match plain(byte) {
        true => char::from(*byte).to_string(),
        false => format!("%{byte:02x}"),
    });
    format!("file:{}?immutable=1", escaped.collect::<String>())
}
