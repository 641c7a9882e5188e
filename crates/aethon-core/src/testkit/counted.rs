//! Unique words that are the same in every run: whoever simulates a whole program needs its ids, and the chance that is
//! taken from them, to follow from a seed.

use std::cell::Cell;

thread_local! {
    /// How many words this thread has been given, and the state of its generator.
    static COUNTED: Cell<Option<(u64, u64)>> = const { Cell::new(None) };
}

/// From now on [`crate::ids::unique`] counts on this thread, from this seed; `None` for words that really are unique.
pub fn count_words(seed: Option<u64>) {
    COUNTED.set(seed.map(|seed| (0, seed)));
}

/// The next word, where they are counted: it grows like a UUID of version 7, and its last digits look random.
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
