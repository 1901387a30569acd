//! The runs of a benchmark: each goes where all values are, as it is read.

use std::fmt;
use std::num::NonZeroU64;

use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::convert::json::{NotNegative, Number, Numbers, Sign};
use crate::convert::pyperf::said::{Agreed, PyUnit, Said};
use crate::results::{About, Benchmark, ResultUnit};

/// All runs of a benchmark.
pub(super) struct Runs<const ALL: bool> {
    /// In the unit of the file; name, unit and what is around the runs are not applied yet.
    pub(super) found: Benchmark,
    pub(super) name: Agreed<String>,
    pub(super) unit: Agreed<PyUnit>,
    pub(super) has_values: bool,
    pub(super) has_samples: bool,
}

impl<'de, const ALL: bool> Deserialize<'de> for Runs<ALL> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut runs = Self {
            found: Benchmark::new("", ResultUnit::Time),
            name: Agreed::default(),
            unit: Agreed::default(),
            has_values: false,
            has_samples: false,
        };
        from.deserialize_seq(List(&mut runs))?;
        Ok(runs)
    }
}

struct List<'a, const ALL: bool>(&'a mut Runs<ALL>);

impl<'de, const ALL: bool> Visitor<'de> for List<'_, ALL> {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a list of runs")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Run(self.0))?.is_some() {}
        Ok(())
    }
}

struct Run<'a, const ALL: bool>(&'a mut Runs<ALL>);

impl<'de, const ALL: bool> DeserializeSeed<'de> for Run<'_, ALL> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Member {
    Metadata,
    Values,
    Samples,
    Warmups,
    #[serde(other)]
    Other,
}

impl<'de, const ALL: bool> Visitor<'de> for Run<'_, ALL> {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("an object with values or warmups")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let runs = self.0;
        let (n_values, n_warmups) = (runs.found.values.len(), runs.found.warmups.len());
        let mut said = None;
        let (mut has_values, mut has_warmups) = (false, false);
        while let Some(member) = map.next_key()? {
            let is_twice = match member {
                Member::Metadata => said.replace(map.next_value::<Said<ALL>>()?).is_some(),
                Member::Values | Member::Samples => {
                    let number = Number { sign: Sign::Positive, scale: 1.0 };
                    map.next_value_seed(Numbers { to: &mut runs.found.values, number })?;
                    let is_old = matches!(member, Member::Samples);
                    runs.has_samples |= is_old;
                    runs.has_values |= !is_old;
                    std::mem::replace(&mut has_values, true)
                }
                Member::Warmups => {
                    map.next_value_seed(Warmups(&mut runs.found.warmups))?;
                    std::mem::replace(&mut has_warmups, true)
                }
                Member::Other => {
                    map.next_value::<IgnoredAny>()?;
                    false
                }
            };
            if is_twice {
                return Err(de::Error::custom("metadata, values or warmups are there twice"));
            }
        }
        let has_values = runs.found.values.len() > n_values;
        if !has_values && runs.found.warmups.len() == n_warmups {
            return Err(de::Error::custom("a run has values or warmups; this one has neither"));
        }
        let mut said = said.unwrap_or_default();
        runs.name.say(said.name.take()).map_err(de::Error::custom)?;
        runs.unit.say(said.unit.take()).map_err(de::Error::custom)?;
        let calibration = if has_values { None } else { said.calibration.take() };
        let rest = said.take_rest();
        let metadata = (!rest.is_empty()).then(|| Box::new(rest));
        let Said { loops, inner_loops, .. } = said;
        runs.found.end_launch(About { loops, inner_loops, calibration, metadata });
        Ok(())
    }
}

/// Pairs of loops and value.
struct Warmups<'a>(&'a mut Vec<(u64, f64)>);

impl<'de> DeserializeSeed<'de> for Warmups<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Warmups<'_> {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a list of [loops, value]")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some((loops, value)) = list.next_element::<(NonZeroU64, NotNegative)>()? {
            self.0.push((loops.get(), value.0));
        }
        Ok(())
    }
}
