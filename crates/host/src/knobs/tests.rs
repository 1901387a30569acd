//! Surprising behaviour of single knobs.

use super::*;

#[test]
fn names_are_unique_and_files_are_relative() {
    let mut names: Vec<_> = knobs().map(|knob| knob.name).collect();
    names.sort_unstable();
    let n = names.len();
    names.dedup();
    assert_eq!(names.len(), n);
    for file in knobs().flat_map(|knob| knob.files) {
        assert!(!file.path.starts_with('/') && !file.path.contains(".."), "{}", file.path);
    }
}
