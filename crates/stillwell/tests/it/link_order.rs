//! `link-order`: the same program with its functions at other addresses.

use std::collections::BTreeSet;
use std::process::Command;

use crate::bench::{Bench, Ran, STILLWELL, skipped};

const PARTS: [&str; 5] = ["part_a", "part_b", "part_c", "part_d", "part_e"];

/// A C program of several objects in a directory of its own; `None` without a compiler.
fn program() -> Option<Bench> {
    let bench = Bench::new();
    let calls: String = PARTS.iter().map(|part| format!("n = n * 31 + {part}();\n")).collect();
    let declared: String = PARTS.iter().map(|part| format!("int {part}(void);\n")).collect();
    let main = format!(
        "#include <stdio.h>\n{declared}int main(void) {{ unsigned n = 0;\n{calls}\
         printf(\"%u\\n\", n); return 0; }}\n"
    );
    bench.write("main.c", &main);
    for (i, part) in PARTS.iter().enumerate() {
        bench.write(&format!("{part}.c"), &format!("int {part}(void) {{ return {i}; }}\n"));
    }
    let mut compile = bench.command("cc");
    compile.args(["-c", "main.c"]).args(PARTS.map(|part| format!("{part}.c")));
    let Ok(output) = compile.output() else {
        skipped("there is no cc to link with");
        return None;
    };
    Ran::from(output).ends_with(0);
    Some(bench)
}

fn objects() -> Vec<String> {
    PARTS.iter().map(|part| format!("{part}.o")).collect()
}

/// Names of the functions of a program that contain one of `parts`, in the order of their addresses.
fn layout(bench: &Bench, program: &str, parts: &[&str]) -> Vec<String> {
    let nm = Ran::from(bench.command("nm").args(["-n", program]).output().unwrap()).ends_with(0);
    let names = nm.stdout.lines().filter_map(|line| line.rsplit(' ').next());
    let part = |name: &str| parts.iter().find(|part| name.contains(*part)).map(|&part| part.into());
    names.filter_map(part).collect()
}

/// The output of the program.
fn output(bench: &Bench, program: &str) -> String {
    let path = bench.path(program);
    Ran::from(Command::new(path).output().unwrap()).ends_with(0).stdout
}

/// Runs a compiler with `arguments` through `link-order`.
fn link(bench: &Bench, seed: &str, arguments: &[&str]) {
    let before = ["link-order", "--seed", seed, "--", "cc"];
    bench.stillwell(&[&before, arguments].concat()).ends_with(0);
}

#[test]
fn functions_are_elsewhere_and_the_program_is_the_same() {
    let Some(bench) = program() else { return };
    let objects = objects();
    let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
    let mut layouts = BTreeSet::new();
    for seed in ["1", "2", "3", "4", "1"] {
        link(&bench, seed, &[&["main.o", "-o", "prog"], &objects[..], &["-lm"]].concat());
        let layout = layout(&bench, "prog", &PARTS);
        assert_eq!(layout.iter().collect::<BTreeSet<_>>().len(), PARTS.len(), "{layout:?}");
        assert_eq!(output(&bench, "prog"), "31810\n");
        layouts.insert(layout);
    }
    assert_eq!(layouts.len(), 4, "four seeds, four of 120 orders: {layouts:?}");
}

#[test]
fn a_response_file_is_shuffled_and_left_as_it_was() {
    let Some(bench) = program() else { return };
    let file = "part_a.o 'part_b.o'\npart_c.o\n-DTEXT='\"a b\"' part_d.o\n";
    bench.write("objects", file);
    let mut layouts = BTreeSet::new();
    for seed in ["1", "2", "3"] {
        link(&bench, seed, &["main.o", "@objects", "part_e.o", "-o", "prog"]);
        assert_eq!(output(&bench, "prog"), "31810\n");
        layouts.insert(layout(&bench, "prog", &PARTS));
    }
    assert_eq!(layouts.len(), 3, "{layouts:?}");
    assert_eq!(bench.read("objects"), file);
}

