//! The place of a mistake in a suite file: file, line and column.

use std::ops::Range;
use std::path::Path;

use crate::prose::{Prose, prose};
use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

/// A mistake in a table of the file, with the keys that lead to it.
#[derive(Debug)]
pub struct Flaw {
    keys: Vec<String>,
    is_key: bool,
    what: Prose,
}

impl Flaw {
    /// A mistake in the value under these keys, outermost first; a number is an index. If the value does not exist, the
    /// innermost existing table or list is marked.
    pub fn value(keys: &[&str], what: impl Into<Prose>) -> Self {
        let keys = keys.iter().map(|&key| key.to_owned()).collect();
        Self { keys, is_key: false, what: what.into() }
    }

    /// A mistake because this key exists.
    pub fn key(key: &str, what: impl Into<Prose>) -> Self {
        Self { is_key: true, ..Self::value(&[key], what) }
    }

    /// A mistake in the whole table or file.
    pub fn whole(what: impl Into<Prose>) -> Self {
        Self::value(&[], what)
    }

    /// Prefixes the message with the name of the faulty object.
    pub fn of(self, whose: &str) -> Self {
        Self { what: prose![(whose) ": " (self.what)], ..self }
    }
}

/// A file with its text, to locate mistakes.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    pub path: &'a Path,
    pub text: &'a str,
}

impl Text<'_> {
    /// A mistake in these bytes of the file.
    pub fn mistake(self, span: &Range<usize>, what: impl Into<Prose>) -> Prose {
        let before = &self.text[..span.start.min(self.text.len())];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        prose![(format!("{}:{line}:{column}: ", self.path.display()))(what)]
    }

    /// A mistake in the table at these bytes, or in the whole file.
    pub fn wrong(self, table: Option<&Range<usize>>, wrong: Flaw) -> Prose {
        let whole = || table.cloned().unwrap_or(0..0);
        let place = DeTable::parse(self.text).ok();
        let place = place.and_then(|root| find(root.get_ref(), table, &wrong));
        self.mistake(&place.unwrap_or_else(whole), wrong.what)
    }
}

/// The bytes of the mistake, or of its last key that exists.
fn find(root: &DeTable<'_>, table: Option<&Range<usize>>, wrong: &Flaw) -> Option<Range<usize>> {
    let mut found = table.cloned();
    let in_list = |list: &DeValue<'_>| match list {
        DeValue::Array(tables) => tables.iter().position(|it| Some(it.span()) == found),
        _ => None,
    };
    let mut value: Option<&DeValue<'_>> = None;
    if table.is_some() {
        let mut lists = root.values().map(Spanned::get_ref);
        let (list, at) = lists.find_map(|list| Some((list, in_list(list)?)))?;
        value = list.get(at).map(Spanned::get_ref);
    }
    for key in &wrong.keys {
        let (name, next) = match value {
            None => entry(root, key),
            Some(DeValue::Table(table)) => entry(table, key),
            Some(DeValue::Array(list)) => {
                let item = key.parse().ok().and_then(|at: usize| list.get(at));
                item.map(|item| (item.span(), item))
            }
            Some(_) => None,
        }
        .unzip();
        let Some(next) = next else { break };
        found = if wrong.is_key { name } else { Some(next.span()) };
        value = Some(next.get_ref());
    }
    found
}

fn entry<'t, 'i>(
    table: &'t DeTable<'i>,
    key: &str,
) -> Option<(Range<usize>, &'t Spanned<DeValue<'i>>)> {
    let (name, value) = table.iter().find(|(name, _)| name.get_ref() == key)?;
    Some((name.span(), value))
}
