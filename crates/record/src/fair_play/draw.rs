//! Draws the inputs for attempts and for confirmations, and the number of each block.

use stats::Stream;

/// A half of the inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Half {
    #[default]
    Try,
    /// Held back for confirmations.
    Confirm,
}

/// Separates the random stream of inputs from the stream of numbers.
const INPUT_STREAM: u64 = 0x1f83_d9ab_fb41_bd6b;
const CONFIRM_STREAM: u64 = 0x5be0_cd19_137e_2179;
/// Number of distinct numbers, then they repeat. A session has fewer blocks.
const N_SEEDS: usize = 1000;
/// Numbers are below this, so every program can read them.
const SEEDS_END: u64 = 1 << 31;

/// One half of the inputs, in block order.
pub fn half_of(inputs: &[String], half: Half, seed: u64) -> Vec<String> {
    let order = Stream::new(seed ^ INPUT_STREAM).permutation(inputs.len());
    let (tries, confirmations) = order.split_at(inputs.len().div_ceil(2));
    let half = if half == Half::Try { tries } else { confirmations };
    half.iter().map(|&index| inputs[index].clone()).collect()
}

pub fn seeds(half: Half, seed: u64) -> Vec<String> {
    let half = if half == Half::Try { 0 } else { CONFIRM_STREAM };
    let mut stream = Stream::new(seed ^ half);
    (0..N_SEEDS).map(|_| stream.below(SEEDS_END).to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_halves_have_nothing_in_common() {
        let inputs: Vec<String> = (0..7).map(|n| n.to_string()).collect();
        let [tries, confirmations] =
            [Half::Try, Half::Confirm].map(|half| half_of(&inputs, half, 9));
        assert_eq!((tries.len(), confirmations.len()), (4, 3));
        let mut all = [tries.clone(), confirmations].concat();
        all.sort();
        assert_eq!(all, inputs);
        assert_ne!(half_of(&inputs, Half::Try, 10), tries);
        assert_ne!(seeds(Half::Try, 9), seeds(Half::Confirm, 9));
    }
}
