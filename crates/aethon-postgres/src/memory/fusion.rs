//! Merges the hits by words and by meaning into one order.
//!
//! Their scores are not comparable, but their ranks are: this is reciprocal rank fusion with the usual constant of 60.
//! An unrequested recall has a threshold below which nothing is shown.

use std::collections::HashMap;

use aethon_core::memory::{MemoryEntry, MemoryHit, Purpose};

use super::by_meaning::MeaningHit;
use super::by_words::WordHit;

/// The larger it is, the more slowly worth falls with rank.
const CONSTANT: f64 = 60.0;

/// Maximum number of matching words named as the reason for a hit.
const MAX_NAMED: usize = 6;

/// Share of the question that a memory must cover to be recalled unasked.
const MIN_COVERAGE: f64 = 0.5;

/// The same with at least two telling words: either this share of the question, or the share of the memory below it.
const MIN_COVERAGE_OF_TWO: f64 = 0.34;
const MIN_FOCUS_OF_TWO: f64 = 0.5;

/// Returns the best hits of both lists in one order.
pub(super) fn fuse(
    by_words: Vec<WordHit>,
    by_meaning: Option<Vec<MeaningHit>>,
    purpose: Purpose,
    limit: usize,
) -> Vec<MemoryHit> {
    let has_vectors = by_meaning.is_some();
    let mut positions: HashMap<i64, usize> = HashMap::new();
    let mut found: Vec<FusedHit> = Vec::new();
    for (rank, hit) in by_words.into_iter().enumerate() {
        positions.insert(hit.entry.id.0, found.len());
        let fits = purpose != Purpose::Recall || is_clear(&hit);
        let worth = worth(rank);
        found.push(FusedHit {
            entry: hit.entry,
            words: hit.matches,
            likeness: None,
            worth,
            by_words: hit.score,
            fits,
        });
    }
    for (rank, hit) in by_meaning.into_iter().flatten().enumerate() {
        let (is_near, worth) = (hit.is_near(purpose), worth(rank));
        match positions.get(&hit.entry.id.0) {
            Some(&position) => {
                let known = &mut found[position];
                known.worth += worth;
                known.fits |= is_near;
                known.likeness = is_near.then_some(hit.likeness);
            }
            None if is_near => found.push(FusedHit {
                entry: hit.entry,
                words: Vec::new(),
                likeness: Some(hit.likeness),
                worth,
                by_words: 0.0,
                fits: true,
            }),
            None => {}
        }
    }
    found.retain(|found| found.fits);
    let score = |found: &FusedHit| if has_vectors { found.worth / (2.0 * worth(0)) } else { found.by_words };
    let mut hits: Vec<MemoryHit> = found
        .into_iter()
        .map(|found| MemoryHit { score: score(&found).clamp(0.0, 1.0), why: found.why(), entry: found.entry })
        .collect();
    hits.sort_by(|one, other| other.score.total_cmp(&one.score));
    hits.truncate(limit);
    hits
}

/// A memory found in one way or both.
struct FusedHit {
    entry: MemoryEntry,
    words: Vec<String>,
    likeness: Option<f64>,
    worth: f64,
    by_words: f64,
    fits: bool,
}

impl FusedHit {
    fn why(&self) -> String {
        let named: Vec<&str> = self.words.iter().take(MAX_NAMED).map(String::as_str).collect();
        let words = (!named.is_empty()).then(|| format!("words: {}", named.join(", ")));
        let meaning = self.likeness.map(|likeness| format!("meaning: {likeness:.2}"));
        [words, meaning].into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

fn worth(rank: usize) -> f64 {
    1.0 / (CONSTANT + 1.0 + rank as f64)
}

/// Returns whether a memory is clearly relevant to the message.
fn is_clear(hit: &WordHit) -> bool {
    match hit.telling {
        0 => false,
        1 => hit.coverage >= MIN_COVERAGE,
        _ => hit.coverage >= MIN_COVERAGE_OF_TWO || hit.focus >= MIN_FOCUS_OF_TWO,
    }
}
