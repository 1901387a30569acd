//! The value of `stats --tim`: the parameters of the program `tim`.

use std::str::FromStr;

use serde::Serialize;

/// tim's options K, N, M and O, as `K,N,M` or `K,N,M,O`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TimShape {
    /// Order of the endpoint in a window. Over all runs the order is `2 k`.
    pub k: usize,
    /// Runs in a window. tim raises it to at least `2 k + 1`.
    pub n: usize,
    pub m: usize,
    /// Runs in a window of the overhead, if above `n`. 0 subtracts no overhead.
    pub n_overhead: usize,
}

const NUMBER_MAX: usize = 1_000_000;

/// Default of O, as in tim.
const N_OVERHEAD: usize = 6;

impl TimShape {
    /// Runs of a command, without warm-ups.
    pub fn n_runs(self) -> usize {
        self.n * self.m
    }

    pub fn for_overhead(self) -> Self {
        Self { n: self.n.max(self.n_overhead), ..self }
    }
}

impl FromStr for TimShape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{text:?} is not K,N,M[,O], whole numbers such as 1,6,4 (a record goes before a bare --tim)"
            )
        };
        let numbers: Result<Vec<usize>, _> = text.split(',').map(str::parse).collect();
        let (k, n, m, n_overhead) = match numbers.as_deref() {
            Ok(&[k, n, m]) => (k, n, m, N_OVERHEAD),
            Ok(&[k, n, m, n_overhead]) => (k, n, m, n_overhead),
            _ => return Err(wrong()),
        };
        if [k, n, m].contains(&0) || [k, n, m, n_overhead].iter().any(|&x| x > NUMBER_MAX) {
            return Err(wrong());
        }
        let shape = Self { k, n: n.max(2 * k + 1), m, n_overhead };
        if shape.n_runs() < 4 * k {
            let n_runs = shape.n_runs();
            return Err(format!(
                "{m} x {} = {n_runs} runs are too few: K = {k} takes {}",
                shape.n,
                4 * k
            ));
        }
        Ok(shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: [usize; 4]) {
        let [k, n, m, n_overhead] = expected;
        assert_eq!(text.parse(), Ok(TimShape { k, n, m, n_overhead }), "{text}");
    }

    #[test]
    fn shapes_are_those_of_tim() {
        check("1,6,4", [1, 6, 4, 6]);
        check("2,3,4,0", [2, 5, 4, 0]);
        check("3,6,4,30", [3, 7, 4, 30]);
        assert_eq!("1,6,4".parse::<TimShape>().unwrap().n_runs(), 24);
        assert_eq!("1,4,4".parse::<TimShape>().unwrap().for_overhead().n_runs(), 24);
    }

    #[test]
    fn wrong_shapes_are_refused() {
        for text in
            ["", "1,6", "1,6,4,6,1", "0,6,4", "1,0,4", "1,6,0", "r.swell", "1,-6,4", "1,6,9999999"]
        {
            assert!(text.parse::<TimShape>().unwrap_err().contains("K,N,M"), "{text}");
        }
        // tim itself panics here: index out of bounds.
        assert!("2,3,1".parse::<TimShape>().unwrap_err().contains("too few"));
    }
}
