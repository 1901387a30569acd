//! A document as its parts: the members of the root, and the elements of their lists. Each part is read by itself, so a
//! mistake costs only its part.

use std::borrow::Cow;

use anyhow::{Context as _, Result, ensure};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{read_at, without_bare_words};
use crate::{BenchmarkValues, Results};

/// Members of an object that may name a benchmark, the fullest first.
const NAMES: [&str; 9] =
    ["fullname", "full_id", "uri", "run_name", "FullName", "name", "command", "benchmark", "title"];

/// The root of a document: an object, or a list as the only member, with an empty name.
pub(crate) struct Document<'a> {
    members: Vec<(String, Part<'a>)>,
    /// Where reading ended early.
    cut: Option<Part<'a>>,
    /// Whether something follows the root.
    has_more: bool,
}

/// The text of a value in its document.
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    document: &'a str,
    text: &'a str,
    /// The line in which `text` begins. Counted once: many parts of a file may have a mistake.
    line: Line,
}

#[derive(Clone, Copy)]
struct Line {
    /// Number from 1.
    number: usize,
    /// Offset of the first byte.
    start: usize,
}

impl Line {
    const FIRST: Self = Self { number: 1, start: 0 };

    /// The line of byte `to`, counted on from an earlier byte `from`.
    fn forward(self, document: &str, from: usize, to: usize) -> Self {
        let between = &document.as_bytes()[from..to];
        let ends = between.iter().enumerate().filter(|it| *it.1 == b'\n');
        ends.fold(self, |line, (at, _)| Self { number: line.number + 1, start: from + at + 1 })
    }
}

/// An element of a list, with its path.
pub(crate) struct Element<'a> {
    part: Part<'a>,
    pub(crate) place: String,
}

impl<'a> Document<'a> {
    /// Splits a document into its members. Errors: the text begins with neither an object nor a list.
    pub(crate) fn split(text: &'a str) -> Result<Self> {
        let start = text.len() - text.trim_start().len();
        let mut line = Line::FIRST.forward(text, 0, start);
        let root = Part { document: text, text: &text[start..], line };
        let mut split = Self { members: Vec::new(), cut: None, has_more: false };
        if root.text.starts_with('[') {
            split.members.push((String::new(), root));
            let is_ended = text.trim_end().ends_with(']');
            split.cut = (!is_ended).then(|| {
                let line = line.forward(text, start, text.len());
                Part { document: text, text: &text[text.len()..], line }
            });
            return Ok(split);
        }
        ensure!(root.text.starts_with('{'), "it is neither an object nor a list");
        let mut at = start + 1;
        loop {
            let from = at;
            at += separators(&text[at..]);
            line = line.forward(text, from, at);
            if text[at..].starts_with('}') {
                split.has_more = !text[at + 1..].trim().is_empty();
                return Ok(split);
            }
            let Some((name, part)) = member(text, at, line) else {
                split.cut = Some(Part { document: text, text: &text[at..], line });
                return Ok(split);
            };
            at = part.start() + part.text.len();
            line = part.line.forward(text, part.start(), at);
            split.members.push((name, part));
        }
    }

