//! References to the commits of accepted attempts. A patch's commit is on no branch: without a reference `git gc`
//! removes it after its work tree.

use std::path::Path;

use anyhow::{Context as _, Result};
use sha2::{Digest as _, Sha256};

use crate::cmd::campaign::folder::CampaignFolder;

/// Their namespace. Lists of branches and tags do not show it.
const PARENT: &str = "refs/stillwell/campaigns";

/// Makes a reference to the last accepted commit.
pub(super) fn keep_last(work: &CampaignFolder) -> Result<()> {
    let Some((index, attempt)) = work.campaign.accepted().last() else { return Ok(()) };
    let Some(commit) = &attempt.program.commit else { return Ok(()) };
    let Some(place) = work.place()? else { return Ok(()) };
    let directory = std::path::absolute(&work.folder.directory);
    let directory = directory.context("cannot find the current directory")?;
    place.refer(&reference(&directory, index + 1, &attempt.name), commit).with_context(|| {
        format!(
            "cannot make a reference to {commit}, the commit of {:?}; make a branch of it, or git may remove it",
            attempt.name
        )
    })
}

/// The name of an attempt's reference: directory, number and name. The digest of the path tells directories of one name
/// apart.
fn reference(directory: &Path, number: usize, name: &str) -> String {
    let digest = Sha256::digest(directory.as_os_str().as_encoded_bytes());
    let digest: String = digest[..4].iter().map(|byte| format!("{byte:02x}")).collect();
    let folder = directory.file_name().unwrap_or_default().to_string_lossy();
    format!("{PARENT}/{}-{digest}/{number}-{}", component(&folder), component(name))
}

/// A text as a part of a reference; git permits few other characters.
fn component(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.chars().map(|c| if is_plain(c) { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_makes_a_reference() {
        let found = reference(Path::new("/srv/my c.d"), 2, "faster: ..@{1}~\n.lock");
        // printf '/srv/my c.d' | sha256sum
        let parent = "refs/stillwell/campaigns/my-c-d-d359ede0";
        assert_eq!(found, format!("{parent}/2-faster------1----lock"));
    }
}
