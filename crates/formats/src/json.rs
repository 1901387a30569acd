//! Strict JSON: an error has the path of the field, its line and column. A tree is built only where needed.
//! [`document`] splits a file into the parts to be read strictly.

pub(crate) mod document;

use std::borrow::Cow;
use std::fmt;

use anyhow::{Result, anyhow, ensure};
use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use serde_json::Value;

use crate::{MetaValue, Metadata};

/// Reads one value strictly. An error costs a second reading, several times as slow, to find the path. Errors: path,
/// line and column of the first mistake within the text.
pub(crate) fn read<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T> {
    read_at(text, || (0, 0), "")
}

/// Reads a value at the path `place` of a document, after as many lines and columns as `before` has.
fn read_at<'de, T: Deserialize<'de>>(
    text: &'de str,
    before: impl Fn() -> (usize, usize),
    place: &str,
) -> Result<T> {
    let mut json = serde_json::Deserializer::from_str(text);
    let read = T::deserialize(&mut json).and_then(|value| json.end().map(|()| value));
    read.map_err(|error| {
        let mut json = serde_json::Deserializer::from_str(text);
        let mut track = serde_path_to_error::Track::new();
        let json = serde_path_to_error::Deserializer::new(&mut json, &mut track);
        drop(T::deserialize(json));
        let path = track.path().to_string();
        let path = match (place, &*path) {
            (_, "." | "?") => place.to_owned(),
            ("", _) => path,
            (_, path) if path.starts_with('[') => format!("{place}{path}"),
            (_, path) => format!("{place}.{path}"),
        };
        let (line, column) = before();
        let (line_in, column_in) = (error.line(), error.column());
        let text = error.to_string();
        let what = text.strip_suffix(&format!(" at line {line_in} column {column_in}"));
        let column = if line_in == 1 { column + column_in } else { column_in };
        let what = format!("{} at line {} column {column}", what.unwrap_or(&text), line + line_in);
        if path.is_empty() { anyhow!(what) } else { anyhow!("{path}: {what}") }
    })
}

/// Numbers that are valid values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sign {
    /// Above zero.
    Positive,
    /// Zero too.
    NotNegative,
    Any,
}

impl Sign {
    /// Errors: the rule that the number breaks.
    pub(crate) fn check(self, value: f64) -> Result<f64> {
        let (is_right, rule) = match self {
            Self::Positive => (value > 0.0, "a value must be above 0"),
            Self::NotNegative => (value >= 0.0, "a value must not be negative"),
            Self::Any => (true, "a value must be finite"),
        };
        ensure!(is_right && value.is_finite(), "{rule}, not {value}");
        Ok(value)
    }
}

/// A number with the sign `N`: 1 above zero, 0 not negative, -1 any.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Signed<const N: i8>(pub(crate) f64);

pub(crate) type Positive = Signed<1>;
pub(crate) type NotNegative = Signed<0>;
pub(crate) type Finite = Signed<-1>;

impl<'de, const N: i8> Deserialize<'de> for Signed<N> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let sign = match N {
            1 => Sign::Positive,
            0 => Sign::NotNegative,
            _ => Sign::Any,
        };
        sign.check(f64::deserialize(from)?).map(Self).map_err(de::Error::custom)
    }
}

pub(crate) fn values<const N: i8>(list: &[Signed<N>]) -> impl Iterator<Item = f64> {
    list.iter().map(|value| value.0)
}

impl MetaValue {
    /// A number; `None` for texts.
    pub fn number(&self) -> Option<f64> {
        match *self {
            Self::Int(number) => Some(number as f64),
            Self::Float(number) => Some(number),
            Self::Text(_) | Self::List(_) => None,
        }
    }

    /// A text; `None` for numbers and lists.
    pub fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
}

impl<'de> Deserialize<'de> for MetaValue {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(MetaValueVisitor)
    }
}

struct MetaValueVisitor;

