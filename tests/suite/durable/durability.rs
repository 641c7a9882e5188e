//! Nothing acknowledged is lost and nothing is doubled, whenever the daemon is killed (docs/behaviour.md).

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use aethon_tests::http::exchange;
use aethon_tests::{Random, Request, Server, Socket, eventually};
use serde_json::{Value, json};
use tungstenite::Message;

const TURNS: usize = 100;
const SESSIONS: usize = 4;

/// The clients' knowledge: which messages were acknowledged, and as which turns.
#[derive(Default)]
struct ClientRecords {
    acknowledged: BTreeMap<usize, String>,
    done: BTreeMap<usize, String>,
}

fn session(number: usize) -> String {
    format!("s{}", number % SESSIONS)
}

fn message(number: usize) -> Value {
    let text = match number % 3 {
        0 => format!("!say answer-{number}."),
        1 => format!("!stream 6 8\n!say answer-{number}."),
        _ => format!("!tool current_time {{}}\n!then\n!sleep 20\n!say answer-{number}."),
    };
    json!({"type": "message", "id": format!("id-{number}"), "session": session(number), "text": text})
}

/// Records a frame.
fn note(known: &mut ClientRecords, turns: &mut BTreeMap<String, usize>, frame: &Value) {
    let turn = frame["turn"].as_str().unwrap_or_default().to_owned();
    match frame["type"].as_str() {
        Some("ack") => {
            let id = frame["id"].as_str().expect("an id");
            let number: usize = id.trim_start_matches("id-").parse().expect("our id");
            let before = known.acknowledged.insert(number, turn.clone());
            assert!(before.is_none_or(|before| before == turn), "{id} became another turn");
            turns.insert(turn, number);
        }
        Some("done") => {
            if let Some(number) = turns.get(&turn) {
                known.done.insert(*number, frame["text"].as_str().unwrap_or_default().to_owned());
            }
        }
        Some("error") if frame.get("turn").is_none() => panic!("refused: {frame}"),
        _ => {}
    }
}

/// Sends the unacknowledged messages and listens until the time is up or the connection breaks.
fn talk(server: &Server, known: &mut ClientRecords, until: Instant) {
    let mut turns: BTreeMap<String, usize> =
        known.acknowledged.iter().map(|(number, turn)| (turn.clone(), *number)).collect();
    let mut chat = server.chat("s0");
    let mut waiting: Vec<usize> =
        (0..TURNS).filter(|number| !known.acknowledged.contains_key(number)).collect();
    waiting.reverse();
    let mut outstanding: usize = 0;
    while Instant::now() < until {
        // A few at a time, so that a kill meets turns in every state.
        while outstanding < 4 {
            let Some(number) = waiting.pop() else { break };
            if !chat.send_message(Message::text(message(number).to_string())) {
                return;
            }
            outstanding += 1;
        }
        let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        chat.stream().set_read_timeout(Some(left)).expect("a time-out can be set");
        let Ok(Message::Text(text)) = chat.receive() else { return };
        let frame: Value = serde_json::from_str(&text).expect("a frame");
        // Turns that a restart resumed are reported here as well.
        if frame["type"] == "done" {
            outstanding = outstanding.max(1) - 1;
        }
        note(known, &mut turns, &frame);
    }
}

fn texts(message: &Value) -> String {
    let blocks = message["content"].as_array().expect("content");
    blocks.iter().filter(|block| block["type"] == "text").filter_map(|block| block["text"].as_str()).collect()
}

/// Every call has its result in the message behind it, and every result its call in the one before.
fn assert_well_formed(messages: &[Value]) {
    let of = |message: Option<&Value>, kind: &str, key: &str| -> Vec<String> {
        let blocks = message.and_then(|message| message["content"].as_array()).cloned().unwrap_or_default();
        let found = blocks.iter().filter(|block| block["type"] == kind);
        found.map(|block| block[key].as_str().expect("an id").to_owned()).collect()
    };
    for (number, message) in messages.iter().enumerate() {
        let mut calls = of(Some(message), "tool_call", "id");
        let mut results = of(messages.get(number + 1), "tool_result", "call");
        calls.sort();
        results.sort();
        assert_eq!(calls, results, "around message {number}: {message}");
    }
}

