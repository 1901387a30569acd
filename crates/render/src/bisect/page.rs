//! The page of a search: one HTML file that needs no network and no script, with the curve of all measured commits.
//!
//! Subjects of commits and messages of builds are hostile input: see `render::report`. Here no script is allowed at all.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use crate::bisect::track::{TrackPoint, track};
use crate::bisect::{cost, measured, name, paragraphs, short, word};
use crate::columns::{for_page, one_line};
use crate::quantity::QuantityWords;
use crate::report::{filled, policy};
use crate::units::{counted, short_time, signed_percent};
use model::values::Better;
use search::bisection::{Answer, BisectSearch, Commit, Culprit, Observation};

const TEMPLATE: &str = include_str!("../../assets/bisect/page.html");
const STYLE: &str = concat!(
    include_str!("../../assets/report/style.css"),
    include_str!("../../assets/bisect/curve.css")
);
/// Margins of the curve: left, right, top without the names of commits, bottom.
const MARGINS: [f64; 4] = [64.0, 16.0, 11.0, 40.0];
/// Height of a line of names above the curve, and the width of a letter in it.
const LINE: f64 = 15.0;
const LETTER: f64 = 7.5;
/// Empty part of the range of levels, below and above.
const PAD: f64 = 0.35;
/// Approximate number of grid lines.
const TICKS: f64 = 5.0;

/// The size of a curve: narrow screens show the narrow one.
struct CurveSize {
    class: &'static str,
    width: f64,
    height: f64,
    /// Positions of the numbers below the curve, as shares of its width.
    numbers: &'static [f64],
}

const SIZES: [CurveSize; 2] = [
    CurveSize {
        class: "wide",
        width: 1100.0,
        height: 380.0,
        numbers: &[0.0, 0.25, 0.5, 0.75, 1.0],
    },
    CurveSize { class: "narrow", width: 370.0, height: 320.0, numbers: &[0.0, 0.5, 1.0] },
];

/// Classes of marks, in the order of the legend. A commit without an answer is an end, or only confirmed.
const KEY: [(&str, Option<Answer>); 5] = [
    ("old", Some(Answer::LikeOld)),
    ("new", Some(Answer::LikeNew)),
    ("neither", Some(Answer::Neither)),
    ("open", Some(Answer::Undecided)),
    ("end", None),
];

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
    /// The measured quantity, above the curves.
    label: String,
    /// Class and meaning of the marks in the curves.
    key: Vec<(&'static str, &'static str)>,
    /// The curve in each size.
    curves: Vec<Curve>,
    steps: Vec<StepRow>,
    /// Commits that cannot be built, with the reasons.
    failed: Vec<(String, String)>,
    version: &'static str,
}

