//! The size of a difference in words.

use crate::quantity::QuantityWords;
use crate::ratios::percent_ends;
use crate::units::percent;

/// A ratio of costs as a size of the values: `3.1 % slower (2.6 to 3.6 %)`; without an interval `about 3.1 % slower`.
pub(crate) fn size_of(ratio: f64, ends: Option<(f64, f64)>, quantity: QuantityWords) -> String {
    let [worse, better, _] = quantity.judged_in_lists();
    let word = if ratio >= 1.0 { worse } else { better };
    let ratio = quantity.better().turned(ratio);
    let sign = if ratio >= 1.0 { 1.0 } else { -1.0 };
    let Some((lo, hi)) = ends else {
        return format!("about {} {word}", percent(sign * (ratio - 1.0)));
    };
    let shares = [lo, hi].map(|end| sign * (quantity.better().turned(end) - 1.0));
    let (lo, hi) = (shares[0].min(shares[1]), shares[0].max(shares[1]));
    let (share, ends) = percent_ends([sign * (ratio - 1.0), lo, hi]);
    format!("{share} {word} ({ends})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::spec::run::ValueOptions;
    use model::values::{Better, DecideOn};

    #[test]
    fn only_a_time_is_slower() {
        let throughput = QuantityWords::Value(Better::Higher);
        let size =
            |ratio: f64, quantity| size_of(ratio, Some((ratio - 0.02, ratio + 0.02)), quantity);
        assert_eq!(size(1.12, QuantityWords::Time), "12.0 % slower (10.0 to 14.0 %)");
        assert_eq!(size(0.88, QuantityWords::Time), "12.0 % faster (10.0 to 14.0 %)");
        assert_eq!(
            size(1.12, QuantityWords::Value(Better::Lower)),
            "12.0 % worse (10.0 to 14.0 %)"
        );
        // A ratio of costs, and the sizes of the values.
        assert_eq!(size_of(1.25, None, throughput), "about 20 % worse");
        let of_costs = [1.12, 1.14, 1.10].map(|ratio| 1.0 / ratio);
        let shown = size_of(of_costs[0], Some((of_costs[1], of_costs[2])), throughput);
        assert_eq!(shown, "12.0 % better (10.0 to 14.0 %)");
    }

    #[test]
    fn the_options_say_what_is_compared() {
        let of = |decide_on, value: Option<&str>, unit: Option<&str>| {
            let [value, value_unit] = [value, unit].map(|text| text.map(String::from));
            let value_better = value.is_some().then_some(Better::Lower);
            let value = ValueOptions { value, value_unit, value_better, ..ValueOptions::default() };
            QuantityWords::of_options(decide_on, &value)
        };
        assert_eq!(of(None, None, None), QuantityWords::Time);
        assert_eq!(of(None, Some("(.*)"), None), QuantityWords::Value(Better::Lower));
        assert_eq!(of(None, Some("(.*)"), Some("ms")), QuantityWords::Time);
        assert!(!of(Some(DecideOn::Maxrss), None, None).is_time());
    }
}
