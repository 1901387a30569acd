//! The deciles of two arms in text: ratios with bands, a picture around 1, and the distances between the distributions.

use std::fmt::Write as _;

use crate::columns::{columns, width, wrap_at};
use crate::quantity::QuantityWords;
use crate::uncertain;
use analysis::NoTest;
use analysis::distributions::{Band, Decile, Distances, Distributions, PairedDistributions};
use record::plan::Plan;

const INDENT: usize = 8;
/// Decimals of ratios without bands. The narrowest band determines the others.
const DECIMALS: usize = 4;
const DECIMALS_MAX: usize = 6;
/// Ratios without a power of ten.
const PLAIN: std::ops::Range<f64> = 1e-4..1e5;
/// Least width of the picture, columns.
const PICTURE_MIN: usize = 12;

/// The deciles of `new` ÷ `old`, which are short names. With a control, the text says that nothing is subtracted.
pub(super) fn text(new: &str, old: &str, plan: &Plan, distributions: &Distributions) -> String {
    let mut out = String::new();
    let measured = if plan.control.is_some() { " as measured" } else { "" };
    let of = format!("deciles of {new} ÷ those of {old}{measured}");
    match distributions {
        Distributions::Paired(paired) => {
            let level = uncertain::trimmed((1.0 - paired.alpha) * 100.0, 6);
            let band = format!("with a band that holds all nine at {level} %");
            wrap_at(&mut out, INDENT, &format!("{of}, {band}:"));
            table(&mut out, &paired.deciles);
            wrap_at(&mut out, INDENT, &where_they_differ(&paired.deciles, plan));
            distances(&mut out, paired);
        }
        Distributions::Unpaired { deciles, because } => {
            wrap_at(&mut out, INDENT, &format!("{of}:"));
            table(&mut out, deciles);
            wrap_at(&mut out, INDENT, &format!("no band and no p: {}", no_band(*because)));
        }
    }
    out
}

fn no_band(because: NoTest) -> &'static str {
    match because {
        NoTest::Sequential => {
            "the runs were not interleaved, so nothing says how far apart the deciles of one program would be"
        }
        _ => {
            "separate sessions are not exchangeable, so nothing says how far apart the deciles of one program \
             would be"
        }
    }
}

/// Appends the scale of the picture, then one line for each decile.
fn table(out: &mut String, deciles: &[Decile]) {
    let decimals = decimals(deciles);
    let ratio = |ratio: f64| number(ratio, decimals);
    let rows: Vec<String> = deciles
        .iter()
        .map(|decile| {
            let share = uncertain::fixed(decile.share * 100.0, 0);
            let band =
                decile.band.map(|band| format!("  [{}, {}]", ratio(band.lo), ratio(band.hi)));
            format!("{share} %  {}{}", ratio(decile.ratio), band.unwrap_or_default())
        })
        .collect();
    let text_columns = rows.iter().map(|row| width(row)).max().unwrap_or(0);
    let picture_columns = columns().saturating_sub(INDENT + text_columns + 2);
    let picture = Picture::of(deciles, picture_columns);
    if let Some(picture) = &picture {
        writeln!(out, "{:1$}{2}", "", INDENT + text_columns + 2, picture.scale(ratio)).ok();
    }
    for (decile, row) in deciles.iter().zip(rows) {
        let drawn = picture.as_ref().map(|picture| picture.row(decile)).unwrap_or_default();
        let text = format!("{:INDENT$}{row:<text_columns$}  {drawn}", "");
        writeln!(out, "{}", text.trim_end()).ok();
    }
}

/// A ratio; very large or small ones have a power of ten to save room.
fn number(ratio: f64, decimals: usize) -> String {
    if PLAIN.contains(&ratio) { uncertain::fixed(ratio, decimals) } else { format!("{ratio:.1e}") }
}

/// Decimals that show two digits of the narrowest band's width.
fn decimals(deciles: &[Decile]) -> usize {
    let of = |decile: &Decile| {
        let band = decile.band?;
        uncertain::decimals(decile.ratio, Some((band.hi - band.lo) / 2.0))
    };
    deciles.iter().filter_map(of).max().unwrap_or(DECIMALS).min(DECIMALS_MAX)
}

/// A logarithmic scale of ratios that contains 1 and all deciles with their bands.
struct Picture {
    lo: f64,
    hi: f64,
    columns: usize,
}

impl Picture {
    /// `None` if there is no room, or if the ratios span no scale.
    fn of(deciles: &[Decile], columns: usize) -> Option<Self> {
        let ends =
            |decile: &Decile| decile.band.unwrap_or(Band { lo: decile.ratio, hi: decile.ratio });
        let lo = deciles.iter().map(|decile| ends(decile).lo).fold(1.0, f64::min);
        let hi = deciles.iter().map(|decile| ends(decile).hi).fold(1.0, f64::max);
        let is_scale = lo > 0.0 && lo < hi && hi.is_finite();
        (is_scale && columns >= PICTURE_MIN).then_some(Self { lo, hi, columns })
    }

