//! A file as text: unpacked from gzip, decoded from UTF-8 or UTF-16, with or without a byte-order mark.
//!
//! PowerShell's `>` writes UTF-16, and many editors of Windows put a byte-order mark before UTF-8.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;

/// The first bytes of a gzip file (RFC 1952, 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Byte-order marks (Unicode 16, 23.8).
const UTF8_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];
const UTF16_LE_MARK: [u8; 2] = [0xff, 0xfe];
const UTF16_BE_MARK: [u8; 2] = [0xfe, 0xff];
const CHUNK_BYTES: usize = 64 << 10;
/// Most bytes after decompression; a small file can unpack to any size. Set once for all readers, before any file is
/// read: the limit comes from the machine.
static UNPACKED_BYTES_MAX: AtomicU64 = AtomicU64::new(1 << 31);

/// Sets the most bytes that a file may unpack to.
pub fn limit_unpacked(bytes: u64) {
    UNPACKED_BYTES_MAX.store(bytes, Ordering::Relaxed);
}

/// The content of a gzip file, or the bytes themselves, whatever the name of the file. Errors: the file is damaged, or
/// unpacks to more than [`limit_unpacked`] allows.
pub fn unpacked(bytes: &[u8]) -> Result<Cow<'_, [u8]>> {
    if !bytes.starts_with(&GZIP) {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut out = Vec::new();
    Unpacking::new(bytes).read_to_end(&mut out)?;
    Ok(Cow::Owned(out))
}

/// The content of a gzip file, with an error after as many bytes as [`limit_unpacked`] allows.
struct Unpacking<R> {
    gzip: flate2::bufread::MultiGzDecoder<R>,
    n_bytes: u64,
    max: u64,
}

impl<R: BufRead> Unpacking<R> {
    fn new(from: R) -> Self {
        Self {
            gzip: flate2::bufread::MultiGzDecoder::new(from),
            n_bytes: 0,
            max: UNPACKED_BYTES_MAX.load(Ordering::Relaxed),
        }
    }
}

impl<R: BufRead> Read for Unpacking<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.gzip.read(buffer);
        let n_read =
            read.map_err(|error| io::Error::other(format!("cannot unpack gzip: {error}")))?;
        self.n_bytes += n_read as u64;
        if self.n_bytes <= self.max {
            return Ok(n_read);
        }
        let max = self.max;
        let shown =
            if max >> 20 > 0 { format!("{} MiB", max >> 20) } else { format!("{max} bytes") };
        Err(io::Error::other(format!(
            "it unpacks to more than {shown}, which may need more memory than there is; \
             --max-unpacked 4G allows 4 GiB"
        )))
    }
}

/// A file as a stream of UTF-8, as far as it can be decoded. Errors: it cannot be read, or unpacked.
pub fn decoding<'a>(from: impl Read + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    let (start, from) = peeked(BufReader::new(from), GZIP.len())?;
    let (start, from) = if start.starts_with(&GZIP) {
        peeked(BufReader::new(Unpacking::new(from)), UTF8_MARK.len())?
    } else {
        peeked(from, UTF8_MARK.len())?
    };
    let utf16 = |mut from: Box<dyn BufRead + 'a>, unit: fn([u8; 2]) -> u16| {
        from.consume(UTF16_LE_MARK.len());
        Box::new(BufReader::new(Utf16 { from, unit, left: Vec::new(), out: Vec::new(), at: 0 }))
    };
    let mut from: Box<dyn BufRead + 'a> = from;
    if start.starts_with(&UTF8_MARK) {
        from.consume(UTF8_MARK.len());
    } else if start.starts_with(&UTF16_LE_MARK) {
        return Ok(utf16(from, u16::from_le_bytes));
    } else if start.starts_with(&UTF16_BE_MARK) {
        return Ok(utf16(from, u16::from_be_bytes));
    }
    Ok(from)
}

/// The first `n` bytes, and a stream that has them still.
pub fn peeked<'a>(
    mut from: impl BufRead + 'a,
    n: usize,
) -> io::Result<(Vec<u8>, Box<dyn BufRead + 'a>)> {
    let mut start = Vec::new();
    from.by_ref().take(n as u64).read_to_end(&mut start)?;
    Ok((start.clone(), Box::new(io::Cursor::new(start).chain(from))))
}

/// UTF-16 as UTF-8. A unit without its partner becomes U+FFFD.
struct Utf16<R> {
    from: R,
    unit: fn([u8; 2]) -> u16,
    /// Bytes of an incomplete character.
    left: Vec<u8>,
    out: Vec<u8>,
    at: usize,
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.out.len() {
            self.decode()?;
        }
        let n = buffer.len().min(self.out.len() - self.at);
        buffer[..n].copy_from_slice(&self.out[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

impl<R: Read> Utf16<R> {
    fn decode(&mut self) -> io::Result<()> {
        let n_before = self.left.len();
        self.from.by_ref().take(CHUNK_BYTES as u64).read_to_end(&mut self.left)?;
        let is_end = self.left.len() - n_before < CHUNK_BYTES;
        let mut units: Vec<u16> =
            self.left.chunks_exact(2).map(|pair| (self.unit)([pair[0], pair[1]])).collect();
        // The second half of a character may be in the next chunk.
        let is_split = !is_end && units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit));
        units.truncate(units.len() - usize::from(is_split));
        let text: String = char::decode_utf16(units.iter().copied())
            .map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect();
        self.left.drain(..2 * units.len());
        (self.out, self.at) = (text.into_bytes(), 0);
        if is_end && !self.left.is_empty() {
            self.left.clear();
            self.out.extend(char::REPLACEMENT_CHARACTER.to_string().as_bytes());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> String {
        let mut out = String::new();
        decoding(bytes).unwrap().read_to_string(&mut out).unwrap();
        out
    }

    #[test]
    fn marks_and_encodings_are_read() {
        let text = "käse 🧀\r\n".repeat(20_000);
        let wide = |bytes_of: fn(u16) -> [u8; 2]| -> Vec<u8> {
            "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(bytes_of).collect()
        };
        assert_eq!(decoded(text.as_bytes()), text);
        assert_eq!(decoded(format!("\u{feff}{text}").as_bytes()), text);
        assert_eq!(decoded(&wide(u16::to_le_bytes)), text);
        assert_eq!(decoded(&wide(u16::to_be_bytes)), text);
        for short in ["", "a", "ab"] {
            assert_eq!(decoded(short.as_bytes()), short);
        }
    }

    #[test]
    fn half_a_character_is_seen() {
        assert_eq!(decoded(&[0xff, 0xfe, 0x41, 0x00, 0x42]), "A\u{fffd}");
        assert_eq!(decoded(&[0xff, 0xfe, 0x00, 0xd8, 0x41, 0x00]), "\u{fffd}A");
    }
}
