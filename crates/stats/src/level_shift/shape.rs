//! The ways in which a level moves.

/// Shortest spell that is tried: a few disturbed sessions close together are no spell. Two steps that
/// undo each other may be a shorter one.
const SPELL_MIN: usize = 10;
/// Shortest drift. A change within fewer sessions is a step.
const DRIFT_MIN: usize = 16;

/// A movement of the level, by size 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The level changes at `at` and stays.
    Step {
        /// First session of the new level.
        at: usize,
    },
    /// The level is another one for a while, and then the old one again.
    Spell {
        /// First session of the spell.
        from: usize,
        /// First session after it.
        to: usize,
    },
    /// The level moves slowly.
    Drift {
        /// First session that has moved.
        from: usize,
        /// First session of the new level; the number of sessions, if it still moves.
        to: usize,
    },
}

impl Shape {
    /// The first session that is different.
    pub fn start(self) -> usize {
        match self {
            Self::Step { at } => at,
            Self::Spell { from, .. } | Self::Drift { from, .. } => from,
        }
    }

    pub(super) fn n_places(self) -> usize {
        match self {
            Self::Step { .. } => 1,
            Self::Spell { .. } | Self::Drift { .. } => 2,
        }
    }

    /// The places at which the level jumps.
    pub(super) fn jumps(self) -> impl Iterator<Item = usize> {
        let (one, other) = match self {
            Self::Step { at } => (Some(at), None),
            Self::Spell { from, to } => (Some(from), Some(to)),
            Self::Drift { .. } => (None, None),
        };
        one.into_iter().chain(other)
    }

    /// This movement with an end elsewhere.
    pub(super) fn neighbours(self) -> impl Iterator<Item = Self> {
        const MOVES: [usize; 5] = [1, 2, 3, 5, 8];
        let moved =
            |at: usize| MOVES.into_iter().flat_map(move |by| [at.checked_sub(by), Some(at + by)]);
        let all: Vec<Self> = match self {
            Self::Step { at } => moved(at).flatten().map(|at| Self::Step { at }).collect(),
            Self::Spell { from, to } => {
                let starts = moved(from).flatten().map(|from| Self::Spell { from, to });
                starts.chain(moved(to).flatten().map(|to| Self::Spell { from, to })).collect()
            }
            Self::Drift { from, to } => {
                let starts = moved(from).flatten().map(|from| Self::Drift { from, to });
                starts.chain(moved(to).flatten().map(|to| Self::Drift { from, to })).collect()
            }
        };
        all.into_iter()
    }

    /// Whether it lies within `n` sessions and its levels are long enough, also beside others.
    pub(super) fn is_allowed(self, n: usize, level_min: usize, others: &[Self]) -> bool {
        let is_long = match self {
            Self::Step { .. } => true,
            Self::Spell { from, to } => from + SPELL_MIN <= to,
            Self::Drift { from, to } => from + DRIFT_MIN <= to && to <= n,
        };
        let is_inside =
            self.jumps().all(|at| (level_min..=n.saturating_sub(level_min)).contains(&at));
        let is_apart = |at: usize| {
            others.iter().flat_map(|it| it.jumps()).all(|other| at.abs_diff(other) >= level_min)
        };
        is_long && is_inside && self.jumps().all(is_apart)
    }

    /// Level of each of `n` sessions. A drift is the mean of the steps at `from .. to`.
    pub(super) fn levels(self, n: usize) -> Vec<f64> {
        let level = |t: usize| match self {
            Self::Step { at } => f64::from(u8::from(t >= at)),
            Self::Spell { from, to } => f64::from(u8::from((from..to).contains(&t))),
            Self::Drift { from, to } if t >= from => {
                ((t - from + 1) as f64 / (to - from) as f64).min(1.0)
            }
            Self::Drift { .. } => 0.0,
        };
        (0..n).map(level).collect()
    }
}

/// Lengths of the spells that are tried, each half as long again as the one before.
pub(super) fn spell_lengths(n: usize) -> Vec<usize> {
    let next = |length: &usize| Some(length + length / 2);
    std::iter::successors(Some(SPELL_MIN), next).take_while(|length| 2 * length <= n).collect()
}

/// The drifts that are tried: over all sessions, a half, a quarter and an eighth of them.
pub(super) fn drifts(n: usize) -> Vec<Shape> {
    let widths = [n, n / 2, n / 4, n / 8].into_iter().filter(|&width| width >= DRIFT_MIN);
    let of_width = |width: usize| {
        let places = (0..=n - width).step_by((width / 4).max(1));
        places.map(move |from| Shape::Drift { from, to: from + width })
    };
    widths.flat_map(of_width).collect()
}
