//! Whole campaigns through the decision code, on simulated times: the same tests and looks as in a session.
//! `experiments/referee` runs many. Variables: `STILLWELL_CAMPAIGNS` (number), `STILLWELL_CAMPAIGN_CASE` (a name of
//! [`CASES`]).
#![expect(clippy::disallowed_methods, reason = "the experiment says how many campaigns it wants")]
#![expect(clippy::print_stdout, reason = "the experiment reads the counts")]

use rayon::prelude::*;
use stats::online::level_of_each;
use stats::relabel::Estimand;
use stats::sequential::{SequentialDesign, SequentialTest};
use stats::spending::{InterimPoint, Spending, by_pairs};
use stats::{Interval, Stream};

use crate::campaign::{
    AnswerReason, AttemptAnswer, AttemptEnd, Campaign, CampaignEvent, CampaignRules, Gain, Program,
    confirmation_blocks, is_confirmed,
};
use analysis::trial::{GainTrial, TrialOutcome};
use analysis::walls::Slots;
use analysis::weather::Weather;
use model::values::ErrorControl;
use record::plan::TrialRule;

/// Most blocks of a trial: 10 s of a program that takes 10 ms.
const BLOCKS_MAX: usize = 500;
const RUN_S: f64 = 0.01;
const RULE: TrialRule = TrialRule { at_least: 0.0, aim: 0.01, miss: 0.05 };

struct Case {
    name: &'static str,
    control: ErrorControl,
    n_attempts: usize,
    /// Real gains among the attempts, and the log ratio of each.
    gains: (usize, f64),
    /// Whether the proposer at once tries variants of an accepted attempt.
    is_adaptive: bool,
    bursts: f64,
}

const PLAIN: Case = Case {
    name: "no-ops, quiet",
    control: ErrorControl::Fwer,
    n_attempts: 100,
    gains: (0, 0.0),
    is_adaptive: false,
    bursts: 0.02,
};

const CASES: [Case; 5] = [
    PLAIN,
    Case { name: "no-ops, bursts", bursts: 0.3, ..PLAIN },
    Case { name: "5 gains of 1 %, quiet", gains: (5, -0.01), ..PLAIN },
    Case { name: "5 gains of 1 %, bursts", gains: (5, -0.01), bursts: 0.3, ..PLAIN },
    Case { name: "5 gains of 2 %, adaptive", gains: (5, -0.02), is_adaptive: true, ..PLAIN },
];

fn test(alpha: f64, seed: u64) -> SequentialTest {
    SequentialTest::new(SequentialDesign {
        spending: Spending { alpha, family: 1, n_min: 0 },
        estimand: Estimand::Adaptive,
        margin: 0.0,
        limit: 0.0,
        seed,
    })
}

fn gain_of(test: &SequentialTest, pairs: &Slots, alpha: f64) -> Gain {
    let found = test.conclude(&pairs.pairs().unwrap(), 1.0).unwrap();
    let (theta, interval) = found.map_or((0.0, Interval::ALL), |it| (it.last.theta, it.interval));
    let end = |log: f64| Some(log.exp()).filter(|end| end.is_finite() && *end > 0.0);
    let (lo, hi, ratio) = (end(interval.lo), end(interval.hi), theta.exp());
    let n_pairs = pairs.len();
    Gain { ratio, lo, hi, alpha, p: test.p(), mean: ratio, mean_lo: None, mean_hi: None, n_pairs }
}

/// A trial: outcome, gain and number of blocks.
fn tried(levels: [f64; 2], stage: f64, weather: &mut Weather<'_>) -> (Option<TrialOutcome>, Gain) {
    let (seed, alpha) = (weather.stream.next_u64(), 2.0 * stage);
    let mut trial = GainTrial::new(&RULE, alpha, seed, Estimand::Adaptive);
    let mut main = test(alpha, seed);
    let points = by_pairs(BLOCKS_MAX);
    let mut pairs = Slots::default();
    for (index, point) in points.iter().enumerate() {
        while pairs.len() < point.n_pairs {
            weather.run_block(&mut pairs, levels);
        }
        let so_far = pairs.pairs().unwrap();
        trial.take(&so_far, &points[..=index]).unwrap();
        if trial.outcome().is_some() {
            main.take(&so_far, &points[..=index]).unwrap();
            break;
        }
    }
    if main.n_looks() == 0 {
        main.take(&pairs.pairs().unwrap(), &points).unwrap();
    }
    (trial.outcome(), gain_of(&main, &pairs, alpha))
}

