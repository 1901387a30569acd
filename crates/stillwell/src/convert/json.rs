//! Strict JSON: an error has the path of the field, its line and column. A tree is built only where it is needed.

use std::fmt;
use std::marker::PhantomData;

use anyhow::{Result, anyhow};
use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde_json::Value;

use crate::results::{MetaValue, Metadata};

/// Reads one document with the seeds that `seed` makes. After an error it reads the document again and records the
/// path, since that costs several times as much.
///
/// # Errors
/// Path, line and column of the first mistake.
pub(super) fn read_with<'de, S: DeserializeSeed<'de>>(
    bytes: &'de [u8],
    seed: impl Fn() -> S,
) -> Result<S::Value> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let read = seed().deserialize(&mut json).and_then(|value| json.end().map(|()| value));
    read.map_err(|error| {
        let mut json = serde_json::Deserializer::from_slice(bytes);
        let mut track = serde_path_to_error::Track::new();
        let json = serde_path_to_error::Deserializer::new(&mut json, &mut track);
        drop(seed().deserialize(json));
        let path = track.path().to_string();
        if matches!(&*path, "." | "?") { anyhow!(error) } else { anyhow!("{path}: {error}") }
    })
}

/// Reads one document.
///
/// # Errors
/// Path, line and column of the first mistake.
pub(super) fn read<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T> {
    read_with(bytes, || PhantomData)
}

/// The numbers that are valid values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sign {
    /// Above zero.
    Positive,
    /// Zero too.
    NotNegative,
    /// All.
    Any,
}

impl Sign {
    /// # Errors
    /// The rule that the number breaks.
    pub(super) fn check(self, value: f64) -> Result<f64, String> {
        let (is_right, rule) = match self {
            Self::Positive => (value > 0.0, "a value must be above 0"),
            Self::NotNegative => (value >= 0.0, "a value must not be negative"),
            Self::Any => (true, "a value must be finite"),
        };
        if is_right && value.is_finite() { Ok(value) } else { Err(format!("{rule}, not {value}")) }
    }
}

/// A finite number of a sign, times `scale`.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScaledNumber {
    pub(super) sign: Sign,
    pub(super) scale: f64,
}

impl<'de> DeserializeSeed<'de> for ScaledNumber {
    type Value = f64;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<f64, D::Error> {
        let value = f64::deserialize(from)?;
        let scaled = self.sign.check(value).and_then(|value| self.sign.check(value * self.scale));
        scaled.map_err(de::Error::custom)
    }
}

/// A list of numbers, appended to others.
pub(super) struct NumberList<'a> {
    pub(super) to: &'a mut Vec<f64>,
    pub(super) number: ScaledNumber,
}

impl<'de> DeserializeSeed<'de> for NumberList<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for NumberList<'_> {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a list of numbers")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(value) = list.next_element_seed(self.number)? {
            self.to.push(value);
        }
        Ok(())
    }
}

/// A number with the sign `N`: 1 above zero, 0 not negative, -1 any.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Signed<const N: i8>(pub(super) f64);

/// Above zero.
pub(super) type Positive = Signed<1>;
/// Zero or above.
pub(super) type NotNegative = Signed<0>;
/// Finite.
pub(super) type Finite = Signed<-1>;

impl<'de, const N: i8> Deserialize<'de> for Signed<N> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let sign = match N {
            1 => Sign::Positive,
            0 => Sign::NotNegative,
            _ => Sign::Any,
        };
        ScaledNumber { sign, scale: 1.0 }.deserialize(from).map(Self)
    }
}

/// A list of positive numbers.
pub(super) fn values<const N: i8>(list: &[Signed<N>]) -> impl Iterator<Item = f64> {
    list.iter().map(|value| value.0)
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

/// Flattens a nested value into metadata, with a point between the keys: `cpu.count`. Lists of objects are numbered.
pub(super) fn flatten(key: &str, value: &Value, to: &mut Metadata) {
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
pub(super) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), Into::into)
}

/// Turns JSON as Python writes it into valid JSON: a bare `NaN`, `Infinity` or `-Infinity` outside of strings becomes
/// null.
pub(super) fn without_bare_words(bytes: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::with_capacity(bytes.len()), bytes);
    let mut is_in_text = false;
    while let [first, after @ ..] = rest {
        let bare: &[u8] = match first {
            b'-' => b"-Infinity",
            b'I' => b"Infinity",
            _ => b"NaN",
        };
        if !is_in_text && rest.starts_with(bare) {
            out.extend(b"null");
            // Keep the columns of the rest of the line where possible.
            out.resize(out.len() + bare.len().saturating_sub(4), b' ');
            rest = &rest[bare.len()..];
            continue;
        }
        out.push(*first);
        rest = after;
        match (first, after) {
            (b'"', _) => is_in_text = !is_in_text,
            (b'\\', [escaped, after @ ..]) if is_in_text => {
                out.push(*escaped);
                rest = after;
            }
            _ => {}
        }
    }
    out
}
