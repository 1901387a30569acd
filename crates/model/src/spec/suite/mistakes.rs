//! Describes a mistake in a suite file, with its place (file, line, column) and the word that was probably meant.

use std::collections::BTreeMap;

use schemars::JsonSchema;

use crate::prose::Prose;
use crate::spec::suite::places::{Flaw, Text};
use crate::spec::suite::{Build, LinkOrder, Policy, SuiteBenchmark, SuiteFile, Variant};

/// Words at least this similar (Jaro-Winkler) are taken for a typo.
const SIMILAR: f64 = 0.8;

/// Parses a suite file. Errors: the first mistake, with its place.
pub fn parse(file: Text<'_>) -> Result<SuiteFile, Prose> {
    let mut suite: SuiteFile = toml::from_str(file.text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        let mut message = error.message().trim().replace('\n', ", ");
        if message == "duplicate key" {
            let key = file.text.get(span.clone()).unwrap_or_default();
            message = format!("the key `{key}` is there twice");
        }
        file.mistake(&span, with_suggestion(&message))
    })?;
    // Keep numbers as written (1.0, 1e3): programs get this spelling.
    let matrices = suite.benchmarks.iter_mut().flat_map(|benchmark| benchmark.matrix.values_mut());
    for value in matrices.flatten() {
        let span = value.span();
        value.is_written(file.text.get(span).unwrap_or_default());
    }
    if suite.benchmarks.is_empty() {
        return Err(file.wrong(None, Flaw::whole("there is no [[benchmark]]")));
    }
    if let Some(wrong) = wrong_with_policy(&suite.policy, &Policy::default()) {
        return Err(file.wrong(None, wrong));
    }
    for (index, variant) in suite.variants.iter().enumerate() {
        let is_known = suite.variants[..index].iter().any(|other| other.name == variant.name);
        let twice = || {
            let what = format!("there are two variants {:?}", variant.name);
            is_known.then(|| Flaw::value(&["name"], what))
        };
        if let Some(wrong) = wrong_with_variant(variant).or_else(twice) {
            return Err(file.wrong(Some(&variant.span()), wrong));
        }
    }
    for benchmark in &suite.benchmarks {
        if let Some(wrong) = wrong_with(&suite, benchmark) {
            return Err(file.wrong(Some(&benchmark.span()), wrong));
        }
    }
    Ok(suite)
}

fn wrong_with_variant(variant: &Variant) -> Option<Flaw> {
    let value = |keys: &[&str], what: &str| Some(Flaw::value(keys, what));
    if variant.name.trim().is_empty() {
        return value(&["name"], "the name of a variant is empty");
    }
    if variant.repository.is_some() && variant.revision.is_none() {
        return Some(Flaw::key("repository", "`repository` goes with `revision`"));
    }
    if let Some(build) = &variant.build {
        if build.builds == Some(0) {
            return value(&["build", "builds"], "`builds` is 0");
        }
        if build.builds.is_some() && build.link_order != LinkOrder::Random {
            let what = "`builds` goes with link_order = \"random\"";
            return value(&["build", "builds"], what);
        }
        if build.source.is_some() && variant.revision.is_some() {
            let what = "`build.source` does not go with `revision`";
            return value(&["build", "source"], what);
        }
    }
    let python = variant.python.as_deref().unwrap_or_default();
    if let Err(error) = shell_words::split(python) {
        return value(&["python"], &format!("{python:?}: {error}"));
    }
    wrong_with_variables(&variant.env)
}

/// Replaces serde's list of all known words by the most similar one, and serde's terms by ours.
fn with_suggestion(message: &str) -> String {
    if message == "invalid type: map, expected a sequence" {
        return "this is a list: [[benchmark]] and [[variant]] have two brackets".into();
    }
    if let Some((found, _)) = message.split_once("expected struct ") {
        return format!("{found}expected a table");
    }
    for (what, called) in [("field", "key"), ("variant", "value")] {
        let Some((_, rest)) = message.split_once(&format!("unknown {what} `")) else { continue };
        let Some((unknown, known)) = rest.split_once('`') else { continue };
        let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
        let inside = inside(&known);
        // The last of equally similar words wins, so the order matters.
        let meant = inside.iter().map(String::as_str).chain(known.iter().copied());
        let meant = most_similar(unknown, meant, |name| name.rsplit('.').next().unwrap_or(name));
        return match meant {
            Some(meant) => format!("unknown {called} `{unknown}`; did you mean `{meant}`?"),
            None => message.replacen(what, called, 1),
        };
    }
    message.into()
}

