//! The random numbers of Stillwell: coins, orders and re-labellings from a printed seed.
//!
//! A session can be repeated only if its random choices can. The generator is therefore fixed here:
//! a library may change its stream between versions.

/// SplitMix64 (Steele, Lea & Flood 2014): 64 bits of state, period 2^64, passes BigCrush.
///
/// ```
/// // tests/vectors/prng.json
/// assert_eq!(stillwell_stats::Stream::new(0).next_u64(), 0xe220a8397b1dcdaf);
/// ```
#[derive(Clone, Debug)]
pub struct Stream {
    state: u64,
}

/// Increment of the state for each word.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

impl Stream {
    /// A stream that depends on `seed` alone.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// This stream `n` words later. The state is a counter, so the jump takes one step.
    ///
    /// ```
    /// let mut stream = stillwell_stats::Stream::new(7);
    /// let mut later = stillwell_stats::Stream::new(7).after(2);
    /// (stream.next_u64(), stream.next_u64());
    /// assert_eq!(stream.next_u64(), later.next_u64());
    /// ```
    #[must_use]
    pub fn after(&self, n: u64) -> Self {
        Self { state: self.state.wrapping_add(n.wrapping_mul(GAMMA)) }
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GAMMA);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// `n` fair coins from `ceil(n / 64)` fresh words, each read from bit 0 upwards.
    ///
    /// ```
    /// let coins = stillwell_stats::Stream::new(42).bits(4);
    /// assert_eq!(coins, [true, false, true, false]); // low bits of bdd732262feb6e95
    /// ```
    pub fn bits(&mut self, n: usize) -> Vec<bool> {
        let mut word = 0;
        (0..n)
            .map(|i| {
                word = if i % 64 == 0 { self.next_u64() } else { word >> 1 };
                word & 1 == 1
            })
            .collect()
    }

    /// A uniform integer in `0..n`; 0 if `n` is 0.
    ///
    /// Lemire (2019), multiply and reject. The result is exactly uniform, unlike a remainder.
    ///
    /// ```
    /// let mut stream = stillwell_stats::Stream::new(1);
    /// assert!((0..100).all(|_| stream.below(6) < 6));
    /// ```
    pub fn below(&mut self, n: u64) -> u64 {
        let reject = n.wrapping_neg().checked_rem(n).unwrap_or(0);
        loop {
            let wide = u128::from(self.next_u64()) * u128::from(n);
            if wide as u64 >= reject {
                return (wide >> 64) as u64;
            }
        }
    }

    /// A uniform number in `[0, 1)`, a multiple of 2^-53.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Puts `items` in a uniformly random order (Fisher-Yates, Knuth 3.4.2 algorithm P).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }

    /// A uniformly random order of `0..n`.
    ///
    /// ```
    /// let mut order = stillwell_stats::Stream::new(1).permutation(5);
    /// order.sort();
    /// assert_eq!(order, [0, 1, 2, 3, 4]);
    /// ```
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        self.shuffle(&mut order);
        order
    }
}
