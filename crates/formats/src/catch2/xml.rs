//! Catch2's XML, read tag by tag. A benchmark is an element `BenchmarkResults` in a test case.

use std::borrow::Cow;

use anyhow::{Context as _, Result, bail, ensure};

use super::benchmark;
use crate::Results;

/// Reads the tags. Catch2 escapes `<` and quotes in attributes.
pub(super) fn read(text: &str, to: &mut Results) {
    let mut title: Vec<String> = Vec::new();
    let mut open: Option<XmlBenchmark> = None;
    let mut number = 1;
    for piece in text.split('<') {
        let at = number;
        number += piece.bytes().filter(|&it| it == b'\n').count();
        let tag = piece.split([' ', '>', '/']).next().unwrap_or_default();
        let attribute = |name: &str| attribute(piece, name);
        match tag {
            "Catch2TestRun" => {
                if let Some(version) = attribute("catch2-version") {
                    to.tool = format!("Catch2 {version}");
                }
            }
            "TestCase" | "Section" => title.push(attribute("name").unwrap_or_default().into()),
            "" if piece.starts_with("/TestCase>") || piece.starts_with("/Section>") => {
                drop(title.pop())
            }
            "BenchmarkResults" => {
                end_xml(open.take(), &title, to);
                let name = attribute("name").unwrap_or_default().into();
                let samples = attribute("samples").and_then(|it| it.parse().ok());
                open = Some(XmlBenchmark { number: at, name, samples, ..XmlBenchmark::default() });
            }
            "" if piece.starts_with("/BenchmarkResults>") => end_xml(open.take(), &title, to),
            _ => {
                if let Some(open) = &mut open {
                    open.tag(tag, attribute);
                }
            }
        }
    }
    end_xml(open.take(), &title, to);
    let is_whole =
        ["</Catch2TestRun>", "</Catch>"].iter().any(|end| text.trim_end().ends_with(end));
    if !is_whole {
        to.note(format!("line {number}: the file ends early; what would come after it is missing"));
    }
}

#[derive(Default)]
struct XmlBenchmark {
    number: usize,
    name: String,
    samples: Option<u64>,
    /// Mean and its interval.
    mean: Option<Result<[f64; 3]>>,
    stddev: Option<f64>,
    failed: Option<String>,
}

impl XmlBenchmark {
    fn tag<'a>(&mut self, tag: &str, attribute: impl Fn(&str) -> Option<Cow<'a, str>>) {
        let number = |name: &str| -> Result<f64> {
            let text = attribute(name).with_context(|| format!("{tag} has no {name}"))?;
            let value = text.parse::<f64>().with_context(|| format!("{tag}: {text:?}"))?;
            ensure!(value.is_finite() && value >= 0.0, "{tag}: {text} is not a time");
            Ok(value)
        };
        match tag {
            "mean" => {
                let of = || Ok([number("value")?, number("lowerBound")?, number("upperBound")?]);
                self.mean = Some(of());
            }
            "standardDeviation" => self.stddev = number("value").ok(),
            "failed" => self.failed = Some(attribute("message").unwrap_or_default().into()),
            _ => {}
        }
    }
}

fn end_xml(open: Option<XmlBenchmark>, title: &[String], to: &mut Results) {
    let Some(XmlBenchmark { number, name, samples, mean, stddev, failed }) = open else { return };
    let read = (|| {
        if let Some(why) = failed {
            bail!("it failed: {why}");
        }
        let mean = mean.context("it has no mean")??;
        ensure!(mean[0] > 0.0, "mean: a value must be above 0");
        Ok(benchmark(&name, title, samples, mean, stddev))
    })();
    to.take(name, number, read);
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<Cow<'a, str>> {
    let mut rest = tag.trim_start_matches(|it: char| !it.is_whitespace());
    loop {
        let (key, after) = rest.trim_start().split_once("=\"")?;
        let (value, after) = after.split_once('"')?;
        if key == name {
            return Some(unescaped(value));
        }
        rest = after;
    }
}

fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return text.into();
    }
    let plain = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    plain.iter().fold(text.to_owned(), |text, (escape, char)| text.replace(escape, char)).into()
}
