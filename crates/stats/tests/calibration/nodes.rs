//! Generators of pools: the log ratios of the pairs of each node.

use stillwell_stats::Stream;

use crate::noise::normal;

/// Noise of the nodes of a pool. Both arms are the same program.
#[derive(Clone, Copy, Debug)]
pub enum NodeNoise {
    /// Student's t with 2 degrees of freedom; as many pairs on each node.
    Tails,
    /// Cauchy's distribution, which has no mean; a node has 1, 4 or 16 times as many pairs.
    Wild,
    /// As `Tails`, but a node has 1, 3 or 9 times the noise and 1, 2 or 3 times as many pairs.
    Unequal,
}

/// A pool: its nodes, the pairs of the first node, the noise.
#[derive(Clone, Copy, Debug)]
pub struct PoolShape {
    pub n_nodes: usize,
    pub n_pairs: usize,
    pub noise: NodeNoise,
}

/// Number of nodes from 2 to 8, few pairs or many, each kind of noise.
pub fn pool_shapes() -> Vec<PoolShape> {
    let mut shapes = Vec::new();
    for noise in [NodeNoise::Tails, NodeNoise::Wild, NodeNoise::Unequal] {
        for (n_nodes, n_pairs) in [(2, 6), (3, 30), (4, 7), (5, 4), (8, 4)] {
            shapes.push(PoolShape { n_nodes, n_pairs, noise });
        }
    }
    shapes
}

impl PoolShape {
    /// Log ratios of all pairs, by node. `between` is the standard deviation of the true log ratios
    /// of the nodes around `mean`.
    pub fn groups(self, stream: &mut Stream, mean: f64, between: f64) -> Vec<Vec<f64>> {
        let node = |at: usize| {
            let level = mean + between * normal(stream);
            let factors = match self.noise {
                NodeNoise::Tails => [1, 1, 1],
                NodeNoise::Wild => [1, 4, 16],
                NodeNoise::Unequal => [1, 2, 3],
            };
            (0..self.n_pairs * factors[at % 3])
                .map(|_| level + self.run(stream, at) - self.run(stream, at))
                .collect()
        };
        (0..self.n_nodes).map(node).collect()
    }

    /// Log time of a run, without a constant.
    fn run(self, stream: &mut Stream, node: usize) -> f64 {
        // Two degrees of freedom: a normal variable divided by the root of an exponential one.
        let heavy = |stream: &mut Stream| normal(stream) / (-(1.0 - stream.unit()).ln()).sqrt();
        match self.noise {
            NodeNoise::Tails => 0.01 * heavy(stream),
            NodeNoise::Wild => 0.01 * normal(stream) / normal(stream),
            NodeNoise::Unequal => 0.01 * [1.0, 3.0, 9.0][node % 3] * heavy(stream),
        }
    }
}
