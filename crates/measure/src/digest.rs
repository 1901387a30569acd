//! Digests of what runs write.
#![expect(clippy::disallowed_methods, reason = "reads files")]

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest as _, Sha256};

/// The digest of a stream, in hexadecimal.
pub fn digest(mut from: impl Read) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(n_bytes) => hash.update(&buffer[..n_bytes]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The digest of a readable regular file.
pub fn digest_of_file(path: &Path) -> Option<String> {
    // A FIFO would wait for its other end.
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    digest(File::open(path).ok()?).ok()
}
