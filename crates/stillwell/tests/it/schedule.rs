//! The order of the runs, and their environment.

use std::collections::HashSet;

use crate::bench::Bench;

const LETTERS: [&str; 3] = ["echo a >> log", "echo b >> log", "echo c >> log"];

/// The real order of execution of three commands.
fn order(seed: &str, more: &[&str]) -> (String, Bench) {
    let bench = Bench::new();
    let usual: &[&str] = if more.contains(&"-r") { &[] } else { &["-w", "0", "-r", "20"] };
    let arguments = [usual, &["--seed", seed], more, &LETTERS].concat();
    bench.run(&arguments).ends_with(0);
    (bench.read("log").replace('\n', ""), bench)
}

#[test]
fn every_block_runs_each_command_once_in_random_order() {
    let (log, bench) = order("5", &[]);
    // A block that is left out as warm-up is made up for.
    assert!((60..=75).contains(&log.len()) && log.len().is_multiple_of(3), "{log}");
    let blocks: Vec<String> =
        log.as_bytes().chunks(3).map(|block| String::from_utf8(block.to_vec()).unwrap()).collect();
    for block in &blocks {
        let letters: HashSet<char> = block.chars().collect();
        assert_eq!(letters, HashSet::from(['a', 'b', 'c']), "{log}");
    }
    let orders: HashSet<_> = blocks.iter().collect();
    assert!(orders.len() >= 4, "20 blocks in {} of 6 orders: {log}", orders.len());
    let recorded: String = bench
        .record()
        .rows
        .iter()
        .filter_map(|row| ['a', 'b', 'c'].get(usize::try_from(row.arm).unwrap()).copied())
        .collect();
    assert_eq!(recorded, log, "the record has the order that was executed");
}

#[test]
fn a_seed_can_be_used_again() {
    let (first, bench) = order("5", &[]);
    assert_eq!(bench.record().header["plan"]["seed"], 5);
    // A block that is left out as warm-up is made up for, so one of them may be longer.
    let begins_alike = |other: &str| {
        let n = first.len().min(other.len());
        first[..n] == other[..n]
    };
    assert!(begins_alike(&order("5", &[]).0));
    assert!(!begins_alike(&order("6", &[]).0));
}

#[test]
fn sequential_runs_one_command_after_the_other() {
    let (log, _) = order("5", &["--order", "sequential"]);
    assert_eq!(log, "a".repeat(20) + &"b".repeat(20) + &"c".repeat(20));
}

#[test]
fn sequential_warms_each_command_up_just_before_its_runs() {
    let (log, _) = order("5", &["--order", "sequential", "-w", "2", "-r", "3"]);
    assert_eq!(log, "aaaaabbbbbccccc");
}

/// `-r 1 make` must not take two hours instead of one.
#[test]
fn a_number_of_runs_has_no_warm_up_unless_it_is_asked_for() {
    let n_runs = |more: &[&str]| {
        let bench = Bench::new();
        bench.run(&[&["-r", "1"], more, &["echo x >> log"]].concat()).ends_with(0);
        bench.read("log").lines().count()
    };
    assert_eq!([n_runs(&[]), n_runs(&["-w", "1"])], [1, 2]);
}

#[test]
fn without_a_seed_one_is_drawn_and_recorded() {
    let seed = || {
        let bench = Bench::new();
        bench.run(&["-w", "0", "-r", "1", "true"]).ends_with(0);
        bench.record().header["plan"]["seed"].as_u64().unwrap()
    };
    // Two seeds are equal by chance once in 2^32.
    assert_ne!(seed(), seed());
}

