//! The memory of a process that waits in a system call.
#![expect(clippy::disallowed_methods, reason = "reads /proc")]

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::FileExt as _;

/// Longest text: PATH_MAX, and more for variables.
const TEXT_BYTES_MAX: usize = 1 << 17;
/// Text is read in pieces that do not cross a page, because the next page may not be mapped.
const PAGE_BYTES: u64 = 4096;
const VARIABLES_MAX: u64 = 1 << 16;

pub struct Memory(File);

impl Memory {
    pub fn of(thread: u32) -> Option<Self> {
        File::open(format!("/proc/{thread}/mem")).ok().map(Self)
    }

    pub fn bytes<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.0.read_exact_at(&mut bytes, address).ok()?;
        Some(bytes)
    }

    /// At most `n_bytes` at an address.
    pub fn up_to(&self, address: u64, n_bytes: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; n_bytes];
        let n_bytes = self.0.read_at(&mut bytes, address).ok()?;
        bytes.truncate(n_bytes);
        Some(bytes)
    }

    /// The text at an address, up to a NUL.
    pub fn text(&self, address: u64) -> Option<OsString> {
        if address == 0 {
            return None;
        }
        let (mut text, mut at) = (Vec::new(), address);
        while text.len() < TEXT_BYTES_MAX {
            let piece = self.up_to(at, (PAGE_BYTES - at % PAGE_BYTES) as usize)?;
            if let Some(end) = piece.iter().position(|&byte| byte == 0) {
                text.extend(&piece[..end]);
                return Some(OsString::from_vec(text));
            }
            at += piece.len() as u64;
            text.extend(piece);
        }
        None
    }

    /// The texts of a list that ends with a null pointer.
    pub fn texts(&self, address: u64) -> Vec<OsString> {
        let size = size_of::<usize>() as u64;
        let addresses = (0..VARIABLES_MAX).map_while(|index| {
            let bytes = self.bytes::<{ size_of::<usize>() }>(address + index * size)?;
            Some(usize::from_ne_bytes(bytes) as u64).filter(|&at| at != 0)
        });
        addresses.map_while(|at| self.text(at)).collect()
    }
}
