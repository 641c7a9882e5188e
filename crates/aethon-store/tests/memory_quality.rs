//! How well the memory finds: 200 facts, a question in other words for each, and small talk for which nothing may be
//! recalled. The figures stand in `docs/performance.md`; the example `recall` prints them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

#[path = "quality/mod.rs"]
mod quality;

use quality::{Measured, measure};

#[tokio::test]
async fn questions_in_other_words_find_their_facts() {
    let text = measure(None).await;
    println!("{text:#?}");
    assert!(text.facts >= 200 && text.questions >= 200);
    assert!(text.recall_at_4() >= 0.80, "{:.3}, missed:\n{}", text.recall_at_4(), text.missed.join("\n"));
    assert!(text.recall_at_1() >= 0.65, "{:.3}", text.recall_at_1());
}

#[tokio::test]
async fn small_talk_recalls_nothing_and_questions_still_do() {
    let Measured { questions, recalled, dragged_in, small_talk, .. } = measure(None).await;
    assert!(dragged_in.len() * 20 <= small_talk, "{}", dragged_in.join("\n"));
    assert!(recalled * 100 >= questions * 50, "{recalled} of {questions}");
}

#[tokio::test]
async fn vectors_without_meaning_do_no_harm() {
    let text = measure(None).await;
    let hybrid = measure(Some(("spelling", quality::spelling))).await;
    println!("{} of {}, with vectors {}", text.in_four, text.questions, hybrid.in_four);
    assert!(hybrid.in_four + 6 >= text.in_four, "{} and {}", hybrid.in_four, text.in_four);
}
