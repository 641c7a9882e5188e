//! Finds memories by their words.
//!
//! The index supplies candidates by the rarest words of the question, so that a common word does not slow down a
//! search. The ranking then looks at all words of the question and of each candidate: how rare a word is, whether it
//! matches fully or in part, how long the memory is, and whether words follow each other as in the question.

use aethon_core::finding::{Term, Word, is_telling, memory_words as words, terms};
use aethon_core::memory::MemoryEntry;

use super::entries::{ALL_ENTRIES, ALL_STEMS, frequencies, read};
use crate::db::{Sql, params};
use crate::error::Error;
use crate::search::lexeme;

/// Maximum number of memories that the words used to find candidates may match.
const MAX_MATCHES: i64 = 2_500;

/// Maximum number of candidates to rank.
const CANDIDATES: i64 = 64;

/// Shorter words do not match as prefixes.
const MIN_BEGINNING: usize = 4;

/// Weight of a partial match.
const IN_PART: f64 = 0.6;

/// Pretend there were this many more memories: with only a handful, a word that they share would count as common.
const BACKGROUND: f64 = 1_000.0;

// BM25: how fast repetitions of a word stop adding score, and how much longer memories are penalized.
const SATURATION: f64 = 1.2;
const LENGTH_SHARE: f64 = 0.35;

/// Score for all words following each other as in the question.
const IN_ORDER: f64 = 0.12;

/// A memory found by its words.
#[derive(Debug)]
pub(super) struct WordHit {
    pub(super) entry: MemoryEntry,
    /// From 0 to 1.
    pub(super) score: f64,
    /// Share of the question that the memory covers.
    pub(super) coverage: f64,
    /// Share of the memory that the question covers.
    pub(super) focus: f64,
    /// Its matching words, as written.
    pub(super) matches: Vec<String>,
    /// How many of them carry meaning by themselves.
    pub(super) telling: usize,
}

/// A word of the question and its rarity.
struct QueryTerm {
    term: Term,
    entries: i64,
    rarity: f64,
}

/// Finds the memories that match, best first.
pub(super) fn find(
    sql: &Sql<'_>,
    scope: &str,
    category: Option<&str>,
    question: &str,
) -> Result<Vec<WordHit>, Error> {
    let terms = terms(question);
    let stems = terms.iter().map(|term| term.word.stem.as_str()).chain([ALL_ENTRIES, ALL_STEMS]).collect();
    let known = frequencies(sql, scope, &stems)?;
    let count = |stem: &str| known.get(stem).copied().unwrap_or(0);
    let all = count(ALL_ENTRIES);
    if all <= 0 {
        return Ok(Vec::new());
    }
    let usual_length = count(ALL_STEMS) as f64 / all as f64;
    let asked = terms.into_iter().map(|term| {
        let entries = count(&term.word.stem);
        QueryTerm { rarity: rarity(entries, all), term, entries }
    });
    let asked: Vec<QueryTerm> = asked.collect();
    let found = candidates(sql, scope, category, &asked)?;
    let found: Vec<(MemoryEntry, Vec<Word>)> = found
        .into_iter()
        .map(|entry| {
            let words = words(&entry.content).into_iter().filter(is_telling).collect();
            (entry, words)
        })
        .collect();
    let stems = found.iter().flat_map(|(_, words)| words.iter().map(|word| word.stem.as_str())).collect();
    let known = frequencies(sql, scope, &stems)?;
    let rarities = |word: &Word| rarity(known.get(&word.stem).copied().unwrap_or(0), all);
    let ranked = found.iter().map(|(entry, words)| rank(entry, words, &asked, (usual_length, &rarities)));
    let mut hits: Vec<WordHit> = ranked.flatten().collect();
    hits.sort_by(|one, other| {
        other.score.total_cmp(&one.score).then_with(|| other.entry.updated_at.cmp(&one.entry.updated_at))
    });
    Ok(hits)
}

/// Returns the weight of a word: the fewer memories contain it, the higher.
fn rarity(entries: i64, all: i64) -> f64 {
    // A word in no memory weighs the same as a word in one.
    let (entries, all) = (entries.max(1) as f64, all.max(0) as f64 + BACKGROUND);
    (1.0 + (all - entries + 0.5).max(0.0) / (entries + 0.5)).ln()
}