#[test]
fn random_kills_lose_nothing_acknowledged_and_double_nothing() {
    let mut random = Random::new(9);
    let mut known = ClientRecords::default();
    let mut home = aethon_tests::home();
    let mut kills = 0;
    while known.acknowledged.len() < TURNS {
        let server = Server::start_in(home.clone(), &[]);
        // Now and then it dies while it resumes the turns of the crash before.
        let time = if random.between(0, 5) == 0 { random.between(1, 40) } else { wait_until_idle(&server) };
        let until = Instant::now() + Duration::from_millis(time + random.between(10, 80));
        talk(&server, &mut known, until);
        home = server.kill();
        kills += 1;
        assert!(kills < 150, "{} acknowledged", known.acknowledged.len());
    }
    assert!(kills >= 8, "{kills} kills are too few to say anything");
    let server = Server::start_in(home, &[]);
    let mut notices = 0;
    for of_session in 0..SESSIONS {
        let id = format!("webchat:s{of_session}");
        eventually("everything is answered", || {
            (server.get(&format!("/api/sessions/{id}")).json()["busy"] == false).then_some(())
        });
        let messages = server.messages(&id);
        assert_well_formed(&messages);
        notices += check_session(&known, of_session, &messages);
    }
    assert!(notices <= TURNS / 10, "{notices} turns of {TURNS} were given up");
}

/// Asks the remaining questions, one after the other, until the connection breaks. A question whose turn died as often as a
/// turn may begin is given up; its sender gets an error that asks for a new key.
fn ask_all(address: SocketAddr, left: &Mutex<Vec<usize>>, given_up: &Mutex<Vec<usize>>) {
    while let Some(number) = { left.lock().unwrap().pop() } {
        let text = format!("question {number}.");
        let request = Request::post("/webhook/shared", &json!({"text": text}))
            .header("Idempotency-Key", &format!("key-{number}"));
        match exchange(address, &request.bytes(address)) {
            Ok(answer) if answer.status == 200 => assert_eq!(answer.json()["response"], text),
            Ok(answer) if answer.json()["code"] == "interrupted" => {
                assert_eq!(answer.status, 503);
                assert!(answer.text().contains("new Idempotency-Key"), "{}", answer.text());
                given_up.lock().unwrap().push(number);
            }
            _ => return left.lock().unwrap().push(number),
        }
    }
}

#[test]
fn senders_sharing_a_session_get_their_own_answers_through_kills() {
    let mut random = Random::new(12);
    let asked: usize = 300;
    let left = Mutex::new((0..asked).collect::<Vec<_>>());
    let given_up = Mutex::new(Vec::new());
    let mut home = aethon_tests::home();
    let mut kills = 0;
    while !left.lock().unwrap().is_empty() {
        let server = Server::start_in(home.clone(), &["model.provider=echo"]);
        let address = server.address;
        home = std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| ask_all(address, &left, &given_up));
            }
            std::thread::sleep(Duration::from_millis(random.between(30, 90)));
            kills += 1;
            server.kill()
        });
        assert!(kills < 150, "{} are left", left.lock().unwrap().len());
    }
    let server = Server::start_in(home, &["model.provider=echo"]);
    let given_up = given_up.into_inner().unwrap();
    assert!(given_up.len() <= asked / 10, "{given_up:?} of {asked} were given up");
    let said = server.said("webhook:shared");
    let said: Vec<_> = said.iter().filter(|(role, _)| role != "system").collect();
    assert_eq!(said.len(), 2 * asked, "each question and each answer once");
    for pair in said.chunks(2) {
        assert_eq!([pair[0].0.as_str(), pair[1].0.as_str()], ["user", "assistant"]);
        let is_given_up = given_up.iter().any(|number| pair[0].1.contains(&format!("question {number}.")));
        // A question given up has a notice in the place of its answer.
        assert_eq!(pair[1].1.is_empty(), is_given_up, "{pair:?}");
        assert!(pair[0].1.contains(&pair[1].1), "{pair:?}");
    }
}

/// Waits until the turns left by a crash are done; returns 0, the time that is added then.
fn wait_until_idle(server: &Server) -> u64 {
    eventually("what was left over is done", || {
        let sessions = server.get("/api/sessions").json();
        let is_idle = sessions["sessions"].as_array()?.iter().all(|session| session["busy"] == false);
        is_idle.then_some(0)
    })
}

