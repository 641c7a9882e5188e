//! Unique ids that are the same in every run: a simulation of the whole program needs its ids, and the randomness
//! derived from them, to follow from a seed.

use std::cell::Cell;

thread_local! {
    /// How many ids this thread has handed out, and the state of its generator.
    static COUNTED: Cell<Option<(u64, u64)>> = const { Cell::new(None) };
}

/// Makes [`crate::ids::unique`] deterministic on this thread, starting from this seed; `None` makes it really unique
/// again.
pub fn count_words(seed: Option<u64>) {
    COUNTED.set(seed.map(|seed| (0, seed)));
}

/// The next id, if they are deterministic: it grows like a version 7 UUID, and its last digits look random.
pub(crate) fn counted_word() -> Option<String> {
    let (count, state) = COUNTED.get()?;
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    COUNTED.set(Some((count + 1, state)));
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    Some(format!("{count:012x}7000{:016x}", mixed ^ (mixed >> 31)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::unique;

    #[test]
    fn counted_words_grow_and_follow_from_the_seed() {
        let three = |seed| {
            count_words(Some(seed));
            let words = [unique(), unique(), unique()];
            count_words(None);
            words
        };
        let words = three(7);
        assert_eq!(words, three(7));
        assert_ne!(words, three(8));
        assert!(words.is_sorted() && words.iter().all(|word| word.len() == 32), "{words:?}");
        assert!(unique() > words[2]);
    }
}
