//! How often "the same" is said of a new arm that is slow in bursts, and what equal arms cost:
//! `cargo run --release -p stillwell-stats --example slow_bursts [SESSIONS [MACHINE [LENGTH]]]`.
//! docs/methodology.md, "The same", has the figures.
#![expect(clippy::print_stdout, reason = "outside of the crate")]

use stillwell_stats::relabel::{Estimand, Pairs};
use stillwell_stats::sequential::{
    SAME_TAIL, SameDoubt, SequentialDesign, SequentialTest, hidden_tail_pairs,
};
use stillwell_stats::spending::{Spending, by_pairs};
use stillwell_stats::{Invalid, Stream};

const N_MAX: usize = 500;
const MARGIN: f64 = 0.01;

/// The noise of the machine, which both arms have.
#[derive(Clone, Copy)]
enum Machine {
    Clean,
    /// A twentieth of the runs take a tenth longer.
    Spikes,
    /// A twentieth of the time both arms take half as long again, in bursts of this mean length.
    Bursts(f64),
}

/// Slow moments: a share of the blocks, in bursts of this mean length.
fn slow_blocks(stream: &mut Stream, n: usize, share: f64, length: f64) -> Vec<bool> {
    let begin = share / (1.0 - share) / length;
    let mut is_slow = stream.unit() < share;
    (0..n)
        .map(|_| {
            let now = is_slow;
            let change = if is_slow { 1.0 / length } else { begin };
            is_slow ^= stream.unit() < change;
            now
        })
        .collect()
}

fn normal(stream: &mut Stream) -> f64 {
    (-2.0 * (1.0 - stream.unit()).ln()).sqrt() * (std::f64::consts::TAU * stream.unit()).cos()
}

fn pairs(stream: &mut Stream, machine: Machine, new_slow: Option<f64>) -> Result<Pairs, Invalid> {
    let coins = stream.bits(N_MAX);
    let new_slow = new_slow.map(|length| slow_blocks(stream, N_MAX, 0.1, length));
    let loud = match machine {
        Machine::Bursts(length) => slow_blocks(stream, N_MAX, 0.05, length),
        _ => vec![false; N_MAX],
    };
    let mut slot = |second: bool| -> Vec<f64> {
        let mut time = |pair: usize| {
            let is_new = coins[pair] != second;
            let mut time = (0.01 * normal(stream).abs()).exp();
            if matches!(machine, Machine::Spikes) && stream.below(20) == 0 {
                time *= 1.1;
            }
            if loud[pair] {
                time *= 1.0 + stream.unit();
            }
            if is_new && new_slow.as_ref().is_some_and(|slow| slow[pair]) {
                4.0 * time
            } else {
                time
            }
        };
        (0..N_MAX).map(&mut time).collect()
    };
    let (first, second) = (slot(false), slot(true));
    Pairs::new(&first, &second, &coins)
}

/// Pairs at which a session of at most `n_max` says "the same" with independent slow runs in mind,
/// and with their clustering.
fn session(all: &Pairs, n_max: usize, seed: u64) -> Result<[Option<usize>; 2], Invalid> {
    let spending = Spending { alpha: 0.01, family: 1, n_min: 0 };
    let (estimand, margin) = (Estimand::Adaptive, MARGIN.ln_1p());
    let design = SequentialDesign { spending, estimand, margin, limit: 0.0, seed };
    let mut test = SequentialTest::new(design);
    let points = by_pairs(n_max);
    let mut same = [None; 2];
    for n_points in 1..=points.len() {
        test.take(&all.first(points[n_points - 1].n_pairs)?, &points[..n_points])?;
        // A hidden tail is the last doubt. Above 89 pairs, only the clustering can raise it.
        let n = test.n_pairs_seen();
        let is_independent = test.doubt_at_last() == Some(SameDoubt::HiddenTail)
            && n >= hidden_tail_pairs(0.01, SAME_TAIL);
        if is_independent || test.is_same(1.0) {
            same[0] = same[0].or(Some(n));
        }
        if test.is_settled(1.0) {
            same[1] = test.is_same(1.0).then_some(n);
            break;
        }
    }
    Ok(same)
}

fn main() -> Result<(), Invalid> {
    let mut args = std::env::args().skip(1);
    let n: u64 = args.next().and_then(|it| it.parse().ok()).unwrap_or(1000);
    let only = args.next();
    let only_length = args.next();
    let machines = [
        ("clean", Machine::Clean),
        ("single spikes", Machine::Spikes),
        ("bursts of 5", Machine::Bursts(5.0)),
    ];
    println!(
        "machine        new arm slow in bursts of   pairs at most   same, independent   same   pairs, independent   pairs"
    );
    for (name, machine) in machines {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        for (length, n_max) in
            [(None, 500), (Some(1.0), 150), (Some(2.0), 150), (Some(5.0), 150), (Some(10.0), 150)]
        {
            let length_text = length.map_or("never".into(), |length| format!("{length}"));
            if only_length.as_ref().is_some_and(|only| *only != length_text) {
                continue;
            }
            let mut same = [0, 0];
            let mut total = [0, 0];
            for seed in 0..n {
                let all = pairs(&mut Stream::new(seed), machine, length)?;
                for (at, n_pairs) in session(&all, n_max, seed)?.into_iter().enumerate() {
                    same[at] += u64::from(n_pairs.is_some());
                    total[at] += n_pairs.unwrap_or(n_max);
                }
            }
            let percent = |hits: u64| format!("{:.1} %", 100.0 * hits as f64 / n as f64);
            let mean = |total: usize| total as f64 / n as f64;
            println!(
                "{name:<14} {length_text:>25} {n_max:>15} {:>19} {:>6} {:>20.1} {:>7.1}",
                percent(same[0]),
                percent(same[1]),
                mean(total[0]),
                mean(total[1]),
            );
        }
    }
    Ok(())
}
