//! Compares two builds of a program: the same program needs no measurement.
#![expect(clippy::disallowed_methods, reason = "reads programs and libraries")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use object::{Object as _, ObjectSection as _, ObjectSegment as _};

use model::harness::contains;

/// Go's section with the build number, and the number's offset behind sizes, a kind and a name.
const GO_ID: &str = ".note.go.buildid";
const GO_ID_AT: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sameness {
    Bytes,
    /// Same, except for the build's directory and number, and for parts that are never loaded.
    Loaded,
    Different,
}

/// The two trees, with their shared libraries by name.
pub(super) struct Libraries {
    directories: [PathBuf; 2],
    /// Files grouped by base name, keyed by path in the tree.
    by_name: [BTreeMap<OsString, BTreeMap<PathBuf, PathBuf>>; 2],
}

impl Libraries {
    /// `of_trees`: the libraries of each tree.
    pub(super) fn new(directories: &[PathBuf; 2], of_trees: [Vec<PathBuf>; 2]) -> Self {
        let mut by_name = [BTreeMap::new(), BTreeMap::new()];
        for ((names, files), root) in by_name.iter_mut().zip(of_trees).zip(directories) {
            for file in files {
                let Some(name) = file.file_name().map(OsStr::to_owned) else { continue };
                let place = file.strip_prefix(root).unwrap_or(&file).to_owned();
                let of_name: &mut BTreeMap<PathBuf, PathBuf> = names.entry(name).or_default();
                of_name.insert(place, file);
            }
        }
        Self { directories: directories.clone(), by_name }
    }

    /// Compares two builds of a program, and the libraries in the trees that it names. A script may load anything, so
    /// it is never the same.
    pub(super) fn compare(&self, [old, new]: [&Path; 2]) -> Result<Sameness> {
        let mut sameness = Sameness::Bytes;
        let (mut left, mut seen) = (vec![[old.to_owned(), new.to_owned()]], BTreeSet::new());
        while let Some(pair) = left.pop() {
            let [old, new] = [read(&pair[0])?, read(&pair[1])?];
            sameness = sameness.max(self.compare_files(&old, &new));
            if sameness == Sameness::Different {
                break;
            }
            let names: BTreeSet<&OsString> = self.by_name.iter().flat_map(BTreeMap::keys).collect();
            for name in names {
                if contains(&old, name.as_bytes()) && seen.insert(name) {
                    // Among files of one name, the place decides which is loaded. A build without any loads the library
                    // from elsewhere.
                    let [old, new] = [0, 1].map(|side| self.by_name[side].get(name));
                    let Some((old, new)) =
                        old.zip(new).filter(|(old, new)| old.keys().eq(new.keys()))
                    else {
                        return Ok(Sameness::Different);
                    };
                    left.extend(
                        old.values().zip(new.values()).map(|(old, new)| [old.clone(), new.clone()]),
                    );
                }
            }
        }
        Ok(sameness)
    }

    fn compare_files(&self, old: &[u8], new: &[u8]) -> Sameness {
        let loaded =
            |file, side: usize| loaded(file, self.directories[side].as_os_str().as_bytes());
        match (loaded(old, 0), loaded(new, 1)) {
            (Some(_), Some(_)) if old == new => Sameness::Bytes,
            (Some(old), Some(new)) if old == new => Sameness::Loaded,
            _ => Sameness::Different,
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// A loaded part of a program: address, size in memory, bytes.
type LoadedPart = (u64, u64, Vec<u8>);

/// The loaded parts of an ELF file, without the directory and number of the build; `None` for any other file.
fn loaded(bytes: &[u8], directory: &[u8]) -> Option<Vec<LoadedPart>> {
    let file = object::File::parse(bytes).ok()?;
    let mut hidden = vec![directory.to_vec()];
    hidden.extend(file.build_id().ok().flatten().map(<[u8]>::to_vec));
    let go = file.section_by_name(GO_ID).and_then(|section| section.data().ok());
    hidden.extend(go.and_then(|note| note.get(GO_ID_AT..)).map(without_padding));
    // The sections' places in the file: unloaded sections may differ in size.
    let of_sections =
        if file.is_64() { [0x28..0x30, 0x3c..0x40] } else { [0x20..0x24, 0x30..0x34] };
    let parts = file.segments().map(|segment| {
        let mut data = segment.data().ok()?.to_vec();
        if segment.file_range().0 == 0 {
            for range in of_sections.clone() {
                data.get_mut(range).into_iter().for_each(|it| it.fill(0));
            }
        }
        hidden.iter().for_each(|text| hide(&mut data, text));
        Some((segment.address(), segment.size(), data))
    });
    parts.collect()
}

fn without_padding(text: &[u8]) -> Vec<u8> {
    let n_zeros = text.iter().rev().take_while(|&&byte| byte == 0).count();
    text[..text.len() - n_zeros].to_vec()
}

/// Overwrites all occurrences of a text.
fn hide(data: &mut [u8], text: &[u8]) {
    let Some(&first) = text.first() else { return };
    let mut from = 0;
    while let Some(at) = data[from..].iter().position(|&byte| byte == first) {
        let at = from + at;
        if data[at..].starts_with(text) {
            data[at..at + text.len()].fill(0);
            from = at + text.len();
        } else {
            from = at + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_hidden_wherever_it_is() {
        let mut data = *b"aab-ab-b";
        hide(&mut data, b"ab");
        assert_eq!(&data, b"a\0\0-\0\0-b");
        hide(&mut data, b"");
        assert_eq!(without_padding(b"id\0\0"), b"id");
    }

    #[test]
    fn a_script_is_never_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["old", "new"].map(|name| folder.path().join(name));
        files.iter().for_each(|file| std::fs::write(file, "#!/bin/sh\n. ./other\n").unwrap());
        let [old, new] = &files;
        let libraries = Libraries::new(&files, [Vec::new(), Vec::new()]);
        assert_eq!(libraries.compare([old, new]).unwrap(), Sameness::Different);
        // The program of this test: first without libraries in the trees, then with one that differs.
        let own = std::env::current_exe().unwrap();
        assert_eq!(libraries.compare([&own, &own]).unwrap(), Sameness::Bytes);
        let library = |tree: &Path| {
            std::fs::create_dir(tree).unwrap();
            let library = tree.join("libc.so.6");
            std::fs::write(&library, tree.as_os_str().as_bytes()).unwrap();
            vec![library]
        };
        let trees = ["o", "n"].map(|name| folder.path().join(name));
        let libraries = Libraries::new(&trees, [library(&trees[0]), library(&trees[1])]);
        assert_eq!(libraries.compare([&own, &own]).unwrap(), Sameness::Different);
    }
}
