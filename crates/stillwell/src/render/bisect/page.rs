//! The page of a search: one HTML file that needs no network and no script, with the curve of all measured commits.
//!
//! Subjects of commits and messages of builds are hostile input: the template escapes all text, and the
//! Content-Security-Policy allows no script at all.

use std::io::Write;

use anyhow::{Context as _, Result};
use minijinja::Environment;
use serde::Serialize;

use crate::bisection::{Answer, BisectSearch, Observation};
use crate::render::bisect::track::{TrackPoint, track};
use crate::render::bisect::{cost, layouts, name, paragraphs, short, size, word};
use crate::render::columns::one_line;
use crate::render::report::policy;
use crate::render::units::{counted, short_time, signed_percent};

const TEMPLATE: &str = include_str!("../../../assets/bisect/page.html");
const STYLE: &str = concat!(
    include_str!("../../../assets/report/style.css"),
    include_str!("../../../assets/bisect/curve.css")
);
/// Name of the template. minijinja escapes the output of templates that end in `.html`.
const NAME: &str = "page.html";
/// Size of the curve, and its margins: left, right, top, bottom.
const SIZE: (f64, f64) = (1100.0, 380.0);
const MARGINS: [f64; 4] = [64.0, 16.0, 26.0, 40.0];
/// Lines of the grid, about.
const TICKS: f64 = 5.0;

/// A step of the search with the name of its record.
pub struct StepRecord<'a> {
    pub observation: &'a Observation,
    pub record: Option<&'a str>,
}

/// Input of the template.
#[derive(Serialize)]
struct BisectTemplate {
    policy: String,
    style: &'static str,
    title: String,
    /// Class of the first sentence: its colour.
    class: &'static str,
    sentences: Vec<String>,
    cost: String,
    curve: Option<Curve>,
    steps: Vec<StepRow>,
    failed: Vec<FailedRow>,
    version: &'static str,
}

/// The curve in units of the picture.
#[derive(Serialize)]
struct Curve {
    width: f64,
    height: f64,
    left: f64,
    right: f64,
    bottom: f64,
    ticks: Vec<CurveTick>,
    numbers: Vec<CurveTick>,
    marks: Vec<CurveMark>,
    culprits: Vec<CurveCulprit>,
    /// Commits that cannot be built.
    failed: Vec<CurveTick>,
    label: String,
}

#[derive(Serialize)]
struct CurveTick {
    at: f64,
    text: String,
}

#[derive(Serialize)]
struct CurveMark {
    x: f64,
    y: f64,
    top: f64,
    bottom: f64,
    class: &'static str,
    title: String,
}

#[derive(Serialize)]
struct CurveCulprit {
    x: f64,
    anchor: &'static str,
    class: &'static str,
    text: String,
}

#[derive(Serialize)]
struct StepRow {
    what: &'static str,
    commit: String,
    answer: String,
    seconds: String,
    record: String,
}

#[derive(Serialize)]
struct FailedRow {
    commit: String,
    why: String,
}

