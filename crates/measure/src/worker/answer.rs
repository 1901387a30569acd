//! Parses the lines of a worker. A line that the protocol does not allow is an error.

use crate::worker::text;
use record::plan::programs::ProgramBenchmark;

pub const VERSION: &str = "1";

/// Facts in a worker's first line. A missing fact is unknown, not false.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerFacts {
    /// Names and values, in the worker's order.
    pub pairs: Vec<(String, String)>,
}

impl WorkerFacts {
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// Whether a fact is `1`.
    pub fn is(&self, name: &str) -> bool {
        self.get(name) == Some("1")
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeAnswer {
    /// CLOCK_MONOTONIC around the loop.
    pub wall_ns: u64,
    /// CPU time of the process around the loop.
    pub cpu_ns: u64,
    /// The user's counters, for all loops together.
    pub counters: Vec<(String, u64)>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum GreetingError {
    /// The line is not one of the protocol.
    Rubbish,
    /// The worker speaks another version of the protocol.
    Version(String),
}

pub fn hello(line: &[u8]) -> Result<WorkerFacts, GreetingError> {
    let mut words = words(line);
    if words.next() != Some(b"stillwell") {
        return Err(GreetingError::Rubbish);
    }
    let version = words.next().ok_or(GreetingError::Rubbish)?;
    if version != VERSION.as_bytes() {
        // Another version may have other facts, but it has a number.
        let version = text::integer(version).ok_or(GreetingError::Rubbish)?;
        return Err(GreetingError::Version(version.to_string()));
    }
    let pairs = words.map(text::pair).collect::<Option<_>>().ok_or(GreetingError::Rubbish)?;
    Ok(WorkerFacts { pairs })
}

/// `benchmark NAME [KEY=VALUE…]`.
pub fn benchmark(line: &[u8]) -> Option<ProgramBenchmark> {
    let mut words = after(line, b"benchmark")?;
    let name = text::unescape(words.next()?)?;
    let pairs = words.map(text::pair).collect::<Option<Vec<_>>>()?;
    let inner_loops = match pairs.iter().find(|(key, _)| key == "inner_loops") {
        Some((_, value)) => text::integer(value.as_bytes()).filter(|&loops| loops > 0)?,
        None => 1,
    };
    Some(ProgramBenchmark {
        name,
        inner_loops,
        has_own_timer: pairs.iter().any(|(key, value)| key == "timer" && value == "own"),
        harness: None,
        iteration_ns: None,
        together: Vec::new(),
    })
}

/// `meta NAME VALUE`.
pub fn meta(line: &[u8]) -> Option<(String, String)> {
    let mut words = after(line, b"meta")?;
    let pair = (text::unescape(words.next()?)?, text::unescape(words.next()?)?);
    words.next().is_none().then_some(pair)
}

/// `time WALL_NS CPU_NS [NAME=COUNT…]`.
pub fn time(line: &[u8]) -> Option<TimeAnswer> {
    let mut words = after(line, b"time")?;
    let (wall_ns, cpu_ns) = (text::integer(words.next()?)?, text::integer(words.next()?)?);
    let count = |word| {
        let (name, value) = text::pair(word)?;
        Some((name, text::integer(value.as_bytes())?))
    };
    Some(TimeAnswer { wall_ns, cpu_ns, counters: words.map(count).collect::<Option<_>>()? })
}

/// `NAME INTEGER`.
pub fn number(line: &[u8], name: &[u8]) -> Option<u64> {
    let mut words = after(line, name)?;
    let value = text::integer(words.next()?)?;
    words.next().is_none().then_some(value)
}

/// The text of `error TEXT`. A text with wrong escapes is taken literally.
pub fn error(line: &[u8]) -> Option<String> {
    let text = line.strip_prefix(b"error ")?;
    Some(text::unescape(text).unwrap_or_else(|| String::from_utf8_lossy(text).into_owned()))
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|&byte| byte == b' ')
}

/// The words after the expected first one.
fn after<'a>(line: &'a [u8], first: &[u8]) -> Option<impl Iterator<Item = &'a [u8]>> {
    let mut words = words(line);
    (words.next() == Some(first)).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_lines() {
        let facts = hello(b"stillwell 1 language=python gc=1 note=\\x").unwrap();
        assert_eq!(facts.get("language"), Some("python"));
        assert_eq!(facts.get("note"), Some(""));
        assert!(facts.is("gc") && !facts.is("jit"));
        assert_eq!(hello(b"stillwell 1"), Ok(WorkerFacts::default()));
        assert_eq!(hello(b"stillwell 2 new things"), Err(GreetingError::Version("2".into())));
        for line in
            ["", "stillwell", "Stillwell 1", "stillwell 1 ", "stillwell 1 a", "stillwell one"]
        {
            assert_eq!(hello(line.as_bytes()), Err(GreetingError::Rubbish), "{line:?}");
        }
    }

    #[test]
    fn times() {
        let found = time(b"time 10 9 misses=3 a\\x20b=0").unwrap();
        let counters = vec![("misses".to_owned(), 3), ("a b".into(), 0)];
        assert_eq!(found, TimeAnswer { wall_ns: 10, cpu_ns: 9, counters });
        for line in ["time", "time 1", "time -1 2", "time 1  2", "time 1 2 x", "time 1 2 x=y", "ok"]
        {
            assert_eq!(time(line.as_bytes()), None, "{line:?}");
        }
    }

    #[test]
    fn benchmarks_and_facts() {
        let found = benchmark(b"benchmark a/b inner_loops=10 unit=s").unwrap();
        assert_eq!((found.name.as_str(), found.inner_loops), ("a/b", 10));
        assert!(!found.has_own_timer);
        assert!(benchmark(b"benchmark x unit=s timer=own").unwrap().has_own_timer);
        assert_eq!(benchmark(b"benchmark x").unwrap().inner_loops, 1);
        assert_eq!(benchmark(b"benchmark x inner_loops=0"), None);
        assert_eq!(benchmark(b"benchmark"), None);
        assert_eq!(meta(b"meta a \\x"), Some(("a".into(), String::new())));
        assert_eq!(meta(b"meta a b c"), None);
        assert_eq!(number(b"memory 7", b"memory"), Some(7));
        assert_eq!(number(b"memory 7 8", b"memory"), None);
        assert_eq!(error(b"error unknown\\x20request").as_deref(), Some("unknown request"));
        assert_eq!(error(b"error not so").as_deref(), Some("not so"));
        assert_eq!(error(b"ok"), None);
    }
}