/// Checks the transcript of one session; returns how many turns ended with a notice instead of their answer.
fn check_session(known: &ClientRecords, of_session: usize, messages: &[Value]) -> usize {
    let mut notices = 0;
    let is_user = |message: &&Value| message["role"] == "user";
    let expected: Vec<usize> = (0..TURNS).filter(|number| number % SESSIONS == of_session).collect();
    assert_eq!(
        messages.iter().filter(is_user).count(),
        expected.len(),
        "each message once, session {of_session}"
    );
    for number in expected {
        let question = message(number)["text"].as_str().expect("text").to_owned();
        let asked: Vec<usize> = (0..messages.len())
            .filter(|at| is_user(&&messages[*at]) && texts(&messages[*at]) == question)
            .collect();
        assert_eq!(asked.len(), 1, "message {number}");
        let rest = &messages[asked[0] + 1..];
        let end = rest.iter().position(|message| message["role"] == "user").unwrap_or(rest.len());
        let answer = format!("answer-{number}.");
        let answers = rest[..end].iter().filter(|message| texts(message).contains(&answer)).count();
        if answers == 0 {
            // A turn in which the program died twice is closed, and says so.
            assert!(
                rest[..end].iter().any(|message| message.to_string().contains("\"notice\"")),
                "turn {number}: {:?}",
                &rest[..end]
            );
            notices += 1;
        } else {
            assert_eq!(answers, 1, "turn {number} is answered once");
        }
        let everywhere = messages
            .iter()
            .filter(|message| message["role"] == "assistant" && texts(message).contains(&answer))
            .count();
        assert_eq!(everywhere, answers, "and nowhere else");
        if let Some(told) = known.done.get(&number) {
            assert!(told.contains(&answer) && answers == 1, "what was shown as done is stored: {number}");
        }
    }
    notices
}

#[test]
fn queued_acknowledged_message_survives_a_kill() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    for number in 0..8 {
        chat.send_json(&json!({"type": "message", "id": format!("m{number}"), "text": format!("!sleep 30\n!say answer {number}")}));
    }
    let mut acknowledged = 0;
    while acknowledged < 8 {
        if chat.frame()["type"] == "ack" {
            acknowledged += 1;
        }
    }
    let server = Server::start_in(server.kill(), &[]);
    let said = eventually("all are answered", || {
        let said = server.said("webchat:default");
        (said.iter().filter(|(role, _)| role == "assistant").count() >= 8).then_some(said)
    });
    for number in 0..8 {
        let question = format!("!sleep 30\n!say answer {number}");
        let answer = format!("answer {number}");
        assert_eq!(said.iter().filter(|(role, text)| role == "user" && *text == question).count(), 1);
        assert_eq!(
            said.iter().filter(|(role, text)| role == "assistant" && *text == answer).count(),
            1,
            "{said:?}"
        );
    }
}

#[test]
fn plain_message_interrupted_by_a_crash_gets_closed() {
    let server = Server::start(&[]);
    let mut socket = server.socket("/ws/chat");
    socket.send("!stream 1000 10");
    eventually("it is stored", || (server.get("/api/sessions").json()["count"] == 1).then_some(()));
    drop(socket);
    // Without an id its sender saw the connection break and asks again: it is not answered by itself.
    let server = Server::start_in(server.kill(), &[]);
    eventually("it is closed", || {
        (server.get("/api/sessions/webchat:default").json()["busy"] == false).then_some(())
    });
    let mut socket = server.socket("/ws/chat");
    socket.send("!say again");
    assert_eq!(socket.text(), "again");
    let questions = server.said("webchat:default").into_iter().filter(|(role, _)| role == "user").count();
    assert_eq!(questions, 2);
}

#[test]
fn a_crash_during_a_tool_call_leaves_a_well_formed_history() {
    let settings = [
        "approval.enabled=true",
        "approval.requires_approval=[\"current_time\"]",
        "approval.timeout_seconds=1",
    ];
    let server = Server::start(&settings);
    let mut chat = server.chat("default");
    chat.send_json(&json!({"type": "message", "id": "m1", "text": "!tool current_time {}\n!tool current_time {\"x\": 1}\n!then\n!say end"}));
    chat.until("approval");
    drop(chat);
    let server = Server::start_in(server.kill(), &settings);
    eventually("it has ended", || {
        (server.get("/api/sessions/webchat:default").json()["busy"] == false).then_some(())
    });
    let messages = server.messages("webchat:default");
    assert_well_formed(&messages);
    assert_eq!(messages.iter().filter(|message| message["role"] == "user").count(), 1, "{messages:?}");
}

#[test]
fn two_homes_are_independent() {
    let (one, two) = (Server::start(&[]), Server::start(&[]));
    one.chat("default").say("m1", "!say here");
    assert_eq!(two.get("/api/sessions").json()["count"], 0);
    let homes: [Arc<tempfile::TempDir>; 2] = [one.home(), two.home()];
    assert_ne!(homes[0].path(), homes[1].path());
}

#[test]
fn same_id_sent_concurrently_from_two_places_runs_once() {
    let server = Server::start(&[]);
    let mut sockets: Vec<Socket> = (0..4).map(|_| server.chat("default")).collect();
    for number in 0..10 {
        for socket in &mut sockets {
            socket.send_json(
                &json!({"type": "message", "id": format!("m{number}"), "text": format!("!say {number}")}),
            );
        }
    }
    for _ in 0..10 {
        sockets[0].until("done");
    }
    let said = server.said("webchat:default");
    assert_eq!(said.len(), 20, "{said:?}");
}
