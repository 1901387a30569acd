//! Two benchmarks: `cargo run --release -p stillwell-bench --example functions`.

use stillwell_bench::{Bench, black_box};

fn fib(n: u32) -> u64 {
    if n < 2 { u64::from(n) } else { fib(n - 1) + fib(n - 2) }
}

fn fib_15(bench: &mut Bench) {
    bench.run(|| fib(black_box(15)));
}

fn sort_1000(bench: &mut Bench) {
    let numbers: Vec<u32> = (0..1000).map(|i| i * 7919 % 1000).collect();
    bench.run_with(
        || numbers.clone(),
        |mut numbers| {
            numbers.sort_unstable();
            numbers
        },
    );
}

stillwell_bench::main!(fib_15, sort_1000);
