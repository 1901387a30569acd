//! The block of one comparison in the summary.

use std::fmt::Write as _;
use std::mem::discriminant;

use crate::budget::to_decide;
use crate::columns::{COLUMNS, columns, shorten, width, wrap, wrap_at};
use crate::depth::Depth;
use crate::names::each_once;
use crate::quantity::QuantityWords;
use crate::ratios::{
    exact_percent, ratio_and_interval, ratio_text, repeats, shape_text, tested_ratio,
};
use crate::styles::paint;
use crate::text::doubt::{doubt_text, mean_text, tail};
use crate::units::{percent, signed_percent};
use crate::{Styles, uncertain};
use analysis::exact::SAME_WORK;
use analysis::verdict::{Judgement, Verdict};
use analysis::{
    Comparison, Evidence, NoTest, PairedTest, PastSessions, RatioInterval, SameDoubt,
    SessionChange, StatisticName, UncertainValue,
};
use model::values::{Better, Estimand};
use record::Record;
use record::plan::counting::AGREEING_RUNS;
use record::plan::{DecisionRule, Plan, Role};

const INDENT: usize = 8;

/// One comparison: heading (`./new against ./old`), verdict, ratio (new ÷ reference) with interval, and the meaning in
/// words.
pub(crate) fn comparison(
    heading: &str,
    found: &Comparison,
    judgement: &Judgement,
    record: &Record,
    styles: &Styles,
) -> String {
    let (mut out, plan) = (String::new(), &record.header.plan);
    match &found.evidence {
        Evidence::Paired(paired) => {
            let shown = judgement.shown(paired);
            let numbers = match paired.repeats {
                true => tested_ratio(paired, shown),
                false => numbers(paired, shown),
            };
            let word = QuantityWords::of(plan).judged(judgement, plan);
            head(&mut out, heading, word, styles.verdict(judgement.verdict));
            wrap_after(&mut out, &numbers);
            for sentence in sentences(paired, judgement, plan) {
                wrap_at(&mut out, INDENT, &sentence);
            }
        }
        Evidence::Unpaired { ratio, because, past } => {
            head(&mut out, heading, "NO VERDICT", styles.attention);
            wrap_after(&mut out, &estimate(ratio.of_values(judgement.better)));
            if let Some(past) = past.map(|past| past.of_values(judgement.better)) {
                let quantity = QuantityWords::of_arm(record, found.arm);
                wrap_at(&mut out, INDENT, &place_among(&past, quantity));
                if let Some(change) = past.change {
                    wrap_at(&mut out, INDENT, &level_change(change));
                }
            }
            wrap_at(&mut out, INDENT, &no_test(*because, plan.policy));
        }
        Evidence::None { because } => {
            head(&mut out, heading, "NO VERDICT", styles.attention);
            out.push('\n');
            wrap_at(&mut out, INDENT, &no_test(*because, plan.policy));
        }
    }
    out
}

/// The numbers of a comparison in one line: ratio, interval, level, statistic and p.
pub(crate) fn numbers_line(evidence: &Evidence, judgement: &Judgement) -> Option<String> {
    match evidence {
        Evidence::Paired(paired) => Some(numbers(paired, judgement.shown(paired))),
        Evidence::Unpaired { ratio, .. } => Some(estimate(ratio.of_values(judgement.better))),
        Evidence::None { .. } => None,
    }
}

fn estimate(ratio: UncertainValue) -> String {
    format!("{} (an estimate, not a test)", ratio_text(ratio.value, ratio.err))
}