    fn column(&self, ratio: f64) -> usize {
        let share = (ratio / self.lo).ln() / (self.hi / self.lo).ln();
        (share * (self.columns - 1) as f64).round() as usize
    }

    /// The numbers of the scale: the two ends and 1, unless they would overlap.
    fn scale(&self, number: impl Fn(f64) -> String) -> String {
        let mut cells = vec![' '; self.columns];
        let (lo, hi) = (number(self.lo), number(self.hi));
        let one = self.column(1.0);
        cells[one] = '1';
        let is_free = |cells: &[char]| cells.iter().all(|&cell| cell == ' ');
        let mut put = |at: usize, text: &str| {
            let until = at + text.len();
            // At least one space separates neighbours.
            if until <= cells.len()
                && is_free(&cells[at.saturating_sub(1)..(until + 1).min(cells.len())])
            {
                cells.splice(at..until, text.chars());
            }
        };
        put(0, &lo);
        put(self.columns.saturating_sub(hi.len()), &hi);
        cells.into_iter().collect::<String>().trim_end().to_owned()
    }

    /// A row of the picture: a line for the band, a dot for the ratio, a bar at 1.
    fn row(&self, decile: &Decile) -> String {
        let mut cells = vec![' '; self.columns];
        if let Some(band) = decile.band {
            cells[self.column(band.lo)..=self.column(band.hi)].fill('─');
        }
        let one = &mut cells[self.column(1.0)];
        *one = if *one == '─' { '┼' } else { '│' };
        cells[self.column(decile.ratio)] = '●';
        cells.into_iter().collect()
    }
}

/// The deciles whose band is without 1: `slower at 60 % … 90 %; 1 is in the band of the others`.
fn where_they_differ(deciles: &[Decile], plan: &Plan) -> String {
    let [worse, better, _] = QuantityWords::of(plan).judged_in_lists();
    let [more, less] =
        if plan.policy.better.is_lower() { [worse, better] } else { [better, worse] };
    let side = |decile: &Decile| match decile.band {
        Some(band) if band.lo > 1.0 => more,
        Some(band) if band.hi < 1.0 => less,
        _ => "",
    };
    let groups =
        deciles.chunk_by(|a, b| side(a) == side(b)).filter(|group| !side(&group[0]).is_empty());
    let share = |decile: &Decile| format!("{} %", uncertain::fixed(decile.share * 100.0, 0));
    let moved: Vec<String> = groups
        .map(|group| match group {
            [only] => format!("{} at {}", side(only), share(only)),
            [first, .., last] => format!("{} at {} … {}", side(first), share(first), share(last)),
            [] => String::new(),
        })
        .collect();
    if moved.is_empty() {
        "1 is in the band of every decile".into()
    } else if deciles.iter().all(|decile| !side(decile).is_empty()) {
        moved.join(", ")
    } else {
        format!("{}; 1 is in the band of the others", moved.join(", "))
    }
}

