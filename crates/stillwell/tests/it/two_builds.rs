//! Two builds of a program in C, compared by `run` and `bench`.

use std::collections::BTreeSet;
use std::path::Path;

use crate::bench::{Bench, Row, skipped};

/// From statfs(2).
const TMPFS_MAGIC: i64 = 0x0102_1994;

/// The root of the repository.
fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Compiles one of the tests' programs in C.
pub fn compile(bench: &Bench, source: &str, define: &str, name: &str) {
    let source = root().join("crates/stillwell/tests/it").join(source);
    let mut compiler = bench.command("cc");
    compiler.args(["-O2", define, "-I"]).arg(root().join("c")).arg(source).args(["-o", name]);
    let ran = compiler.output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn two_builds_of_a_c_program_are_compared_function_by_function() {
    let bench = Bench::new();
    for (name, define) in [("old", "-DSIZE=64"), ("new", "-DSIZE=2048")] {
        compile(&bench, "two_builds.c", define, name);
    }
    let arguments = ["bench", "--budget", "5s", "-o", "r.swell", "./old", "./new"];
    bench.stillwell(&arguments).ends_with(0);
    let record = bench.record();
    let fastest_ns = |arm| {
        let slices = record.timed().filter(|row| row.arm == arm);
        let of_slice =
            |row: &Row| row.get("wall_ns").unwrap() as f64 / row.get("loops").unwrap() as f64;
        slices.map(of_slice).reduce(f64::min).unwrap()
    };
    let [mix, same] = [0, 2].map(|old| fastest_ns(old + 1) / fastest_ns(old));
    // One does 32 times the work and the other the same, a large enough difference for any machine in any weather.
    assert!(mix > 4.0 && mix > 4.0 * same, "{mix} {same}");
}

/// Two copies of a program lie in different places in memory. They exchange them, or one would be faster in all runs.
#[test]
fn copies_of_a_program_exchange_their_places_in_memory() {
    for (verb, define) in [("run", "-DRUN"), ("bench", "-DWORKER")] {
        let bench = Bench::new();
        if rustix::fs::statfs(bench.path(".")).unwrap().f_type == TMPFS_MAGIC {
            return skipped("temporary files are in memory here, where they stay");
        }
        compile(&bench, "places.c", define, "old");
        std::fs::copy(bench.path("old"), bench.path("new")).unwrap();
        // A busy machine has time for a few blocks, and each leaves the places as they are with a probability of a half.
        let exchanges = (0..3).any(|number: u32| {
            let record = format!("{number}.swell");
            let arguments = [verb, "--budget", "4s", "-o", &record, "./old", "./new"];
            bench.stillwell(&arguments).ends_with(0);
            have_exchanged(&bench.read("places")).unwrap_or(true)
        });
        if have_exchanged(&bench.read("places")).is_none() {
            return skipped("only root sees where a program's pages are");
        }
        assert!(exchanges, "{verb}");
    }
}

/// Whether both programs were in half of the places, from what places.c writes; `None` if it does not see them.
fn have_exchanged(places: &str) -> Option<bool> {
    let frames_of = |name: &str| -> BTreeSet<&str> {
        let of_name = places.lines().filter_map(|line| line.strip_prefix(name));
        of_name.flat_map(str::split_whitespace).collect()
    };
    let [old, new] = ["old ", "new "].map(frames_of);
    let n_pages = places.lines().next()?.split(' ').count() - 1;
    (!old.contains("0")).then_some(2 * old.intersection(&new).count() > n_pages)
}