#[test]
fn hooks_and_runs_know_their_iteration() {
    let bench = Bench::new();
    let say =
        |what: &str| format!("echo \"{what} $STILLWELL_ITERATION $HYPERFINE_ITERATION\" >> log");
    let (setup, cleanup) = (say("setup"), say("cleanup"));
    let (prepare, conclude, run) = (say("prepare"), say("conclude"), say("run"));
    let hooks = ["-s", &setup, "-p", &prepare, "-C", &conclude, "-c", &cleanup];
    bench.run(&[&["-w", "2", "-r", "2"], hooks.as_slice(), &[run.as_str()]].concat()).ends_with(0);
    let mut expected = vec!["setup  ".to_owned()];
    for iteration in ["warmup-0", "warmup-1", "0", "1"] {
        expected.extend(
            ["prepare", "run", "conclude"].map(|what| format!("{what} {iteration} {iteration}")),
        );
    }
    expected.push("cleanup  ".into());
    assert_eq!(bench.read("log").lines().collect::<Vec<_>>(), expected);
}

/// Sizes of the padding of two commands, block by block.
fn paddings(more: &[&str]) -> Vec<[String; 2]> {
    let bench = Bench::new();
    let commands = ["echo ${#STILLWELL_PADDING} >> log", "echo ${#STILLWELL_PADDING} >> log; true"];
    bench.run(&[&["-w", "0", "-r", "12", "--seed", "3"], more, &commands].concat()).ends_with(0);
    let log = bench.read("log");
    let sizes: Vec<String> = log.lines().map(String::from).take(24).collect();
    assert_eq!(sizes.len(), 24);
    sizes.chunks(2).map(|pair| [pair[0].clone(), pair[1].clone()]).collect()
}

#[test]
fn the_padding_is_the_same_within_a_block_and_new_in_each() {
    let blocks = paddings(&[]);
    assert!(blocks.iter().all(|[a, b]| a == b), "{blocks:?}");
    let sizes: HashSet<_> = blocks.iter().map(|block| &block[0]).collect();
    assert!(sizes.len() > 6, "{blocks:?}");
    assert_eq!(paddings(&[]), blocks, "the same seed gives the same padding");
    let fixed = paddings(&["--env-padding", "77"]);
    assert!(fixed.iter().flatten().all(|size| size == "77"), "{fixed:?}");
    let off = paddings(&["--env-padding", "off"]);
    assert!(off.iter().flatten().all(|size| size == "0"), "{off:?}");
}

#[test]
fn variables_are_set_for_all_or_for_each() {
    let bench = Bench::new();
    let commands = ["echo \"1 $A $B\" >> log", "echo \"2 $A $B\" >> log"];
    let once = [&["-w", "0", "-r", "1", "--env", "A=x B='y z'"], commands.as_slice()].concat();
    bench.run(&once).ends_with(0);
    let mut lines: Vec<String> = bench.read("log").lines().map(String::from).collect();
    lines.sort();
    assert_eq!(lines, ["1 x y z", "2 x y z"]);

    let bench = Bench::new();
    let each = ["-w", "0", "-r", "1", "--env", "A=one", "--env", "B=two"];
    bench.run(&[each.as_slice(), &commands].concat()).ends_with(0);
    let mut lines: Vec<String> = bench.read("log").lines().map(String::from).collect();
    lines.sort();
    assert_eq!(lines, ["1 one ", "2  two"]);
}

#[test]
fn the_program_is_looked_for_in_the_path_of_its_own_environment() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("bin")).unwrap();
    bench.script("bin/only-here", "#!/bin/sh\necho found > found\n");
    let path = format!("PATH={}:/usr/bin:/bin", bench.path("bin").display());
    bench.run(&["-N", "-w", "0", "-r", "1", "--env", &path, "only-here"]).ends_with(0);
    assert_eq!(bench.read("found"), "found\n");
}

