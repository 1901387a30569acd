//! New ÷ reference, block by block.

use serde::Serialize;
use stats::SortedSample;

/// Number of slices if a page cannot show every block.
const SLICES: usize = 200;
/// Number of blocks with the largest and the smallest ratio that are shown beside the slices.
const EXTREMES: usize = 25;
/// Quantiles between which a ratio is typical.
const TYPICAL: [f64; 2] = [0.025, 0.975];

/// Ratios in the order of the blocks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BlockRatios {
    /// The 2.5 % and 97.5 % quantiles of the ratios; `None` without ratios.
    pub typical: Option<[f64; 2]>,
    pub blocks: Blocks,
}

/// The ratio in each block, or in slices of blocks.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Blocks {
    /// Every block.
    All { block: Vec<usize>, ratio: Vec<f64> },
    /// Slices of all blocks, and the blocks with extreme ratios.
    Sliced {
        n: usize,
        slices: Vec<PairSlice>,
        /// Numbers of the blocks with extreme ratios.
        block: Vec<usize>,
        /// Ratio in each of these blocks.
        ratio: Vec<f64>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PairSlice {
    /// First and last block.
    pub blocks: [usize; 2],
    /// Blocks with a ratio.
    pub n: usize,
    /// Smallest, 25 %, median, 75 %, largest.
    pub quantiles: [f64; 5],
}

/// The ratios of blocks, which must be in order.
pub fn pairs(ratios: &[(usize, f64)], n_max: usize) -> BlockRatios {
    let all: Vec<f64> = ratios.iter().map(|pair| pair.1).collect();
    let typical =
        SortedSample::new(&all).ok().map(|sorted| TYPICAL.map(|share| sorted.quantile(share)));
    if ratios.len() <= n_max {
        let (block, ratio) = ratios.iter().copied().unzip();
        return BlockRatios { typical, blocks: Blocks::All { block, ratio } };
    }
    let slice = |part: &[(usize, f64)]| {
        let values: Vec<f64> = part.iter().map(|pair| pair.1).collect();
        let sorted = SortedSample::new(&values).ok()?;
        let quantiles = [0.0, 0.25, 0.5, 0.75, 1.0].map(|p| sorted.quantile(p));
        Some(PairSlice { blocks: [part[0].0, part[part.len() - 1].0], n: part.len(), quantiles })
    };
    let slices = ratios.chunks(ratios.len().div_ceil(SLICES)).filter_map(slice).collect();
    let mut by_ratio = ratios.to_vec();
    by_ratio.sort_by(|a, b| a.1.total_cmp(&b.1));
    let ends = by_ratio.iter().take(EXTREMES).chain(by_ratio.iter().rev().take(EXTREMES));
    let mut extremes: Vec<(usize, f64)> = ends.copied().collect();
    extremes.sort_by_key(|pair| pair.0);
    let (block, ratio) = extremes.into_iter().unzip();
    BlockRatios { typical, blocks: Blocks::Sliced { n: ratios.len(), slices, block, ratio } }
}
