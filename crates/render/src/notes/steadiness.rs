//! What makes the runs of a command unsteady, and how much.

use crate::{uncertain, units};
use analysis::SteadinessFlag;

/// Lists the reasons for unsteady runs, with their sizes.
pub(crate) fn flags(raised: &[SteadinessFlag]) -> String {
    let flag = |flag: &SteadinessFlag| match *flag {
        SteadinessFlag::Correlated { n_runs, n_eff } => {
            format!("correlated ({n_runs} runs are worth {})", uncertain::fixed(n_eff, 0))
        }
        SteadinessFlag::Drifting { change } => format!("drifting {}", change_of(change)),
        SteadinessFlag::Stepped { change, at_run } => {
            format!("stepped {} at run {at_run}", change_of(change))
        }
        SteadinessFlag::Modes { .. } => "more than one mode".into(),
        SteadinessFlag::FloorMoved { spread } => format!("floor moved {}", size_of(spread)),
    };
    raised.iter().map(flag).collect::<Vec<_>>().join(", ")
}

/// Formats a change with its sign: `+3.1 %`.
pub(crate) fn change_of(fraction: f64) -> String {
    let sign = if fraction > 0.0 && fraction < FACTOR_FROM { "+" } else { "" };
    format!("{sign}{}", size_of(fraction))
}

/// Smallest change that is printed as a factor.
const FACTOR_FROM: f64 = 10.0;

/// Formats a size: `0.81 %`, `×12`.
pub(crate) fn size_of(fraction: f64) -> String {
    let factor = 1.0 + fraction;
    match fraction {
        ..FACTOR_FROM => units::percent(fraction),
        ..1e4 => format!("×{}", uncertain::significant(factor, 2)),
        _ => format!("×{factor:.1e}"),
    }
}
