//! People on messengers: they write while there are few questions open, and compare their chats with their questions.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use aethon_tests::{Random, Server};

use super::TortureRun;
use super::messengers::Messengers;

/// How many questions of a person are open at once.
const MAX_OPEN: usize = 3;
/// After this time a person continues without an answer; the check has the last word.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How long deliveries that failed may wait for their next attempt.
const LONG: Duration = Duration::from_secs(180);
/// The end of a growing reply.
const GROWS: &str = "…";
/// The notice of a turn that was interrupted so often that it is given up (`agent.resume.attempts`).
const GIVEN_UP: &str = "The assistant was interrupted before it could answer";

/// A person's questions, by the expected answers, in their order.
pub(super) struct Talk {
    messenger: usize,
    person: usize,
    answers: Vec<String>,
}

/// The outcome of all conversations.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) asked: usize,
    /// Answers that came twice, where the messenger cannot tell.
    pub(super) doubled: usize,
    /// Replies that had begun to grow and stand there besides their answer, where the messenger cannot tell.
    pub(super) abandoned: usize,
    /// Answers that did not come, of which the deliveries are listed as failed.
    pub(super) failed: usize,
    /// Those that did not come because their turn was cut off too often, which the chat reported instead.
    pub(super) given_up: usize,
}

/// A person who writes until the end.
pub(super) fn person(
    stage: &TortureRun,
    (messengers, messenger, person): (&Messengers, usize, usize),
    mut random: Random,
    goes_on: impl Fn() -> bool,
) -> Talk {
    let place = messengers.all()[messenger];
    let mut answers: Vec<String> = Vec::new();
    let mut open: Vec<(Instant, String)> = Vec::new();
    while goes_on() {
        open.retain(|(since, answer)| since.elapsed() < TIMEOUT && !place.shows(person, answer));
        if open.len() < MAX_OPEN {
            let (mut question, answer) = stage.question();
            // Some grow for longer than a first word waits.
            if random.between(0, 6) == 0 {
                question = format!("!stream 10 100\n!say {answer}");
            }
            place.say(person, &question);
            open.push((Instant::now(), answer.clone()));
            answers.push(answer);
        }
        std::thread::sleep(Duration::from_millis(random.between(100, 600)));
    }
    Talk { messenger, person, answers }
}

/// Everything was answered once and in its order, or is reported as failed. Twice is allowed only where the program died, or the
/// connection broke, while the arrival of the first was uncertain, on a messenger that cannot tell (docs/channels.md).
pub(super) fn check(server: &Server, messengers: &Messengers, talks: &[Talk]) -> Outcome {
    let mut outcome = Outcome::default();
    let deadline = Instant::now() + LONG;
    for talk in talks {
        let place = messengers.all()[talk.messenger];
        let whose = format!("{} of {}", talk.person, place.name());
        let (shown, failed) = loop {
            let shown = ChatContents::read(place.shown(talk.person));
            let missing: Vec<&String> =
                talk.answers.iter().filter(|answer| shown.count(answer) == 0).collect();
            let failed = if missing.len() > shown.given_up { failed_of(server, &missing) } else { 0 };
            if missing.len() <= shown.given_up + failed {
                break (shown, failed);
            }
            assert!(
                Instant::now() < deadline,
                "{missing:?} never came to {whose}: {:?}",
                place.shown(talk.person)
            );
            std::thread::sleep(Duration::from_millis(100));
        };
        (outcome.failed, outcome.given_up) = (outcome.failed + failed, outcome.given_up + shown.given_up);
        outcome.asked += talk.answers.len();
        assert!(shown.others.is_empty(), "{whose} was told besides: {:?}", shown.others);
        let doubled: Vec<&String> = talk.answers.iter().filter(|answer| shown.count(answer) > 1).collect();
        if place.knows_repetitions() {
            assert!(doubled.is_empty(), "{doubled:?} came to {whose} more than once");
            assert!(shown.growing.is_empty(), "{whose} has replies without an end: {:?}", shown.growing);
            let missing = talk.answers.iter().filter(|answer| shown.count(answer) == 0).count();
            assert_eq!(missing, shown.given_up + failed, "{whose} was told of more than is missing");
        }
        assert!(
            talk.answers.iter().all(|answer| shown.count(answer) <= 2),
            "{doubled:?} came to {whose} more than twice"
        );
        outcome.doubled += doubled.len();
        outcome.abandoned += shown.growing.len();
        let places: Vec<usize> =
            talk.answers.iter().filter_map(|answer| Some(*shown.answers.get(answer)?.first()?)).collect();
        assert!(places.is_sorted(), "{whose} was answered out of order: {:?}", place.shown(talk.person));
    }
    outcome
}

/// What stands in a chat.
#[derive(Default)]
struct ChatContents {
    /// Where each answer stands.
    answers: HashMap<String, Vec<usize>>,
    growing: Vec<String>,
    given_up: usize,
    others: Vec<String>,
}

impl ChatContents {
    fn read(texts: Vec<String>) -> Self {
        let mut shown = Self::default();
        for (place, text) in texts.into_iter().enumerate() {
            let answer = text.rfind("answer-").map(|at| text[at..].to_owned());
            match answer.filter(|answer| answer.ends_with('.')) {
                Some(answer) => shown.answers.entry(answer).or_default().push(place),
                None if text.contains(GIVEN_UP) => shown.given_up += 1,
                None if text.ends_with(GROWS) => shown.growing.push(text),
                None => shown.others.push(text),
            }
        }
        shown
    }

    fn count(&self, answer: &str) -> usize {
        self.answers.get(answer).map_or(0, Vec::len)
    }
}

/// Of how many of these answers the deliveries are listed as failed.
fn failed_of(server: &Server, answers: &[&String]) -> usize {
    let failed = server.get("/api/outbox?state=failed&limit=200").json();
    let texts = failed["deliveries"].as_array().into_iter().flatten();
    let texts: Vec<&str> = texts.filter_map(|delivery| delivery["text"].as_str()).collect();
    let is_failed = |answer: &&&String| texts.iter().any(|text| text.trim_end().ends_with(answer.as_str()));
    answers.iter().filter(is_failed).count()
}
