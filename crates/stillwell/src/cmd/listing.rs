//! `show --list`: the records in the default place, the newest first.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::cmd::print::print;
use model::values::exit_code;
use record::{Header, RecordTail, SuiteManifest};
use render::listing::{self, ListedRecord};

/// Records that are listed if no command is named.
const N_NEWEST: usize = 20;

/// Lists the records whose commands contain all of these texts; without a text, the newest ones.
pub fn list(texts: &[PathBuf]) -> Result<u8> {
    let texts: Vec<String> = texts.iter().map(|text| text.to_string_lossy().into()).collect();
    let is_wanted = |it: &ListedRecord| texts.iter().all(|text| it.what.contains(text));
    let all = record::all_records()?.into_iter().filter_map(|path| listed(&path));
    let mut found: Vec<ListedRecord> = all.filter(is_wanted).collect();
    found.sort_by(|one, other| other.cmp(one));
    let n_max = if texts.is_empty() { N_NEWEST } else { usize::MAX };
    let n_more = found.len().saturating_sub(n_max);
    found.truncate(n_max);
    print(&listing::text(&found, n_more))?;
    Ok(exit_code::SUCCESS)
}

/// When a record was made, and of what. `None` for a file that is no record.
fn listed(path: &Path) -> Option<ListedRecord> {
    let path = path.to_owned();
    if record::is_suite(&path) {
        let suite = SuiteManifest::read(&path).ok()?;
        let what = format!("suite {}", suite.file);
        return Some(ListedRecord { created: suite.created, what, path });
    }
    let (_, Header { created, plan, .. }) = RecordTail::open(&path).ok()?;
    let names: Vec<&str> = plan.candidates().map(|(_, arm)| arm.label()).collect();
    Some(ListedRecord { created, what: names.join(", "), path })
}