/// Returns memories that contain some of the rarest words.
fn candidates(
    sql: &Sql<'_>,
    scope: &str,
    category: Option<&str>,
    asked: &[QueryTerm],
) -> Result<Vec<MemoryEntry>, Error> {
    // Those with the rarest words first.
    const BEST: &str =
        "SELECT memories.id, content, category, source, created_at, updated_at, recalled_at, scope
        FROM memory_words JOIN memories ON memories.id = memory_words.memory_id
        WHERE (stems @@ $1::text::tsquery OR words @@ $2::text::tsquery) AND scope = $3 AND ($4::text IS NULL OR category = $4)
        ORDER BY (SELECT sum(weight) FROM jsonb_to_recordset($5::jsonb) AS asked (stem TEXT, weight FLOAT8)
            WHERE stems @@ asked.stem::tsquery) DESC NULLS LAST, memories.id LIMIT $6";
    const NEWEST: &str =
        "SELECT memories.id, content, category, source, created_at, updated_at, recalled_at, scope
        FROM memory_words JOIN memories ON memories.id = memory_words.memory_id
        WHERE stems @@ $1::text::tsquery AND scope = $2 AND ($3::text IS NULL OR category = $3)
        ORDER BY memories.id DESC LIMIT $4";
    let mut known: Vec<&QueryTerm> = asked.iter().filter(|asked| asked.entries > 0).collect();
    known.sort_by_key(|asked| asked.entries);
    let mut matches = 0;
    let rare: Vec<&&QueryTerm> = known
        .iter()
        .take_while(|asked| {
            matches += asked.entries;
            matches <= MAX_MATCHES
        })
        .collect();
    let stems: Vec<String> = rare.iter().map(|asked| lexeme(&asked.term.word.stem)).collect();
    let weights: Vec<serde_json::Value> = rare
        .iter()
        .map(|asked| serde_json::json!({ "stem": lexeme(&asked.term.word.stem), "weight": asked.rarity }))
        .collect();
    let beginnings: Vec<String> = asked
        .iter()
        .filter(|asked| asked.entries == 0 && asked.term.word.plain.chars().count() >= MIN_BEGINNING)
        .map(|asked| format!("{}:*", lexeme(&asked.term.word.plain)))
        .collect();
    let mut found = Vec::new();
    if !stems.is_empty() || !beginnings.is_empty() {
        let weights = serde_json::Value::Array(weights).to_string();
        let (stems, beginnings) = (stems.join(" | "), beginnings.join(" | "));
        found = sql.all(BEST, params![stems, beginnings, scope, category, weights, CANDIDATES], read)?;
    }
    if known.first().is_some_and(|rarest| rarest.entries > MAX_MATCHES) {
        // All words are common. Memories that contain the two rarest of them tell more than those that contain one.
        for together in [2, 1] {
            let some: Vec<String> =
                known.iter().take(together).map(|asked| lexeme(&asked.term.word.stem)).collect();
            found.extend(sql.all(NEWEST, params![some.join(" & "), scope, category, CANDIDATES], read)?);
        }
        found.sort_by_key(|entry| entry.id);
        found.dedup_by_key(|entry| entry.id);
    }
    Ok(found)
}

/// Scores a memory; `None` if it contains no word of the question after all.
fn rank(
    entry: &MemoryEntry,
    words: &[Word],
    asked: &[QueryTerm],
    (usual_length, rarities): (f64, &impl Fn(&Word) -> f64),
) -> Option<WordHit> {
    let longer = words.len() as f64 / usual_length.max(1.0);
    let damping = SATURATION * (1.0 - LENGTH_SHARE + LENGTH_SHARE * longer);
    let (mut found, mut covered, mut wanted) = (0.0, 0.0, 0.0);
    let (mut matches, mut telling): (Vec<String>, usize) = (Vec::new(), 0);
    for asked in asked {
        let worth = asked.rarity * asked.term.weight;
        wanted += worth;
        let qualities = words.iter().map(|word| (quality(&asked.term.word, word), word));
        let there: Vec<(f64, &Word)> = qualities.filter(|(quality, _)| *quality > 0.0).collect();
        let Some(best) = there.iter().max_by(|one, other| one.0.total_cmp(&other.0)) else { continue };
        let often: f64 = there.iter().map(|(quality, _)| quality).sum();
        found += worth * best.0 * often / (often + damping);
        covered += worth * best.0;
        telling += usize::from(asked.term.weight >= 1.0);
        if !matches.contains(&best.1.plain) {
            matches.push(best.1.plain.clone());
        }
    }
    if matches.is_empty() || wanted <= 0.0 {
        return None;
    }
    let (mut shared, mut whole) = (0.0, 0.0);
    for word in words {
        let rarity = rarities(word);
        whole += rarity;
        if asked.iter().any(|asked| quality(&asked.term.word, word) > 0.0) {
            shared += rarity;
        }
    }
    // Score of a word that stands once in a memory of average length. It sets the scale: a memory that covers the whole
    // question scores close to 1.
    let full = 1.0 / (1.0 + SATURATION);
    let score = (found / wanted / full).min(1.0) * (1.0 - IN_ORDER) + IN_ORDER * in_order(asked, words);
    Some(WordHit {
        entry: entry.clone(),
        score,
        coverage: covered / wanted,
        focus: shared / f64::max(whole, f64::MIN_POSITIVE),
        matches,
        telling,
    })
}

/// Returns how well a word of a memory matches a word of the question.
fn quality(asked: &Word, word: &Word) -> f64 {
    if asked.stem == word.stem {
        return 1.0;
    }
    let is_long = |word: &Word| word.plain.chars().count() >= MIN_BEGINNING;
    let is_part = is_long(asked)
        && is_long(word)
        && (word.plain.starts_with(&asked.plain) || asked.plain.starts_with(&word.plain));
    if is_part { IN_PART } else { 0.0 }
}

/// Returns the share of the question's adjacent word pairs that are adjacent in the memory, too.
fn in_order(asked: &[QueryTerm], words: &[Word]) -> f64 {
    let pairs = asked.windows(2);
    let count = pairs.len();
    if count == 0 {
        return 1.0;
    }
    let stands = |pair: &&[QueryTerm]| {
        words
            .windows(2)
            .any(|two| two[0].stem == pair[0].term.word.stem && two[1].stem == pair[1].term.word.stem)
    };
    pairs.filter(stands).count() as f64 / count as f64
}