/// The keys of the tables below these keys.
fn inside(known: &[&str]) -> Vec<String> {
    let tables = [("policy", keys::<Policy>()), ("build", keys::<Build>())];
    let tables = tables.iter().filter(|(name, _)| known.contains(name));
    tables.flat_map(|(name, keys)| keys.iter().map(move |key| format!("{name}.{key}"))).collect()
}

/// The keys of a table, from its schema.
fn keys<T: JsonSchema>() -> Vec<String> {
    let schema = schemars::schema_for!(T);
    let properties = schema.get("properties").and_then(serde_json::Value::as_object);
    properties.into_iter().flat_map(|known| known.keys().cloned()).collect()
}

/// The word that was probably meant.
pub fn closest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    most_similar(word, known, |known| known)
}

fn most_similar<'a>(
    word: &str,
    known: impl Iterator<Item = &'a str>,
    key: impl Fn(&'a str) -> &'a str,
) -> Option<&'a str> {
    let similar = known.map(|known| (strsim::jaro_winkler(word, key(known)), known));
    let best = similar.max_by(|one, other| one.0.total_cmp(&other.0));
    best.filter(|best| best.0 >= SIMILAR).map(|best| best.1)
}

/// Keys that only one kind of benchmark has.
fn keys_of_one_kind(benchmark: &SuiteBenchmark) -> [(&'static str, &'static str, bool); 18] {
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
        ("value", "command", is(&benchmark.value)),
        ("value_json", "command", is(&benchmark.value_json)),
        ("value_file", "command", is(&benchmark.value_file)),
        ("value_unit", "command", is(&benchmark.value_unit)),
        ("value_better", "command", benchmark.value_better.is_some()),
        ("code_setup", "statement", !benchmark.code_setup.text().is_empty()),
        ("code_teardown", "statement", !benchmark.code_teardown.text().is_empty()),
        ("inner_loops", "statement", benchmark.inner_loops.is_some()),
        ("duplicate", "statement", benchmark.duplicate.is_some()),
        ("only", "program", !benchmark.only.is_empty()),
    ]
}

/// Checks a policy; `others` fills its gaps.
fn wrong_with_policy(own: &Policy, others: &Policy) -> Option<Flaw> {
    let said = [
        ("min_blocks", own.min_blocks == Some(0)),
        ("max_blocks", own.max_blocks == Some(0)),
        ("timeout", own.timeout.is_some_and(|timeout| timeout.ns == 0)),
    ];
    if let Some((key, _)) = said.iter().find(|(_, is_zero)| *is_zero) {
        return Some(Flaw::value(&["policy", key], format!("`policy.{key}` is 0")));
    }
    let both = own.or(others);
    let (min, max) = both.min_blocks.zip(both.max_blocks)?;
    let key = if own.min_blocks.is_some() { "min_blocks" } else { "max_blocks" };
    let what = format!("`policy.min_blocks`, {min}, is above `policy.max_blocks`, {max}");
    (min > max).then(|| Flaw::value(&["policy", key], what))
}

fn wrong_with_numbers(benchmark: &SuiteBenchmark) -> Option<Flaw> {
    let said = [
        ("inner_loops", benchmark.inner_loops == Some(0)),
        ("duplicate", benchmark.duplicate == Some(0)),
    ];
    if let Some((key, _)) = said.iter().find(|(_, is_zero)| *is_zero) {
        return Some(Flaw::value(&[key], format!("`{key}` is 0")));
    }
    let statuses = benchmark.expect_exit.as_ref()?;
    let key = "expect_exit";
    match statuses.iter().position(|status| !(0..=255).contains(status)) {
        Some(at) => {
            let what = format!("`{key}`: {} is no exit status, 0 to 255", statuses[at]);
            Some(Flaw::value(&[key, &at.to_string()], what))
        }
        None => {
            let what = format!("`{key}` is empty: no exit would be right");
            statuses.is_empty().then(|| Flaw::value(&[key], what))
        }
    }
}

