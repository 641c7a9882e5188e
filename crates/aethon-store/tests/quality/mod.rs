//! Measures how well the memory finds, over the facts and questions in `tests/data`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]
#![allow(dead_code, unreachable_pub, missing_docs, reason = "a test and an example each use a part")]

use aethon_core::memory::{
    Memory, MemoryId, MemoryQuery, MemoryStorage, MemoryVector, NewMemory, Purpose, QueryVector,
};
use aethon_store::{Options, Store};

/// The results.
#[derive(Debug, Default)]
pub struct Measured {
    pub facts: usize,
    pub questions: usize,
    /// Questions whose fact came first, and whose fact was among the first four.
    pub first: usize,
    pub in_four: usize,
    /// Questions for which auto recall showed the fact.
    pub recalled: usize,
    /// Questions whose fact was not among the first four.
    pub missed: Vec<String>,
    pub small_talk: usize,
    /// Small talk for which something was recalled, and what.
    pub dragged_in: Vec<String>,
}

impl Measured {
    pub fn recall_at_1(&self) -> f64 {
        self.first as f64 / self.questions as f64
    }

    pub fn recall_at_4(&self) -> f64 {
        self.in_four as f64 / self.questions as f64
    }
}

/// Who makes vectors: a name, and a function.
pub type Embed = (&'static str, fn(&str) -> Vec<f32>);

/// Facts and their questions.
pub fn pairs() -> Vec<(&'static str, &'static str)> {
    let lines = include_str!("../data/facts.txt").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_once(" | ").expect("a fact and a question")).collect()
}

fn small_talk() -> impl Iterator<Item = &'static str> {
    include_str!("../data/small_talk.txt").lines().filter(|line| !line.starts_with('#'))
}

/// Stores all facts, asks all questions, and says all small talk.
pub async fn measure(embed: Option<Embed>) -> Measured {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("aethon.db"), Options::default()).unwrap();
    let mut measured = Measured::default();
    let mut ids: Vec<MemoryId> = Vec::new();
    for (fact, _) in pairs() {
        let stored = Memory::store(&store, NewMemory::new(fact, "", "api").unwrap()).await.unwrap();
        assert!(stored.is_new, "{fact}");
        ids.push(stored.entry.id);
    }
    measured.facts = ids.len();
    if let Some((model, embed)) = embed {
        let vector = |(id, (fact, _)): (&MemoryId, (&str, &str))| MemoryVector {
            id: *id,
            content: fact.to_owned(),
            numbers: embed(fact),
        };
        store.put_vectors(model, ids.iter().zip(pairs()).map(vector).collect()).await.unwrap();
    }
    let ask = async |text: &str, purpose: Purpose| {
        let vector =
            embed.map(|(model, embed)| QueryVector { model: model.to_owned(), numbers: embed(text) });
        let query = MemoryQuery::new(text, 4).for_purpose(purpose).with_vector(vector);
        Memory::search(&store, query).await.unwrap()
    };
    for ((_, question), id) in pairs().into_iter().zip(&ids) {
        let hits = ask(question, Purpose::Look).await;
        let place = hits.iter().position(|hit| hit.entry.id == *id);
        measured.questions += 1;
        measured.first += usize::from(place == Some(0));
        measured.in_four += usize::from(place.is_some());
        if place.is_none() {
            let found = hits.first().map_or("nothing", |hit| hit.entry.content.as_str());
            measured.missed.push(format!("{question} -> {found}"));
        }
        let recalled = ask(question, Purpose::Recall).await;
        measured.recalled += usize::from(recalled.iter().any(|hit| hit.entry.id == *id));
    }
    for said in small_talk() {
        measured.small_talk += 1;
        if let Some(hit) = ask(said, Purpose::Recall).await.first() {
            measured.dragged_in.push(format!("{said} -> {} ({})", hit.entry.content, hit.why));
        }
    }
    store.close().await;
    measured
}

/// A stand-in for an embedder: pieces of three to five letters of each word, hashed into 256 numbers. It knows spelling and
/// no meaning, so it adds only compounds and other forms to the words; a real model adds more.
pub fn spelling(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0_f32; 256];
    for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2) {
        let letters: Vec<char> = format!("<{word}>").chars().collect();
        for length in 3..=5 {
            for piece in letters.windows(length) {
                let hash = piece.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, letter| {
                    (hash ^ u64::from(u32::from(*letter))).wrapping_mul(0x100_0000_01b3)
                });
                vector[(hash >> 20) as usize % 256] += 1.0;
            }
        }
    }
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt().max(1e-9);
    vector.iter_mut().for_each(|number| *number /= length);
    vector
}
