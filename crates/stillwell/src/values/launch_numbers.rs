//! Numbers of launches in an option: `1-3,7`.

use std::ops::RangeInclusive;
use std::str::FromStr;

/// Numbers of launches, from 1: `1-3,7`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchNumbers(Vec<RangeInclusive<usize>>);

impl LaunchNumbers {
    /// Whether the list has this number.
    pub fn contains(&self, number: usize) -> bool {
        self.0.iter().any(|range| range.contains(&number))
    }
}

impl FromStr for LaunchNumbers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |part: &str| format!("{part:?} is not a number from 1 or a range such as 1-3");
        let ranges = text.split(',').map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number =
                |text: &str| text.trim().parse::<usize>().ok().filter(|&number| number > 0);
            match (number(first), number(last)) {
                (Some(first), Some(last)) if first <= last => Ok(first..=last),
                _ => Err(wrong(part)),
            }
        });
        ranges.collect::<Result<_, _>>().map(Self)
    }
}
