//! Output of `campaign`: the answer to an attempt, the state, and the whole as Markdown or JSON.

use std::fmt::Write as _;
use std::path::Path;

use crate::columns::{one_line, shorten, wrap};
use crate::quantity::QuantityWords;
use crate::sizes::size_of;
use crate::table::{cells, plain};
use crate::units::{counted, percent, short_time};
use model::values::ErrorControl;
use search::campaign::{AnswerReason, Attempt, AttemptAnswer, AttemptEnd, Campaign, Gain, Program};

/// Digits of an abbreviated commit.
const SHORT: usize = 10;
/// Columns of a name in a table.
const NAME: usize = 32;

/// The options of a campaign that are shown.
#[derive(Clone, Debug, PartialEq)]
pub struct CampaignFacts {
    pub at_least: f64,
    pub aim: f64,
    pub miss: f64,
    /// The time for all attempts, s.
    pub total_s: Option<f64>,
    /// Benchmarks that decide, with `--program` or `--suite`.
    pub benchmarks: Vec<String>,
    pub quantity: QuantityWords,
}

fn size(gain: &Gain, facts: &CampaignFacts) -> String {
    size_of(gain.ratio, gain.ends(), facts.quantity)
}

fn shown(program: &Program) -> String {
    let command = match &*program.command {
        // The commands of the suite have no prefix.
        "" => "the suite".to_owned(),
        command => one_line(command),
    };
    match &program.commit {
        Some(commit) => format!("{command} at {}", &commit[..commit.len().min(SHORT)]),
        None => command,
    }
}

/// The lines of `campaign new`.
pub fn beginning(campaign: &Campaign, facts: &CampaignFacts, directory: &Path) -> String {
    let mut out = String::new();
    let directory = one_line(&directory.display().to_string());
    let [_, faster, _] = facts.quantity.judged_in_lists();
    writeln!(out, "{} is the program to make {faster}", shown(campaign.original())).ok();
    measure(facts).iter().for_each(|measure| wrap(&mut out, "", 0, measure));
    wrap(&mut out, "", 0, &rules(campaign, facts));
    // A campaign of commits is refused a command.
    let attempt = match campaign.original().commit {
        Some(_) => "--revision REV, or --patch FILE",
        None => "-- COMMAND",
    };
    writeln!(out, "next: stillwell campaign try {directory} NAME {attempt}").ok();
    out
}

/// The deciding quantity of a program of benchmarks.
fn measure(facts: &CampaignFacts) -> Option<String> {
    let names: Vec<String> = facts.benchmarks.iter().map(|name| one_line(name)).collect();
    match names.as_slice() {
        [] => None,
        [one] => Some(format!("What decides is its benchmark {one}.")),
        [first @ .., last] => {
            let (n, first) = (names.len(), first.join(", "));
            Some(format!(
                "What decides is the geometric mean of {n} benchmarks: {first} and {last}."
            ))
        }
    }
}

fn rules(campaign: &Campaign, facts: &CampaignFacts) -> String {
    let rules = campaign.rules();
    let rate = percent(rules.alpha);
    let [_, faster, _] = facts.quantity.judged_in_lists();
    let error = match rules.control {
        ErrorControl::Fwer => {
            format!("At most {rate} of campaigns accept anything that is not {faster}")
        }
        ErrorControl::Fdr => format!("Of all that is accepted, at most {rate} is not {faster}"),
    };
    let by = match facts.at_least {
        0.0 => String::new(),
        share => format!(" by more than {}", percent(share)),
    };
    format!(
        "{error}{by}, however many attempts there are. A gain of {} is missed in {} of attempts, and smaller ones more often.",
        percent(facts.aim),
        percent(facts.miss)
    )
}

pub fn answer(campaign: &Campaign, facts: &CampaignFacts) -> String {
    let Some(attempt) = campaign.attempts().last() else { return String::new() };
    let mut out = String::new();
    let name = shorten(&attempt.name, NAME);
    wrap(&mut out, "", 2, &format!("{name}: {}", sentence(attempt, facts)));
    let Some(end) = &attempt.end else { return out };
    for line in unfair(end) {
        wrap(&mut out, "  ", 4, &line);
    }
    for line in &end.unchecked {
        wrap(&mut out, "  ", 4, &format!("not checked: {}", one_line(line)));
    }
    if attempt.is_accepted()
        && let Some(whole) = &end.whole
    {
        wrap(&mut out, "  ", 4, &format!("It is {} than the beginning.", size(whole, facts)));
    }
    wrap(&mut out, "  ", 4, &cost(campaign, end, facts));
    out
}

