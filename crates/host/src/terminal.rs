//! The way to standard output and standard error: the one place that keeps escape sequences of files, commands and
//! other programs' errors from the terminal.

use std::fmt::Display;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, IsTerminal, Write};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use anstyle::Style;
use formats::csv_cell::is_hidden;
use rustix::termios::{Winsize, tcgetwinsize};

use model::words::byte_of;
use model::wrapping::{COLUMNS, COLUMNS_MIN, width, wrapped};

/// The beginning of our own escape sequences inside this program: a random number, so no file can contain it. It is a
/// valid sequence, so width and colour filters treat it as one.
static OURS: LazyLock<String> =
    LazyLock::new(|| format!("\u{1b}[{:020};", RandomState::new().hash_one("stillwell")));
/// The sequence that [`OURS`] stands for.
const CSI: &str = "\u{1b}[";

/// A text in a style; the escape sequences of the style reach the terminal.
pub fn paint(style: Style, text: &str) -> String {
    let ours = |sequence: String| sequence.replace(CSI, &OURS);
    format!("{}{text}{}", ours(style.render().to_string()), ours(style.render_reset().to_string()))
}

/// Adds a text; what a terminal would obey is written as `\u{1b}`. Only our own colours, line ends and tabs stay.
fn escape(out: &mut String, text: &str) {
    for (index, part) in text.split(OURS.as_str()).enumerate() {
        if index > 0 {
            out.push_str(CSI);
        }
        for char in part.chars() {
            if let Some(byte) = byte_of(char) {
                out.push_str(&format!("\\x{byte:02x}"));
            } else if is_hidden(char) && !matches!(char, '\n' | '\t') {
                out.extend(char.escape_default());
            } else {
                out.push(char);
            }
        }
    }
}

/// A text as the terminal may get it.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    escape(&mut out, text);
    out
}

/// Writes text with everything escaped that is not ours.
#[derive(Debug)]
pub struct Escaping<W: Write> {
    to: W,
    /// Lines are wrapped to this width.
    columns: Option<usize>,
    /// The end of the last write: the beginning of a character or of one of our sequences.
    held: Vec<u8>,
}

impl<W: Write> Escaping<W> {
    fn new(to: W) -> Self {
        Self { to, columns: None, held: Vec::new() }
    }

    /// Escapes what is held, except for a beginning that may still go on.
    fn pass(&mut self, is_end: bool) -> io::Result<()> {
        let kept = match self.columns {
            _ if is_end => 0,
            None => unfinished(&self.held),
            Some(_) => self.held.iter().rev().take_while(|byte| **byte != b'\n').count(),
        };
        let rest = self.held.split_off(self.held.len() - kept);
        let bytes = std::mem::replace(&mut self.held, rest);
        let text = escaped(&String::from_utf8_lossy(&bytes));
        let Some(columns) = self.columns else { return self.to.write_all(text.as_bytes()) };
        for line in text.split_inclusive('\n') {
            // What a program said is quoted behind a blank, and stays as it is.
            let is_wide = width(line.trim_end()) > columns && !line.starts_with(' ');
            match is_wide {
                true => self.to.write_all(wrapped(line.trim_end(), columns).as_bytes())?,
                false => self.to.write_all(line.as_bytes())?,
            }
        }
        Ok(())
    }
}

/// Length of the end that may be the beginning of a character or of one of our sequences.
fn unfinished(bytes: &[u8]) -> usize {
    let ours = OURS.as_bytes();
    let of_ours = (1..ours.len()).rev().find(|&n| bytes.ends_with(&ours[..n]));
    let cut = || bytes.utf8_chunks().last().map_or(0, |last| last.invalid().len());
    // Only the beginning of a valid character can go on; at most three bytes of one can be missing.
    of_ours.unwrap_or_else(|| Some(cut()).filter(|&n| n < 4).unwrap_or(0))
}

impl<W: Write> Write for Escaping<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        self.pass(false)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl<W: Write> Drop for Escaping<W> {
    fn drop(&mut self) {
        self.pass(true).ok();
    }
}

/// Standard error: on a terminal, its lines are wrapped as the text on standard output is.
pub fn stderr() -> Escaping<impl Write> {
    let size = tcgetwinsize(io::stderr()).ok();
    let columns = size.map(|size| usize::from(size.ws_col)).filter(|&columns| columns > 0);
    let columns = columns.map(|columns| columns.clamp(COLUMNS_MIN, COLUMNS));
    #[expect(clippy::disallowed_methods, reason = "this is the way to the terminal")]
    let mut to = Escaping::new(anstream::stderr());
    to.columns = columns;
    to
}

/// Says something on standard error, which may be closed.
pub fn say(text: impl Display) {
    say_bare(format_args!("stillwell: {text}"));
}

/// [`say`] without the name of the program.
pub fn say_bare(line: impl Display) {
    writeln!(stderr(), "{line}").ok();
}

/// Whether standard output is thrown away, so a fuzzer can run verbs.
#[cfg(any(test, feature = "fixtures"))]
static IS_MUTE: AtomicBool = AtomicBool::new(false);