    pub(crate) fn member(&self, name: &str) -> Option<Part<'a>> {
        self.members.iter().find(|member| member.0 == name).map(|member| member.1)
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, Element<'a>)> {
        self.members
            .iter()
            .map(|(name, part)| (&**name, Element { part: *part, place: name.clone() }))
    }

    /// A member as a value; a wrong one is noted and left out.
    pub(crate) fn field<T: DeserializeOwned + Default>(
        &self,
        name: &str,
        results: &mut Results,
    ) -> T {
        let Some(part) = self.member(name) else { return T::default() };
        part.read(name).unwrap_or_else(|error| {
            results.note(format!("left out: {error:#}"));
            T::default()
        })
    }

    /// The elements of a list at the root. Errors: there is no such list.
    pub(crate) fn list(&self, name: &str) -> Result<Vec<Element<'a>>> {
        let part = self.member(name).with_context(|| match name {
            "" => "it is no list".to_owned(),
            _ => format!("missing field `{name}`"),
        })?;
        part.elements(name).with_context(|| format!("{name}: it is not a list"))
    }

    /// Adds the benchmark of each element of a list, and notes unreadable ones. Errors: there is no such list.
    pub(crate) fn benchmarks<T: DeserializeOwned>(
        &self,
        name: &str,
        results: &mut Results,
        benchmark: impl Fn(T) -> Result<BenchmarkValues>,
    ) -> Result<()> {
        self.each(name, results, |results, read| {
            results.benchmarks.push(benchmark(read)?);
            Ok(())
        })
    }

    /// Reads each element of a list, and notes unreadable ones and an early end of the document. Errors: there is no
    /// such list.
    pub(crate) fn each<T: DeserializeOwned>(
        &self,
        name: &str,
        results: &mut Results,
        mut take: impl FnMut(&mut Results, T) -> Result<()>,
    ) -> Result<()> {
        for element in self.list(name)? {
            let read = element.read::<T>();
            let taken =
                read.and_then(|read| take(results, read).with_context(|| element.place.clone()));
            if let Err(error) = taken {
                results.unread(element.name(), element.line(), format!("{error:#}"));
            }
        }
        self.tell_cut(results);
        Ok(())
    }

    /// Whether the document ends early.
    pub(crate) fn is_cut(&self) -> bool {
        self.cut.is_some()
    }

    /// Notes an early end of the document, and text after its end.
    pub(crate) fn tell_cut(&self, results: &mut Results) {
        if self.has_more {
            results.note("what follows the JSON document is not read");
        }
        if let Some(cut) = self.cut {
            let line = cut.line();
            let why = match cut.text.trim().is_empty() {
                true => "the file ends early",
                false => "the rest of the file is no JSON",
            };
            results.note(format!("line {line}: {why}; what would come after it is missing"));
        }
    }
}

impl<'a> Part<'a> {
    fn start(&self) -> usize {
        self.text.as_ptr() as usize - self.document.as_ptr() as usize
    }

    /// Line of the start, from 1.
    pub(crate) fn line(&self) -> usize {
        let blank = self.text.len() - self.text.trim_start().len();
        self.line.forward(self.document, self.start(), self.start() + blank).number
    }

    /// Reads the value strictly, with a text for each number that JSON does not have. Errors: path, line and column of
    /// the first mistake.
    pub(crate) fn read<T: DeserializeOwned>(&self, place: &str) -> Result<T> {
        let before = || (self.line.number - 1, self.start() - self.line.start);
        read_at(&without_bare_words(self.text, None), before, place)
    }

    /// Elements of a list; the last one may be cut.
    pub(crate) fn elements(&self, name: &str) -> Option<Vec<Element<'a>>> {
        let mut at = self.start() + 1;
        let end = self.start() + self.text.len();
        let mut line = self.line;
        self.text.starts_with('[').then(|| {
            let mut elements = Vec::new();
            loop {
                let from = at;
                at += separators(&self.document[at..end]);
                line = line.forward(self.document, from, at);
                if at == end || self.document[at..].starts_with(']') {
                    return elements;
                }
                let text = value(&self.document[at..end]);
                // A bracket that closes nothing: the rest cannot be split.
                let text = if text.is_empty() { &self.document[at..end] } else { text };
                let part = Part { document: self.document, text, line };
                line = line.forward(self.document, at, at + text.len());
                at += text.len();
                elements.push(Element { part, place: format!("{name}[{}]", elements.len()) });
            }
        })
    }

    /// The members of an object, with their paths.
    pub(crate) fn members(&self, name: &str) -> Vec<(String, Element<'a>)> {
        let mut members = Vec::new();
        let mut at = self.start() + 1;
        if !self.text.starts_with('{') {
            return members;
        }
        let mut line = self.line;
        loop {
            let from = at;
            at += separators(&self.document[at..]);
            line = line.forward(self.document, from, at);
            let end = self.start() + self.text.len();
            let Some((key, part)) = member(self.document, at, line).filter(|_| at < end) else {
                return members;
            };
            at = part.start() + part.text.len();
            line = part.line.forward(self.document, part.start(), at);
            let place = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
            members.push((key, Element { part, place }));
        }
    }
}

