//! Reads `TIME<TAB>COMMAND`, one run a line, as `--export-times` and `tim -s` write it. A line without a tab is a
//! time alone. The reader skips blank lines and lines that start with `#`.

use std::collections::HashMap;

use anyhow::{Context as _, Result, bail, ensure};

use crate::convert::source::{ReadOptions, SourceFile};
use crate::results::{BenchmarkValues, LaunchInfo, NOTE_ORDER, ResultUnit, Results};
use crate::values::TimeUnit;

/// 100 years.
const NS_MAX: f64 = 3.2e18;
/// Name of the empty command.
pub(super) const EMPTY_COMMAND: &str = "empty shell";

/// The longest line that can be a command line.
const LINE_BYTES_MAX: usize = 1 << 20;
/// Characters of a wrong line that the error shows.
const SHOWN_CHARS: usize = 40;

/// Reads all lines; each is a launch of one value.
///
/// # Errors
/// The first malformed line, with its number.
pub(super) fn read_results(files: &[SourceFile<'_>], options: ReadOptions<'_>) -> Result<Results> {
    let mut results = Results { tool: "times".into(), are_commands: true, ..Results::default() };
    let mut indices = HashMap::new();
    for (index, line) in files[0].bytes.split(|&byte| byte == b'\n').enumerate() {
        let parsed = parse_line(line, files[0].name()).and_then(|parsed| {
            let Some(TimedCommand { command, time, value }) = parsed else { return Ok(None) };
            Ok(Some((command, ns(value, options.unit).with_context(|| time.to_owned())?)))
        });
        let Some((command, ns)) = parsed.with_context(|| format!("line {}", index + 1))? else {
            continue;
        };
        let at = *indices.entry(command.to_owned()).or_insert_with(|| {
            results.benchmarks.push(new_benchmark(command));
            results.benchmarks.len() - 1
        });
        results.benchmarks[at].values.push(ns);
        results.benchmarks[at].end_launch(LaunchInfo::default());
        results.order.push(u32::try_from(at)?);
    }
    ensure!(!results.benchmarks.is_empty(), "there is no time in it");
    if let [only] = &mut results.benchmarks[..] {
        only.is_control = false;
    }
    if results.benchmarks.len() > 1 {
        results.note(NOTE_ORDER);
    }
    Ok(results)
}

/// tim writes an empty command for its own overhead, which is subtracted from the others.
fn new_benchmark(command: &str) -> BenchmarkValues {
    let is_control = command.is_empty();
    let name = if is_control { EMPTY_COMMAND } else { command };
    let mut made = BenchmarkValues::new(name, ResultUnit::Time);
    made.is_control = is_control;
    made
}

/// A time in ns. Most decimals of a second are whole nanoseconds, but a product of doubles may differ in its last
/// bit.
fn ns(value: f64, unit: TimeUnit) -> Result<f64> {
    let ns = value * unit.ns();
    ensure!((0.0..=NS_MAX).contains(&ns), "a time is between 0 and 100 years");
    let is_whole = (ns - ns.round()).abs() <= 2.0 * f64::EPSILON * ns;
    Ok(if is_whole { ns.round() } else { ns })
}

/// The content of a line.
struct TimedCommand<'a> {
    command: &'a str,
    /// The text of the time.
    time: &'a str,
    value: f64,
}

/// Returns the command and its time; no command if the line has none.
fn parse_line<'a>(line: &'a [u8], name: &'a str) -> Result<Option<TimedCommand<'a>>> {
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
    Ok(Some(TimedCommand { command, time, value }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &[u8]) -> Result<Results> {
        let files = [SourceFile { path: "file.txt", bytes: text }];
        read_results(&files, ReadOptions { unit: TimeUnit::Ms, ..ReadOptions::default() })
    }

    #[track_caller]
    fn check(text: &str, commands: &[&str], runs: &[(u32, f64)]) {
        let found = parse(text.as_bytes()).unwrap();
        let names: Vec<&str> = found.benchmarks.iter().map(|it| &*it.name).collect();
        assert_eq!(names, commands, "{text:?}");
        let mut next = vec![0; names.len()];
        let in_order = found.order.iter().map(|&at| {
            next[at as usize] += 1;
            (at, found.benchmarks[at as usize].values[next[at as usize] - 1])
        });
        assert_eq!(in_order.collect::<Vec<_>>(), runs, "{text:?}");
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
            &[(0, 1_500_000.0), (1, 2_000_000.0), (0, 1_250_000.0)],
        );
        check("# a comment\n\n 1e-3 \n2\r\n \t\n", &["file.txt"], &[(0, 1000.0), (0, 2_000_000.0)]);
        check("1\t\n2\ta\tb\n", &[EMPTY_COMMAND, "a\tb"], &[(0, 1_000_000.0), (1, 2_000_000.0)]);
    }

    #[test]
    fn a_wrong_line_has_its_number() {
        check_error(b"1\ta\n\nfast\tb\n", "line 3: \"fast\" is not a time");
        check_error(b"1 sleep 1\n", "line 1: \"1 sleep 1\" is not a time");
        check_error(b"-1\ta\n", "line 1: -1: a time is between");
        check_error(b"nan\ta\n", "line 1: nan: a time is between");
        check_error(b"inf\ta\n", "line 1: inf: a time is between");
        check_error(b"1\t\xff\n", "line 1: not UTF-8");
        check_error(&[b'7'; LINE_BYTES_MAX + 2], "line 1: longer than 1048576 bytes");
        check_error(b"# nothing\n", "there is no time in it");
    }

    /// Decimals of a second are whole nanoseconds, however they multiply.
    #[test]
    fn whole_nanoseconds_stay_whole() {
        let of = |seconds: f64| ns(seconds, TimeUnit::S).unwrap();
        for whole in [5_100_000_u32, 7_100_001, 123_456_789, 999_999_999] {
            assert_eq!(of(f64::from(whole) / 1e9), f64::from(whole));
        }
        assert_eq!(of(1.25e-10), 0.125);
    }
}
