//! Words for the deciding quantity. Only times are faster and slower.

use crate::ratios::{
    change, exact_percent, exact_text, interval_ends, percent_ends, repeats, times_text,
};
use crate::units::percent;
use analysis::convert::of_record;
use analysis::exact::SAME_WORK;
use analysis::suite::plan_of_arm;
use analysis::verdict::{GateAnswer, Judgement, Verdict};
use analysis::{RatioInterval, compares_time};
use model::spec::run::ValueOptions;
use model::values::{Better, DecideOn, Headline, known_unit};
use record::Record;
use record::plan::{DecisionRule, Plan};
use search::history::series::Series;

/// Differences from this factor on are told as factors, not as percentages.
const FACTOR_FROM: f64 = 2.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuantityWords {
    /// The only quantity with faster and slower.
    Time,
    /// An amount that a program uses, of which less is better.
    Amount { verb: &'static str, plural: &'static str, noun: &'static str, is_count: bool },
    /// The value that a program prints.
    Value(Better),
}

const CPU_TIME: QuantityWords = amount("CPU time");
const MEMORY: QuantityWords = amount("memory");

const fn amount(noun: &'static str) -> QuantityWords {
    QuantityWords::Amount { verb: "uses", plural: "use", noun, is_count: false }
}

/// Whether an open comparison is below the limit of its gate, which asks for no more.
pub(super) fn is_within_limit(judgement: &Judgement, plan: &Plan) -> bool {
    judgement.verdict == Verdict::Undecided
        && plan.slower_limit > 0.0
        && judgement.answer(1.0 + plan.slower_limit) == GateAnswer::Pass
}

impl QuantityWords {
    pub(super) fn of(plan: &Plan) -> Self {
        let is_time = plan.arms.iter().all(|arm| arm.unit.is_time());
        let quantity = Self::decided_by(plan.policy, is_time);
        let headline = plan.workers.as_ref().map(|workers| workers.headline);
        match quantity {
            _ if headline == Some(Headline::Cpu) => CPU_TIME,
            _ if headline.is_some_and(|it| it.clock().is_none()) => MEMORY,
            // The counter's name goes with the number.
            Self::Amount { verb, plural, is_count, .. } if plan.valgrind().is_some() => {
                Self::Amount { verb, plural, noun: "instructions (valgrind)", is_count }
            }
            quantity => quantity,
        }
    }

    /// The words for one arm: the benchmarks of a suite, or of another program's file, may have different quantities.
    pub(super) fn of_arm(record: &Record, arm: usize) -> Self {
        let is_time = record.header.plan.arms.get(arm).is_none_or(|it| it.unit.is_time());
        match record.header.imported {
            None => Self::of(plan_of_arm(record, arm)),
            Some(_) if is_time => Self::Time,
            Some(_) => Self::Value(of_record::better(record, arm)),
        }
    }

    /// Whether noise only adds to an arm's quantity, as to times.
    pub(super) fn has_t0(record: &Record, arm: usize) -> bool {
        let planned = record.header.plan.arms.get(arm);
        planned.is_none_or(|it| compares_time(plan_of_arm(record, arm), it))
    }

    pub(super) fn of_series(series: &Series) -> Self {
        let is_time = series.unit == "ns" && series.better.is_lower();
        if is_time { Self::Time } else { Self::Value(series.better) }
    }

    /// The words for what a search or a campaign compares, from its options.
    pub fn of_options(decide_on: Option<DecideOn>, value: &ValueOptions) -> Self {
        let has_value = value.value.is_some() || value.value_json.is_some();
        let decide_on = decide_on.or(has_value.then_some(DecideOn::Value));
        let better = value.value_better.unwrap_or_default();
        let unit = value.value_unit.as_deref().and_then(known_unit);
        let is_time = decide_on != Some(DecideOn::Value) || unit.is_some_and(|it| it.0.is_time());
        Self::decided_by(DecisionRule { decide_on, better, ..DecisionRule::default() }, is_time)
    }

    fn decided_by(policy: DecisionRule, is_time: bool) -> Self {
        let count = |verb, plural, noun| Self::Amount { verb, plural, noun, is_count: true };
        match policy.decide_on {
            // Files of other programs, and workers that measure memory.
            None if !is_time => Self::Value(policy.better),
            None | Some(DecideOn::Clean | DecideOn::Wall) => Self::Time,
            Some(DecideOn::Cpu) => CPU_TIME,
            Some(DecideOn::User) => amount("user CPU time"),
            Some(DecideOn::Sys) => amount("system CPU time"),
            Some(DecideOn::Maxrss) => MEMORY,
            Some(DecideOn::TreeMemory) => amount("memory in all its processes"),
            Some(DecideOn::Faults) => count("has", "have", "page faults"),
            Some(DecideOn::Switches) => count("has", "have", "context switches"),
            Some(DecideOn::Instructions) => count("executes", "execute", "instructions"),
            Some(DecideOn::Cycles) => count("takes", "take", "cycles"),
            Some(DecideOn::Value) if is_time && policy.better.is_lower() => Self::Time,
            Some(DecideOn::Value) => Self::Value(policy.better),
        }
    }

    pub(super) fn is_time(self) -> bool {
        self == Self::Time
    }

    pub(super) fn better(self) -> Better {
        if let Self::Value(better) = self { better } else { Better::Lower }
    }

    /// Which mean is compared. Where more is better, the mean cost is the inverse of the harmonic mean.
    pub(super) fn on_average(self) -> &'static str {
        if self.better().is_lower() { "on average" } else { "in the harmonic mean" }
    }

    /// What a series of runs has.
    pub(super) fn series(self) -> &'static str {
        if self.is_time() { "times" } else { "values" }
    }

    /// What is compared, unless it is time: `instructions (valgrind)`.
    pub(super) fn noun(self) -> Option<&'static str> {
        match self {
            Self::Time => None,
            Self::Amount { noun, .. } => Some(noun),
            Self::Value(_) => Some("value"),
        }
    }

    /// Slower, faster and not slower in lists of benchmarks.
    pub(super) fn judged_in_lists(self) -> [&'static str; 3] {
        match self.is_time() {
            true => ["slower", "faster", "not slower"],
            false => ["worse", "better", "not worse"],
        }
    }

    /// The name of an arm's main number. Of amounts it is the median, as everywhere but for times.
    pub(super) fn location(record: &Record, arm: usize) -> &'static str {
        if Self::has_t0(record, arm) {
            return "t0";
        }
        match Self::of_arm(record, arm) {
            Self::Amount { noun, .. } => noun.trim_end_matches(" (valgrind)"),
            Self::Time | Self::Value(_) => "median",
        }
    }

    /// The verdict in a word; [`is_within_limit`] has its own.
    pub(super) fn judged(self, judgement: &Judgement, plan: &Plan) -> &'static str {
        match is_within_limit(judgement, plan) {
            true if self.is_time() => "NOT SLOWER",
            true => "NOT WORSE",
            false => self.verdict(judgement.verdict),
        }
    }

    pub(super) fn verdict(self, verdict: Verdict) -> &'static str {
        match (verdict, self.is_time()) {
            (Verdict::Faster, true) => "FASTER",
            (Verdict::Slower, true) => "SLOWER",
            (Verdict::Faster, false) => "BETTER",
            (Verdict::Slower, false) => "WORSE",
            (Verdict::Same, _) => "SAME",
            (Verdict::Undecided, _) => "UNDECIDED",
        }
    }

    /// `takes 1.02 times as long`.
    pub(super) fn times(self, ratio: &str) -> String {
        match self {
            Self::Time => format!("takes {ratio} times as long"),
            Self::Amount { verb, noun, is_count, .. } => {
                let much = if is_count { "many" } else { "much" };
                format!("{verb} {ratio} times as {much} {noun}")
            }
            Self::Value(_) => format!("gives {ratio} times the value"),
        }
    }

    /// `b takes 0.982 to 1.021 times as long as a`.
    pub(super) fn range(self, new: &str, old: &str, shown: RatioInterval) -> String {
        let [lo, _, hi] = interval_ends(shown);
        let times = self.times(&format!("{lo} to {hi}"));
        let of = if matches!(self, Self::Value(_)) { "of" } else { "as" };
        format!("{new} {times} {of} {old}")
    }

    /// The question between two arms: `whether b or a is faster`.
    pub(super) fn question(self, new: &str, old: &str) -> String {
        match self {
            Self::Time => format!("whether {new} or {old} is faster"),
            Self::Amount { verb, noun, .. } => format!("whether {new} or {old} {verb} more {noun}"),
            Self::Value(_) => format!("whether {new} or {old} gives the better value"),
        }
    }

    /// `b and a take the same time within 1 %`.
    pub(super) fn same(self, new: &str, old: &str, margin: &str) -> String {
        let what = match self {
            Self::Time => "take the same time".into(),
            Self::Amount { plural, noun, is_count, .. } => {
                let number = if is_count { "number of " } else { "" };
                format!("{plural} the same {number}{noun}")
            }
            Self::Value(_) => "give the same value".into(),
        };
        format!("{new} and {old} {what} within {margin}")
    }

    /// `b and a execute the same number of instructions within 0.1 %: 1.000012 times as many, and that repeats exactly`.
    pub(super) fn same_again(self, new: &str, old: &str, shown: RatioInterval) -> String {
        let same = self.same(new, old, &exact_percent(SAME_WORK));
        let much = match shown.ratio.total_cmp(&1.0).is_eq() {
            true => "not one more".into(),
            false => format!("{} times as many", exact_text(shown.ratio)),
        };
        format!("{same}: {much}, and that {}", repeats(shown))
    }

    /// A difference of counts that repeat: `b executes 0.997 % more instructions than a (repeats exactly)`.
    pub(super) fn differs_again(self, new: &str, old: &str, shown: RatioInterval) -> String {
        let range = repeats(shown);
        if shown.ratio >= FACTOR_FROM || shown.ratio <= 1.0 / FACTOR_FROM {
            return format!("{new} {} as {old} ({range})", self.times(&exact_text(shown.ratio)));
        }
        let by = exact_percent((shown.ratio - 1.0).abs());
        let word = if shown.ratio >= 1.0 { "more" } else { "fewer" };
        let (verb, noun) = match self {
            Self::Amount { verb, noun, .. } => (verb, noun),
            Self::Time | Self::Value(_) => ("has", "of it"),
        };
        format!("{new} {verb} {by} {word} {noun} than {old} ({range})")
    }

    /// A decided difference: `b uses 12 % more memory than a (10 to 14 %)`.
    pub(super) fn difference(self, new: &str, old: &str, shown: RatioInterval) -> String {
        let is_more = shown.ratio >= 1.0;
        let [lo, ratio, hi] = interval_ends(shown);
        let is_factor = shown.ratio >= FACTOR_FROM || shown.ratio <= 1.0 / FACTOR_FROM;
        let (by, range) = percent_ends(match is_more {
            true => [shown.ratio - 1.0, shown.lo - 1.0, shown.hi - 1.0],
            false => [1.0 - shown.ratio, 1.0 - shown.hi, 1.0 - shown.lo],
        });
        let times = || self.times(&ratio);
        // Few pairs, or a reference with less memory than the launcher.
        let (ends, range) = match shown.hi.is_finite() {
            true => (format!("{lo} to {hi}"), range),
            false => (format!("at least {lo}"), format!("at least {}", percent(shown.lo - 1.0))),
        };
        match self {
            Self::Time => time_difference(new, old, shown, &by, &range),
            Self::Value(better) => {
                let is_better = is_more != better.is_lower();
                let word = if is_better { "better" } else { "worse" };
                let side = if is_more { "higher" } else { "lower" };
                match is_factor {
                    true => format!("{new} {} of {old} ({ends}), which is {word}", times()),
                    false => {
                        format!(
                            "{new} gives a value {by} {side} than {old} ({range}), which is {word}"
                        )
                    }
                }
            }
            _ if is_factor => format!("{new} {} as {old} ({ends})", times()),
            Self::Amount { verb, noun, is_count, .. } => {
                let less = if is_count { "fewer" } else { "less" };
                let word = if is_more { "more" } else { less };
                format!("{new} {verb} {by} {word} {noun} than {old} ({range})")
            }
        }
    }

    /// The difference without names, from the ratio alone: `uses 12 % more memory`.
    pub(super) fn change(self, ratio: f64) -> String {
        if self.is_time() {
            return change(ratio);
        }
        if !(1.0 / FACTOR_FROM..FACTOR_FROM).contains(&ratio) {
            return self.times(&crate::uncertain::significant(ratio, 3));
        }
        let (by, is_more) = (percent((ratio - 1.0).abs()), ratio >= 1.0);
        match self {
            Self::Amount { verb, noun, is_count, .. } => {
                let less = if is_count { "fewer" } else { "less" };
                format!("{verb} {by} {} {noun}", if is_more { "more" } else { less })
            }
            _ => format!("gives a value {by} {}", if is_more { "higher" } else { "lower" }),
        }
    }

    /// The best of several; the others are worse by these factors. Only a colon fits before it: it may be a clause.
    pub(super) fn best(self, than: &str, n_others: usize) -> String {
        let is_one = n_others == 1;
        let others = if is_one { "the other" } else { "the others" };
        match self {
            Self::Time => format!("{than} as fast as {others}"),
            Self::Amount { verb, plural, noun, is_count } => {
                let much = if is_count { "many" } else { "much" };
                format!("{others} {} {than} as {much} {noun}", if is_one { verb } else { plural })
            }
            Self::Value(Better::Lower) => {
                format!("{others} {} {than} the value", if is_one { "gives" } else { "give" })
            }
            Self::Value(Better::Higher) => format!("{than} the value of {others}"),
        }
    }
}