fn sentence(attempt: &Attempt, facts: &CampaignFacts) -> String {
    let Some(end) = &attempt.end else {
        return "not decided: it did not come to its end; its share of the error rate is spent"
            .into();
    };
    let size =
        |gain: Option<Gain>| gain.as_ref().map_or("not known".into(), |gain| size(gain, facts));
    match &end.reason {
        AnswerReason::Confirmed => {
            format!("accepted, {} than the state before, by fresh runs.", size(end.confirmation))
        }
        AnswerReason::OutOfReach => {
            let trial = size(end.trial);
            format!("rejected: a gain of {} is out of reach; it is {trial}.", percent(facts.aim))
        }
        AnswerReason::NotConfirmed => format!(
            "rejected: the trial found it {}, and fresh runs {}, which is not enough.",
            size(end.trial),
            size(end.confirmation)
        ),
        AnswerReason::SlowerOnAverage => {
            let mean = |it: Gain| size_of(it.mean, it.mean_lo.zip(it.mean_hi), facts.quantity);
            let mean = end.confirmation.map(mean);
            format!(
                "rejected: it is {} typically, and {} {}.",
                size(end.confirmation),
                mean.unwrap_or_default(),
                facts.quantity.on_average()
            )
        }
        AnswerReason::Unfair { .. } => "rejected: its runs are not fair.".into(),
        AnswerReason::Failed { message } => {
            let lines = message.lines().map(|line| line.trim_start_matches([' ', '|']).trim());
            let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
            format!("rejected: it fails. {}", one_line(&lines.join(" ")))
        }
        AnswerReason::Budget => format!("not decided in the budget: it is {}.", size(end.trial)),
        AnswerReason::Interrupted => "not decided: interrupted.".into(),
    }
}

fn unfair(end: &AttemptEnd) -> Vec<String> {
    match &end.reason {
        AnswerReason::Unfair { findings } => findings.iter().map(|it| one_line(it)).collect(),
        _ => Vec::new(),
    }
}

/// `12.3 s; 3 attempts so far, 97 more at this rate`.
fn cost(campaign: &Campaign, end: &AttemptEnd, facts: &CampaignFacts) -> String {
    let mut text = format!("{}; {}", short_time(end.seconds * 1e9), left(campaign, facts));
    if !end.is_spent {
        text += "; no run was compared, so its share of the error rate is not spent";
    }
    text + "."
}

/// The attempts so far, and the remaining error rate and time.
fn left(campaign: &Campaign, facts: &CampaignFacts) -> String {
    let mut text = counted(campaign.attempts().len(), "attempt") + " so far";
    match campaign.n_left() {
        0 => text += ", each next one at a smaller error rate",
        n => write!(text, ", {n} more at the full error rate").unwrap_or_default(),
    }
    if let Some(total_s) = facts.total_s {
        let left_s = (total_s - campaign.seconds()).max(0.0);
        write!(text, ", {} of the budget left", short_time(left_s * 1e9)).ok();
    }
    text
}

/// The table of `campaign status`.
pub fn status(campaign: &Campaign, facts: &CampaignFacts) -> String {
    let mut out = String::new();
    wrap(&mut out, "", 2, &headline(campaign, facts));
    measure(facts).iter().for_each(|measure| wrap(&mut out, "", 2, measure));
    wrap(&mut out, "", 2, &rules(campaign, facts));
    let text = format!(
        "{}; {} of measuring and building.",
        left(campaign, facts),
        short_time(campaign.seconds() * 1e9)
    );
    wrap(&mut out, "", 2, &text);
    if !campaign.attempts().is_empty() {
        out.push('\n');
        let heading = cells(&["attempt", "answer", "size by fresh runs", "why", "time"]);
        let rows = campaign.attempts().iter().map(|attempt| row(campaign, attempt, facts).to_vec());
        out += &plain(std::iter::once(heading).chain(rows).collect(), &[4]);
    }
    out
}

/// The first sentence: the accepted state.
fn headline(campaign: &Campaign, facts: &CampaignFacts) -> String {
    let state = shown(campaign.current());
    let n = campaign.accepted().count();
    let of = counted(campaign.attempts().len(), "attempt");
    match campaign.whole_gain() {
        Some(gain) => format!(
            "{n} of {of} accepted: the state is {} than the beginning. It is: {state}",
            size(&gain, facts)
        ),
        None => format!("0 of {of} accepted: the state is the beginning: {state}"),
    }
}