fn distances(out: &mut String, paired: &PairedDistributions) {
    const NAME: usize = 20;
    const VALUE: usize = 22;
    writeln!(out, "{:1$}{2:<VALUE$}of the shape", "", INDENT + NAME, "any difference").ok();
    let mut row = |name: &str, of: &dyn Fn(&Distances) -> String| {
        let (any, shape) = (of(&paired.difference), of(&paired.shape));
        writeln!(out, "{:INDENT$}{name:<NAME$}{any:<VALUE$}{shape}", "").ok();
    };
    let chance = |p: f64| format!("p = {}", uncertain::trimmed(p, 2));
    row("Kolmogorov-Smirnov", &|distances| {
        let test = distances.kolmogorov_smirnov;
        format!("{:>6}  {}", uncertain::fixed(test.value, 3), chance(test.p))
    });
    row("Anderson-Darling", &|distances| match distances.anderson_darling {
        Some(test) => format!("{:>6}  {}", uncertain::fixed(test.value, 2), chance(test.p)),
        None => "all times are equal".into(),
    });
    let mut note = "of the shape: with one ratio taken out, 1, the floor's or the typical one, whichever explains most; p \
                    by re-labelling, for display: the verdict is the one above"
        .to_owned();
    if paired.n_pairs < paired.n_pairs_of {
        write!(note, "; from {} of {} pairs, evenly spaced", paired.n_pairs, paired.n_pairs_of)
            .ok();
    }
    wrap_at(out, INDENT, &note);
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::distributions::DistributionDistance;
    use model::values::{Better, DecideOn, ValueUnit};
    use record::fixture::record;

    fn decile(number: u32, lo: f64, ratio: f64, hi: f64) -> Decile {
        Decile { share: f64::from(number) / 10.0, ratio, band: Some(Band { lo, hi }) }
    }

    fn distances(d: f64, p: f64) -> Distances {
        let anderson_darling = Some(DistributionDistance { value: d * 50.0 - 1.0, p });
        Distances { kolmogorov_smirnov: DistributionDistance { value: d, p }, anderson_darling }
    }

    fn paired(deciles: Vec<Decile>) -> PairedDistributions {
        PairedDistributions {
            n_pairs: 120,
            n_pairs_of: 120,
            alpha: 0.01,
            deciles,
            typical_ratio: 1.0415,
            difference: distances(0.31, 0.0005),
            shape: distances(0.012, 0.42),
        }
    }

    #[track_caller]
    fn show(paired: PairedDistributions) -> String {
        show_of(&record(&["old", "new"]).header.plan, paired)
    }

    #[track_caller]
    fn show_of(plan: &Plan, paired: PairedDistributions) -> String {
        let text = text("2", "1", plan, &Distributions::Paired(paired));
        for line in text.lines() {
            assert!(width(line) <= columns(), "{} columns: {line}", width(line));
            assert_eq!(line.trim_end(), line);
        }
        text
    }

    #[test]
    fn a_slow_tail_is_seen_at_a_glance() {
        let deciles = (1..=9).map(|number| {
            let ratio = 1.0 + 0.0015 * f64::from(number).powi(2);
            decile(number, ratio - 0.02, ratio, ratio + 0.02)
        });
        insta::assert_snapshot!(show(PairedDistributions {
            n_pairs_of: 5000,
            ..paired(deciles.collect())
        }));
    }

    #[test]
    fn which_deciles_moved() {
        let is = |sides: [i32; 9], expected: &str| {
            let deciles = (1..).zip(sides).map(|(number, side)| {
                let ratio = 1.0 + 0.1 * f64::from(side);
                decile(number, ratio - 0.05, ratio, ratio + 0.05)
            });
            let text = show(paired(deciles.collect()));
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains(&format!("{expected} any difference")), "{text}");
        };
        is([0; 9], "1 is in the band of every decile");
        is([1; 9], "slower at 10 % … 90 %");
        is([0, 0, 0, 0, 0, 0, 0, 0, -1], "faster at 90 %; 1 is in the band of the others");
        let both = "faster at 10 % … 20 %, slower at 80 % … 90 %; 1 is in the band of the others";
        is([-1, -1, 0, 0, 0, 0, 0, 1, 1], both);
    }

    #[test]
    fn more_of_a_value_is_better_where_higher_is() {
        let mut plan = record(&["old", "new"]).header.plan;
        plan.policy.decide_on = Some(DecideOn::Value);
        plan.arms.iter_mut().for_each(|arm| arm.unit = ValueUnit::Count);
        for (better, expected) in [(Better::Higher, "better at"), (Better::Lower, "worse at")] {
            plan.policy.better = better;
            let deciles = (1..=9).map(|number| decile(number, 1.1, 1.2, 1.3)).collect();
            let text = show_of(&plan, paired(deciles));
            assert!(text.contains(&format!("{expected} 10 % … 90 %")), "{text}");
        }
    }

    #[test]
    fn equal_times_and_ratios_out_of_proportion() {
        let equal = Distances { anderson_darling: None, ..distances(0.0, 1.0) };
        let deciles: Vec<_> = (1..=9).map(|number| decile(number, 1.0, 1.0, 1.0)).collect();
        let text = show(PairedDistributions { difference: equal, shape: equal, ..paired(deciles) });
        assert!(text.contains("10 %  1.0000  [1.0000, 1.0000]\n"), "{text}");
        assert!(
            text.contains("Anderson-Darling    all times are equal   all times are equal\n"),
            "{text}"
        );
        let deciles = (1..=9).map(|number| decile(number, 1e-300, 1e7, 1e300));
        show(paired(deciles.collect()));
        let deciles = (1..=9).map(|number| decile(number, 0.5, 1e7, f64::INFINITY));
        show(paired(deciles.collect()));
    }

    #[test]
    fn without_a_test_there_are_ratios_and_a_reason() {
        let decile = |number| Decile { share: f64::from(number) / 10.0, ratio: 1.1, band: None };
        let deciles: Vec<_> = (1..=9).map(decile).collect();
        let show = |plan: &Plan, because| {
            let distributions = Distributions::Unpaired { deciles: deciles.clone(), because };
            text("new", "old", plan, &distributions)
        };
        let plan = record(&["old"]).header.plan;
        let separate = show(&plan, NoTest::SeparateRecords);
        assert!(separate.starts_with("        deciles of new ÷ those of old:\n"), "{separate}");
        assert!(separate.contains("no band and no p: separate sessions"), "{separate}");
        assert!(show(&plan, NoTest::Sequential).contains("not interleaved"));
        let with_shell = record(&["a | b", "c"]).header.plan;
        assert!(show(&with_shell, NoTest::Sequential).contains("÷ those of old as measured:\n"));
    }
}
