//! How well and how fast the memory finds: `cargo run --release -p aethon-store --example memory [MEMORIES]`.
//!
//! First the quality, over 200 facts and a question for each in other words, for words alone and with vectors of a stand-in
//! that knows spelling and no meaning. Then the time of a search among 100,000 made-up memories, by words, and with vectors
//! of 768 numbers.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program for a person that measures")]

use std::time::{Duration, Instant};

use aethon_core::memory::{
    Memory, MemoryQuery, MemoryStorage, MemoryVector, NewMemory, Purpose, QueryVector,
};
use aethon_store::{Options, Store};

#[path = "../tests/quality/mod.rs"]
mod quality;

/// How long a vector is.
const NUMBERS: usize = 768;

/// How many questions are timed.
const QUESTIONS: usize = 400;

/// How many memories are written at a time.
const TOGETHER: usize = 128;

const PEOPLE: [&str; 24] = [
    "Ada", "Ben", "Clara", "David", "Elena", "Felix", "Greta", "Hugo", "Ines", "Jonas", "Karin", "Lukas",
    "Marie", "Nils", "Olga", "Paul", "Quentin", "Rosa", "Simon", "Teresa", "Ulrich", "Vera", "Walter",
    "Yara",
];
const DOES: [&str; 16] = [
    "likes",
    "bought",
    "repairs",
    "lent",
    "lost",
    "collects",
    "paints",
    "sold",
    "planned",
    "ordered",
    "found",
    "cleans",
    "returned",
    "borrowed",
    "photographed",
    "recommended",
];
const THINGS: [&str; 32] = [
    "bicycle",
    "piano",
    "tent",
    "camera",
    "garden",
    "kitchen",
    "laptop",
    "violin",
    "boat",
    "carpet",
    "teapot",
    "jacket",
    "novel",
    "printer",
    "lamp",
    "sofa",
    "guitar",
    "rucksack",
    "telescope",
    "watch",
    "oven",
    "ladder",
    "keyboard",
    "statue",
    "saddle",
    "blanket",
    "drone",
    "kayak",
    "mirror",
    "toolbox",
    "chessboard",
    "hammock",
];
const PLACES: [&str; 20] = [
    "Lisbon",
    "Porto",
    "Oslo",
    "Leipzig",
    "Potsdam",
    "Madeira",
    "Vancouver",
    "Helsinki",
    "Faro",
    "Sintra",
    "Lyon",
    "Ghent",
    "Turin",
    "Krakow",
    "Graz",
    "Bergen",
    "Malmo",
    "Split",
    "Cork",
    "Basel",
];

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let count = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(100_000);
    for (name, embed) in
        [("words", None), ("hybrid", Some(("spelling", quality::spelling as fn(&str) -> Vec<f32>)))]
    {
        let measured = quality::measure(embed).await;
        println!(
            "{name}: recall@1 {:.3} recall@4 {:.3}; auto recall shows {:.3}; small talk {} of {}",
            measured.recall_at_1(),
            measured.recall_at_4(),
            measured.recalled as f64 / measured.questions as f64,
            measured.dragged_in.len(),
            measured.small_talk
        );
        measured.missed.iter().for_each(|missed| println!("    missed: {missed}"));
        measured.dragged_in.iter().for_each(|dragged| println!("    dragged in: {dragged}"));
    }
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("aethon.db"), Options::default()).unwrap();
    let begun = Instant::now();
    fill(&store, count).await;
    println!("{count} memories stored in {:.1} s", begun.elapsed().as_secs_f64());
    time(&store, "words", count, false).await;
    let begun = Instant::now();
    embed(&store).await;
    println!("their vectors stored in {:.1} s", begun.elapsed().as_secs_f64());
    let begun = Instant::now();
    ask(&store, 0, true).await;
    println!("first search with vectors: {:.0} ms", begun.elapsed().as_secs_f64() * 1e3);
    time(&store, "vectors", count, true).await;
    store.close().await;
}

