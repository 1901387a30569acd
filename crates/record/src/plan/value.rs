//! The rule for the value that a program says of each run.

use anyhow::{Result, bail, ensure};
use regex_lite::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use model::harness::{Harness, HarnessOutput};
use model::prose::prose;
use model::spec::run::ValueOptions;
use model::values::{Better, ProcessValue, ValueUnit, known_unit};

/// The place and the unit of the value of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ValueRule {
    /// How it is found in a text.
    pub reader: ValueReader,
    /// The text.
    pub source: ValueSource,
    /// The unit that the user named.
    pub unit: Option<String>,
    /// The number in the text is multiplied by this, so that a time is in ns and memory in bytes.
    pub scale: f64,
    /// The direction in which it is better.
    pub better: Better,
}

/// How a value is found in a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ValueReader {
    /// The first group of the last match of this expression, or the whole match.
    Regex(String),
    /// The number at this JSON Pointer (RFC 6901).
    Pointer(String),
    /// The time of one benchmark, as this framework prints it.
    Harness {
        /// The framework.
        kind: Harness,
        /// The benchmark's name there.
        benchmark: String,
        /// What is made of its samples.
        #[serde(default)]
        value: ProcessValue,
    },
}

/// The text that has the value of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ValueSource {
    /// Standard output.
    Stdout,
    /// A file that the program writes.
    File(String),
    /// A temporary file, whose path the arguments have in place of `{result}`.
    OwnFile,
    /// Standard output, followed by the file of this name below a temporary directory, if it exists. In the variables,
    /// `{result}` stands for the directory's path.
    OwnFolder(String),
}

impl ValueRule {
    /// The rule of the options; `None` if they ask for no value. Errors: the expression or the pointer is wrong, or an
    /// option lacks the one that it belongs to.
    pub fn of(options: &ValueOptions) -> Result<Option<Self>> {
        let reader = match (&options.value, &options.value_json) {
            (Some(regex), _) => {
                Regex::new(regex).map_err(|why| prose![Value " {regex:?}: {why}"])?;
                ValueReader::Regex(regex.clone())
            }
            (None, Some(pointer)) => {
                ensure!(
                    pointer.is_empty() || pointer.starts_with('/'),
                    prose![
                        ValueJson " {pointer:?} is no JSON Pointer: it begins with a slash, for example /latency/p99"
                    ]
                );
                ValueReader::Pointer(pointer.clone())
            }
            (None, None) if *options == ValueOptions::default() => return Ok(None),
            (None, None) => bail!(prose![
                ValueFile ", " ValueUnit " and " ValueBetter " need " Value " or " ValueJson ", which find the value"
            ]),
        };
        let named = options.value_unit.as_deref();
        let scale = named.and_then(known_unit).map_or(1.0, |(_, scale)| scale);
        let source = options.value_file.clone().map_or(ValueSource::Stdout, ValueSource::File);
        let better = options.value_better.unwrap_or_default();
        Ok(Some(Self { reader, source, unit: options.value_unit.clone(), scale, better }))
    }

    /// The options of `run` that make this rule; `None` of a framework's benchmark, which `run` does not read.
    pub fn options(&self) -> Option<ValueOptions> {
        let (value, value_json) = match &self.reader {
            ValueReader::Regex(regex) => (Some(regex.clone()), None),
            ValueReader::Pointer(pointer) => (None, Some(pointer.clone())),
            ValueReader::Harness { .. } => return None,
        };
        let value_file = match &self.source {
            ValueSource::File(file) => Some(file.clone()),
            _ => None,
        };
        let value_unit = self.unit.clone();
        let value_better = (!self.better.is_lower()).then_some(self.better);
        Some(ValueOptions { value, value_json, value_file, value_unit, value_better })
    }

    /// The rule for a framework's benchmark, whose time is in ns.
    pub fn for_harness(kind: Harness, benchmark: &str, value: ProcessValue) -> Self {
        let source = match kind.output() {
            HarnessOutput::Stdout => ValueSource::Stdout,
            HarnessOutput::File => ValueSource::OwnFile,
            HarnessOutput::Folder(file) => ValueSource::OwnFolder(file.into()),
        };
        let reader = ValueReader::Harness { kind, benchmark: benchmark.into(), value };
        Self { reader, source, unit: Some("ns".into()), scale: 1.0, better: Better::Lower }
    }

    /// An argument that steadies the times of this program of a framework ([`Harness::steadier`]).
    pub fn steadier(&self, program: &[String]) -> Option<&'static str> {
        match &self.reader {
            ValueReader::Harness { kind, .. } => kind.steadier(program),
            _ => None,
        }
    }

    pub fn kind(&self) -> ValueUnit {
        self.unit.as_deref().and_then(known_unit).map_or(ValueUnit::Count, |(kind, _)| kind)
    }

    /// The unit to show, if it is none of time or memory.
    pub fn own_unit(&self) -> Option<&str> {
        self.unit.as_deref().filter(|unit| known_unit(unit).is_none())
    }

    pub fn is_in_stdout(&self) -> bool {
        matches!(self.source, ValueSource::Stdout | ValueSource::OwnFolder(_))
    }

    /// Whether the value needs a temporary file or directory, whose path replaces `{result}`.
    pub fn has_own_file(&self) -> bool {
        matches!(self.source, ValueSource::OwnFile | ValueSource::OwnFolder(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(value: Option<&str>, json: Option<&str>, unit: Option<&str>) -> ValueOptions {
        let text = |text: Option<&str>| text.map(String::from);
        ValueOptions {
            value: text(value),
            value_json: text(json),
            value_unit: text(unit),
            ..ValueOptions::default()
        }
    }

    #[test]
    fn units_of_time_and_memory_are_converted_and_others_are_names() {
        let rule = |unit| ValueRule::of(&options(Some("x"), None, Some(unit))).unwrap().unwrap();
        assert_eq!((rule("ms").kind(), rule("ms").scale), (ValueUnit::Time, 1e6));
        assert_eq!((rule("KiB").kind(), rule("KiB").scale), (ValueUnit::Bytes, 1024.0));
        assert_eq!((rule("req/s").kind(), rule("req/s").scale), (ValueUnit::Count, 1.0));
        assert_eq!((rule("req/s").own_unit(), rule("ms").own_unit()), (Some("req/s"), None));
    }

    #[test]
    fn the_options_of_a_rule_make_it_again() {
        let asked = ValueOptions {
            value_file: Some("out".into()),
            value_better: Some(Better::Higher),
            ..options(None, Some("/p99"), Some("ms"))
        };
        let rule = ValueRule::of(&asked).unwrap().unwrap();
        assert_eq!(rule.options(), Some(asked));
    }

    #[test]
    fn mistakes_are_named() {
        let error = |options: &ValueOptions| format!("{:#}", ValueRule::of(options).unwrap_err());
        assert!(error(&options(Some("("), None, None)).starts_with("--value \"(\": "));
        assert!(error(&options(None, Some("a.b"), None)).contains("begins with a slash"));
        assert!(error(&options(None, None, Some("ms"))).contains("need --value or"));
        assert_eq!(ValueRule::of(&ValueOptions::default()).unwrap(), None);
    }
}
