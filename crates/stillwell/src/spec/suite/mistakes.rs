//! What is wrong with a suite file, with its place: file, line, column, and what was probably meant.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::Path;

use crate::spec::suite::{Benchmark, Policy, SuiteFile};

/// Two words are the same but for a slip if they are at least so similar (Jaro-Winkler).
const SIMILAR: f64 = 0.8;

/// A mistake in a suite file.
#[derive(Debug)]
pub struct Mistake {
    place: String,
    what: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

impl std::error::Error for Mistake {}

/// A file and its text, to say where something is.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    /// Its name.
    pub path: &'a Path,
    /// What is in it.
    pub text: &'a str,
}

impl Text<'_> {
    /// A mistake in these bytes of the file.
    pub fn mistake(self, span: &Range<usize>, what: impl Into<String>) -> Mistake {
        let before = &self.text[..span.start.min(self.text.len())];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        Mistake { place: format!("{}:{line}:{column}", self.path.display()), what: what.into() }
    }
}

/// Reads a suite file.
///
/// # Errors
/// What is wrong and where; the first mistake.
pub fn parse(file: Text<'_>) -> Result<SuiteFile, Mistake> {
    let suite: SuiteFile = toml::from_str(file.text).map_err(|error| {
        let message = error.message().trim().replace('\n', ", ");
        file.mistake(&error.span().unwrap_or(0..0), with_suggestion(&message))
    })?;
    let whole = 0..0;
    if suite.benchmarks.is_empty() {
        return Err(file.mistake(&whole, "there is no [[benchmark]]"));
    }
    for (index, variant) in suite.variants.iter().enumerate() {
        let wrong = |what: String| Err(file.mistake(&variant.span(), what));
        if variant.name.trim().is_empty() {
            return wrong("the name of a variant is empty".into());
        }
        if suite.variants[..index].iter().any(|other| other.name == variant.name) {
            return wrong(format!("there are two variants {:?}", variant.name));
        }
        if let Some(build) = &variant.build
            && build.builds == Some(0)
        {
            return wrong("`builds` is 0".into());
        }
        if let Some(what) = wrong_with_variables(&variant.env) {
            return wrong(what);
        }
    }
    for benchmark in &suite.benchmarks {
        if let Some(what) = wrong_with(&suite, benchmark) {
            return Err(file.mistake(&benchmark.span(), what));
        }
    }
    Ok(suite)
}

/// serde names all that it knows; the one that was meant is more use. Its words for keys and values are others.
fn with_suggestion(message: &str) -> String {
    if message == "invalid type: map, expected a sequence" {
        return "this is a list: [[benchmark]] and [[variant]] have two brackets".into();
    }
    for (what, called) in [("field", "key"), ("variant", "value")] {
        let Some((_, rest)) = message.split_once(&format!("unknown {what} `")) else { continue };
        let Some((unknown, known)) = rest.split_once('`') else { continue };
        let known = known.split('`').skip(1).step_by(2);
        return match closest(unknown, known) {
            Some(meant) => format!("unknown {called} `{unknown}`; did you mean `{meant}`?"),
            None => message.replacen(what, called, 1),
        };
    }
    message.into()
}

/// The word that was probably meant.
pub fn closest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let similar = known.map(|known| (strsim::jaro_winkler(word, known), known));
    let best = similar.max_by(|one, other| one.0.total_cmp(&other.0));
    best.filter(|best| best.0 >= SIMILAR).map(|best| best.1)
}

/// Keys that only one kind of benchmark has.
fn of_kind(benchmark: &Benchmark) -> [(&'static str, &'static str, bool); 14] {
    let is = Option::is_some;
    [
        ("shell", "command", benchmark.shell.is_some()),
        ("setup", "command", is(&benchmark.setup)),
        ("prepare", "command", is(&benchmark.prepare)),
        ("conclude", "command", is(&benchmark.conclude)),
        ("cleanup", "command", is(&benchmark.cleanup)),
        ("validate", "command", is(&benchmark.validate)),
        ("input", "command", is(&benchmark.input)),
        ("expect_exit", "command", benchmark.expect_exit.is_some()),
        ("code_setup", "statement", !benchmark.code_setup.text().is_empty()),
        ("code_teardown", "statement", !benchmark.code_teardown.text().is_empty()),
        ("inner_loops", "statement", benchmark.inner_loops.is_some()),
        ("duplicate", "statement", benchmark.duplicate.is_some()),
        ("only", "program", !benchmark.only.is_empty()),
        ("", "", false),
    ]
}

