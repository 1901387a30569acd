//! The commits that searches found (`bisect --history`).

use anyhow::{Context as _, Result};
use rusqlite::params;
use schemars::JsonSchema;
use serde::Serialize;

use crate::bisection::LayoutVerdict;
use crate::history::store::HistoryStore;

/// A commit that a search found.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StoredCulprit {
    /// The benchmark that was measured.
    pub benchmark: String,
    /// The ends of the search.
    pub good: String,
    pub bad: String,
    /// The commit, and the ancestor that it was confirmed against.
    pub head: String,
    pub base: String,
    /// The first line of its message.
    pub subject: String,
    /// Commits among which it is: more than 1 if the others cannot be built.
    pub n_commits: usize,
    /// The commit against its parent: above 1 is slower.
    pub ratio: f64,
    pub lo: Option<f64>,
    pub hi: Option<f64>,
    /// What other link orders say; `None` if they were not asked.
    pub layout: Option<LayoutVerdict>,
    /// When it was found, seconds since 1970.
    pub found_s: i64,
}

impl HistoryStore {
    /// Keeps commits that a search found. A later search with the same ends replaces what an earlier one found.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add_culprits(&mut self, found: &[StoredCulprit]) -> Result<()> {
        let path = self.path().to_owned();
        let mut add = || -> Result<()> {
            let transaction = self.connection.transaction()?;
            for it in found {
                transaction.execute(
                    "DELETE FROM culprit WHERE benchmark = ?1 AND good = ?2 AND bad = ?3",
                    params![it.benchmark, it.good, it.bad],
                )?;
            }
            for it in found {
                let layout = it.layout.map(|layout| serde_json::to_string(&layout)).transpose()?;
                transaction.execute(
                    "INSERT OR REPLACE INTO culprit VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
                    params![
                        it.benchmark,
                        it.good,
                        it.bad,
                        it.head,
                        it.base,
                        it.subject,
                        i64::try_from(it.n_commits)?,
                        it.ratio,
                        it.lo,
                        it.hi,
                        layout.unwrap_or_default(),
                        it.found_s
                    ],
                )?;
            }
            Ok(transaction.commit()?)
        };
        add().with_context(|| format!("cannot add to {}", path.display()))
    }

    /// All commits that searches found, the newest search last.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn culprits(&self) -> Result<Vec<StoredCulprit>> {
        let path = self.path().to_owned();
        let read = || -> Result<Vec<StoredCulprit>> {
            let mut select = self.connection.prepare(
                "SELECT benchmark, good, bad, head, base, subject, n_commits, ratio, lo, hi, layout, found_s
                 FROM culprit ORDER BY found_s, head",
            )?;
            let mut rows = select.query([])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let layout: String = row.get(10)?;
                found.push(StoredCulprit {
                    benchmark: row.get(0)?,
                    good: row.get(1)?,
                    bad: row.get(2)?,
                    head: row.get(3)?,
                    base: row.get(4)?,
                    subject: row.get(5)?,
                    n_commits: usize::try_from(row.get::<_, i64>(6)?)?,
                    ratio: row.get(7)?,
                    lo: row.get(8)?,
                    hi: row.get(9)?,
                    layout: serde_json::from_str(&layout).ok(),
                    found_s: row.get(11)?,
                });
            }
            Ok(found)
        };
        read().with_context(|| format!("cannot read {}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_search_replaces_what_an_earlier_one_found() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = HistoryStore::open(&directory.path().join("h.db")).unwrap();
        let culprit = |head: &str, bad: &str, layout| StoredCulprit {
            benchmark: "b".into(),
            good: "old".into(),
            bad: bad.into(),
            head: head.into(),
            base: "parent".into(),
            subject: "it's \"slow\"".into(),
            n_commits: 1,
            ratio: 1.05,
            lo: Some(1.04),
            hi: None,
            layout,
            found_s: 7,
        };
        let first = [culprit("x", "new", None), culprit("y", "new", None)];
        store.add_culprits(&first).unwrap();
        assert_eq!(store.culprits().unwrap(), first);
        let other = culprit("x", "newer", Some(LayoutVerdict::Layout));
        let again = culprit("z", "new", Some(LayoutVerdict::Source));
        store.add_culprits(&[other.clone(), again.clone()]).unwrap();
        assert_eq!(store.culprits().unwrap(), [other, again]);
    }
}