/// A decided difference of times. Never "30 % faster", which could mean speed or time.
fn time_difference(new: &str, old: &str, shown: RatioInterval, by: &str, range: &str) -> String {
    let RatioInterval { ratio, lo, hi } = shown;
    if !(hi - lo).is_finite() {
        let times = times_text(ratio.max(1.0 / ratio));
        let [quick, slow] = if ratio >= 1.0 { [old, new] } else { [new, old] };
        return format!(
            "{quick} is {times} times as fast as {slow} (too few blocks for an interval)"
        );
    }
    if ratio >= FACTOR_FROM {
        return format!("{old} is {} as {new}", as_fast(shown));
    }
    if ratio <= 1.0 / FACTOR_FROM {
        return format!("{new} is {} as {old}", as_fast(shown.inverse()));
    }
    match ratio >= 1.0 {
        true => format!("{new} is {by} slower than {old} ({range})"),
        false => format!("{new} is faster than {old}: it takes {by} less time ({range})"),
    }
}

/// `2.3 times (1.5 to 2.9) as fast`, up to the second name.
fn as_fast(interval: RatioInterval) -> String {
    let [lo, ratio, hi] = interval_ends(interval);
    format!("{ratio} times ({lo} to {hi}) as fast")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantity(decide_on: DecideOn, better: Better, is_time: bool) -> QuantityWords {
        let rule = DecisionRule { decide_on: Some(decide_on), better, ..DecisionRule::default() };
        QuantityWords::decided_by(rule, is_time)
    }

    #[track_caller]
    fn check(quantity: QuantityWords, ratio: f64, expected: &str) {
        let shown = RatioInterval { ratio, lo: ratio - 0.02, hi: ratio + 0.02 };
        assert_eq!(quantity.difference("b", "a", shown), expected);
    }

    #[test]
    fn the_sentence_names_the_quantity() {
        let memory = quantity(DecideOn::Maxrss, Better::Lower, false);
        check(memory, 1.12, "b uses 12.0 % more memory than a (10.0 to 14.0 %)");
        check(memory, 0.88, "b uses 12.0 % less memory than a (10.0 to 14.0 %)");
        check(memory, 3.0, "b uses 3.000 times as much memory as a (2.980 to 3.020)");
        let open = |ratio, lo| RatioInterval { ratio, lo, hi: f64::INFINITY };
        let text = |shown| memory.difference("b", "a", shown);
        assert_eq!(
            text(open(3.0, 2.5)),
            "b uses 3.0000 times as much memory as a (at least 2.5000)"
        );
        assert_eq!(text(open(1.5, 1.25)), "b uses 50 % more memory than a (at least 25 %)");
        let cpu = quantity(DecideOn::Cpu, Better::Lower, true);
        check(cpu, 1.12, "b uses 12.0 % more CPU time than a (10.0 to 14.0 %)");
        let faults = quantity(DecideOn::Faults, Better::Lower, false);
        check(faults, 0.9, "b has 10.0 % fewer page faults than a (8.0 to 12.0 %)");
        check(faults, 3.0, "b has 3.000 times as many page faults as a (2.980 to 3.020)");
    }

    #[test]
    fn a_value_is_better_in_its_direction() {
        let throughput = quantity(DecideOn::Value, Better::Higher, false);
        let higher = "b gives a value 10.0 % higher than a (8.0 to 12.0 %), which is better";
        check(throughput, 1.1, higher);
        let lower = "b gives a value 10.0 % lower than a (8.0 to 12.0 %), which is worse";
        check(throughput, 0.9, lower);
        let latency = quantity(DecideOn::Value, Better::Lower, false);
        check(latency, 1.1, "b gives a value 10.0 % higher than a (8.0 to 12.0 %), which is worse");
        assert!(quantity(DecideOn::Value, Better::Lower, true).is_time());
    }
}
