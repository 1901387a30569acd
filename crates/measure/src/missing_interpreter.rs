//! Explains why the kernel calls an existing program missing: its interpreter or loader is.
#![expect(clippy::disallowed_methods, reason = "reads the beginning of a program")]

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// A script's first line and an ELF file's program headers fit.
const BEGINNING_BYTES: u64 = 4096;
/// The program header type for the loader (elf(5)).
const PT_INTERP: u32 = 3;

/// The missing program, and what to do; `None` if the file does not tell.
pub(super) fn explain(program: &str) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(program).ok()?.take(BEGINNING_BYTES).read_to_end(&mut bytes).ok()?;
    if let Some(rest) = bytes.strip_prefix(b"#!") {
        let line = rest.split(|&byte| byte == b'\n').next()?;
        let is_crlf = line.ends_with(b"\r");
        let line = String::from_utf8_lossy(line);
        let interpreter = line.split_whitespace().next()?;
        return Some(
            if is_crlf && !line.trim().contains([' ', '\t']) && Path::new(interpreter).exists() {
                format!(
                    "its lines end with CRLF, so the kernel looks for \"{interpreter}\\r\"; \
                 convert them: sed -i 's/\\r$//' {}",
                    shell_words::quote(program)
                )
            } else {
                format!(
                    "its interpreter {interpreter} does not exist; install it, or correct the #! line"
                )
            },
        );
    }
    let loader = loader(&bytes)?;
    let missing = !Path::new(&loader).exists();
    missing.then(|| {
        format!("its loader {loader} does not exist; install the C library that it was built for")
    })
}

/// The loader of a 64-bit ELF file.
fn loader(bytes: &[u8]) -> Option<String> {
    let number = |at: usize, n: usize| {
        let field = bytes.get(at..at.checked_add(n)?)?;
        Some(field.iter().rev().fold(0_usize, |sum, &byte| sum << 8 | usize::from(byte)))
    };
    // 64 bits, little-endian.
    if !bytes.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (start, size, n) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    let headers = (0..n).map_while(|index| start.checked_add(index * size));
    let header = headers.into_iter().find(|&at| number(at, 4) == Some(PT_INTERP as usize))?;
    let (offset, length) =
        (number(header.checked_add(8)?, 8)?, number(header.checked_add(32)?, 8)?);
    let name = bytes.get(offset..offset.checked_add(length)?)?;
    Some(String::from_utf8_lossy(name).trim_end_matches('\0').to_owned())
}