fn confirmed(levels: [f64; 2], n_blocks: u32, weather: &mut Weather<'_>) -> Gain {
    let mut main = test(0.01, weather.stream.next_u64());
    let mut pairs = Slots::default();
    (0..n_blocks).for_each(|_| weather.run_block(&mut pairs, levels));
    let last = InterimPoint { n_pairs: n_blocks as usize, fraction: 1.0 };
    main.take(&pairs.pairs().unwrap(), &[last]).unwrap();
    gain_of(&main, &pairs, 0.01)
}

fn attempt(campaign: &mut Campaign, levels: [f64; 2], weather: &mut Weather<'_>) {
    let level = campaign.next_level();
    let stage = level_of_each(level);
    let program = Program { command: String::new(), commit: None, digest: None };
    campaign.take(&CampaignEvent::Began { name: String::new(), program, level });
    let (outcome, found) = tried(levels, stage, weather);
    let mut n_blocks = found.n_pairs;
    let (mut answer, mut confirmation) = (AttemptAnswer::Rejected, None);
    match outcome {
        Some(TrialOutcome::Faster) => {
            let fresh = confirmed(levels, confirmation_blocks(&found), weather);
            n_blocks += fresh.n_pairs;
            if is_confirmed(&fresh, RULE.at_least, stage) {
                answer = AttemptAnswer::Accepted;
            }
            confirmation = Some(fresh);
        }
        Some(TrialOutcome::OutOfReach) => {}
        None => answer = AttemptAnswer::NotDecided,
    }
    campaign.take(&CampaignEvent::Ended(Box::new(AttemptEnd {
        is_spent: true,
        trial: Some(found),
        confirmation,
        seconds: 2.0 * RUN_S * n_blocks as f64,
        ..AttemptEnd::bare(answer, AnswerReason::Budget)
    })));
}

/// The accepted attempts of a campaign.
#[derive(Default)]
struct Outcome {
    n_false: usize,
    n_true: usize,
    n_gains: usize,
    /// Sum of log(size of the confirmation / true size), and of the trial, of the accepted gains.
    bias: f64,
    trial_bias: f64,
    seconds: Vec<f64>,
}

fn played(case: &Case, seed: u64) -> Outcome {
    let mut stream = Stream::new(seed);
    let (n_gains, size) = case.gains;
    let mut is_gain = vec![false; case.n_attempts];
    let order = stream.permutation(case.n_attempts);
    order.iter().take(n_gains).for_each(|&at| is_gain[at] = true);
    let rules = CampaignRules { control: case.control, alpha: 0.05, n_planned: 100 };
    let mut campaign =
        Campaign::new(rules, Program { command: String::new(), commit: None, digest: None });
    let mut weather = Weather::new(&mut stream, case.bursts);
    let mut found = Outcome { n_gains, ..Outcome::default() };
    for at in 0..case.n_attempts {
        // After a success the adaptive proposer brings its next idea forward.
        let next = is_gain[at..].iter().position(|&it| it).map(|n| at + n);
        let last = campaign.attempts().last().is_some_and(crate::campaign::Attempt::is_accepted);
        if let Some(next) = next.filter(|_| case.is_adaptive && last) {
            is_gain.swap(at, next);
        }
        let truth = if is_gain[at] { size } else { 0.0 };
        attempt(&mut campaign, [0.0, truth], &mut weather);
        let made = &campaign.attempts()[at];
        let end = made.end.as_ref().unwrap();
        found.seconds.push(end.seconds);
        if made.is_accepted() {
            found.n_false += usize::from(!is_gain[at]);
            found.n_true += usize::from(is_gain[at]);
            if is_gain[at] {
                found.bias += end.confirmation.unwrap().ratio.ln() - truth;
                found.trial_bias += end.trial.unwrap().ratio.ln() - truth;
            }
        }
    }
    found
}

/// A rule in common use: how it compares 10 runs of each, one program after the other.
#[derive(Clone, Copy)]
struct UsualRule {
    name: &'static str,
    of: fn(&[f64]) -> f64,
}

const RUNS_USUAL: usize = 10;
const USUAL: [UsualRule; 2] = [
    UsualRule {
        name: "the mean of 10 is lower",
        of: |times| times.iter().sum::<f64>() / times.len() as f64,
    },
    UsualRule {
        name: "the best of 10 is lower",
        of: |times| times.iter().copied().fold(f64::INFINITY, f64::min),
    },
];

