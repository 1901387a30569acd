//! The worker's side of docs/worker-protocol.md, version 1.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::FromRawFd as _;
use std::process::ExitCode;

use crate::clock::INTEGER_MAX;
use crate::{Benchmark, measure};

/// The longest line of the protocol.
const LINE_BYTES_MAX: u64 = 65_536;

/// Serves the descriptors of `--stillwell-worker=RFD,WFD`.
pub(crate) fn start(benchmarks: &[Benchmark], descriptors: &str) -> ExitCode {
    let numbers = descriptors
        .split_once(',')
        .map(|(read, write)| (read.parse::<i32>(), write.parse::<i32>()));
    let Some((Ok(read), Ok(write))) = numbers else {
        eprintln!("stillwell-bench: {descriptors:?} must be two file descriptors, as in 3,4");
        return ExitCode::from(2);
    };
    let files = open(read).and_then(|read| Ok((read, open(write)?)));
    let (input, mut output) = match files {
        Ok((input, output)) => (BufReader::new(input), output),
        Err(error) => {
            eprintln!(
                "stillwell-bench: {descriptors}: {error}; this option is for stillwell bench only"
            );
            return ExitCode::from(2);
        }
    };
    // An error of a pipe is the end of the parent.
    serve(benchmarks, input, &mut output).ok();
    ExitCode::SUCCESS
}

#[expect(unsafe_code, reason = "the descriptors are those that this program was started with")]
fn open(descriptor: i32) -> io::Result<File> {
    // SAFETY: fcntl changes a flag of the descriptor, or fails where there is none.
    if unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is open, and nothing else in this program knows its number.
    Ok(unsafe { File::from_raw_fd(descriptor) })
}

/// Answers requests until `quit` or their end.
pub(crate) fn serve(
    benchmarks: &[Benchmark],
    mut input: impl BufRead,
    output: &mut impl Write,
) -> io::Result<()> {
    output.write_all(greeting().as_bytes())?;
    let mut selected = None;
    let mut line = Vec::new();
    loop {
        line.clear();
        Read::take(&mut input, LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(());
        }
        let mut answer = if line.ends_with(b"\n") {
            line.pop();
            answer(benchmarks, &String::from_utf8_lossy(&line), &mut selected)
        } else if !skip_line(&mut input)? {
            return Ok(());
        } else {
            refuse(&format!("the request is longer than {LINE_BYTES_MAX} bytes"))
        };
        answer.push('\n');
        output.write_all(answer.as_bytes())?;
        output.flush()?;
        if answer == "bye\n" {
            return Ok(());
        }
    }
}

/// Facts about the compiler, found by build.rs; empty if it found none.
const COMPILER: &str = env!("STILLWELL_BENCH_COMPILER");
const RUST: &str = env!("STILLWELL_BENCH_RUST");
const OPT_LEVEL: &str = env!("STILLWELL_BENCH_OPT_LEVEL");

/// The first line.
fn greeting() -> String {
    let version = if RUST.is_empty() { String::new() } else { format!(" version={RUST}") };
    format!("stillwell 1 language=rust implementation=rustc{version}\n")
}

/// Skips the rest of a line. Returns whether the line has an end.
fn skip_line(input: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let bytes = input.fill_buf()?;
        if bytes.is_empty() {
            return Ok(false);
        }
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let n = end.map_or(bytes.len(), |end| end + 1);
        input.consume(n);
        if end.is_some() {
            return Ok(true);
        }
    }
}

fn refuse(why: &str) -> String {
    format!("error {}", escape(why, None))
}

fn answer<'a>(
    benchmarks: &'a [Benchmark],
    request: &str,
    selected: &mut Option<&'a Benchmark>,
) -> String {
    match request.split_once(' ') {
        None if request == "list" => list(benchmarks),
        None if request == "metadata" => metadata(*selected),
        None if request == "quit" => "bye".into(),
        Some(("select", name)) => {
            // A name has only one escaped form.
            *selected = benchmarks.iter().find(|benchmark| escape(&benchmark.name, None) == name);
            match selected {
                Some(_) => "ok".into(),
                None => {
                    // The line must stay below the limit of the protocol.
                    let name: String = name.chars().take(800).collect();
                    refuse(&format!("no benchmark is called {name}: list tells those there are"))
                }
            }
        }
        Some(("run", loops)) => match (selected, loops.parse::<u64>()) {
            (Some(benchmark), Ok(loops)) if (1..=INTEGER_MAX).contains(&loops) => {
                run(benchmark, loops)
            }
            (None, _) => refuse("no benchmark is selected: send select NAME before run"),
            _ => refuse("run LOOPS: LOOPS must be a whole number from 1 to 9223372036854775807"),
        },
        _ => refuse("unknown request"),
    }
}

fn list(benchmarks: &[Benchmark]) -> String {
    let mut lines = String::new();
    for Benchmark { name, inner_loops, .. } in benchmarks {
        writeln!(lines, "benchmark {} inner_loops={inner_loops}", escape(name, None))
            .expect("a String takes everything");
    }
    lines + "end"
}

