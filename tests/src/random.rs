//! Pseudo-random numbers that are the same in every run, so that failures can be reproduced.

/// A seeded generator (SplitMix64).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Creates a generator with this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number of at least `from` and below `to`.
    pub fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.number() % (to - from)
    }

    /// A number below this one.
    pub fn below(&mut self, to: usize) -> usize {
        usize::try_from(self.between(0, to as u64)).expect("an index fits")
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// This many random bytes.
    pub fn bytes(&mut self, length: u64) -> Vec<u8> {
        (0..length).map(|_| self.number().to_le_bytes()[0]).collect()
    }
}