/// `slower than 4 of 5 past sessions, which are between -0.30 % and +0.40 % of their median`; `higher` of what is no time.
fn place_among(past: &PastSessions, quantity: QuantityWords) -> String {
    let PastSessions { n_sessions, n_faster, n_slower, lowest, highest, .. } = *past;
    let all = |n: usize| {
        if n == n_sessions { format!("all {n}") } else { format!("{n} of {n_sessions}") }
    };
    let ([worse, better], direction) = match quantity {
        QuantityWords::Value(Better::Higher) => (["lower", "higher"], "; more is better"),
        _ if quantity.is_time() => (["slower", "faster"], ""),
        _ => (["higher", "lower"], ""),
    };
    let place = if n_faster >= n_slower {
        format!("{worse} than {}", all(n_faster))
    } else {
        format!("{better} than {}", all(n_slower))
    };
    let [lowest, highest] = [lowest, highest].map(signed_percent);
    format!(
        "{place} past sessions, which are between {lowest} and {highest} of their median{direction}"
    )
}

/// `a change of level of +3.1 % [+2.6 %, +3.6 %] since session 16, p = 0.005`.
fn level_change(change: SessionChange) -> String {
    let RatioInterval { ratio, lo, hi } = change.ratio;
    let [ratio, lo, hi] = [ratio, lo, hi].map(signed_percent);
    let p = uncertain::trimmed(change.p, 2);
    format!("a change of level of {ratio} [{lo}, {hi}] since session {}, p = {p}", change.since)
}

/// The ratio of CPU times with its own interval, but no verdict.
pub(super) fn by_cpu(paired: &PairedTest) -> String {
    let mut out = String::new();
    let level = percent_of_level(paired.alpha);
    wrap_at(
        &mut out,
        INDENT,
        &format!("by CPU time: {} at {level}", ratio_and_interval(paired.ratio)),
    );
    out
}

/// The self-check: the comparison of the reference with itself.
pub(super) fn self_check(
    evidence: &Evidence,
    judgement: &Judgement,
    policy: DecisionRule,
    detail: Depth,
) -> String {
    let mut out = String::new();
    let text = match (evidence, judgement.verdict) {
        (Evidence::Paired(_), Verdict::Slower | Verdict::Faster) => {
            let chance = uncertain::trimmed(policy.alpha * 100.0, 6);
            format!(
                "the reference was CALLED DIFFERENT from itself; by chance that happens in {chance} % of sessions"
            )
        }
        (Evidence::Paired(_), _) => {
            "the reference was not called different from itself, as it should be".into()
        }
        (Evidence::None { because } | Evidence::Unpaired { because, .. }, _) => {
            format!("the reference against itself: {}", no_test(*because, policy))
        }
    };
    wrap(&mut out, "self-check: ", INDENT, &text);
    if let (Evidence::Paired(paired), Depth::Verbose) = (evidence, detail) {
        wrap_at(&mut out, INDENT, &numbers(paired, paired.ratio));
    }
    out
}

/// `1.0183 [1.0129, 1.0238] at 99 %, floor, p = 0.0005`.
fn numbers(paired: &PairedTest, shown: RatioInterval) -> String {
    let (level, p) = (percent_of_level(paired.alpha), uncertain::trimmed(paired.p, 2));
    let of = statistic(paired.statistic);
    format!("{} at {level}, {of}, p = {p}", ratio_and_interval(shown))
}

/// Appends the heading and the verdict; a long heading has a line of its own.
fn head(out: &mut String, heading: &str, word: &str, style: anstyle::Style) {
    if width(heading) >= INDENT {
        writeln!(out, "{}", shorten(heading, COLUMNS)).ok();
        write!(out, "{}{}", " ".repeat(INDENT), paint(style, word)).ok();
        return;
    }
    write!(out, "{heading:<INDENT$}{}", paint(style, word)).ok();
}

/// Appends a text to the line of the verdict if it fits, else to the next line.
fn wrap_after(out: &mut String, text: &str) {
    let line_start = out.rfind('\n').map_or(0, |at| at + 1);
    let visible = width(&anstream::adapter::strip_str(&out[line_start..]).to_string());
    if visible + 2 + width(text) <= columns() {
        writeln!(out, "  {text}").ok();
    } else {
        out.push('\n');
        wrap_at(out, INDENT, text);
    }
}

