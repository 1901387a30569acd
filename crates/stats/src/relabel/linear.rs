//! Statistics that are sums over the pairs, each with the sign of its label.

/// Pairs in one table of sums.
const TABLE_BITS: usize = 8;

/// A sum over the pairs: `w` of a pair if its slot 1 ran the new arm, else `-w`.
///
/// The sums of eight pairs under all of their labels are in a table, so a re-labelling costs one
/// addition for eight pairs.
#[derive(Clone, Debug)]
pub(super) struct SignedSum {
    tables: Vec<[f64; 1 << TABLE_BITS]>,
}

impl SignedSum {
    pub(super) fn new(weights: &[f64]) -> Self {
        let table = |weights: &[f64]| {
            let mut sums = [0.0; 1 << TABLE_BITS];
            for (label, sum) in sums.iter_mut().enumerate() {
                let signed = |(at, w): (usize, &f64)| if label >> at & 1 == 1 { *w } else { -w };
                *sum = weights.iter().enumerate().map(signed).sum();
            }
            sums
        };
        Self { tables: weights.chunks(TABLE_BITS).map(table).collect() }
    }

    pub(super) fn value(&self, labels: &[u64]) -> f64 {
        let bytes = labels.iter().flat_map(|word| word.to_le_bytes());
        self.tables.iter().zip(bytes).map(|(table, byte)| table[usize::from(byte)]).sum()
    }
}
