//! Checks every document that a test prints against the schema of its verb, by another implementation of JSON Schema.

use std::collections::{BTreeSet, HashMap};
use std::process::{Command, Stdio};
use std::sync::{Arc, LazyLock, Mutex};

use jsonschema::Validator;
use serde_json::Value;

use crate::bench::STILLWELL;

/// The verbs with a contract. `gate` writes its document to a file.
pub const VERBS: [&str; 19] = [
    "bench",
    "bisect",
    "calibrate",
    "campaign confirm",
    "campaign status",
    "campaign try",
    "check",
    "compare",
    "history changes",
    "noise",
    "pool collect",
    "race",
    "run",
    "show",
    "system",
    "system advise",
    "system show",
    "timeit",
    "why",
];

/// The verb of these words, if its `--json` has a contract.
fn verb(words: &[&str]) -> Option<&'static str> {
    let own = words.iter().take_while(|word| **word != "--");
    if !own.clone().any(|word| *word == "--json")
        || own.clone().any(|word| ["--list", "--metadata", "--export"].contains(word))
    {
        return None;
    }
    let two = words.get(..2).map(|two| two.join(" "));
    let find = |name: &str| VERBS.into_iter().find(|verb| *verb == name);
    two.and_then(|two| find(&two)).or_else(|| find(words.first()?))
}

/// Asserts that a command line prints a document, and that each fits its schema.
#[track_caller]
pub fn check(words: &[&str], stdout: &str) {
    let Some(verb) = verb(words) else { return };
    let documents = serde_json::Deserializer::from_str(stdout).into_iter::<Value>();
    let documents: Vec<Value> = documents
        .map(|it| it.unwrap_or_else(|why| panic!("{words:?}: no JSON: {why}: {stdout:?}")))
        .collect();
    assert!(!documents.is_empty(), "{words:?} printed no document");
    documents.iter().for_each(|document| check_document(verb, document));
}

/// Asserts that a document is one of a verb's schema.
#[track_caller]
pub fn check_document(verb: &str, document: &Value) {
    let schema = validator(verb);
    let mistakes: Vec<String> = schema
        .iter_errors(document)
        .map(|error| format!("{} at {:?}", error, error.instance_path().to_string()))
        .collect();
    assert!(mistakes.is_empty(), "{verb}: {mistakes:#?}\n{document:#}");
}

/// The schema of a verb as a check that refuses fields without a description.
pub fn validator(verb: &str) -> Arc<Validator> {
    static KNOWN: LazyLock<Mutex<HashMap<String, Arc<Validator>>>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().unwrap();
    let make = || {
        let mut schema = schema(verb);
        let mut parts = BTreeSet::new();
        find_parts(&schema, &mut parts);
        for (name, definition) in schema["$defs"].as_object_mut().unwrap() {
            if !parts.contains(name) {
                close(definition);
            }
        }
        Arc::new(jsonschema::validator_for(&schema).unwrap())
    };
    Arc::clone(known.entry(verb.to_owned()).or_insert_with(make))
}

/// What `--schema` of a verb prints.
pub fn schema(verb: &str) -> Value {
    let mut command = Command::new(STILLWELL);
    let output = command.args(verb.split(' ')).arg("--schema").stdin(Stdio::null()).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{verb}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The definitions that are a part of a larger object: it has a tag beside their fields.
fn find_parts(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            let name = fields.get("$ref").and_then(Value::as_str);
            let name = name.filter(|_| fields.contains_key("properties"));
            found.extend(name.and_then(|it| it.strip_prefix("#/$defs/")).map(str::to_owned));
            fields.values().for_each(|value| find_parts(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| find_parts(value, found)),
        _ => {}
    }
}

/// Forbids further fields in an object, so that a field without a description is found. Alternatives of one object are
/// left open: each sees the fields of the others.
fn close(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    for key in ["properties", "$defs"] {
        let inside = fields.get_mut(key).and_then(Value::as_object_mut);
        inside.into_iter().flat_map(|it| it.values_mut()).for_each(close);
    }
    for key in ["items", "additionalProperties"] {
        fields.get_mut(key).into_iter().for_each(close);
    }
    let has_fields = fields.contains_key("properties") || fields.contains_key("oneOf");
    if has_fields && !fields.contains_key("additionalProperties") {
        fields.insert("unevaluatedProperties".into(), false.into());
    }
}