fn statistic(name: StatisticName) -> &'static str {
    match name {
        StatisticName::Typical => "typical",
        StatisticName::LocalFloor => "local floor",
        StatisticName::Floor => "floor",
        StatisticName::GeometricMean => "geometric mean",
        StatisticName::Mean => "mean",
    }
}

/// The part of the runs behind a statistic.
fn part(name: StatisticName, quantity: QuantityWords) -> String {
    let what = if quantity.is_time() { "time" } else { "value" };
    match name {
        StatisticName::Typical | StatisticName::GeometricMean => format!("typical {what}"),
        StatisticName::LocalFloor | StatisticName::Floor => "floor".into(),
        StatisticName::Mean => format!("mean {what}"),
    }
}

fn percent_of_level(alpha: f64) -> String {
    // The digits of the error rate; its third one is noise in a name.
    let digits = uncertain::trimmed(alpha * 100.0, 2);
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    format!("{} %", uncertain::fixed((1.0 - alpha) * 100.0, decimals))
}

/// The meaning of a paired verdict and the facts around it, one sentence each.
pub(crate) fn sentences(paired: &PairedTest, judgement: &Judgement, plan: &Plan) -> Vec<String> {
    if paired.repeats {
        return exact_sentences(paired, judgement, plan);
    }
    let mut out = vec![meaning(paired, judgement, plan)];
    out.extend(paired.shape.filter(|_| QuantityWords::of(plan).is_time()).map(shape_text));
    out.extend(mean_text(paired, judgement));
    if let (Some(control), Some(_)) = (plan.control, paired.net_ratio) {
        let what =
            if control.role == Role::EmptyShell { "the empty shell" } else { "what is subtracted" };
        out.push(format!("with {what}: {}", ratio_and_interval(paired.ratio)));
    } else if plan.control.is_some() {
        out.push(
            "as measured, nothing subtracted: what is left without the control is not known".into(),
        );
    }
    if paired.is_contradicted {
        out.push("the looks contradict each other: the ratio changed while it was measured".into());
    }
    if paired.position_ratio != 1.0 {
        let change = percent((paired.position_ratio - 1.0).abs());
        let is_more = (paired.position_ratio > 1.0) == plan.policy.better.is_lower();
        let which = if is_more { "more" } else { "less" };
        let time = if QuantityWords::of(plan).is_time() { " time" } else { "" };
        out.push(format!("the later run of a pair took {change} {which}{time}; corrected for"));
    }
    let is_different = matches!(judgement.verdict, Verdict::Slower | Verdict::Faster);
    // Without scatter it is 0, which says nothing.
    let is_known = !is_different && paired.smallest_visible > 0.0;
    out.extend(is_known.then(|| smallest_visible(paired)));
    out
}

/// What a comparison that found no difference could have found.
fn smallest_visible(paired: &PairedTest) -> String {
    if !paired.smallest_visible.is_finite() {
        return "too few pairs to see any difference".into();
    }
    let size = percent(paired.smallest_visible);
    format!("a difference of {size} is found in 80 of 100 such sessions")
}

/// The sentences of [`sentences`] for exactly repeating counts.
fn exact_sentences(paired: &PairedTest, judgement: &Judgement, plan: &Plan) -> Vec<String> {
    let (shown, quantity) = (judgement.shown(paired), QuantityWords::of(plan));
    let share = exact_percent((shown.ratio - 1.0).abs());
    let word = if shown.ratio >= 1.0 { "more" } else { "fewer" };
    let what = match judgement.verdict {
        Verdict::Same => format!("the same within {}", exact_percent(SAME_WORK)),
        verdict => format!("{}, by {share} {word}", quantity.verdict(verdict).to_lowercase()),
    };
    let n = paired.n_pairs;
    let repeats = repeats(shown);
    vec![what, format!("it {repeats} in {n} runs of each, so there is no test")]
}

