//! Whole races through the decision code, on simulated times. `experiments/referee/race` runs thousands. Variables:
//! `STILLWELL_RACES` (number), `STILLWELL_RACE_CASE` (a name of [`CASES`]), `STILLWELL_RACE_SEED`. With them it prints
//! a line for each race.
#![expect(clippy::disallowed_methods, reason = "the experiment says how many races it wants")]
#![expect(clippy::print_stdout, reason = "the experiment reads the counts")]

use rayon::prelude::*;
use stats::Stream;
use stats::relabel::Estimand;
use stats::verdict::{minimum_pairs, z};

use crate::race::confirmation::Confirmation;
use crate::race::rounds::PlacedRun;
use crate::race::selection::scatter;
use crate::race::{LogRatio, Race, RaceOutcome, RaceRound, RaceRules, RoundTimes};
use analysis::weather::normal;

const MARGIN: f64 = 0.005;
const RUN_S: f64 = 0.02;

struct RaceCase {
    name: &'static str,
    n_arms: usize,
    /// Standard deviation of the log times of the arms, except the reference.
    spread: f64,
    noise: f64,
    /// Share of the time in which a burst lengthens all runs.
    bursts: f64,
    /// Times are whole multiples of this, s.
    clock_s: f64,
    estimand: Estimand,
}

const PLAIN: RaceCase = RaceCase {
    name: "noise 2 %",
    n_arms: 100,
    spread: 0.02,
    noise: 0.02,
    bursts: 0.1,
    clock_s: 1e-9,
    estimand: Estimand::Typical,
};

const CASES: [RaceCase; 9] = [
    PLAIN,
    RaceCase { name: "noise 1 %", noise: 0.01, ..PLAIN },
    RaceCase { name: "noise 3 %", noise: 0.03, ..PLAIN },
    RaceCase { name: "noise 2 %, bursts", bursts: 0.3, ..PLAIN },
    RaceCase { name: "noise 2 %, adaptive", estimand: Estimand::Adaptive, ..PLAIN },
    RaceCase { name: "200 arms", n_arms: 200, ..PLAIN },
    RaceCase { name: "3 arms", n_arms: 3, ..PLAIN },
    RaceCase { name: "all the same", n_arms: 20, spread: 0.0, ..PLAIN },
    RaceCase { name: "coarse clock", n_arms: 20, clock_s: 1e-3, ..PLAIN },
];

/// Times of a machine that wanders: a slow drift, and bursts of some tens of runs.
struct RaceWeather {
    stream: Stream,
    drift: f64,
    burst: f64,
}

impl RaceWeather {
    fn time(&mut self, level: f64, case: &RaceCase) -> f64 {
        /// Mean length of a burst, runs.
        const LENGTH: f64 = 40.0;
        self.drift = 0.99 * self.drift + 0.002 * normal(&mut self.stream);
        if self.burst > 0.0 {
            if self.stream.unit() < 1.0 / LENGTH {
                self.burst = 0.0;
            }
        } else if self.stream.unit() < case.bursts / (1.0 - case.bursts) / LENGTH {
            self.burst = 0.05 + 0.4 * self.stream.unit();
        }
        // A burst affects only a part of each run.
        let burst = self.burst * self.stream.unit();
        let noise = case.noise * normal(&mut self.stream);
        let time = RUN_S * (level + self.drift + noise).exp() * (1.0 + burst);
        (time / case.clock_s).round() * case.clock_s
    }

    fn round(
        &mut self,
        arms: &[usize],
        n_blocks: usize,
        levels: &[f64],
        case: &RaceCase,
    ) -> RoundTimes {
        let (mut seconds, mut place) = (0.0, 0);
        let mut sums = vec![0.0; arms.len()];
        let blocks = (0..n_blocks).map(|_| {
            let mut runs = vec![PlacedRun { place: 0, cost: 0.0 }; arms.len()];
            for at in self.stream.permutation(arms.len()) {
                let cost = self.time(levels[arms[at]], case);
                runs[at] = PlacedRun { place, cost };
                place += 1;
                seconds += cost;
                sums[at] += cost;
            }
            runs
        });
        let blocks: Vec<_> = blocks.collect();
        let run_s = sums.iter().map(|sum| sum / n_blocks as f64).collect();
        RoundTimes { arms: arms.to_vec(), blocks, run_s, seconds, n_runs: place, has_steps: false }
    }
}