/// A PATH that has the wrappers of a seed before `path`.
fn wrapped(bench: &Bench, seed: &str, path: &str) -> String {
    let directory = format!("compilers{seed}");
    let mut make = bench.command(STILLWELL);
    make.args(["link-order", "--seed", seed, "--wrappers", &directory]).env("PATH", path);
    let made = Ran::from(make.output().unwrap()).ends_with(0);
    let path = made.stdout.trim_end().to_owned();
    assert!(path.starts_with(&*bench.path(&directory).to_string_lossy()), "{path}");
    path
}

/// Two objects have two orders. Shuffling them twice would never give the second.
#[test]
fn a_compiler_behind_another_one_does_not_shuffle_again() {
    let Some(bench) = program() else { return };
    bench.script(
        "gcc",
        &format!("#!/bin/sh\nexec {STILLWELL} link-order --seed $SEED -- cc \"$@\"\n"),
    );
    bench.write("two.c", "int part_a(void); int main(void) { return part_a(); }\n");
    let mut layouts = BTreeSet::new();
    for seed in ["1", "2", "3", "4", "5", "6"] {
        let mut build = bench.command("sh");
        build.args(["-c", "cc -c two.c && ./compilers$SEED/gcc -o two two.o part_a.o"]);
        let path = format!("{}:{}", bench.path("").display(), std::env::var("PATH").unwrap());
        build.env("PATH", wrapped(&bench, seed, &path)).env("SEED", seed);
        Ran::from(build.output().unwrap()).ends_with(0);
        layouts.insert(layout(&bench, "two", &["main", "part_a"]));
    }
    assert!(layouts.len() == 2, "{layouts:?}");
}

#[test]
fn rustc_links_through_the_wrappers() {
    let Some(bench) = program() else { return };
    const MODULES: [&str; 4] = ["mod_one", "mod_two", "mod_three", "mod_four"];
    let modules: String = MODULES
        .iter()
        .map(|name| format!("mod {name} {{ #[inline(never)] pub fn value() -> usize {{ std::env::args().count() }} }}\n"))
        .collect();
    let calls = MODULES.map(|name| format!("{name}::value()")).join(" + ");
    bench.write("main.rs", &format!("{modules}fn main() {{ println!(\"{{}}\", {calls}); }}\n"));
    let mut layouts = BTreeSet::new();
    for seed in ["1", "2", "3"] {
        let mut build = bench.command("rustc");
        build.args(["-C", "codegen-units=16", "-o", "rust", "main.rs"]);
        build.env("PATH", wrapped(&bench, seed, &std::env::var("PATH").unwrap()));
        let Ok(output) = build.output() else {
            skipped("there is no rustc");
            return;
        };
        Ran::from(output).ends_with(0);
        assert_eq!(self::output(&bench, "rust"), "4\n");
        layouts.insert(layout(&bench, "rust", &MODULES));
    }
    assert!(layouts.len() > 1, "{layouts:?}");
}

#[test]
fn what_cannot_be_done_is_said() {
    let bench = Bench::new();
    let order = ["link-order", "--seed", "1"];
    let with = |rest: &[&str]| bench.stillwell(&[&order, rest].concat()).ends_with(2);
    with(&["--", "/no/such/cc", "a.o"]).says(&["cannot execute /no/such/cc"]);
    with(&[]).says(&["<COMMAND>"]);
    with(&["--wrappers", "a:b"]).says(&["a:b cannot be in PATH"]);
    bench.script("cc", "#!/bin/sh\n");
    with(&["--wrappers", "."]).says(&["is not empty"]);
    assert_eq!(bench.read("cc"), "#!/bin/sh\n");
    let mut without = bench.command(STILLWELL);
    without.args(order).args(["--wrappers", "none"]).env("PATH", bench.path("state"));
    Ran::from(without.output().unwrap()).ends_with(2).says(&["there is no compiler in PATH"]);
}