#[test]
fn parameters_are_filled_in() {
    let bench = Bench::new();
    let scan = ["-w", "0", "-r", "1", "-P", "n", "1", "3", "-D", "2"];
    let hooks = ["-p", "echo prepare {n} >> log", "--env", "A={n}"];
    let command = ["echo run {n} $A >> log"];
    bench.run(&[scan.as_slice(), &hooks, &command].concat()).ends_with(0);
    let mut lines: Vec<String> = bench.read("log").lines().map(String::from).collect();
    lines.sort();
    assert_eq!(lines, ["prepare 1", "prepare 3", "run 1 1", "run 3 3"]);

    let bench = Bench::new();
    let lists = ["-w", "0", "-r", "1", "-L", "a", "1,2", "-L", "b", r"x\,y,z"];
    bench.run(&[lists.as_slice(), &["echo {a}-{b} >> log"]].concat()).ends_with(0);
    let mut lines: Vec<String> = bench.read("log").lines().map(String::from).collect();
    lines.sort();
    assert_eq!(lines, ["1-x,y", "1-z", "2-x,y", "2-z"]);
    let parameters = &bench.record().header["plan"]["arms"][1]["parameters"];
    assert_eq!(*parameters, serde_json::json!([["a", "2"], ["b", "x,y"]]));

    let bench = Bench::new();
    bench.write("values.txt", "x,y\n\nz\n");
    let lists = ["-w", "0", "-r", "1", "--zip", "-L", "a", r"\@,2", "-L", "b", "@values.txt"];
    bench.run(&[lists.as_slice(), &["echo {a}-{b} >> log"]].concat()).ends_with(0);
    let mut lines: Vec<String> = bench.read("log").lines().map(String::from).collect();
    lines.sort();
    assert_eq!(lines, ["2-z", "@-x,y"]);
    let missing = ["run", "-L", "a", "@none.txt", "echo {a}"];
    bench.stillwell(&missing).ends_with(2).says(&[
        "-L a @none.txt (a value that begins with @ is written \\@): cannot read none.txt",
    ]);
}

#[test]
fn a_listed_order_is_that_of_the_command_line_and_is_told() {
    let (log, bench) = order("5", &["--order", "listed"]);
    assert!(log.len() >= 60 && log.as_bytes().chunks(3).all(|block| block == b"abc"), "{log}");
    assert_eq!(bench.record().header["plan"]["order"], "listed");
    let shown = bench.stillwell(&["show", "r.swell"]).ends_with(0).stdout;
    let shown: Vec<&str> = shown.split_whitespace().collect();
    let shown = shown.join(" ");
    assert!(shown.contains("; the order was fixed, not random"), "{shown}");
    assert!(shown.contains("(caches, heat) counts as a difference"), "{shown}");
}

#[test]
fn columns_of_a_table_go_on_together() {
    let bench = Bench::new();
    bench.write("t.csv", "\u{feff}size,unused,file\r\n1M,,\"a,b\"\r\n16M,x,c\r\n");
    let options = ["-w", "0", "-r", "1", "-L", "file,size", "@t.csv", "-L", "n", "1,2"];
    bench.run(&[options.as_slice(), &["echo {size} {file} {n} >> log"]].concat()).ends_with(0);
    let mut lines: Vec<String> = bench.read("log").lines().map(String::from).collect();
    lines.sort();
    assert_eq!(lines, ["16M c 1", "16M c 2", "1M a,b 1", "1M a,b 2"]);
    let parameters = &bench.record().header["plan"]["arms"][1]["parameters"];
    assert_eq!(*parameters, serde_json::json!([["file", "c"], ["size", "16M"], ["n", "1"]]));

    bench.write("ragged.csv", "a,b\n1,2\n3\n");
    let of = |names, values| ["run", "-L", names, values, "echo {a} {b}"];
    bench.stillwell(&of("a,b", "@ragged.csv")).ends_with(2).says(&["ragged.csv:3: 1 field,"]);
    bench.stillwell(&of("a", "@ragged.csv")).ends_with(2).says(&["ragged.csv:3: 1 field,"]);
    bench.stillwell(&of("a,b", "1,2")).ends_with(2).says(&["in a table: -L a,b @FILE.csv"]);
}
