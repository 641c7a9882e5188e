//! What must be stored, and must stand in the chats, after all of it.

use std::time::{Duration, Instant};

use aethon_tests::telegram::Telegram;
use aethon_tests::{Server, eventually};

use super::Record;
use super::clients::PERSON;

/// How long deliveries that failed may wait for their next attempt.
const LONG: Duration = Duration::from_secs(180);

/// The questions of a session with what was answered, in their order.
fn stored(server: &Server, session: &str) -> Vec<(String, Vec<String>)> {
    eventually(&format!("everything that waits in {session} has run"), || {
        let detail = server.get(&format!("/api/sessions/{session}?limit=1")).json();
        (detail["busy"] == false && detail["pending"].as_array()?.is_empty()).then_some(())
    });
    let mut turns: Vec<(String, Vec<String>)> = Vec::new();
    for (role, text) in server.said(session) {
        match role.as_str() {
            "user" => turns.push((text, Vec::new())),
            "assistant" => {
                let (_, answers) = turns.last_mut().expect("an answer follows a question");
                answers.push(text);
            }
            _ => {}
        }
    }
    turns
}

/// Every conversation has what its writers were told.
pub(super) fn conversations(server: &Server, records: &[Record]) {
    for record in records {
        let Record { writer, session, .. } = record;
        if record.is_removed {
            assert_eq!(server.get(&format!("/api/sessions/{session}")).status, 404, "{session} is back");
            continue;
        }
        let turns = stored(server, session);
        let mut places = Vec::new();
        for (question, answer) in &record.acknowledged {
            let found: Vec<usize> =
                turns.iter().enumerate().filter(|(_, turn)| turn.0 == *question).map(|(at, _)| at).collect();
            assert_eq!(found.len(), 1, "{question:?} of {writer} is in {session} {} times", found.len());
            let answers = &turns[found[0]].1;
            assert_eq!(answers.len(), 1, "{question:?} of {writer} has the answers {answers:?}");
            if let Some(answer) = answer {
                assert_eq!(&answers[0], answer, "{question:?} of {writer}");
            }
            places.push(found[0]);
        }
        assert!(places.is_sorted(), "{writer} was acknowledged in another order than {session} has");
        if record.is_whole {
            assert_eq!(turns.len(), places.len(), "{session} has what nobody was told of: {turns:?}");
        }
    }
}

/// Nothing is set aside when nothing runs.
pub(super) fn money(server: &Server) {
    eventually("nothing is reserved", || {
        (server.get("/api/usage?days=1").json()["budget"]["reserved_usd"] == 0.0).then_some(())
    });
}

/// Every message on Telegram was answered once, or twice where the program died while nobody knew whether the first had
/// arrived, as docs/channels.md tells; returns how many those are.
pub(super) fn person(telegram: &Telegram, asked: &[String]) -> usize {
    let deadline = Instant::now() + LONG;
    let mut doubtful = 0;
    for answer in asked {
        let count = || telegram.chat(PERSON).iter().filter(|posted| posted.text().trim() == answer).count();
        while count() == 0 {
            assert!(Instant::now() < deadline, "{answer} never came: {:?}", last(telegram));
            std::thread::sleep(Duration::from_millis(50));
        }
        let count = count();
        assert!(count <= 2, "{answer} came {count} times");
        doubtful += count - 1;
    }
    doubtful
}

fn last(telegram: &Telegram) -> Vec<String> {
    let chat = telegram.chat(PERSON);
    chat.iter().rev().take(5).map(|posted| posted.text().to_owned()).collect()
}