impl<'de> Visitor<'de> for MetaValueVisitor {
    type Value = MetaValue;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a number, a text or a list of texts")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<MetaValue, E> {
        Ok(MetaValue::Int(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<MetaValue, E> {
        Ok(i64::try_from(value).map_or(MetaValue::Float(value as f64), MetaValue::Int))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<MetaValue, E> {
        Ok(MetaValue::Float(value))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<MetaValue, E> {
        Ok(MetaValue::Text(text.trim().into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<MetaValue, A::Error> {
        let mut texts = Vec::new();
        while let Some(text) = list.next_element()? {
            texts.push(text);
        }
        Ok(MetaValue::List(texts))
    }
}

/// Flattens a nested value into metadata, with points between the keys: `cpu.count`. Lists of objects are numbered.
pub(crate) fn flatten(key: &str, value: &Value, to: &mut Metadata) {
    let meta = match value {
        Value::Null => return,
        Value::Object(members) => {
            let key_of =
                |name: &str| if key.is_empty() { name.into() } else { format!("{key}.{name}") };
            return members.iter().for_each(|(name, value)| flatten(&key_of(name), value, to));
        }
        Value::Array(list) if list.iter().any(|it| it.is_object() || it.is_array()) => {
            let numbered = list.iter().enumerate();
            return numbered
                .for_each(|(index, value)| flatten(&format!("{key}.{index}"), value, to));
        }
        Value::Array(list) if list.is_empty() => return,
        Value::Array(list) => MetaValue::List(list.iter().map(text).collect()),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => MetaValue::Int(whole),
            None => number.as_f64().map_or_else(|| text(value).as_str().into(), MetaValue::Float),
        },
        Value::Bool(_) => text(value).as_str().into(),
        Value::String(text) if text.trim().is_empty() => return,
        Value::String(text) => text.trim().into(),
    };
    to.insert(key.into(), meta);
}

/// A scalar as text, without quotes.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), Into::into)
}

/// Valid JSON from Python's or C++'s: a bare `NaN`, `Infinity` or `-Infinity` becomes `word`, or a text.
pub(crate) fn without_bare_words<'a>(text: &'a str, word: Option<&str>) -> Cow<'a, str> {
    const BARE: [&str; 6] = ["-Infinity", "Infinity", "-inf", "inf", "-nan", "nan"];
    let bare_at = |rest: &str| match rest.starts_with("NaN") {
        true => Some("NaN"),
        false => BARE.into_iter().find(|bare| rest.starts_with(bare)),
    };
    let (mut out, mut copied) = (String::new(), 0);
    let (mut is_in_text, mut is_escaped, mut is_after_word) = (false, false, false);
    for (at, byte) in text.bytes().enumerate() {
        if at < copied {
            continue;
        }
        let starts_word = matches!(byte, b'-' | b'I' | b'i' | b'N' | b'n') && !is_after_word;
        if !is_in_text
            && starts_word
            && let Some(bare) = bare_at(&text[at..])
        {
            out.push_str(&text[copied..at]);
            match word {
                Some(word) => out.push_str(word),
                None => out.push_str(&format!("\"{bare}\"")),
            }
            copied = at + bare.len();
        }
        is_after_word = byte.is_ascii_alphanumeric();
        let is_quote = byte == b'"' && !is_escaped;
        is_escaped = is_in_text && byte == b'\\' && !is_escaped;
        is_in_text ^= is_quote;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_words_become_texts_or_null() {
        let text = r#"{"NaN": [NaN, -Infinity, 1], "a\\": "\" NaN", "null": null, "x": -1}"#;
        let expected =
            r#"{"NaN": ["NaN", "-Infinity", 1], "a\\": "\" NaN", "null": null, "x": -1}"#;
        assert_eq!(without_bare_words(text, None), expected);
        let expected = r#"{"NaN": [null, null, 1], "a\\": "\" NaN", "null": null, "x": -1}"#;
        assert_eq!(without_bare_words(text, Some("null")), expected);
        assert!(matches!(without_bare_words("{}", None), Cow::Borrowed("{}")));
    }
}