/// Checks for variables that an environment cannot have.
fn wrong_with_variables(variables: &BTreeMap<String, String>) -> Option<Flaw> {
    let is_wrong = |(name, value): &(&String, &String)| {
        name.is_empty() || name.contains(['=', '\0']) || value.contains('\0')
    };
    let (name, _) = variables.iter().find(is_wrong)?;
    let what = format!("`env`: {name:?} is empty, has a \"=\" in its name or a NUL byte");
    Some(Flaw::value(&["env", name], what))
}

fn wrong_with_kind(benchmark: &SuiteBenchmark) -> Option<Flaw> {
    let kinds = [
        ("command", &benchmark.command),
        ("statement", &benchmark.statement),
        ("program", &benchmark.program),
    ];
    let mut said = kinds.iter().filter_map(|(kind, value)| value.as_ref().map(|it| (*kind, it)));
    let Some((kind, value)) = said.next() else {
        return Some(Flaw::whole("a benchmark needs `command`, `statement` or `program`"));
    };
    if let Some((other, _)) = said.next() {
        let what = format!("a benchmark is a `{kind}` or a `{other}`, not both");
        return Some(Flaw::key(other, what));
    }
    if value.trim().is_empty() || value.contains('\0') {
        return Some(Flaw::value(&[kind], format!("`{kind}` is empty or contains a NUL byte")));
    }
    if benchmark.name.as_deref().is_some_and(|name| name.trim().is_empty()) {
        return Some(Flaw::value(&["name"], "the name of a benchmark is empty"));
    }
    if kind != "program" && benchmark.name.is_none() {
        return Some(Flaw::whole(format!("a `{kind}` needs a `name`")));
    }
    let foreign =
        keys_of_one_kind(benchmark).into_iter().find(|(_, of, said)| *said && *of != kind);
    let (key, of, _) = foreign?;
    Some(Flaw::key(key, format!("`{key}` is for a `{of}`, and this is a `{kind}`")))
}

fn wrong_with(suite: &SuiteFile, benchmark: &SuiteBenchmark) -> Option<Flaw> {
    wrong_with_kind(benchmark)
        .or_else(|| wrong_with_names(suite, benchmark))
        .or_else(|| wrong_with_numbers(benchmark))
        .or_else(|| wrong_with_variables(&benchmark.env))
        .or_else(|| wrong_with_policy(&benchmark.policy, &suite.policy))
        .or_else(|| wrong_with_matrix(benchmark))
}

fn wrong_with_names(suite: &SuiteFile, benchmark: &SuiteBenchmark) -> Option<Flaw> {
    let names: Vec<&str> = suite.variants.iter().map(|variant| variant.name.as_str()).collect();
    let mut wanted = benchmark.variants.iter().flatten().enumerate();
    let (at, unknown) = wanted.find(|(_, wanted)| !names.contains(&wanted.as_str()))?;
    let rest = match closest(unknown, names.iter().copied()) {
        Some(meant) => format!("; did you mean {meant:?}?"),
        None if names.is_empty() => "; the file has no [[variant]]".into(),
        None => format!("; there are {}", names.join(", ")),
    };
    let what = format!("there is no variant {unknown:?}{rest}");
    Some(Flaw::value(&["variants", &at.to_string()], what))
}

fn wrong_with_matrix(benchmark: &SuiteBenchmark) -> Option<Flaw> {
    for (name, values) in &benchmark.matrix {
        let whole = ["matrix", name];
        if name.is_empty() {
            return Some(Flaw::value(&whole, "a parameter of `matrix` has an empty name"));
        }
        if values.is_empty() {
            return Some(Flaw::value(&whole, format!("the parameter {name:?} has no value")));
        }
        let is_known = |at: &usize| values[..*at].iter().any(|it| it.text == values[*at].text);
        if let Some(at) = (0..values.len()).find(is_known) {
            let what = format!("the parameter {name:?} has the value {:?} twice", values[at].text);
            return Some(Flaw::value(&[whole[0], whole[1], &at.to_string()], what));
        }
    }
    for (at, left_out) in benchmark.exclude.iter().enumerate() {
        if let Some(name) = left_out.keys().find(|name| !benchmark.matrix.contains_key(*name)) {
            let what = format!("`exclude` has {name:?}, which is no parameter of `matrix`");
            return Some(Flaw::value(&["exclude", &at.to_string(), name], what));
        }
    }
    None
}
