//! The format of a file: from its content, never from its name.

use std::fmt;

use anyhow::{Result, bail, ensure};
use clap::ValueEnum as _;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::convert::read::GZIP;
use crate::convert::{criterion, go};
use crate::values::FileFormat;

/// The number of lines to read before giving up on a text.
const N_LINES_MAX: usize = 10_000;

/// Detects the format of a file from its unpacked bytes, or from the first part of them. In a JSON document with
/// sorted keys the key that tells may come only near the end.
///
/// # Errors
/// The format is unknown; the message lists the known ones.
pub fn detect(bytes: &[u8]) -> Result<FileFormat> {
    ensure!(!bytes.starts_with(&GZIP), "it is compressed; unpack it first");
    ensure!(!bytes.iter().all(u8::is_ascii_whitespace), "the file is empty");
    let start = bytes.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(0);
    let found = match bytes[start] {
        b'{' | b'[' => detect_json(bytes),
        _ => detect_text(bytes),
    };
    match found {
        Some(format) => Ok(format),
        None => {
            let known: Vec<_> =
                FileFormat::value_variants().iter().map(|format| format.name()).collect();
            bail!(
                "what this file is cannot be told; the formats that can be read are: {}",
                known.join(", ")
            )
        }
    }
}

/// Whether files with these relative paths make up a directory of criterion.
pub fn is_criterion<'a>(paths: impl IntoIterator<Item = &'a str>, side: &str) -> bool {
    paths.into_iter().any(|path| criterion::wants(path, side))
}

fn detect_text(bytes: &[u8]) -> Option<FileFormat> {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines().take(N_LINES_MAX);
    if text.starts_with("command,") {
        return Some(FileFormat::HyperfineCsv);
    }
    if lines.clone().any(go::is_result) {
        return Some(FileFormat::Go);
    }
    let first = lines.find(|line| !line.trim().is_empty() && !line.starts_with('#'))?;
    let time = first.split('\t').next().unwrap_or(first);
    time.trim().parse::<f64>().is_ok().then_some(FileFormat::Times)
}

fn detect_json(bytes: &[u8]) -> Option<FileFormat> {
    let mut keys = FormatKeys::default();
    let mut json = serde_json::Deserializer::from_slice(bytes);
    // Reading ends with an error as soon as the format is known, or where the first part of the file ends.
    drop(KeyLevel { keys: &mut keys, place: KeyPlace::Root }.deserialize(&mut json));
    keys.format
}

/// The place of a key.
#[derive(Clone, Copy, PartialEq)]
enum KeyPlace {
    Root,
    /// In the first object of a list at the root.
    RootList,
    /// In the first object of the list `benchmarks`.
    Benchmarks,
    /// In the first object of the list `results`.
    Results,
    /// At a place without telling keys.
    Elsewhere,
}

/// Keys that only one format has at this place. Keys that several formats share are not here.
const TELLING: [(KeyPlace, &str, FileFormat); 20] = [
    (KeyPlace::Benchmarks, "runs", FileFormat::Pyperf),
    (KeyPlace::Results, "command", FileFormat::Hyperfine),
    (KeyPlace::Results, "times", FileFormat::Hyperfine),
    (KeyPlace::Benchmarks, "run_name", FileFormat::GoogleBenchmark),
    (KeyPlace::Benchmarks, "run_type", FileFormat::GoogleBenchmark),
    (KeyPlace::Benchmarks, "real_time", FileFormat::GoogleBenchmark),
    (KeyPlace::Benchmarks, "cpu_time", FileFormat::GoogleBenchmark),
    (KeyPlace::RootList, "jmhVersion", FileFormat::Jmh),
    (KeyPlace::RootList, "primaryMetric", FileFormat::Jmh),
    (KeyPlace::Root, "machine_info", FileFormat::Pytest),
    (KeyPlace::Benchmarks, "fullname", FileFormat::Pytest),
    (KeyPlace::Benchmarks, "extra_info", FileFormat::Pytest),
    (KeyPlace::Root, "result_columns", FileFormat::Asv),
    (KeyPlace::Results, "title", FileFormat::Nanobench),
    (KeyPlace::Results, "epochs", FileFormat::Nanobench),
    (KeyPlace::Results, "complexityN", FileFormat::Nanobench),
    (KeyPlace::RootList, "Julia", FileFormat::BenchmarkTools),
    (KeyPlace::RootList, "BenchmarkTools", FileFormat::BenchmarkTools),
    (KeyPlace::Root, "instrument", FileFormat::Codspeed),
    (KeyPlace::Benchmarks, "uri", FileFormat::Codspeed),
];

#[derive(Default)]
struct FormatKeys {
    format: Option<FileFormat>,
}

/// An object or a list at a place.
struct KeyLevel<'a> {
    keys: &'a mut FormatKeys,
    place: KeyPlace,
}

impl<'de> DeserializeSeed<'de> for KeyLevel<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        match self.place {
            KeyPlace::Elsewhere => from.deserialize_ignored_any(IgnoredAny).map(drop),
            _ => from.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for KeyLevel<'_> {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a list or an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let telling =
                TELLING.iter().find(|(place, known, _)| *place == self.place && *known == key);
            if let Some((_, _, format)) = telling {
                self.keys.format = Some(*format);
                return Err(de::Error::custom("known"));
            }
            let place = match (self.place, &*key) {
                (KeyPlace::Root, "benchmarks") => KeyPlace::Benchmarks,
                (KeyPlace::Root, "results") => KeyPlace::Results,
                _ => KeyPlace::Elsewhere,
            };
            map.next_value_seed(KeyLevel { keys: self.keys, place })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let place = if self.place == KeyPlace::Root { KeyPlace::RootList } else { self.place };
        list.next_element_seed(KeyLevel { keys: self.keys, place })?;
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    // Scalars do not tell formats apart.
    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}
