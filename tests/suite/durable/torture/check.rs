//! What must be stored after all of it.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use aethon_tests::{Server, eventually};

use super::Record;

/// How long a session may take that has fallen behind.
const LONG: Duration = Duration::from_secs(180);

/// A session: its questions with their answers, and the position of each question.
struct Stored {
    turns: Vec<(String, Vec<String>)>,
    places: HashMap<String, Vec<usize>>,
}

impl Stored {
    fn read(server: &Server, session: &str) -> Self {
        until_idle(server, session);
        let mut turns: Vec<(String, Vec<String>)> = Vec::new();
        let mut places: HashMap<String, Vec<usize>> = HashMap::new();
        for (role, text) in server.exported(session) {
            match role.as_str() {
                "user" => {
                    places.entry(text.clone()).or_default().push(turns.len());
                    turns.push((text, Vec::new()));
                }
                "assistant" => {
                    let (_, answers) = turns.last_mut().expect("an answer follows a question");
                    answers.push(text);
                }
                _ => {}
            }
        }
        Self { turns, places }
    }

    /// The position of a question, and its answer; both occur once.
    fn turn(&self, question: &str, whose: &str) -> (usize, &str) {
        let found = self.places.get(question).map_or(&[][..], Vec::as_slice);
        let [place] = found else { panic!("{question:?} of {whose} is there {} times", found.len()) };
        let [answer] = self.turns[*place].1.as_slice() else {
            panic!("{question:?} of {whose} has the answers {:?}", self.turns[*place].1)
        };
        (*place, answer)
    }
}

/// Waits until everything that waits in a session has run.
fn until_idle(server: &Server, session: &str) {
    let deadline = Instant::now() + LONG;
    loop {
        let detail = server.get(&format!("/api/sessions/{session}?limit=1")).json();
        let waiting = detail["pending"].as_array().map_or(0, Vec::len);
        if detail["busy"] == false && waiting == 0 {
            return;
        }
        assert!(Instant::now() < deadline, "{waiting} messages wait in {session} still");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Every conversation has all that its writers saw acknowledged. Each is read once, however many wrote there.
pub(super) fn conversations(server: &Server, records: &[Record]) {
    let mut by_session: BTreeMap<&str, Vec<&Record>> = BTreeMap::new();
    for record in records {
        by_session.entry(&record.session).or_default().push(record);
    }
    for (session, records) in by_session {
        if records.iter().any(|record| record.is_removed) {
            assert_eq!(server.get(&format!("/api/sessions/{session}")).status, 404, "{session} is back");
            continue;
        }
        let stored = Stored::read(server, session);
        for Record { writer, acknowledged, is_whole, .. } in records {
            let mut places = Vec::with_capacity(acknowledged.len());
            for (question, told) in acknowledged {
                let (place, answer) = stored.turn(question, writer);
                if let Some(told) = told {
                    assert_eq!(answer, told, "{question:?} of {writer}");
                }
                places.push(place);
            }
            assert!(places.is_sorted(), "{writer} was acknowledged in another order than {session} has");
            if *is_whole {
                let turns = &stored.turns;
                assert_eq!(turns.len(), places.len(), "{session} has what nobody was told of: {turns:?}");
            }
        }
    }
}

/// Nothing is set aside when nothing runs.
pub(super) fn money(server: &Server) {
    eventually("nothing is reserved", || {
        (server.get("/api/usage?days=1").json()["budget"]["reserved_usd"] == 0.0).then_some(())
    });
}

/// Every recording that was kept can be read. Returns how many there are.
pub(super) fn recordings(server: &Server) -> usize {
    let told = server.get("/api/sessions/recordings").json();
    let recordings = told["recordings"].as_array().expect("a list");
    let broken: Vec<_> = recordings.iter().filter(|recording| recording["valid"] != true).collect();
    assert!(broken.is_empty() && !recordings.is_empty(), "{broken:?}");
    recordings.len()
}