/// A made-up memory: common words, and a number that is rare.
fn fact(number: usize) -> String {
    let mut random = Random(number as u64 + 1);
    let mut pick = |words: &[&'static str]| words[random.next() as usize % words.len()];
    let (who, does, thing, place, other) =
        (pick(&PEOPLE), pick(&DOES), pick(&THINGS), pick(&PLACES), pick(&THINGS));
    format!("{who} {does} the {thing} from {place} next to the {other}, lot {number}.")
}

/// A question for it in some of its words.
fn question(number: usize) -> String {
    let fact = fact(number);
    let words: Vec<&str> = fact.trim_end_matches('.').split(' ').collect();
    match number % 4 {
        0 => format!("What did {} do with the {} from {}?", words[0], words[3], words[5]),
        1 => format!("Who {} a {} in {}?", words[1], words[3], words[5].trim_end_matches(',')),
        2 => format!("What is known about lot {number}?"),
        _ => format!(
            "Where is the {} of {} and the other things that were left there last year?",
            words[3], words[0]
        ),
    }
}

async fn fill(store: &Store, count: usize) {
    for start in (0..count).step_by(TOGETHER) {
        let some = (start..count.min(start + TOGETHER)).map(|number| {
            let store = store.clone();
            tokio::spawn(async move {
                Memory::store(&store, NewMemory::new(&fact(number), "", "api").unwrap()).await.unwrap();
            })
        });
        for task in some.collect::<Vec<_>>() {
            task.await.unwrap();
        }
    }
}

async fn embed(store: &Store) {
    loop {
        let missing = store.without_vector("random", 1_024).await.unwrap();
        if missing.is_empty() {
            return;
        }
        let vectors = missing.into_iter().map(|(id, content)| {
            let number = lot(&content);
            MemoryVector { id, content, numbers: vector(number, 0.0) }
        });
        store.put_vectors("random", vectors.collect()).await.unwrap();
    }
}

fn lot(content: &str) -> usize {
    content.rsplit_once("lot ").and_then(|(_, lot)| lot.trim_end_matches('.').parse().ok()).unwrap_or(0)
}

/// A vector near one of 500 centres, as texts gather round subjects, and so much noise besides.
fn vector(number: usize, noise: f32) -> Vec<f32> {
    let (mut centre, mut own) = (Random(number as u64 % 500 + 77), Random(number as u64 + 1_000));
    let mut other = Random(number as u64 + 9_000_000);
    (0..NUMBERS).map(|_| centre.number() + 0.7 * own.number() + noise * other.number()).collect()
}

async fn ask(store: &Store, number: usize, with_vector: bool) -> bool {
    let vector = with_vector.then(|| QueryVector { model: "random".into(), numbers: vector(number, 0.5) });
    let query = MemoryQuery::new(question(number), 4).for_purpose(Purpose::Look).with_vector(vector);
    let hits = Memory::search(store, query).await.unwrap();
    hits.iter().any(|hit| lot(&hit.entry.content) == number)
}

async fn time(store: &Store, name: &str, count: usize, with_vector: bool) {
    let mut random = Random(4_711);
    let (mut times, mut found): (Vec<Duration>, usize) = (Vec::new(), 0);
    for _ in 0..QUESTIONS {
        let number = random.next() as usize % count;
        let begun = Instant::now();
        found += usize::from(ask(store, number, with_vector).await);
        times.push(begun.elapsed());
    }
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    println!(
        "search {name}: p50 {:.2} ms p99 {:.2} ms max {:.2} ms; the wanted one among four: {found} of {QUESTIONS}",
        at(0.5),
        at(0.99),
        at(1.0)
    );
}

/// Numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) >> 16
    }

    /// From -1 to 1.
    fn number(&mut self) -> f32 {
        (self.next() % 20_001) as f32 / 10_000.0 - 1.0
    }
}
