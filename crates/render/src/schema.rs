//! The JSON Schemas of the documents, from `schemas/documents.json`. A test derives this file from the serialised
//! types, and refuses to take a field away. So the program needs no code that makes schemas.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::document::ERROR_SCHEMA;

/// The documents by name, and their shared definitions.
const DOCUMENTS: &str = include_str!("../schemas/documents.json");

/// The version of JSON Schema.
const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";
const REFERENCE: &str = "#/$defs/";

/// The schema of a verb that prints any of these documents, or an error.
pub fn schema(documents: &[&str]) -> Value {
    let all: Value = serde_json::from_str(DOCUMENTS).unwrap_or_default();
    let definitions = all["$defs"].as_object();
    let mut used = BTreeSet::new();
    let names: Vec<&str> = documents.iter().copied().chain([ERROR_SCHEMA.0]).collect();
    let any_of: Vec<Value> =
        names.iter().map(|name| json!({ "$ref": format!("{REFERENCE}{name}") })).collect();
    let mut left: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    while let Some(name) = left.pop() {
        if used.insert(name.clone())
            && let Some(definition) = definitions.and_then(|all| all.get(&name))
        {
            references(definition, &mut left);
        }
    }
    let kept = definitions.into_iter().flatten().filter(|(name, _)| used.contains(*name));
    let kept: Map<String, Value> =
        kept.map(|(name, definition)| (name.clone(), definition.clone())).collect();
    json!({ "$schema": DRAFT, "anyOf": any_of, "$defs": kept })
}

/// Adds the names of all definitions in a schema.
fn references(schema: &Value, names: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            let named = fields.get("$ref").and_then(Value::as_str);
            names.extend(named.and_then(|it| it.strip_prefix(REFERENCE)).map(str::to_owned));
            fields.values().for_each(|value| references(value, names));
        }
        Value::Array(values) => values.iter().for_each(|value| references(value, names)),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
