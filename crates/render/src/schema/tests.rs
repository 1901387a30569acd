//! Makes `schemas/documents.json` from the types, and compares it with the file.
#![expect(clippy::disallowed_methods, reason = "reads and writes the file of the schemas")]

use std::collections::BTreeMap;

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde::Serialize as _;

use super::*;
use crate::across::SessionsBody;
use crate::advice::Advice;
use crate::bisect_document::BisectBody;
use crate::campaign_document::{AttemptBody, CampaignBody};
use crate::check::CheckBody;
use crate::document::{Document, DocumentBody, ErrorDocument};
use crate::files::FilesBody;
use crate::gate_document::GateBody;
use crate::history::ChangesBody;
use crate::json::SessionBody;
use crate::pool::result::PoolBody;
use crate::race_document::RaceBody;
use crate::system::SystemBody;
use crate::within::PairsBody;
use analysis::calibrate::PowerCalibration;
use analysis::ledger::RecordLedger;
use measure::noise::NoiseReport;
use measure::profile::breakdown::Breakdown;
use model::spec::DOCUMENTS as VERBS;

/// All documents. Add a line for a new one.
fn bodies(made: &mut Schemas) {
    made.add::<SessionBody<'_>>();
    made.add::<PairsBody<'_>>();
    made.add::<SessionsBody<'_>>();
    made.add::<FilesBody<'_>>();
    made.add::<CheckBody<'_>>();
    made.add::<GateBody<'_>>();
    made.add::<BisectBody>();
    made.add::<RaceBody<'_>>();
    made.add::<CampaignBody<'_>>();
    made.add::<AttemptBody<'_>>();
    made.add::<Breakdown>();
    made.add::<ChangesBody<'_>>();
    made.add::<NoiseReport>();
    made.add::<RecordLedger>();
    made.add::<SystemBody<'_>>();
    made.add::<Advice>();
    made.add::<PoolBody<'_>>();
    made.add::<PowerCalibration>();
}

struct Schemas {
    generator: SchemaGenerator,
    documents: BTreeMap<String, Value>,
}

impl Schemas {
    fn add<Body: DocumentBody>(&mut self) {
        self.insert::<Document<'_, Body>>((Body::NAME, Body::VERSION));
    }

    fn insert<T: JsonSchema>(&mut self, (name, version): (&str, u32)) {
        let mut schema = T::json_schema(&mut self.generator).to_value();
        schema["properties"]["schema"] = json!({ "const": name });
        schema["properties"]["version"] = json!({ "const": version });
        assert!(self.documents.insert(name.to_owned(), schema).is_none(), "{name}: twice");
    }
}

/// The contents of the file, from the types.
fn generated() -> Value {
    // The serialised form: a field without a value is left out only if the type says so.
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut made = Schemas { generator, documents: BTreeMap::new() };
    bodies(&mut made);
    made.insert::<ErrorDocument>(ERROR_SCHEMA);
    let mut all = made.generator.take_definitions(true);
    all.extend(made.documents);
    let mut value = json!({ "$defs": all });
    allow_null(&mut value);
    value
}

/// Numbers that are not finite are null in JSON.
fn allow_null(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("type").is_some_and(|it| it == "number") {
                fields.insert("type".into(), json!(["number", "null"]));
            }
            fields.values_mut().for_each(allow_null);
        }
        Value::Array(values) => values.iter_mut().for_each(allow_null),
        _ => {}
    }
}

/// What readers of the old schemas would miss in new documents.
struct Compatibility<'a> {
    old: &'a Value,
    new: &'a Value,
    found: Vec<String>,
    /// Pairs of definitions that were compared already.
    known: BTreeSet<(String, String)>,
}

impl Compatibility<'_> {
    fn of(old: &Value, new: &Value) -> Vec<String> {
        let mut it = Compatibility { old, new, found: Vec::new(), known: BTreeSet::new() };
        let is_document = |schema: &Value| !schema["properties"]["schema"]["const"].is_null();
        for (name, schema) in old["$defs"].as_object().into_iter().flatten() {
            let new = &new["$defs"][name];
            let version = |schema: &Value| schema["properties"]["version"]["const"].as_u64();
            // A new version of a document may be anything.
            if is_document(schema) && version(new) <= version(schema) {
                it.compare(schema, new, name);
            }
        }
        it.found
    }

    fn compare(&mut self, old: &Value, new: &Value, place: &str) {
        let named = |schema: &Value| {
            schema["$ref"].as_str().and_then(|it| it.strip_prefix(REFERENCE)).map(str::to_owned)
        };
        if let (Some(one), Some(other)) = (named(old), named(new)) {
            if self.known.insert((one.clone(), other.clone())) {
                let (all_old, all_new) = (self.old, self.new);
                self.compare(&all_old["$defs"][&one], &all_new["$defs"][&other], place);
            }
            return;
        }
        for key in ["type", "const", "$ref"] {
            if !old[key].is_null() && old[key] != new[key] {
                self.found.push(format!("{place}: {key} was {} and is {}", old[key], new[key]));
            }
        }
        for (name, field) in old["properties"].as_object().into_iter().flatten() {
            let place = format!("{place}.{name}");
            match new["properties"].get(name) {
                Some(new) => self.compare(field, new, &place),
                None => self.found.push(format!("{place} is gone")),
            }
        }
        for name in old["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !new["required"].as_array().is_some_and(|all| all.iter().any(|it| it == name)) {
                self.found.push(format!("{place}.{name} may be missing now"));
            }
        }
        for key in ["items", "additionalProperties"] {
            if old[key].is_object() {
                self.compare(&old[key], &new[key], &format!("{place}[]"));
            }
        }
        for key in ["oneOf", "anyOf", "allOf", "prefixItems", "enum"] {
            self.compare_all(old, new, key, place);
        }
    }

    /// Each earlier alternative remains; there may be further ones.
    fn compare_all(&mut self, old: &Value, new: &Value, key: &str, place: &str) {
        let list = |schema: &Value| schema[key].as_array().cloned().unwrap_or_default();
        let new = list(new);
        for one in list(old) {
            let fits = |other: &Value| {
                let known = self.known.clone();
                let (old, new) = (self.old, self.new);
                let mut inner = Compatibility { old, new, found: Vec::new(), known };
                inner.compare(&one, other, place);
                inner.found.is_empty() && (key != "enum" || one == *other)
            };
            if !new.iter().any(fits) {
                self.found.push(format!("{place}: {key} no longer has {one}"));
            }
        }
    }
}

