//! The runs of a benchmark, each appended to the common list of values when it is read.

use std::fmt;
use std::num::NonZeroU64;

use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::json::{NotNegative, Positive};
use crate::pyperf::metadata::{CommonValue, PyUnit, PyperfMetadata};
use crate::{BenchmarkValues, LaunchInfo};

#[derive(Default)]
pub(crate) struct RunList<const ALL: bool> {
    /// In the unit of the file. The caller applies name, unit and the outer metadata later.
    pub(crate) benchmark: BenchmarkValues,
    pub(crate) name: CommonValue<String>,
    pub(crate) unit: CommonValue<PyUnit>,
    pub(crate) has_values: bool,
    pub(crate) has_samples: bool,
}

impl<'de, const ALL: bool> Deserialize<'de> for RunList<ALL> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut runs = Self::default();
        from.deserialize_seq(RunListVisitor(&mut runs))?;
        Ok(runs)
    }
}

struct RunListVisitor<'a, const ALL: bool>(&'a mut RunList<ALL>);

impl<'de, const ALL: bool> Visitor<'de> for RunListVisitor<'_, ALL> {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a list of runs")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(RunSeed(self.0))?.is_some() {}
        Ok(())
    }
}

struct RunSeed<'a, const ALL: bool>(&'a mut RunList<ALL>);

impl<'de, const ALL: bool> DeserializeSeed<'de> for RunSeed<'_, ALL> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum RunField {
    Metadata,
    Values,
    Samples,
    Warmups,
    #[serde(other)]
    Other,
}

impl<'de, const ALL: bool> Visitor<'de> for RunSeed<'_, ALL> {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("an object with values or warmups")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let runs = self.0;
        let (n_values, n_warmups) = (runs.benchmark.values.len(), runs.benchmark.warmups.len());
        let mut fields = None;
        let (mut has_values, mut has_warmups) = (false, false);
        while let Some(member) = map.next_key()? {
            let is_twice = match member {
                RunField::Metadata => {
                    fields.replace(map.next_value::<PyperfMetadata<ALL>>()?).is_some()
                }
                RunField::Values | RunField::Samples => {
                    let (to, what) = (&mut runs.benchmark.values, "a list of numbers");
                    let value = |number: Positive| number.0;
                    map.next_value_seed(Appended { to, what, value })?;
                    let is_old = matches!(member, RunField::Samples);
                    runs.has_samples |= is_old;
                    runs.has_values |= !is_old;
                    std::mem::replace(&mut has_values, true)
                }
                RunField::Warmups => {
                    let (to, what) = (&mut runs.benchmark.warmups, "a list of [loops, value]");
                    let value = |(loops, value): (NonZeroU64, NotNegative)| (loops.get(), value.0);
                    map.next_value_seed(Appended { to, what, value })?;
                    std::mem::replace(&mut has_warmups, true)
                }
                RunField::Other => {
                    map.next_value::<IgnoredAny>()?;
                    false
                }
            };
            if is_twice {
                return Err(de::Error::custom("metadata, values or warmups are there twice"));
            }
        }
        let has_values = runs.benchmark.values.len() > n_values;
        if !has_values && runs.benchmark.warmups.len() == n_warmups {
            return Err(de::Error::custom("a run has values or warmups; this one has neither"));
        }
        let mut fields = fields.unwrap_or_default();
        runs.name.say(fields.name.take()).map_err(de::Error::custom)?;
        runs.unit.say(fields.unit.take()).map_err(de::Error::custom)?;
        let calibration = if has_values { None } else { fields.calibration.take() };
        let rest = fields.take_rest();
        let metadata = (!rest.is_empty()).then(|| Box::new(rest));
        let PyperfMetadata { loops, inner_loops, .. } = fields;
        runs.benchmark.end_launch(LaunchInfo { loops, inner_loops, calibration, metadata });
        Ok(())
    }
}

/// A list whose elements are appended to others.
struct Appended<'a, E, T> {
    to: &'a mut Vec<T>,
    /// The list in words, for a message.
    what: &'static str,
    value: fn(E) -> T,
}

impl<'de, E: Deserialize<'de>, T> DeserializeSeed<'de> for Appended<'_, E, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de, E: Deserialize<'de>, T> Visitor<'de> for Appended<'_, E, T> {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.what)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(element) = list.next_element()? {
            self.to.push((self.value)(element));
        }
        Ok(())
    }
}