/// Attempts that a campaign accepts by a common rule: no-ops, gains, and the sum of the apparent sizes.
fn kept_usually(case: &Case, rule: UsualRule, seed: u64) -> (usize, usize, f64) {
    let mut stream = Stream::new(seed);
    let order = stream.permutation(case.n_attempts);
    let mut weather = Weather::new(&mut stream, case.bursts);
    let (mut n_false, mut n_true, mut claimed) = (0, 0, 0.0);
    for at in order {
        let is_gain = at < case.gains.0;
        let truth = if is_gain { case.gains.1 } else { 0.0 };
        let mut value = |level: f64| {
            let times: Vec<f64> = (0..RUNS_USUAL).map(|_| weather.time(level)).collect();
            (rule.of)(&times)
        };
        let (old, new) = (value(0.0), value(truth));
        if new < old {
            *(if is_gain { &mut n_true } else { &mut n_false }) += 1;
            claimed += (new / old).ln();
        }
    }
    (n_false, n_true, claimed)
}

#[test]
fn usual_rules_accept_what_is_not_faster() {
    let n = std::env::var("STILLWELL_CAMPAIGNS").map_or(20, |n| n.parse::<u64>().unwrap());
    for case in CASES.iter().filter(|case| !case.is_adaptive) {
        for rule in USUAL {
            let all: Vec<_> = (0..n).map(|seed| kept_usually(case, rule, seed + 1)).collect();
            let mean = |of: fn(&(usize, usize, f64)) -> f64| {
                all.iter().map(of).sum::<f64>() / all.len() as f64
            };
            let (n_false, n_true) = (mean(|it| it.0 as f64), mean(|it| it.1 as f64));
            let claimed = 100.0 * (1.0 - mean(|it| it.2).exp());
            let real = 100.0 * (1.0 - (n_true * case.gains.1).exp());
            println!(
                "{}, {}: {n_false:.1} no-ops and {n_true:.1} gains accepted, {claimed:.1} % claimed, {real:.1} % real",
                case.name, rule.name
            );
            // A coin accepts half of them.
            assert!(n_false > 20.0, "{}: {n_false}", rule.name);
        }
    }
}

#[test]
fn campaigns_accept_what_is_faster_and_nothing_else() {
    let n = std::env::var("STILLWELL_CAMPAIGNS").ok().map(|n| n.parse::<u64>().unwrap());
    let wanted = std::env::var("STILLWELL_CAMPAIGN_CASE").ok();
    let is_wanted = |case: &&Case| wanted.as_deref().is_none_or(|name| name == case.name);
    for case in CASES.iter().filter(is_wanted) {
        // The everyday test has one short campaign of each kind.
        let short = Case { n_attempts: 12, gains: (case.gains.0.min(2), case.gains.1), ..*case };
        let case = if n.is_some() { case } else { &short };
        let n = n.unwrap_or(1);
        let all: Vec<Outcome> = (0..n).into_par_iter().map(|seed| played(case, seed + 1)).collect();
        let sum = |of: fn(&Outcome) -> usize| all.iter().map(of).sum::<usize>();
        let (n_true, n_gains) = (sum(|it| it.n_true), sum(|it| it.n_gains));
        let n_wrong = sum(|it| usize::from(it.n_false > 0));
        let mut seconds: Vec<f64> = all.iter().flat_map(|it| it.seconds.clone()).collect();
        seconds.sort_by(f64::total_cmp);
        let points = |of: fn(&Outcome) -> f64| {
            100.0 * all.iter().map(of).sum::<f64>() / n_true.max(1) as f64
        };
        println!(
            "{}: {n} campaigns, {n_wrong} with a false one, {n_true} of {n_gains} gains, bias {:.4} points (trial {:.4}), \
             {:.2} s an attempt in the median, {:.2} s the longest",
            case.name,
            points(|it| it.bias),
            points(|it| it.trial_bias),
            seconds[seconds.len() / 2],
            seconds[seconds.len() - 1]
        );
        // Of few none may be wrong, and all gains are found.
        let chance = if n > 5 { 20 } else { 0 };
        assert!(n_wrong as u64 * 20 <= n + chance, "{}: {n_wrong} of {n}", case.name);
        assert!(
            10 * n_true + chance as usize >= 8 * n_gains,
            "{}: {n_true} of {n_gains}",
            case.name
        );
    }
}
