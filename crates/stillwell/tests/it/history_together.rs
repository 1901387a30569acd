//! Benchmarks of one machine that change at the same time.

use serde_json::{Value, json};

use crate::bench::Bench;

/// Adds a result a day of six benchmarks. All are 4 % slower from day 21 on, and b0 is 3 % slower from day 31 on. A seventh
/// benchmark was measured at another time of the day.
fn make_together(bench: &Bench) {
    for day in 0..40_usize {
        let noise = |i: usize| 1.0 + 0.002 * ((day * 7 + i * 13) % 11) as f64 / 11.0;
        let machine = if day < 20 { 1e-3 } else { 1.04e-3 };
        let benchmark = |i: usize| {
            let own = if i == 0 && day >= 30 { 1.03 } else { 1.0 };
            let values = [machine * own * noise(i); 3];
            json!({"metadata": {"name": format!("b{i}"), "unit": "second"}, "runs": [{"values": values}]})
        };
        let file = |hour: usize, benchmarks: Vec<Value>| {
            let date = format!("2026-0{}-{:02} {hour:02}:00:00.000000", 1 + day / 20, 1 + day % 20);
            json!({"version": "1.0", "metadata": {"hostname": "box", "date": date}, "benchmarks": benchmarks}).to_string()
        };
        bench.write(&format!("r/{day:02}.json"), &file(3, (0..6).map(benchmark).collect()));
        bench.write(&format!("r/{day:02}-late.json"), &file(16, vec![benchmark(9)]));
    }
}

#[test]
fn what_all_benchmarks_of_a_machine_do_is_said_and_can_be_left_out() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("r")).expect("directory");
    make_together(&bench);
    bench.stillwell(&["history", "add", "--db", "h.db", "r"]).ends_with(0);
    let changes = |words: &[&str]| {
        let ran = bench.stillwell(&[&["history", "changes", "--db", "h.db"], words].concat());
        ran.ends_with(0).stdout.clone()
    };
    let all = changes(&["--min", "1"]);
    assert!(all.starts_with("8 changes (8 slower) in 7 benchmarks"), "{all}");
    assert_eq!(
        all.matches("   together: 6 of the 6 other series of this machine").count(),
        7,
        "{all}"
    );
    let relative = changes(&["--relative", "--min", "1"]);
    assert!(relative.contains("\n\n1. b0  +3.0 %"), "{relative}");
    // The late benchmark is 13 hours after the others of its day and 11 hours before the next, so the next day's are its peers.
    assert!(relative.starts_with("1 change (1 slower) in 7 benchmarks"), "{relative}");
    let named = changes(&["--relative", "b3"]);
    assert!(named.contains("no change found in 1 benchmark with 40 results"), "{named}");
    let few = bench.stillwell(&[
        "history",
        "changes",
        "--db",
        "h.db",
        "--relative",
        "--machine",
        "elsewhere",
    ]);
    assert!(few.ends_with(2).stderr.contains("leave --relative out"));
}
