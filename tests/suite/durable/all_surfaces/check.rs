//! What must be stored after all of it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use aethon_tests::{Server, eventually};

use super::{ClientRecords, LONG, RunSize, SurfaceRun, question};

/// A conversation: the last line of each question, and its answer.
pub(super) type Turns = Vec<(String, String)>;

/// Compares the clients' records with the storage. Returns the conversations.
pub(super) fn conversations(plan: &RunSize, stage: &SurfaceRun, server: &Server) -> Vec<Turns> {
    let known = stage.known();
    let mut order = Vec::new();
    for session in 0..plan.sessions {
        let id = format!("webchat:s{session}");
        until_idle(server, &id);
        order.push(pairs(server, &id));
    }
    let mut places = BTreeMap::new();
    for (session, asked) in order.iter().enumerate() {
        for (place, (number, answer)) in asked.iter().enumerate() {
            assert_eq!(known.asked.get(number), Some(&session), "question {number} is in session {session}");
            assert_eq!(answer, &question(*number).1, "the stored answer to {number}");
            assert_eq!(places.insert(*number, place), None, "question {number} is stored twice");
        }
    }
    assert_records_are_stored(&known, &places);
    let turn = |(number, answer): (usize, String)| {
        let (question, _) = question(number);
        (question.rsplit(" | ").next().unwrap_or_default().to_owned(), answer)
    };
    order.into_iter().map(|asked| asked.into_iter().map(turn).collect()).collect()
}

/// Nothing is set aside when nothing runs.
pub(super) fn money(server: &Server) {
    eventually("nothing is reserved", || {
        (server.get("/api/usage?days=1").json()["budget"]["reserved_usd"] == 0.0).then_some(())
    });
}

/// By number of the question: every answer that was shown and every message that was acknowledged is stored, each writer's in
/// the order of the acknowledgements.
fn assert_records_are_stored(known: &ClientRecords, places: &BTreeMap<usize, usize>) {
    for number in &known.printed {
        assert!(places.contains_key(number), "the answer to {number} was shown and is not stored");
    }
    for (writer, numbers) in &known.acknowledged {
        let places: Vec<usize> = numbers
            .iter()
            .map(|number| {
                let place = places.get(number);
                *place.unwrap_or_else(|| panic!("{number} of {writer} was acknowledged and is missing"))
            })
            .collect();
        let is_ordered = places.windows(2).all(|pair| pair[0] < pair[1]);
        assert!(is_ordered, "{writer}: acknowledged as {numbers:?}, stored at {places:?}");
    }
    let missing: Vec<_> = known.asked.keys().filter(|number| !places.contains_key(number)).collect();
    let excused = |number: &usize| known.given_up.contains_key(number);
    assert!(
        missing.iter().all(|number| excused(number)),
        "nobody gave up {missing:?}, and they are not stored"
    );
}

fn until_idle(server: &Server, id: &str) {
    let deadline = Instant::now() + LONG;
    loop {
        let detail = server.get(&format!("/api/sessions/{id}?limit=1")).json();
        if detail["busy"] == false && detail["pending"].as_array().is_some_and(Vec::is_empty) {
            return;
        }
        assert!(Instant::now() < deadline, "what waits in {id} does not run");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The questions of a session in their order, each with the answer that follows it; nothing else is there.
fn pairs(server: &Server, id: &str) -> Vec<(usize, String)> {
    let said = server.exported(id);
    let pairs = said.chunks(2).map(|pair| {
        let [(asker, asked), (answerer, told)] = pair else { panic!("{pair:?} is not answered in {id}") };
        assert_eq!((asker.as_str(), answerer.as_str()), ("user", "assistant"), "{pair:?} in {id}");
        let number = asked.rsplit("answer-").next().and_then(|rest| rest.trim_end_matches('.').parse().ok());
        (number.unwrap_or_else(|| panic!("{asked} is no question of ours")), told.clone())
    });
    pairs.collect()
}