/// Throws standard output away from now on.
#[cfg(any(test, feature = "fixtures"))]
pub fn mute() {
    IS_MUTE.store(true, Ordering::Relaxed);
}

fn is_mute() -> bool {
    #[cfg(any(test, feature = "fixtures"))]
    return IS_MUTE.load(Ordering::Relaxed);
    #[cfg(not(any(test, feature = "fixtures")))]
    false
}

/// Writes finished text to standard output, without colours unless it is a terminal that wants them.
pub fn write_text(text: &str) -> io::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "this is the way to the terminal")]
    let mut stdout = anstream::stdout().lock();
    let text = escaped(text);
    if is_mute() {
        return Ok(());
    }
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    unless_closed(written, ())
}

/// Passes on the rest of what other code wrote to standard output. `written`: the result of its writes.
pub fn flushed(written: io::Result<()>) -> io::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "this is the way to the terminal")]
    let mut stdout = io::stdout();
    unless_closed(written.and_then(|()| stdout.flush()), ())
}

/// The result of a write to standard output. A reader that closes the pipe (`stillwell dump | head`) has all that it
/// wants: the rest is thrown away, and the verb goes on to its own exit code.
fn unless_closed<T>(written: io::Result<T>, if_closed: T) -> io::Result<T> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(if_closed),
        written => written,
    }
}

/// Whether a verb asked for [`data`].
static HAS_DATA: AtomicBool = AtomicBool::new(false);

/// Whether this process wrote data to standard output, or is about to.
pub fn has_data() -> bool {
    HAS_DATA.load(Ordering::Relaxed)
}

/// Standard output for data, such as CSV: unchanged into a file or a pipe, escaped on a terminal.
pub fn data() -> Box<dyn Write> {
    #[expect(clippy::disallowed_methods, reason = "this is the way to the terminal")]
    let stdout = io::stdout();
    HAS_DATA.store(true, Ordering::Relaxed);
    if is_mute() {
        return Box::new(io::sink());
    }
    Box::new(Named(escaping_on_terminal(stdout.lock())))
}

/// The error of a failed write to standard output.
pub const NOT_PRINTED: &str = "cannot write to standard output";

/// Standard output whose errors name it. A closed pipe is no error.
struct Named(Box<dyn Write>);

impl Write for Named {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        unless_closed(self.0.write(bytes), bytes.len()).map_err(named)
    }

    fn flush(&mut self) -> io::Result<()> {
        unless_closed(self.0.flush(), ()).map_err(named)
    }
}

fn named(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::Interrupted => error,
        kind => io::Error::new(kind, format!("{NOT_PRINTED}: {error}")),
    }
}

/// A file or a stream for data: unchanged, or escaped if it is a terminal.
pub fn escaping_on_terminal(to: impl Write + IsTerminal + 'static) -> Box<dyn Write> {
    if to.is_terminal() { Box::new(Escaping::new(to)) } else { Box::new(to) }
}

/// Columns of the terminal on standard output, if it is one that knows.
pub fn columns() -> Option<usize> {
    size().map(|size| usize::from(size.ws_col)).filter(|&columns| columns > 0)
}

/// Lines of the terminal on standard output, if it is one that knows.
pub fn lines() -> Option<usize> {
    size().map(|size| usize::from(size.ws_row)).filter(|&lines| lines > 0)
}

fn size() -> Option<Winsize> {
    #[expect(clippy::disallowed_methods, reason = "this is the way to the terminal")]
    tcgetwinsize(io::stdout()).ok()
}

#[cfg(test)]
mod tests {
    use anstyle::AnsiColor;

    use super::*;

    #[test]
    fn only_our_own_sequences_stay() {
        let red = AnsiColor::Red.on_default().bold();
        let text =
            format!("{}\u{1b}[31m\u{1b}]0;x\u{7}\r\u{9b}2J\u{202e}\n\té", paint(red, "ours"));
        let expected = "\u{1b}[1m\u{1b}[31mours\u{1b}[0m\\u{1b}[31m\\u{1b}]0;x\\u{7}\\r\\u{9b}2J\\u{202e}\n\té";
        assert_eq!(escaped(&text), expected);
    }

    #[test]
    fn a_text_may_be_written_in_any_pieces() {
        let red = AnsiColor::Red.on_default();
        let text = format!("a{}\u{1b}[2J é\u{202e}漢 \u{1b}[", paint(red, "b"));
        let bytes = [text.as_bytes(), b"\xff\xe6z\xe6"].concat();
        for n in 1..bytes.len() {
            let mut out = Vec::new();
            let mut to = Escaping::new(&mut out);
            for piece in bytes.chunks(n) {
                to.write_all(piece).unwrap();
            }
            drop(to);
            assert_eq!(
                String::from_utf8(out).unwrap(),
                format!("{}\u{fffd}\u{fffd}z\u{fffd}", escaped(&text)),
                "pieces of {n}"
            );
        }
    }
}