fn wrong_with_policy(policy: &Policy) -> Option<String> {
    let said = [
        ("min_blocks", policy.min_blocks == Some(0)),
        ("max_blocks", policy.max_blocks == Some(0)),
        ("timeout", policy.timeout.is_some_and(|timeout| timeout.ns == 0)),
    ];
    if let Some((key, _)) = said.iter().find(|(_, is_zero)| *is_zero) {
        return Some(format!("`policy.{key}` is 0"));
    }
    let (min, max) = policy.min_blocks.zip(policy.max_blocks)?;
    (min > max).then(|| format!("`policy.min_blocks`, {min}, is above `policy.max_blocks`, {max}"))
}

fn wrong_with_numbers(benchmark: &Benchmark) -> Option<String> {
    let said = [
        ("inner_loops", benchmark.inner_loops == Some(0)),
        ("duplicate", benchmark.duplicate == Some(0)),
    ];
    if let Some((key, _)) = said.iter().find(|(_, is_zero)| *is_zero) {
        return Some(format!("`{key}` is 0"));
    }
    let statuses = benchmark.expect_exit.as_ref()?;
    let is_none = |status: &&i32| !(0..=255).contains(*status);
    match statuses.iter().find(is_none) {
        Some(status) => Some(format!("`expect_exit`: {status} is no exit status, 0 to 255")),
        None => {
            statuses.is_empty().then(|| "`expect_exit` is empty: no exit would be right".into())
        }
    }
}

/// What no process can have in its environment.
fn wrong_with_variables(variables: &BTreeMap<String, String>) -> Option<String> {
    let is_wrong = |(name, value): &(&String, &String)| {
        name.is_empty() || name.contains(['=', '\0']) || value.contains('\0')
    };
    let (name, _) = variables.iter().find(is_wrong)?;
    Some(format!("`env`: {name:?} is empty, has a \"=\" in its name or a NUL byte"))
}

fn wrong_with(suite: &SuiteFile, benchmark: &Benchmark) -> Option<String> {
    let kinds = [
        ("command", &benchmark.command),
        ("statement", &benchmark.statement),
        ("program", &benchmark.program),
    ];
    let mut said = kinds.iter().filter_map(|(kind, value)| value.as_ref().map(|it| (*kind, it)));
    let Some((kind, value)) = said.next() else {
        return Some("a benchmark needs `command`, `statement` or `program`".into());
    };
    if let Some((other, _)) = said.next() {
        return Some(format!("a benchmark is a `{kind}` or a `{other}`, not both"));
    }
    if value.trim().is_empty() || value.contains('\0') {
        return Some(format!("`{kind}` is empty or contains a NUL byte"));
    }
    if benchmark.name.as_deref().is_some_and(|name| name.trim().is_empty()) {
        return Some("the name of a benchmark is empty".into());
    }
    if kind != "program" && benchmark.name.is_none() {
        return Some(format!("a `{kind}` needs a `name`"));
    }
    let foreign = of_kind(benchmark).into_iter().find(|(_, of, said)| *said && *of != kind);
    if let Some((key, of, _)) = foreign {
        return Some(format!("`{key}` is for a `{of}`, and this is a `{kind}`"));
    }
    let names: Vec<&str> = suite.variants.iter().map(|variant| variant.name.as_str()).collect();
    for wanted in benchmark.variants.iter().flatten() {
        if !names.contains(&wanted.as_str()) {
            let meant = closest(wanted, names.iter().copied());
            let meant = meant.map(|meant| format!("; did you mean {meant:?}?"));
            return Some(format!("there is no variant {wanted:?}{}", meant.unwrap_or_default()));
        }
    }
    let policy = benchmark.policy.or(&suite.policy);
    wrong_with_numbers(benchmark)
        .or_else(|| wrong_with_variables(&benchmark.env))
        .or_else(|| wrong_with_policy(&policy))
        .or_else(|| wrong_with_matrix(benchmark))
}

fn wrong_with_matrix(benchmark: &Benchmark) -> Option<String> {
    if benchmark.matrix.keys().any(|name| name.is_empty()) {
        return Some("a parameter of `matrix` has an empty name".into());
    }
    let empty = benchmark.matrix.iter().find(|(_, values)| values.is_empty());
    if let Some((parameter, _)) = empty {
        return Some(format!("the parameter {parameter:?} has no value"));
    }
    let left_out = benchmark.exclude.iter().flat_map(|combination| combination.keys());
    let unknown = left_out.into_iter().find(|name| !benchmark.matrix.contains_key(*name));
    unknown.map(|name| format!("`exclude` has {name:?}, which is no parameter of `matrix`"))
}