/// A race at its end, and the truth.
struct Raced {
    levels: Vec<f64>,
    found: RaceOutcome,
    /// The winner against the reference.
    size: Option<LogRatio>,
    /// Arms that were still measured at the end, besides the winner.
    n_near: usize,
    /// Runs with which all arms are told from the winner within the margin, without a selection.
    n_runs_of_all: f64,
}

/// Fewest arms whose times show the scatter of a log ratio.
const SCATTER_ARMS: usize = 8;

/// Standard deviation of the log ratio of two arms in a block, in the last round of selection: the median over arms.
fn median_scatter(race: &Race, winner: usize) -> f64 {
    let Some(round) = race.rounds.last() else { return 0.0 };
    let others = round.arms.iter().filter(|&&arm| arm != winner).take(SCATTER_ARMS);
    let mut scatters: Vec<f64> =
        others.map(|&arm| scatter(&round.log_ratios(winner, arm))).collect();
    scatters.sort_by(f64::total_cmp);
    scatters.get(scatters.len() / 2).copied().unwrap_or(0.0)
}

/// Runs that tell `n_arms` from one of them within `margin`: each of the others is compared with it at
/// `alpha` shared by Holm's procedure, in `(z s / margin)²` blocks, with `s` the scatter of a log ratio.
fn runs_of_all(n_arms: usize, alpha: f64, margin: f64, scatter: f64) -> Option<f64> {
    let alpha = alpha / (n_arms.max(2) - 1) as f64;
    let fewest = minimum_pairs(alpha).unwrap_or(1) as f64;
    let quantile = z(1.0 - alpha / 2.0).ok()?;
    let n_blocks = (quantile * scatter / margin).powi(2).ceil().max(fewest);
    Some(n_blocks * n_arms as f64)
}

fn raced(case: &RaceCase, seed: u64) -> Raced {
    let mut stream = Stream::new(seed);
    let mut levels: Vec<f64> =
        (0..case.n_arms).map(|_| case.spread * normal(&mut stream)).collect();
    levels[0] = 0.0;
    let rules = RaceRules {
        reference: 0,
        alpha: 0.01,
        margin: MARGIN,
        estimand: case.estimand,
        budget_s: f64::INFINITY,
        seed: stream.next_u64(),
    };
    let mut weather = RaceWeather { stream, drift: 0.0, burst: 0.0 };
    let mut race = Race::new(case.n_arms, rules);
    while let Some(RaceRound { arms, n_blocks, .. }) = race.next_round() {
        race.take(weather.round(&arms, n_blocks, &levels, case)).unwrap();
    }
    let found = race.outcome();
    // An interval takes longer than the whole race.
    let size = found.winner.filter(|_| seed.is_multiple_of(4)).and_then(|winner| race.size(winner));
    let scatter = median_scatter(&race, found.winner.unwrap());
    let n_runs_of_all = runs_of_all(race.n_left(), rules.alpha, MARGIN, scatter).unwrap();
    let challenge = |arm: usize| race.confirmation.as_ref()?.found(arm);
    let is_near = |arm: &usize| challenge(*arm).is_some_and(|(_, is_slower)| !is_slower);
    let n_near = (0..case.n_arms).filter(is_near).count();
    Raced { levels, found, size, n_near, n_runs_of_all }
}

/// The results of a case's races.
#[derive(Debug, Default)]
struct RaceTally {
    n: usize,
    /// A winner was confirmed.
    confirmed: usize,
    /// The confirmed winner is worse than the best by more than the margin.
    wrong: usize,
    /// The likely winner, confirmed or not, is within the margin of the best; and is the best.
    near: usize,
    best: usize,
    /// The interval of the winner against the reference misses the truth.
    outside: usize,
    sizes: usize,
    /// Mean error of this size, in percentage points.
    bias_points: f64,
    /// Medians: runs, and runs without a selection ÷ these; the 9th decile of runs.
    runs: usize,
    runs_p90: usize,
    saved: f64,
    /// Arms that are not told apart from the winner.
    tied: usize,
}

