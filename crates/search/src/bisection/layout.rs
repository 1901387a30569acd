//! Does a change of time come from the source, or only from where the linker put the code?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bisection::answer::Relation;

/// The explanation of a confirmed change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LayoutVerdict {
    /// The commit also changes the mean time over the link orders.
    Source,
    /// The mean over the link orders shows no change, and certainly not the whole one: the commit moved code.
    Layout,
    /// The link orders differ too much to tell.
    Unclear,
    /// There were no other link orders to measure.
    NotRelinked,
}

/// The result of several link orders for a confirmed commit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LayoutFinding {
    pub verdict: LayoutVerdict,
    /// Number of link orders.
    pub n: usize,
    /// The commit against its parent in the mean of the link orders; the interval is for link orders like these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<Relation>,
    /// Why there were no other link orders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl LayoutFinding {
    /// The finding from `n` link orders on a change of this size.
    pub fn of(size: &Relation, over: Relation, n: usize) -> Self {
        Self { verdict: verdict(size, &over), n, over: Some(over), why: None }
    }

    /// The build has no other link orders.
    pub fn not_relinked(why: String) -> Self {
        Self { verdict: LayoutVerdict::NotRelinked, n: 0, over: None, why: Some(why) }
    }
}

fn verdict(size: &Relation, over: &Relation) -> LayoutVerdict {
    let (Some(lo), Some(hi)) = (over.lo, over.hi) else { return LayoutVerdict::Unclear };
    // In the direction of the change.
    let (lo, hi) = if size.theta() < 0.0 { (-hi.ln(), -lo.ln()) } else { (lo.ln(), hi.ln()) };
    if lo > 0.0 {
        LayoutVerdict::Source
    } else if hi < size.theta().abs() {
        LayoutVerdict::Layout
    } else {
        LayoutVerdict::Unclear
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bisection::fixture::relation;

    #[test]
    fn link_orders_tell_moved_code_from_slower_code() {
        let check = |size: f64, over: Relation, expected| {
            assert_eq!(LayoutFinding::of(&relation(size, 0.2), over, 8).verdict, expected);
        };
        check(5.0, relation(4.8, 0.5), LayoutVerdict::Source);
        check(5.0, relation(0.1, 0.5), LayoutVerdict::Layout);
        check(5.0, relation(1.0, 3.5), LayoutVerdict::Layout);
        check(5.0, relation(3.0, 3.5), LayoutVerdict::Unclear);
        check(-5.0, relation(-4.8, 0.5), LayoutVerdict::Source);
        check(-5.0, relation(0.2, 0.5), LayoutVerdict::Layout);
        // The opposite direction in other link orders: not the confirmed change.
        check(5.0, relation(-2.0, 0.5), LayoutVerdict::Layout);
        check(5.0, Relation { lo: None, ..relation(5.0, 0.1) }, LayoutVerdict::Unclear);
    }
}