fn row(campaign: &Campaign, attempt: &Attempt, facts: &CampaignFacts) -> [String; 5] {
    let name = shorten(&attempt.name, NAME);
    let Some(end) = &attempt.end else {
        // One `try` works at a time, so an attempt before the last one runs no more.
        let is_last = campaign.attempts().last().is_some_and(|last| std::ptr::eq(last, attempt));
        let why = if is_last { "is running, or was killed" } else { "was killed" };
        return [name, "not decided".into(), String::new(), why.into(), String::new()];
    };
    let why = match &end.reason {
        AnswerReason::Confirmed => String::new(),
        AnswerReason::OutOfReach => format!("{} is out of reach", percent(facts.aim)),
        AnswerReason::NotConfirmed => "not confirmed".into(),
        AnswerReason::SlowerOnAverage => {
            format!("{} {}", facts.quantity.judged_in_lists()[0], facts.quantity.on_average())
        }
        AnswerReason::Unfair { .. } => "not fair".into(),
        AnswerReason::Failed { .. } => "fails".into(),
        AnswerReason::Budget => "budget used up".into(),
        AnswerReason::Interrupted => "interrupted".into(),
    };
    let by = end.confirmation.as_ref().map(|gain| size(gain, facts)).unwrap_or_default();
    [name, word(end.answer).into(), by, why, short_time(end.seconds * 1e9)]
}

fn word(answer: AttemptAnswer) -> &'static str {
    match answer {
        AttemptAnswer::Accepted => "accepted",
        AttemptAnswer::Rejected => "rejected",
        AttemptAnswer::NotDecided => "not decided",
    }
}

/// The output of `campaign confirm`. `kept_out`: attempts that could not be left out, with the reason.
pub fn whole(campaign: &Campaign, facts: &CampaignFacts, kept_out: &[(usize, String)]) -> String {
    let mut out = String::new();
    let name = |index: usize| one_line(&campaign.attempts()[index].name);
    if let Some(gain) = campaign.whole_gain() {
        let text = format!("All that was accepted is {} than the beginning.", size(&gain, facts));
        wrap(&mut out, "", 2, &text);
    }
    for (index, gain) in campaign.contributions() {
        let text = format!("{}: the whole is {} than without it.", name(index), size(&gain, facts));
        wrap(&mut out, "  ", 4, &text);
    }
    for (index, why) in kept_out {
        let why = why.lines().collect::<Vec<_>>().join("; ");
        let text = format!("{}: cannot be left out: {}", name(*index), one_line(&why));
        wrap(&mut out, "  ", 4, &text);
    }
    out
}

pub fn markdown(campaign: &Campaign, facts: &CampaignFacts) -> String {
    let cell = |text: &str| text.replace('|', "\\|");
    let mut out = format!("# Campaign\n\n{}.\n\n", cell(&headline(campaign, facts)));
    measure(facts).iter().for_each(|measure| out += &format!("{}\n\n", cell(measure)));
    writeln!(out, "{}\n", rules(campaign, facts)).ok();
    out += "| attempt | program | answer | size by fresh runs | why | time |\n";
    out += "|---|---|---|---|---|---:|\n";
    for attempt in campaign.attempts() {
        let [name, answer, by, why, time] = row(campaign, attempt, facts);
        let program = cell(&shown(&attempt.program));
        writeln!(out, "| {} | `{program}` | {answer} | {by} | {why} | {time} |", cell(&name)).ok();
    }
    for attempt in campaign.attempts() {
        let reasons = attempt.end.as_ref().map(unfair).unwrap_or_default();
        let accepted = attempt.end.iter().filter(|end| end.answer == AttemptAnswer::Accepted);
        let unchecked = accepted.flat_map(|end| &end.unchecked);
        let unchecked = unchecked.map(|it| format!("not checked: {}", one_line(it)));
        for line in reasons.into_iter().chain(unchecked) {
            writeln!(out, "\n{}: {}", cell(&one_line(&attempt.name)), cell(&line)).ok();
        }
    }
    let contributions = campaign.contributions();
    if !contributions.is_empty() {
        out += "\n| accepted attempt | the whole, against that without it |\n|---|---|\n";
    }
    for (index, gain) in contributions {
        let name = cell(&shorten(&campaign.attempts()[index].name, NAME));
        writeln!(out, "| {name} | {} |", size(&gain, facts)).ok();
    }
    out.push_str("\nSizes are those of runs whose number was fixed before they began. ");
    out.push_str("Their intervals hold at 99 %.\n");
    out
}
