//! A search without `--build`: what it does, and the build that the repository probably needs.

use std::path::Path;

use host::terminal;
use model::spec::BisectVerb;

/// Files of build systems, and the command that builds what they describe.
const BUILDS: [(&str, &str); 7] = [
    ("Cargo.toml", "'cargo build --release'"),
    ("Makefile", "make"),
    ("makefile", "make"),
    ("GNUmakefile", "make"),
    ("CMakeLists.txt", "'cmake -B build && cmake --build build'"),
    ("meson.build", "'meson setup build && ninja -C build'"),
    ("go.mod", "'go build ./...'"),
];

/// Whether commits are checked out and nothing is built.
pub(super) fn is_it(verb: &BisectVerb) -> bool {
    verb.build.is_none() && verb.script.is_none()
}

/// Says so before anything is measured, if the directory looks as if it had to be built.
pub(super) fn warn(verb: &BisectVerb, here: &Path) {
    let found = BUILDS.iter().find(|(file, _)| here.join(file).is_file());
    let Some((file, build)) = found.filter(|_| is_it(verb)) else { return };
    terminal::say(format!(
        "without --build nothing is built; this directory has a {file}: `--build {build}` builds each commit"
    ));
}