fn run(benchmark: &Benchmark, loops: u64) -> String {
    match measure::measure(benchmark, loops) {
        Err(why) => refuse(&why),
        Ok(measure::Run { times, counters }) => {
            let mut line = format!("time {} {}", times.wall_ns, times.cpu_ns);
            for (name, count) in counters {
                // '=' ends the name for the parent.
                write!(line, " {}={count}", escape(&name, Some(b'=')))
                    .expect("a String takes everything");
            }
            line
        }
    }
}

/// Describes this program, with the names of the C header. `optimised` is read from this crate, which cargo builds with
/// the options of the program.
fn metadata(selected: Option<&Benchmark>) -> String {
    let mut facts = vec![
        ("compiler", format!("rustc {RUST}")),
        ("compiler_text", COMPILER.into()),
        ("optimised", u8::from(OPT_LEVEL != "0").to_string()),
        ("opt_level", OPT_LEVEL.into()),
        ("assertions", u8::from(cfg!(debug_assertions)).to_string()),
        ("architecture", std::env::consts::ARCH.into()),
        ("pointer_bits", usize::BITS.to_string()),
    ];
    facts.extend(selected.map(|benchmark| ("source_file", benchmark.source_file.to_owned())));
    let mut lines = String::new();
    for (name, value) in facts {
        writeln!(lines, "meta {name} {}", escape(&value, None)).expect("a String takes everything");
    }
    lines + "end"
}

/// A text as one word (docs/worker-protocol.md, "Lines"): bytes outside of `!` to `~`, and backslashes, as `\xHH`. `also` is one more byte that is escaped.
fn escape(text: &str, also: Option<u8>) -> String {
    if text.is_empty() {
        return r"\x".into();
    }
    let mut word = String::new();
    for byte in text.bytes() {
        if (b'!'..=b'~').contains(&byte) && byte != b'\\' && Some(byte) != also {
            word.push(byte.into());
        } else {
            write!(word, r"\x{byte:02x}").expect("a String takes everything");
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(requests: &str) -> Vec<String> {
        let benchmarks = [
            Benchmark::new("first", |bench| bench.run(|| ())).inner_loops(4),
            Benchmark::new("zwei ö", |bench| {
                bench.run(|| ());
                bench.count("a=b", bench.loops());
            }),
            Benchmark::new("panics", |bench| bench.run(|| panic!("no luck"))),
        ];
        let mut said = Vec::new();
        serve(&benchmarks, requests.as_bytes(), &mut said).unwrap();
        String::from_utf8(said).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_session() {
        let said = session(
            "list\nselect zwei\\x20\\xc3\\xb6\nrun 3\nselect panics\nrun 1\nselect first\nrun 2\nquit\nlist\n",
        );
        assert!(
            said[0].starts_with("stillwell 1 language=rust implementation=rustc"),
            "{}",
            said[0]
        );
        let list = [
            "benchmark first inner_loops=4",
            r"benchmark zwei\x20\xc3\xb6 inner_loops=1",
            "benchmark panics inner_loops=1",
            "end",
        ];
        assert_eq!(said[1..5], list);
        assert_eq!(said[5], "ok");
        assert!(said[6].starts_with("time ") && said[6].ends_with(r" a\x3db=3"), "{said:?}");
        assert_eq!(said[8], r"error panic:\x20no\x20luck");
        // The worker stays, and takes further requests.
        assert_eq!((&*said[9], said[10].split(' ').count()), ("ok", 3));
        assert_eq!(said[11..], ["bye"]);
    }

    #[test]
    fn a_build_is_described() {
        let said = session("metadata\nselect first\nmetadata\n");
        let compiler = said[1].strip_prefix("meta compiler rustc\\x20").unwrap();
        assert_eq!(said[0].split_once("version=").unwrap().1, compiler);
        assert!(
            said[2].starts_with(&format!("meta compiler_text rustc\\x20{compiler}")),
            "{said:?}"
        );
        let end = said.iter().position(|line| line == "end").unwrap();
        assert!(said[..end].iter().all(|line| !line.starts_with("meta source_file ")), "{said:?}");
        let source =
            |line: &String| line.starts_with("meta source_file ") && line.ends_with("worker.rs");
        assert!(said[end..].iter().any(source), "{said:?}");
    }

    #[test]
    fn requests_that_make_no_sense() {
        let long = "x".repeat(70_000);
        let requests = format!(
            "run 1\nselect first\nrun 0\nrun -1\nrun 1 1\nrun 99999999999999999999\nlist all\n\n{long}\ngc on\nselect absent\nrun 1\n"
        );
        let said = session(&requests);
        assert_eq!(said.len(), 13);
        assert_eq!(said[2], "ok");
        for (at, line) in said.iter().enumerate().skip(1) {
            assert!(
                at == 2 || line.starts_with("error ") && line.split(' ').count() == 2,
                "{at}: {line}"
            );
        }
        assert!(said[9].contains(r"longer\x20than\x2065536"), "{}", said[9]);
        // A torn line at the end is no request.
        assert_eq!(session("list\nmetad").len(), 5);
    }

    #[test]
    fn words() {
        assert_eq!(escape("", None), r"\x");
        assert_eq!(escape("a~b!", None), "a~b!");
        assert_eq!(escape("a b\\=ß", None), r"a\x20b\x5c=\xc3\x9f");
        assert_eq!(escape("a=b", Some(b'=')), r"a\x3db");
    }
}
