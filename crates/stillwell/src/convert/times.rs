//! `TIME<TAB>COMMAND`, one run a line: what `--export-times` and `tim -s` write. Without a tab the line is a time alone.
//! Blank lines and those that start with `#` are passed over.

use std::collections::HashMap;
use std::io::{BufRead, Read as _};

use anyhow::{Context as _, Result, bail, ensure};

use crate::convert::json::Sign;
use crate::convert::read::{File, Options, file_name};
use crate::convert::results::{About, Benchmark, NOTE_ORDER, Results, Unit};
use crate::convert::{Runs, Source, whole_ns};

/// The longest line that is taken for a command line.
const LINE_BYTES_MAX: usize = 1 << 20;
/// Characters of a wrong line that the error shows.
const SHOWN_CHARS: usize = 40;

/// Reads all lines; each is a launch of one value. Times are as they are written, not in whole nanoseconds.
///
/// # Errors
/// The first line that cannot be understood, with its number.
pub(super) fn read_results(files: &[File<'_>], options: Options<'_>) -> Result<Results> {
    let mut results = Results { tool: "times".into(), ..Results::default() };
    let mut indices = HashMap::new();
    for (index, line) in files[0].bytes.split(|&byte| byte == b'\n').enumerate() {
        let parsed = parse_line(line, file_name(&files[0])).and_then(|parsed| {
            let Some(Run { command, time, value }) = parsed else { return Ok(None) };
            let ns = Sign::NotNegative.check(value * options.unit.ns());
            let ns = ns.map_err(anyhow::Error::msg).with_context(|| time.to_owned())?;
            Ok(Some((command, ns)))
        });
        let Some((command, ns)) = parsed.with_context(|| format!("line {}", index + 1))? else {
            continue;
        };
        // An empty command is what was subtracted from the others.
        let name = if command.is_empty() { "empty command" } else { command };
        let benchmark = *indices.entry(name).or_insert_with(|| {
            results.benchmarks.push(Benchmark::new(name, Unit::Time));
            results.benchmarks.len() - 1
        });
        results.benchmarks[benchmark].values.push(ns);
        results.benchmarks[benchmark].end_launch(About::default());
    }
    if results.benchmarks.len() > 1 {
        results.note(NOTE_ORDER);
    }
    Ok(results)
}

/// Reads all lines.
///
/// # Errors
/// The first line that cannot be understood, with its number.
pub(super) fn read(file: &mut dyn BufRead, source: Source<'_>) -> Result<Runs> {
    let mut runs = Runs::default();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let n_bytes = file.take(LINE_BYTES_MAX as u64 + 1).read_until(b'\n', &mut line)?;
        if n_bytes == 0 {
            break;
        }
        read_line(&mut runs, &line, source).with_context(|| format!("line {number}"))?;
    }
    Ok(runs)
}

fn read_line(runs: &mut Runs, line: &[u8], source: Source<'_>) -> Result<()> {
    if let Some(Run { command, time, value }) = parse_line(line, source.name)? {
        runs.push(command, whole_ns(value, source.unit).with_context(|| time.to_owned())?);
    }
    Ok(())
}

/// What a line says.
struct Run<'a> {
    command: &'a str,
    /// As it is written.
    time: &'a str,
    value: f64,
}

/// The command and its time, or none if it is a line without one.
fn parse_line<'a>(line: &'a [u8], name: &'a str) -> Result<Option<Run<'a>>> {
    ensure!(line.len() <= LINE_BYTES_MAX, "longer than {LINE_BYTES_MAX} bytes");
    let line = str::from_utf8(line).context("not UTF-8")?;
    let line = line.strip_suffix('\n').unwrap_or(line);
    let line = line.strip_suffix('\r').unwrap_or(line);
    if line.trim().is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let (time, command) = line.split_once('\t').unwrap_or((line, name));
    let Ok(value) = time.trim().parse::<f64>() else {
        let shown: String = time.chars().take(SHOWN_CHARS).collect();
        bail!("{shown:?} is not a time; a line is TIME, or TIME, a tab and the command");
    };
    Ok(Some(Run { command, time, value }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::TimeUnit;

    fn parse(text: &[u8]) -> Result<Runs> {
        read(&mut &*text, Source { name: "file.txt", unit: TimeUnit::Ms })
    }

    #[track_caller]
    fn check(text: &str, commands: &[&str], runs: &[(usize, u64)]) {
        let found = parse(text.as_bytes()).unwrap();
        assert_eq!(found.commands, commands, "{text:?}");
        assert_eq!(found.runs, runs, "{text:?}");
    }

    #[track_caller]
    fn check_error(text: &[u8], expected: &str) {
        let error = format!("{:#}", parse(text).unwrap_err());
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn lines_of_every_kind() {
        check(
            "1.5\ta\n2\tb c\n1.25\ta",
            &["a", "b c"],
            &[(0, 1_500_000), (1, 2_000_000), (0, 1_250_000)],
        );
        check("# a comment\n\n 1e-3 \n2\r\n \t\n", &["file.txt"], &[(0, 1000), (0, 2_000_000)]);
        check("1\t\n2\ta\tb\n", &["", "a\tb"], &[(0, 1_000_000), (1, 2_000_000)]);
        check("", &[], &[]);
    }

    #[test]
    fn a_wrong_line_has_its_number() {
        check_error(b"1\ta\n\nfast\tb\n", "line 3: \"fast\" is not a time");
        check_error(b"1 sleep 1\n", "line 1: \"1 sleep 1\" is not a time");
        check_error(b"-1\ta\n", "line 1: -1: a time is between");
        check_error(b"nan\ta\n", "line 1: nan: a time is between");
        check_error(b"inf\ta\n", "line 1: inf: a time is between");
        check_error(b"1e-7\ta\n", "too short");
        check_error(b"1\t\xff\n", "line 1: not UTF-8");
        check_error(&[b'7'; LINE_BYTES_MAX + 2], "line 1: longer than 1048576 bytes");
    }
}
