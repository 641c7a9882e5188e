//! Reconnecting with `resume` and `seq` loses and doubles nothing (docs/api.md).

use aethon_tests::socket::spoken;
use aethon_tests::{Random, Server, Socket, eventually};
use serde_json::{Value, json};

/// A new connection that resumes after a frame.
fn resumed(server: &Server, session: &str, after: u64) -> Socket {
    let mut chat = server.chat(session);
    chat.send_json(&json!({"type": "resume", "session": session, "after": after}));
    chat
}

fn seq(frame: &Value) -> u64 {
    frame["seq"].as_u64().unwrap_or_else(|| panic!("a number in {frame}"))
}

/// Numbers increase and no frame comes twice.
fn assert_increasing(frames: &[Value]) {
    for pair in frames.windows(2) {
        assert!(seq(&pair[0]) < seq(&pair[1]), "{} then {}", pair[0], pair[1]);
    }
}

#[test]
fn connection_broken_during_a_reply_loses_and_doubles_nothing() {
    let server = Server::start(&[]);
    let mut random = Random::new(5);
    for round in 0..4 {
        let session = format!("s{round}");
        let mut chat = server.chat(&session);
        chat.send_json(
            &json!({"type": "message", "id": "m1", "text": "!stream 250 3\n!say # end\n!say of it"}),
        );
        let mut frames: Vec<Value> = Vec::new();
        let mut left = random.between(1, 60);
        loop {
            let frame = chat.frame();
            let is_done = frame["type"] == "done";
            frames.push(frame);
            if is_done {
                break;
            }
            left -= 1;
            if left == 0 {
                left = random.between(1, 60);
                // Cut as a network would, without a farewell.
                chat.stream().shutdown(std::net::Shutdown::Both).expect("it can be cut");
                let after = frames.last().map_or(0, seq);
                chat = resumed(&server, &session, after);
            }
        }
        assert_increasing(&frames);
        let done = frames.last().unwrap();
        assert_eq!(done["text"], spoken(&frames), "round {round}");
        assert!(done["text"].as_str().unwrap().starts_with("token1 token2 token3 "));
        assert_eq!(server.said(&format!("webchat:{session}")).len(), 2);
    }
}

#[test]
fn reply_completes_without_a_connected_client() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    chat.send_json(&json!({"type": "message", "id": "m1", "text": "!stream 30 5\n!say finished"}));
    let first = chat.until("delta");
    drop(chat);
    eventually("it has ended without an audience", || {
        let said = server.said("webchat:default");
        said.last().filter(|(role, text)| role == "assistant" && text.ends_with("finished")).map(drop)
    });
    let mut chat = resumed(&server, "default", seq(first.last().unwrap()));
    let mut frames = first;
    frames.extend(chat.until("done"));
    assert_increasing(&frames);
    assert_eq!(frames.last().unwrap()["text"], spoken(&frames));
}

#[test]
fn resume_after_the_end_brings_nothing() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let last = seq(chat.say("m1", "!say hello").last().unwrap());
    let mut chat = resumed(&server, "default", last);
    let (replayed, end) = chat.resumed();
    assert!(replayed.is_empty(), "{replayed:?}");
    assert_eq!(end, json!({"type": "resumed", "session": "default", "seq": last}));
    let next = chat.say("m2", "!say next");
    assert!(seq(&next[0]) > last);
}

#[test]
fn a_resume_reaches_back_over_several_turns() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let mut told = Vec::new();
    for number in 0..3 {
        told.extend(chat.say(&format!("m{number}"), "!stream 5 1\n!say end"));
    }
    for after in [0, seq(&told[0]), seq(&told[5]), seq(&told[told.len() - 2])] {
        let mut chat = resumed(&server, "default", after);
        let expected: Vec<&Value> = told.iter().filter(|frame| seq(frame) > after).collect();
        let replayed: Vec<Value> = (0..expected.len()).map(|_| chat.frame()).collect();
        assert_eq!(replayed.iter().collect::<Vec<_>>(), expected, "after {after}");
    }
}

