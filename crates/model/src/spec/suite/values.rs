//! Values of a suite file, parsed by the options' own parsers, with their places for error messages.

use std::fmt;
use std::ops::{Deref, DerefMut, Range};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};
use serde_spanned::Spanned;

use crate::values::Percent;

#[derive(Clone, Debug, Deserialize)]
#[serde(transparent, bound(deserialize = "T: Deserialize<'de>"))]
pub struct SuiteItem<T>(Spanned<T>);

impl<T> SuiteItem<T> {
    pub fn span(&self) -> Range<usize> {
        self.0.span()
    }
}

impl<T> Deref for SuiteItem<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.get_ref()
    }
}

impl<T> DerefMut for SuiteItem<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }
}

impl<T> From<T> for SuiteItem<T> {
    fn from(value: T) -> Self {
        Self(Spanned::new(0..0, value))
    }
}

impl<T: JsonSchema> JsonSchema for SuiteItem<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> std::borrow::Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        T::json_schema(generator)
    }
}

/// A string, a number or a boolean, as text.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(with = "ScalarText")]
pub struct Scalar {
    /// The value as the file writes it.
    pub text: String,
    /// The normal form, to compare values: `1.0` has the value `1`.
    pub value: String,
    is_number: bool,
}

impl Scalar {
    fn number(value: impl ToString) -> Self {
        Self { is_number: true, ..Self::word(value) }
    }

    fn word(value: impl ToString) -> Self {
        let value = value.to_string();
        Self { text: value.clone(), value, is_number: false }
    }

    /// Sets the text to the spelling in the file. A number loses the `_` between digits, which are TOML's.
    pub fn is_written(&mut self, written: &str) {
        if self.is_number {
            self.text = written.replace('_', "");
        }
    }
}

/// For the schema.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its shape is used")]
enum ScalarText {
    Text(String),
    Integer(i64),
    Number(f64),
    Boolean(bool),
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl de::Visitor<'_> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a string, a number or a boolean")
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar::word(text))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Scalar, E> {
        Ok(Scalar::number(number))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Scalar, E> {
        Ok(Scalar::number(number))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Scalar, E> {
        Ok(Scalar::word(value))
    }
}

/// Lines: one string, or several.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMany {
    #[default]
    None,
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    /// The lines as one text.
    pub fn text(&self) -> String {
        match self {
            Self::None => String::new(),
            Self::One(text) => text.clone(),
            Self::Many(lines) => lines.join("\n"),
        }
    }
}

/// Deserializes an option's value from a string or a bare number.
pub fn text<'de, D: Deserializer<'de>, T: FromStr<Err = String>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let Scalar { text, .. } = Scalar::deserialize(deserializer)?;
    text.parse().map(Some).map_err(de::Error::custom)
}

pub fn alpha<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Percent>, D::Error> {
    let Scalar { text, .. } = Scalar::deserialize(deserializer)?;
    let alpha = Percent::parse_alpha(&text).map_err(de::Error::custom)?;
    alpha.as_alpha().map_err(de::Error::custom)?;
    Ok(Some(alpha))
}

/// A time as text with its unit, or a number of seconds.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its shape is used")]
pub enum TimeText {
    Text(String),
    Seconds(f64),
}

/// A percentage.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its shape is used")]
pub enum PercentText {
    Text(String),
    Number(f64),
}