fn meaning(paired: &PairedTest, judgement: &Judgement, plan: &Plan) -> String {
    let (margin, quantity) = (margin(plan.policy), QuantityWords::of(plan));
    match judgement.verdict {
        Verdict::Slower | Verdict::Faster if judgement.within_margin => {
            let word = quantity.verdict(judgement.verdict).to_lowercase();
            format!("{word}, but by less than the {margin} that counts as the same")
        }
        Verdict::Slower | Verdict::Faster => quantity.change(judgement.shown(paired).ratio),
        Verdict::Same => {
            let what = part(paired.statistic, quantity);
            // These two leave the tail out on purpose.
            let shown = match plan.policy.estimand {
                Estimand::Typical | Estimand::Floor => String::new(),
                _ => format!("; {} would have shown", tail(paired, quantity)),
            };
            format!("the same {what} within {margin}{shown}")
        }
        Verdict::Undecided if let Some(doubt) = paired.doubt => {
            let (what, but) = (part(paired.statistic, quantity), doubt_text(doubt, paired, plan));
            match doubt {
                SameDoubt::CoarseSteps => but,
                _ => format!("the same {what} within {margin}, but {but}"),
            }
        }
        Verdict::Undecided => to_decide(paired, plan),
    }
}

/// The margin of the decision rule: `1 %`.
pub(crate) fn margin(policy: DecisionRule) -> String {
    format!("{} %", uncertain::trimmed(policy.same_within * 100.0, 6))
}

/// Why tests are missing. Each reason is told once, with the fewest and the most pairs of all that have it.
pub(crate) fn no_tests(reasons: &[NoTest], plan: &Plan) -> String {
    let text = |&reason: &NoTest| {
        let is_alike = |it: &&NoTest| discriminant(*it) == discriminant(&reason);
        let alike = reasons.iter().filter(is_alike).filter_map(|it| it.n_pairs());
        let fewest = alike.clone().min().unwrap_or(0);
        let have = match alike.max() {
            Some(most) if most > fewest => format!("{fewest} to {most}"),
            _ => fewest.to_string(),
        };
        match reason {
            NoTest::TooFewPairs { need, .. } if plan.valgrind().is_some() => format!(
                "a verdict needs {AGREEING_RUNS} counts of each that agree, or {need}; there are {have}"
            ),
            _ => no_test_of(reason, &have, plan.policy),
        }
    };
    each_once(reasons.iter().map(text)).join("; ")
}

/// Why a test is missing.
pub(crate) fn no_test(because: NoTest, policy: DecisionRule) -> String {
    no_test_of(because, &because.n_pairs().unwrap_or(0).to_string(), policy)
}

fn no_test_of(because: NoTest, have: &str, policy: DecisionRule) -> String {
    match because {
        NoTest::Sequential => {
            "one command ran after the other, so drift between them is not controlled".into()
        }
        NoTest::Imported => "the file does not say that the order of the runs was random".into(),
        NoTest::SeparateRecords => {
            "they are from separate sessions: drift between them is not controlled; for a verdict, \
             time both in one stillwell run"
                .into()
        }
        NoTest::TooFewPairs { need, .. } => {
            let level = percent_of_level(policy.alpha);
            format!("a verdict at {level} needs {need} complete pairs of runs; there are {have}")
        }
        NoTest::NoLook { .. } => {
            format!(
                "the session ended before its first look; there are {have} complete pairs of runs"
            )
        }
        NoTest::FamilyTooLarge { n } => {
            let level = percent_of_level(policy.alpha);
            format!(
                "{n} comparisons are judged together, and at {level} nothing in so many could be told from chance; \
                 compare fewer at once"
            )
        }
        NoTest::UnfitNumbers => {
            "some of the numbers are not above zero, or all are equal: no ratio with an error can be told"
                .into()
        }
        NoTest::TasksWaited => {
            "one task of a program waited for a CPU that other programs used, while another of its tasks ran. Clean time \
             contains such waits, and without them the answer may be another; use CPUs without other programs \
             (--isolate), or a quiet machine"
                .into()
        }
        NoTest::MemoryFloor => {
            "the peak memory of at least one run is not above our launcher's; its own may be lower".into()
        }
    }
}