fn tally(case: &RaceCase, n: usize, seed: u64) -> RaceTally {
    let race =
        |index: u64| raced(case, seed.wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    let results: Vec<_> = (0..n as u64).into_par_iter().map(race).collect();
    let mut tally = RaceTally { n, ..RaceTally::default() };
    let (mut runs, mut saved, mut near, mut bias) = (Vec::new(), Vec::new(), Vec::new(), 0.0);
    let is_told = std::env::var("STILLWELL_RACES").is_ok();
    for Raced { levels, found, size, n_near, n_runs_of_all } in &results {
        let best = levels.iter().copied().fold(f64::INFINITY, f64::min);
        let winner = found.winner.unwrap();
        let behind = levels[winner] - best;
        tally.confirmed += usize::from(found.is_confirmed);
        tally.wrong += usize::from(found.is_confirmed && behind > MARGIN);
        tally.near += usize::from(behind <= MARGIN);
        tally.best += usize::from(behind == 0.0);
        near.push(*n_near);
        if let Some(size) = size {
            let truth = levels[winner] - levels[0];
            tally.sizes += 1;
            tally.outside += usize::from(truth < size.lo || truth > size.hi);
            bias += 100.0 * (size.log - truth);
        }
        if is_told {
            let (is_confirmed, n_runs) = (u8::from(found.is_confirmed), found.n_runs);
            println!("race {is_confirmed} {:.4} {n_runs} {n_runs_of_all:.0}", 100.0 * behind);
        }
        runs.push(found.n_runs);
        saved.push(n_runs_of_all / found.n_runs as f64);
    }
    runs.sort_unstable();
    near.sort_unstable();
    tally.tied = near[n / 2];
    saved.sort_by(f64::total_cmp);
    (tally.runs, tally.runs_p90, tally.saved) = (runs[n / 2], runs[n * 9 / 10], saved[n / 2]);
    tally.bias_points = bias / tally.sizes.max(1) as f64;
    tally
}

#[test]
fn the_winner_is_the_best_within_the_margin() {
    let n = std::env::var("STILLWELL_RACES").ok().map(|n| n.parse::<usize>().unwrap());
    let seed = std::env::var("STILLWELL_RACE_SEED").map_or(7, |seed| seed.parse::<u64>().unwrap());
    let wanted = std::env::var("STILLWELL_RACE_CASE").ok();
    let is_wanted = |case: &&RaceCase| match &wanted {
        Some(name) => name == case.name,
        None => n.is_some() || (case.n_arms <= 20 && case.spread > 0.0),
    };
    for case in CASES.iter().filter(is_wanted) {
        let found = tally(case, n.unwrap_or(4), seed);
        println!("{}: {found:?}", case.name);
        assert!(found.wrong <= found.n / 50, "{}: {found:?}", case.name);
        assert!(found.near * 20 >= found.n * 19, "{}: {found:?}", case.name);
    }
}

/// By a clock with steps of 10 ms, two of three take the same time, and the third takes a step more.
#[test]
fn times_in_coarse_steps_do_not_show_the_best() {
    let rules = RaceRules {
        reference: 0,
        alpha: 0.01,
        margin: MARGIN,
        estimand: Estimand::Typical,
        budget_s: 60.0,
        seed: 1,
    };
    let confirmed = |has_steps: bool| {
        let run = |block: usize, at: usize| PlacedRun {
            place: 3 * block + if block.is_multiple_of(2) { at } else { 2 - at },
            cost: [0.28, 0.28, 0.29][at],
        };
        let blocks = (0..80).map(|block| (0..3).map(|at| run(block, at)).collect::<Vec<_>>());
        let (arms, blocks) = (vec![0, 1, 2], blocks.collect());
        let mut found = Confirmation::new(0, &[1, 2], rules, 0);
        let round = RoundTimes { arms, blocks, has_steps, ..RoundTimes::default() };
        found.take(round.clone()).unwrap();
        assert!(!found.is_too_coarse(), "another stage may help");
        found.take(round).unwrap();
        found
    };
    assert!(confirmed(false).open().is_empty());
    let found = confirmed(true);
    assert_eq!((found.open(), found.found(2)), (vec![1], Some((Some(1), true))));
    assert!(found.is_too_coarse());
    let [same, slower] = [1, 2].map(|arm| found.log_ratio(0, arm, 1.0).unwrap());
    assert!(same.lo < -0.03 && same.hi > 0.03, "{same:?}");
    assert!(slower.lo > 0.0 && slower.lo < 0.001 && slower.hi > 0.06, "{slower:?}");
}