impl<'a> Element<'a> {
    /// Reads the element strictly. Errors: path, line and column of the first mistake.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T> {
        self.part.read(&self.place)
    }

    pub(crate) fn part(&self) -> Part<'a> {
        self.part
    }

    /// Line of the start, from 1.
    pub(crate) fn line(&self) -> usize {
        self.part.line()
    }

    /// The name of a benchmark, even of an element that cannot be read.
    pub(crate) fn name(&self) -> String {
        let members = self.part.members("");
        let text = |key: &str| {
            let (_, value) = members.iter().find(|member| member.0 == key)?;
            value.read::<String>().ok()
        };
        let of_metadata = || {
            let (_, metadata) = members.iter().find(|member| member.0 == "metadata")?;
            metadata.read::<Value>().ok()?.get("name")?.as_str().map(str::to_owned)
        };
        NAMES.into_iter().find_map(text).or_else(of_metadata).unwrap_or_else(|| self.place.clone())
    }
}

/// Length of white space and commas.
fn separators(text: &str) -> usize {
    text.len() - text.trim_start_matches(|it: char| it.is_whitespace() || it == ',').len()
}

/// A member of an object, at a byte of this line.
fn member(text: &str, at: usize, line: Line) -> Option<(String, Part<'_>)> {
    let name = text[at..].starts_with('"').then(|| value(&text[at..]))?;
    let key: Cow<'_, str> = serde_json::from_str::<String>(name).ok()?.into();
    let after = text[at + name.len()..].trim_start().strip_prefix(':')?.trim_start();
    let value = value(after);
    (!value.is_empty()).then(|| {
        let start = value.as_ptr() as usize - text.as_ptr() as usize;
        let line = line.forward(text, at, start);
        (key.into_owned(), Part { document: text, text: value, line })
    })
}

/// The value at the start of a text. The text between its brackets and quotes need not be valid.
fn value(text: &str) -> &str {
    let bytes = text.as_bytes();
    let (mut depth, mut is_in_text, mut is_escaped) = (0_usize, false, false);
    for (at, &byte) in bytes.iter().enumerate() {
        if is_in_text {
            let is_end = byte == b'"' && !is_escaped;
            is_escaped = byte == b'\\' && !is_escaped;
            is_in_text = !is_end;
            if is_end && depth == 0 {
                return &text[..=at];
            }
            continue;
        }
        match byte {
            b'"' => is_in_text = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth > 1 => depth -= 1,
            b'}' | b']' => return &text[..at + depth],
            b',' if depth == 0 => return text[..at].trim_end(),
            _ => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(text: &str) -> Vec<String> {
        let document = Document::split(text).unwrap();
        let list = document.list("list").unwrap();
        list.iter().map(|element| element.part.text.to_owned()).collect()
    }

    #[test]
    fn a_list_is_split_wherever_it_is_cut() {
        let text = r#"{"a": {"x": "]}\""}, "list": [{"n": [1, 2]}, "\\", 3.5 , null], "b": 1}"#;
        let whole = elements(text);
        assert_eq!(whole, [r#"{"n": [1, 2]}"#, r#""\\""#, "3.5", "null"]);
        let start = text.find("[{").unwrap();
        for end in start + 1..text.len() {
            let cut = elements(&text[..end]);
            let n_same = cut.len().saturating_sub(1);
            assert_eq!(cut[..n_same], whole[..n_same], "{}", &text[..end]);
        }
    }

    #[test]
    fn a_mistake_has_its_line_in_the_document() {
        let text = "{\n \"list\": [{\"n\": 1},\n {\"name\": \"b\",\n  \"n\": x}, {\"n\": NaN}]}";
        let document = Document::split(text).unwrap();
        let list = document.list("list").unwrap();
        let error = format!("{:#}", list[1].read::<Value>().unwrap_err());
        assert_eq!(error, "list[1].n: expected value at line 4 column 8");
        assert_eq!((list[1].name(), list[1].line()), ("b".to_owned(), 3));
        assert_eq!(list[2].read::<Value>().unwrap()["n"], "NaN");
        assert_eq!(list[2].name(), "list[2]");
    }
}