#[test]
fn a_resume_of_another_session_is_of_that_one() {
    let server = Server::start(&[]);
    let told = server.chat("there").say("m1", "!say there");
    let mut chat = server.chat("here");
    chat.send_json(&json!({"type": "resume", "session": "there", "after": seq(&told[0])}));
    let replayed = chat.until("done");
    assert_eq!(replayed, told[1..]);
}

#[test]
fn a_resume_twice_on_one_socket_is_possible() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let told = chat.say("m1", "!say hello");
    for _ in 0..2 {
        chat.send_json(&json!({"type": "resume", "session": "default", "after": seq(&told[0])}));
        assert_eq!(chat.until("done"), told[1..]);
    }
}

#[test]
fn numbers_increase_across_a_restart() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let last = seq(chat.say("m1", "!stream 200 0\n!say hello").last().unwrap());
    let home = server.home();
    drop(chat);
    server.terminate();
    let server = Server::start_in(home, &[]);
    let mut chat = resumed(&server, "default", last);
    let frames = chat.say("m2", "!say next");
    let numbered: Vec<Value> = frames.into_iter().filter(|frame| frame["seq"].is_u64()).collect();
    assert!(seq(&numbered[0]) > last, "{} after {last}", numbered[0]);
    assert_increasing(&numbered);
    assert_eq!(spoken(&numbered), "next");

    let last = seq(numbered.last().unwrap());
    drop(chat);
    let server = Server::start_in(server.kill(), &[]);
    let next = server.chat("default").say("m3", "!say third");
    assert!(seq(&next[0]) > last, "after a crash as well: {} after {last}", next[0]);
}

#[test]
fn a_client_that_resumes_over_a_crash_gets_the_answer() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let message = json!({"type": "message", "id": "m1", "text": "!stream 60 10\n!say finished"});
    chat.send_json(&message);
    let before = chat.until("delta");
    drop(chat);
    let server = Server::start_in(server.kill(), &[]);
    let mut chat = resumed(&server, "default", seq(before.last().unwrap()));
    chat.send_json(&message);
    let mut frames = Vec::new();
    let of = |frames: &[Value], kind: &str| frames.iter().find(|frame| frame["type"] == kind).cloned();
    // The turn may have ended before the client was back: then it is told of the gap, and reads the answer.
    let is_over = |frames: &[Value]| {
        let has_gap = of(frames, "error").is_some_and(|error| error["code"] == "resume_gap");
        of(frames, "done").is_some() || (has_gap && server.said("webchat:default").len() == 2)
    };
    while of(&frames, "ack").is_none() || !is_over(&frames) {
        frames.push(chat.frame());
    }
    assert_eq!(of(&frames, "ack").expect("known by its id")["turn"], before[0]["turn"]);
    assert!(server.said("webchat:default")[1].1.ends_with("finished"));
    assert_eq!(server.said("webchat:default").len(), 2);
}

#[test]
fn resume_with_a_future_number_is_harmless() {
    let server = Server::start(&[]);
    server.chat("default").say("m1", "!say hello");
    for after in [999_999_999_u64, u64::MAX, u64::MAX - 1] {
        let mut chat = resumed(&server, "default", after);
        chat.send_json(&json!({"type": "message", "id": format!("n{after}"), "text": "!say still here"}));
        assert_eq!(chat.until("done").last().unwrap()["text"], "still here");
    }
}

#[test]
fn page_loaded_during_a_reply_continues_from_its_state() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    chat.say("m1", "!say before");
    chat.send_json(&json!({"type": "message", "id": "m2", "text": "!stream 100 5\n!say end"}));
    chat.until("delta");
    let session = server.get("/api/sessions/webchat:default").json();
    assert_eq!(session["busy"], true);
    let mut page = resumed(&server, "default", session["seq"].as_u64().expect("where to go on"));
    let frames = page.until("done");
    assert_increasing(&frames);
    assert_eq!(
        frames.last().unwrap()["text"],
        spoken(&frames),
        "the whole of the reply, and nothing before it"
    );
    let stored = session["messages"].to_string();
    assert!(
        stored.contains("before") && !stored.contains("token1"),
        "what is told live is not loaded: {stored}"
    );
}