/// Writes the page of a search that is over. `beginning` is the same search before its first step.
///
/// # Errors
/// `to` cannot be written.
pub fn write(
    to: &mut dyn Write,
    search: &BisectSearch,
    beginning: BisectSearch,
    ends: (usize, usize),
    steps: &[StepRecord<'_>],
) -> Result<()> {
    let (commits, found) = (search.graph().commits(), search.outcome());
    let observations: Vec<&Observation> = steps.iter().map(|step| step.observation).collect();
    let points = track(beginning.clone(), &observations);
    let template = BisectTemplate {
        policy: policy(&[], STYLE),
        style: STYLE,
        title: format!("{} to {}", short(&commits[ends.0]), short(&commits[ends.1])),
        class: match found.culprits.first() {
            Some(it) if it.is_layout() => "undecided",
            Some(it) if it.size.ratio > 1.0 => "slower",
            Some(_) => "faster",
            None => "none",
        },
        sentences: paragraphs(search).into_iter().map(|it| it.text).collect(),
        cost: cost(search, ends),
        curve: (points.len() > 1).then(|| curve(search, ends, &points)),
        steps: rows(beginning, steps),
        failed: found
            .failed
            .iter()
            .map(|(commit, why)| FailedRow {
                commit: name(&commits[*commit]),
                why: one_line(why.lines().last().unwrap_or_default().trim_start_matches(" | ")),
            })
            .collect(),
        version: env!("CARGO_PKG_VERSION"),
    };
    let what = "the template of the page";
    let mut environment = Environment::new();
    environment.add_template(NAME, TEMPLATE).context(what)?;
    let page = environment.get_template(NAME).context(what)?;
    let html = page.render(minijinja::value::Serde(&template)).context(what)?;
    Ok(to.write_all(html.as_bytes())?)
}

/// The steps of the table. The answer of a probe depends on what was known then.
fn rows(mut search: BisectSearch, steps: &[StepRecord<'_>]) -> Vec<StepRow> {
    let mut rows = Vec::new();
    for StepRecord { observation, record } in steps {
        let commits = search.graph().commits();
        let told = match observation {
            Observation::Built { .. } | Observation::Failed { .. } => None,
            Observation::Ends { lo, hi, new, seconds } => {
                let pair = format!("{} {}", short(&commits[*lo]), short(&commits[*hi]));
                Some(("ends", pair, size(new), *seconds))
            }
            Observation::Probe { commit, of_old, of_new, seconds } => {
                let answer = word(search.answer_now(of_old, of_new));
                let text = format!("{answer}: {} than good", size(of_old));
                Some(("probe", name(&commits[*commit]), text, *seconds))
            }
            Observation::Confirm { base, head, new, seconds } => {
                let pair = format!("{} {}", short(&commits[*base]), name(&commits[*head]));
                Some(("confirm", pair, size(new), *seconds))
            }
            Observation::Layouts { head, found, seconds } => {
                Some(("layouts", name(&commits[*head]), layouts(found), *seconds))
            }
        };
        if let Some((what, commit, answer, seconds)) = told {
            let record = record.map(one_line).unwrap_or_default();
            let seconds = short_time(seconds * 1e9);
            rows.push(StepRow { what, commit, answer, seconds, record });
        }
        search.take(observation);
    }
    rows
}

fn curve(search: &BisectSearch, (lo, hi): (usize, usize), points: &[TrackPoint]) -> Curve {
    let [left, right, top, bottom] = MARGINS;
    let (width, height) = SIZE;
    let commits = search.graph().commits();
    let between = search.graph().between(lo, hi);
    // GOOD is number 0.
    let number = |commit: usize| {
        between.partition_point(|other| *other < commit) as f64 + f64::from(u8::from(commit != lo))
    };
    let n = between.len().max(1) as f64;
    let x = |commit: usize| left + number(commit) / n * (width - left - right);
    let level_ends = points.iter().flat_map(|it| [it.level, it.level]);
    let (mut least, mut most) = (0.0_f64, 0.0_f64);
    level_ends.for_each(|level| (least, most) = (least.min(level), most.max(level)));
    let pad = 0.35 * (most - least).max(0.005);
    (least, most) = (least - pad, most + pad);
    let y = |level: f64| {
        let share = (level.clamp(least, most) - least) / (most - least);
        height - bottom - share * (height - top - bottom)
    };
    let mark = |it: &TrackPoint| {
        let (lower, upper) = it.ends.unwrap_or((it.level, it.level));
        let answer = it.answer.map_or(String::new(), |answer| format!(", {}", word(answer)));
        let level = signed_percent(it.level.exp());
        CurveMark {
            x: x(it.commit),
            y: y(it.level),
            top: y(upper),
            bottom: y(lower),
            class: class(it.answer),
            title: format!("{}: {level} than good{answer}", name(&commits[it.commit])),
        }
    };
    let culprits = search.outcome().culprits.iter().map(|it| {
        let at = x(it.head);
        CurveCulprit {
            x: at,
            anchor: if at > width / 2.0 { "end" } else { "start" },
            class: if it.is_layout() {
                "undecided"
            } else if it.size.ratio > 1.0 {
                "slower"
            } else {
                "faster"
            },
            text: format!("{} {}", short(&commits[it.head]), signed_percent(it.size.ratio)),
        }
    });
    let failed = search.outcome().failed.keys();
    let numbers = [0.0, 0.25, 0.5, 0.75, 1.0].map(|share: f64| CurveTick {
        at: left + share * (width - left - right),
        text: format!("{:.0}", share * n),
    });
    Curve {
        width,
        height,
        left,
        right: width - right,
        bottom: height - bottom,
        ticks: ticks(least, most)
            .map(|level| CurveTick { at: y(level.ln_1p()), text: percents(level) })
            .collect(),
        numbers: numbers.into(),
        marks: points.iter().map(mark).collect(),
        culprits: culprits.collect(),
        failed: failed
            .map(|&commit| CurveTick { at: x(commit), text: name(&commits[commit]) })
            .collect(),
        label: format!("{} measured of {}", points.len(), counted(between.len(), "commit")),
    }
}

/// Round shares from one log ratio to another.
fn ticks(least: f64, most: f64) -> impl Iterator<Item = f64> {
    let (least, most) = (least.exp_m1(), most.exp_m1());
    let rough = (most - least) / TICKS;
    let size = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|it| it * size).into_iter().find(|it| *it >= rough);
    let step = step.unwrap_or(size);
    let (first, last) = ((least / step).ceil() as i64, (most / step).floor() as i64);
    (first..=last).map(move |at| at as f64 * step)
}

fn percents(share: f64) -> String {
    if share == 0.0 { "good".into() } else { signed_percent(1.0 + share) }
}

fn class(answer: Option<Answer>) -> &'static str {
    match answer {
        None => "end",
        Some(Answer::LikeOld) => "old",
        Some(Answer::LikeNew) => "new",
        Some(Answer::Neither) => "neither",
        Some(Answer::Undecided) => "open",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_has_round_shares() {
        let found: Vec<f64> = ticks(-0.01, 0.06).collect();
        let text: Vec<String> = found.iter().map(|share| percents(*share)).collect();
        assert_eq!(text, ["good", "+2.0 %", "+4.0 %", "+6.0 %"]);
        assert!(ticks(0.0, 0.004).count() >= 3);
    }
}
