//! Lines `TIME<TAB>COMMAND`, one for each run, as `--export times` and `tim -s` write them. A line without a tab is a
//! time alone. Blank lines and lines that start with `#` are skipped.

use std::collections::HashMap;

use anyhow::{Context as _, Result, bail, ensure};

use crate::line_reader::LineReader;
use crate::source::file_name;
use crate::value_limit::ValueLimit;
use crate::{BenchmarkValues, LaunchInfo, ReadOptions, ResultUnit, Results, TimeUnit};

/// 100 years.
const NS_MAX: f64 = 3.2e18;
pub(crate) const EMPTY_COMMAND: &str = "empty shell";

/// Characters of a wrong line that the error shows.
const SHOWN_CHARS: usize = 40;

/// Reads all lines; each is a launch of one value.
pub(crate) fn reader(path: &str, options: ReadOptions<'_>) -> Box<dyn LineReader> {
    let results = Results { tool: "times".into(), are_commands: true, ..Results::default() };
    let name = file_name(path).to_owned();
    let limit = ValueLimit::new(options.values_max);
    Box::new(TimesFile { name, unit: options.unit, results, indices: HashMap::new(), limit })
}

struct TimesFile {
    /// Command of a line without one.
    name: String,
    unit: TimeUnit,
    results: Results,
    indices: HashMap<String, usize>,
    limit: ValueLimit,
}

impl LineReader for TimesFile {
    fn line(&mut self, number: usize, line: &str) {
        match parse_line(line, &self.name) {
            Ok(None) => {}
            Ok(Some(TimedCommand { command, time, value })) => {
                let command = command.to_owned();
                match ns(value, self.unit).with_context(|| time.to_owned()) {
                    Ok(ns) => self.run(&command, ns),
                    Err(error) => {
                        self.results.unread(shown(&command), number, format!("{error:#}"));
                    }
                }
            }
            Err(error) => self.unread(number, format!("{error:#}")),
        }
    }

    fn unread(&mut self, number: usize, why: String) {
        self.results.unread("a run".into(), number, why);
    }

    fn finish(self: Box<Self>) -> Results {
        let mut results = self.results;
        self.limit.note(&mut results);
        if let [only] = &mut results.benchmarks[..] {
            only.is_control = false;
        }
        results.note_order();
        results
    }
}

impl TimesFile {
    fn run(&mut self, command: &str, ns: f64) {
        let results = &mut self.results;
        let at = *self.indices.entry(command.to_owned()).or_insert_with(|| {
            results.benchmarks.push(new_benchmark(command));
            results.benchmarks.len() - 1
        });
        if !self.limit.keeps(at) {
            return;
        }
        results.benchmarks[at].values.push(ns);
        results.benchmarks[at].end_launch(LaunchInfo::default());
        results.order.extend(u32::try_from(at).ok());
        if self.limit.is_reached() {
            self.limit.halve(results.benchmarks.iter_mut());
            // The order covers all launches, or none.
            results.order = Vec::new();
        }
    }
}

/// The name of a command in a message.
fn shown(command: &str) -> String {
    if command.is_empty() { EMPTY_COMMAND.into() } else { command.into() }
}

/// A new benchmark; an empty command is tim's own overhead, which is subtracted from the others.
fn new_benchmark(command: &str) -> BenchmarkValues {
    let is_control = command.is_empty();
    let name = if is_control { EMPTY_COMMAND } else { command };
    let mut made = BenchmarkValues::new(name, ResultUnit::Time);
    made.is_control = is_control;
    made
}

/// A time in ns. Most decimals of a second are whole nanoseconds, but a product of doubles may differ in its last bit.
fn ns(value: f64, unit: TimeUnit) -> Result<f64> {
    let ns = value * unit.ns();
    ensure!((0.0..=NS_MAX).contains(&ns), "a time is between 0 and 100 years");
    let is_whole = (ns - ns.round()).abs() <= 2.0 * f64::EPSILON * ns;
    Ok(if is_whole { ns.round() } else { ns })
}

struct TimedCommand<'a> {
    command: &'a str,
    time: &'a str,
    value: f64,
}

fn parse_line<'a>(line: &'a str, name: &'a str) -> Result<Option<TimedCommand<'a>>> {
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
        let format = Some(crate::FileFormat::Times);
        let options = ReadOptions { format, unit: TimeUnit::Ms, ..ReadOptions::default() };
        crate::read_bytes("file.txt", text, options)
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
    fn check_unread(text: &[u8], expected: &str) {
        let said = match parse(text) {
            Ok(results) => results.unread.iter().map(ToString::to_string).collect(),
            Err(error) => format!("{error:#}"),
        };
        assert!(said.contains(expected), "{said}");
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
        check_unread(b"1\ta\n\nfast\tb\n", "a run (line 3) is left out: \"fast\" is not a time");
        check_unread(b"1 sleep 1\n", "(line 1) is left out: \"1 sleep 1\" is not a time");
        check_unread(b"-1\ta\n1\ta\n", "a result of a (line 1) is left out: -1: a time is between");
        check_unread(b"nan\ta\n", "a (line 1) is left out: nan: a time is between");
        check_unread(b"inf\ta\n", "a (line 1) is left out: inf: a time is between");
        check_unread(
            &[b'7'; (1 << 20) + 2],
            "(line 1) is left out: it is longer than 1048576 bytes",
        );
        check_unread(b"# nothing\n", "there is no benchmark in it");
        check("1\t\u{fffd}\n", &["\u{fffd}"], &[(0, 1_000_000.0)]);
        assert_eq!(parse(b"1\t\xff\n").unwrap().benchmarks[0].name, "\u{fffd}");
    }

    #[test]
    fn whole_nanoseconds_stay_whole() {
        let of = |seconds: f64| ns(seconds, TimeUnit::S).unwrap();
        for whole in [5_100_000_u32, 7_100_001, 123_456_789, 999_999_999] {
            assert_eq!(of(f64::from(whole) / 1e9), f64::from(whole));
        }
        assert_eq!(of(1.25e-10), 0.125);
    }
}