/// One line for each field, so that a change of one is a change of a line. Not indented, because the program contains
/// the text.
fn lines(schemas: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    let format = serde_json::ser::PrettyFormatter::with_indent(b"");
    schemas.serialize(&mut serde_json::Serializer::with_formatter(&mut out, format)).unwrap();
    out.push(b'\n');
    out
}

fn path() -> std::path::PathBuf {
    concat!(env!("CARGO_MANIFEST_DIR"), "/schemas/documents.json").into()
}

/// The file may only grow: programs that read today's documents can read later ones.
#[test]
fn the_file_is_that_of_the_types_and_nothing_went_away() {
    let old: Value = serde_json::from_str(DOCUMENTS).unwrap();
    let new = generated();
    let lost = Compatibility::of(&old, &new);
    assert!(
        lost.is_empty(),
        "documents of --json lost something that programs read. Put it back, or make the VERSION of the document \
         larger:\n{}",
        lost.join("\n")
    );
    if old == new {
        return;
    }
    assert_eq!(
        std::env::var("INSTA_UPDATE").as_deref(),
        Ok("always"),
        "the types have changed: INSTA_UPDATE=always writes schemas/documents.json"
    );
    std::fs::write(path(), lines(&new)).unwrap();
}

#[test]
fn every_document_of_a_verb_is_in_the_file() {
    let all: Value = serde_json::from_str(DOCUMENTS).unwrap();
    for (verb, documents) in VERBS {
        for name in documents {
            assert_eq!(all["$defs"][name]["properties"]["schema"]["const"], *name, "{verb}");
        }
    }
}

#[test]
fn a_schema_has_all_that_it_refers_to_and_no_more() {
    let schema = schema(&["session"]);
    let definitions = schema["$defs"].as_object().unwrap();
    let mut named = vec!["session".to_owned(), "error".to_owned()];
    references(&schema, &mut named);
    named.iter().for_each(|name| assert!(definitions.contains_key(name), "{name}"));
    definitions.keys().for_each(|name| assert!(named.contains(name), "{name}"));
}

#[test]
fn what_goes_away_is_seen() {
    let document = |fields: Value, required: Value, more: Value| {
        let mut properties = json!({ "schema": { "const": "d" }, "version": { "const": 1 } });
        properties.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let d = json!({ "type": "object", "properties": properties, "required": required });
        json!({ "$defs": { "d": d, "E": more } })
    };
    let word = json!({ "enum": ["a", "b"], "type": "string" });
    let fields = json!({ "n": { "type": "integer" }, "e": { "$ref": "#/$defs/E" } });
    let old = document(fields.clone(), json!(["n"]), word.clone());
    let lost = |new: &Value| Compatibility::of(&old, new);
    let none: [&str; 0] = [];
    assert_eq!(lost(&old), none);
    let more = json!({ "n": { "type": "integer" }, "e": { "$ref": "#/$defs/E" }, "m": {} });
    let longer = json!({ "enum": ["a", "b", "c"], "type": "string" });
    assert_eq!(lost(&document(more, json!(["n", "m"]), longer)), none, "additions");
    let gone = document(json!({ "n": { "type": "integer" } }), json!(["n"]), word.clone());
    assert_eq!(lost(&gone), ["d.e is gone"]);
    let optional = document(fields.clone(), json!([]), word.clone());
    assert_eq!(lost(&optional), ["d.n may be missing now"]);
    let typed = json!({ "n": { "type": "string" }, "e": { "$ref": "#/$defs/E" } });
    let typed = document(typed, json!(["n"]), word);
    assert_eq!(lost(&typed), ["d.n: type was \"integer\" and is \"string\""]);
    let shorter = document(fields, json!(["n"]), json!({ "enum": ["a"], "type": "string" }));
    assert_eq!(lost(&shorter), ["d.e: enum no longer has \"b\""]);
    assert_eq!(lost(&json!({ "$defs": {} })).len(), 6, "a whole document");
}