/// The curve in units of the picture.
#[derive(Serialize)]
struct Curve {
    class: &'static str,
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
    /// The base line of the text.
    y: f64,
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

/// Writes the page of a finished search. `beginning`: the search before its first step.
pub fn write(
    to: &mut dyn Write,
    search: &BisectSearch,
    beginning: BisectSearch,
    steps: &[StepRecord<'_>],
    quantity: QuantityWords,
) -> Result<()> {
    let template = for_page(|| template(search, beginning, steps, quantity));
    Ok(to.write_all(filled(TEMPLATE, &template)?.as_bytes())?)
}

fn template(
    search: &BisectSearch,
    beginning: BisectSearch,
    steps: &[StepRecord<'_>],
    quantity: QuantityWords,
) -> BisectTemplate {
    let (commits, outcome) = (search.graph().commits(), search.outcome());
    let observations: Vec<&Observation> = steps.iter().map(|step| step.observation).collect();
    let of_values = |it: TrackPoint| it.of_values(quantity.better());
    let points = track(beginning.clone(), &observations).into_iter().map(of_values);
    let points: Vec<TrackPoint> = points.collect();
    let n_between = search.between().len();
    BisectTemplate {
        policy: policy(&[], STYLE),
        style: STYLE,
        title: format!("{} to {}", short(&commits[search.good]), short(&commits[search.bad])),
        class: outcome.culprits.first().map_or("none", class_of),
        sentences: paragraphs(search, quantity).into_iter().map(|(_, text)| text).collect(),
        cost: cost(search),
        key: KEY
            .into_iter()
            .filter(|(_, answer)| points.iter().any(|it| it.answer == *answer))
            .map(|(class, answer)| (class, answer.map_or("an end, or only confirmed", word)))
            .collect(),
        label: format!("{} measured of {}", points.len(), counted(n_between, "commit")),
        curves: SIZES
            .iter()
            .filter(|_| points.len() > 1)
            .map(|size| curve(search, &points, size, quantity.better()))
            .collect(),
        steps: rows(beginning, steps, quantity),
        failed: outcome
            .failed
            .iter()
            .map(|(commit, why)| {
                let why = why.lines().last().unwrap_or_default().trim_start_matches(" | ");
                (name(&commits[*commit]), one_line(why))
            })
            .collect(),
        version: env!("CARGO_PKG_VERSION"),
    }
}

fn rows(
    mut search: BisectSearch,
    steps: &[StepRecord<'_>],
    quantity: QuantityWords,
) -> Vec<StepRow> {
    let mut rows = Vec::new();
    for StepRecord { observation, record } in steps {
        let commits = search.graph().commits();
        let step = match observation {
            Observation::Built { .. } | Observation::Failed { .. } => None,
            Observation::Ends { lo, hi, .. } => {
                Some(("ends", format!("{} {}", short(&commits[*lo]), short(&commits[*hi]))))
            }
            Observation::Probe { commit, .. } => Some(("probe", name(&commits[*commit]))),
            Observation::Confirm { base, head, .. } => {
                Some(("confirm", format!("{} {}", short(&commits[*base]), name(&commits[*head]))))
            }
            Observation::Layouts { head, .. } => Some(("layouts", name(&commits[*head]))),
        };
        let measured = measured(&search, observation, quantity);
        if let Some(((what, commit), (answer, seconds))) = step.zip(measured) {
            let record = record.map(one_line).unwrap_or_default();
            let is_measured = seconds > 0.0;
            let seconds = if is_measured { short_time(seconds * 1e9) } else { String::new() };
            rows.push(StepRow { what, commit, answer, seconds, record });
        }
        search.take(observation);
    }
    rows
}

/// Positions of commits and levels in the picture.
struct CurveScale<'a> {
    size: &'a CurveSize,
    /// Upper end of the curve, below the names of commits.
    top: f64,
    /// The commits in order, after GOOD.
    between: Vec<usize>,
    good: usize,
    /// Lowest and highest level.
    range: (f64, f64),
}

impl<'a> CurveScale<'a> {
    fn of(search: &BisectSearch, points: &[TrackPoint], size: &'a CurveSize) -> Self {
        let (mut least, mut most) = (0.0_f64, 0.0_f64);
        points.iter().for_each(|it| (least, most) = (least.min(it.level), most.max(it.level)));
        let pad = PAD * (most - least).max(0.005);
        let (between, good, range) = (search.between(), search.good, (least - pad, most + pad));
        Self { size, top: MARGINS[2], between, good, range }
    }

    fn x(&self, commit: usize) -> f64 {
        let number = match commit == self.good {
            true => 0,
            false => 1 + self.between.partition_point(|other| *other < commit),
        };
        self.x_of_share(number as f64 / self.n())
    }

    fn x_of_share(&self, share: f64) -> f64 {
        MARGINS[0] + share.min(1.0) * (self.size.width - MARGINS[0] - MARGINS[1])
    }

    fn n(&self) -> f64 {
        self.between.len().max(1) as f64
    }

    fn y(&self, level: f64) -> f64 {
        let (least, most) = self.range;
        let share = (level.clamp(least, most) - least) / (most - least);
        let bottom = self.size.height - MARGINS[3];
        bottom - share * (bottom - self.top)
    }

    /// The names of the culprits, each in the first line with room, and the number of lines.
    fn culprits(
        &self,
        commits: &[Commit],
        changes: &[Culprit],
        better: Better,
    ) -> (Vec<CurveCulprit>, usize) {
        // The occupied parts of each line.
        let mut lines: Vec<Vec<(f64, f64)>> = Vec::new();
        let mut placed = |culprit: &Culprit| {
            let size = signed_percent(better.turned(culprit.size.ratio));
            let text = format!("{} {size}", short(&commits[culprit.head]));
            let (x, long) = (self.x(culprit.head), LETTER * text.len() as f64);
            let is_left = x > self.size.width / 2.0;
            let (from, to) = if is_left { (x - long, x) } else { (x, x + long) };
            let is_free = |line: &Vec<(f64, f64)>| line.iter().all(|it| it.1 < from || to < it.0);
            let line = lines.iter().position(is_free).unwrap_or(lines.len());
            if line == lines.len() {
                lines.push(Vec::new());
            }
            lines[line].push((from, to));
            let (anchor, y) = (if is_left { "end" } else { "start" }, LINE * (line + 1) as f64);
            CurveCulprit { x, y: y - 1.0, anchor, class: class_of(culprit), text }
        };
        let culprits = changes.iter().map(&mut placed).collect();
        (culprits, lines.len())
    }
}

fn curve(search: &BisectSearch, points: &[TrackPoint], size: &CurveSize, better: Better) -> Curve {
    let mut scale = CurveScale::of(search, points, size);
    let (commits, outcome) = (search.graph().commits(), search.outcome());
    let (culprits, n_lines) = scale.culprits(commits, &outcome.culprits, better);
    scale.top += LINE * n_lines as f64;
    let skipped = |&commit: &usize| CurveTick { at: scale.x(commit), text: name(&commits[commit]) };
    let number = |&share: &f64| {
        let number = (share * scale.n()).round();
        CurveTick { at: scale.x_of_share(number / scale.n()), text: number.to_string() }
    };
    let tick = |level: f64| CurveTick { at: scale.y(level.ln_1p()), text: percents(level) };
    Curve {
        class: size.class,
        width: size.width,
        height: size.height,
        left: MARGINS[0],
        right: size.width - MARGINS[1],
        bottom: size.height - MARGINS[3],
        ticks: ticks(scale.range.0, scale.range.1).map(tick).collect(),
        numbers: size.numbers.iter().map(number).collect(),
        marks: points.iter().map(|it| mark(&scale, it, &commits[it.commit])).collect(),
        culprits,
        failed: outcome.failed.keys().map(skipped).collect(),
    }
}

fn mark(scale: &CurveScale<'_>, it: &TrackPoint, commit: &Commit) -> CurveMark {
    let (lower, upper) = it.ends.unwrap_or((it.level, it.level));
    let answer = it.answer.map_or(String::new(), |answer| format!(", {}", word(answer)));
    let level = signed_percent(it.level.exp());
    CurveMark {
        x: scale.x(it.commit),
        y: scale.y(it.level),
        top: scale.y(upper),
        bottom: scale.y(lower),
        class: class(it.answer),
        title: format!("{}: {level} than good{answer}", name(commit)),
    }
}

fn class_of(culprit: &Culprit) -> &'static str {
    if culprit.is_layout() {
        "undecided"
    } else if culprit.size.ratio > 1.0 {
        "slower"
    } else {
        "faster"
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
    KEY.iter().find(|(_, of)| *of == answer).map_or("end", |(class, _)| *class)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_has_round_shares() {
        let values: Vec<f64> = ticks(-0.01, 0.06).collect();
        let text: Vec<String> = values.iter().map(|share| percents(*share)).collect();
        assert_eq!(text, ["good", "+2.0 %", "+4.0 %", "+6.0 %"]);
        assert!(ticks(0.0, 0.004).count() >= 3);
    }
}
