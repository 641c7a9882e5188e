//! Answering again and branching: the frames `retry` and `edit` (docs/contract/sockets.md).

use aethon_tests::socket::of_type;
use aethon_tests::{Request, Server, Socket};
use serde_json::{Value, json};

/// Three turns; returns them.
fn three_turns(chat: &mut Socket) -> Vec<Value> {
    let say = |number: usize| format!("!tool current_time {{}}\n!then\n!say answer {number}");
    (0..3).map(|number| chat.say(&format!("m{number}"), &say(number))[0]["turn"].clone()).collect()
}

fn texts(server: &Server, wanted: &str) -> Vec<String> {
    let said = server.said("webchat:default").into_iter();
    said.filter(|(role, text)| role == wanted && !text.is_empty()).map(|(_, text)| text).collect()
}

#[test]
fn a_retry_answers_again_in_the_place_of_the_answer() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let turns = three_turns(&mut chat);
    chat.send_json(&json!({"type": "retry", "turn": turns[2]}));
    let frames = chat.until("done");
    let turn = &frames[0]["turn"];
    assert_eq!(frames[0]["type"], "ack");
    assert!(turn.is_string() && *turn != turns[2], "a turn of its own");
    assert_eq!(frames.last().unwrap()["text"], "answer 2");
    assert_eq!(texts(&server, "user").len(), 3, "the question is not doubled");
    assert_eq!(texts(&server, "assistant"), ["answer 0", "answer 1", "answer 2"]);
    let first = frames[0]["seq"].as_u64().unwrap();
    assert!(frames.iter().all(|frame| frame["seq"].as_u64() >= Some(first)));
    // And once more: the new turn can be answered again as well.
    chat.send_json(&json!({"type": "retry", "turn": turn}));
    chat.until("done");
    assert_eq!(texts(&server, "user").len(), 3);
}

#[test]
fn retry_of_an_earlier_turn_drops_later_turns() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let turns = three_turns(&mut chat);
    chat.send_json(&json!({"type": "retry", "turn": turns[0]}));
    assert_eq!(chat.until("done").last().unwrap()["text"], "answer 0");
    assert_eq!(texts(&server, "assistant"), ["answer 0"]);
    let session = server.get("/api/sessions/webchat:default").json();
    assert_eq!(session["message_count"], session["messages"].as_array().unwrap().len());
}

#[test]
fn an_edit_branches_from_the_message() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let turns = three_turns(&mut chat);
    chat.send_json(&json!({"type": "edit", "turn": turns[1], "text": "!say edited"}));
    let frames = chat.until("done");
    assert_eq!(frames.last().unwrap()["text"], "edited");
    assert_eq!(texts(&server, "assistant"), ["answer 0", "edited"]);
    assert_eq!(texts(&server, "user").last().unwrap(), "!say edited");
    // The conversation continues from there, also after a restart.
    chat.say("m9", "!say onward");
    let home = server.home();
    drop(chat);
    server.terminate();
    let server = Server::start_in(home, &[]);
    assert_eq!(texts(&server, "assistant"), ["answer 0", "edited", "onward"]);
}

#[test]
fn a_failed_turn_can_be_answered_again() {
    let server = Server::start(&["model.max_retries=0"]);
    let mut chat = server.chat("default");
    let failed = chat.say("m1", "!error auth 1");
    assert_eq!(failed.last().unwrap()["stop_reason"], "error");
    chat.send_json(&json!({"type": "retry", "turn": failed[0]["turn"]}));
    let frames = chat.until("done");
    assert_eq!(of_type(&frames, "ack").len(), 1);
    assert_eq!(texts(&server, "user"), ["!error auth 1"]);
}

#[test]
fn a_stopped_turn_can_be_answered_again() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    chat.send_json(&json!({"type": "message", "id": "m1", "text": "!stream 40 15\n!say whole"}));
    let turn = chat.until("delta")[0]["turn"].clone();
    chat.send_json(&json!({"type": "stop", "turn": turn}));
    assert_eq!(chat.until("done").last().unwrap()["stop_reason"], "stopped");
    chat.send_json(&json!({"type": "retry", "turn": turn}));
    let done = chat.until("done").pop().unwrap();
    assert!(done["stop_reason"] == "end" && done["text"].as_str().unwrap().ends_with("whole"), "{done}");
    let answers = texts(&server, "assistant");
    assert!(answers.len() == 1 && answers[0].ends_with("whole"), "{answers:?}");
}

#[test]
fn a_turn_of_another_session_is_not_touched() {
    let server = Server::start(&[]);
    let mut other = server.chat("other");
    let turn = other.say("m1", "!say theirs")[0]["turn"].clone();
    let mut chat = server.chat("default");
    for frame in [
        json!({"type": "retry", "turn": turn}),
        json!({"type": "edit", "turn": turn, "text": "!say mine"}),
        json!({"type": "retry", "turn": "0"}),
    ] {
        chat.send_json(&frame);
        let answer = chat.frame();
        assert_eq!(answer["type"], "error", "{frame}: {answer}");
    }
    assert_eq!(server.said("webchat:other").last().unwrap().1, "theirs");
}

#[test]
fn another_version_of_an_answer_is_chosen_with_what_followed_it() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let turns = three_turns(&mut chat);
    chat.send_json(&json!({"type": "edit", "turn": turns[1], "text": "!say edited"}));
    let edited = chat.until("done")[0]["turn"].clone();
    chat.send_json(&json!({"type": "retry", "turn": edited}));
    let again = chat.until("done")[0]["turn"].clone();
    let path = "/api/sessions/webchat:default";
    let shown = server.get(path).json();
    assert_eq!(shown["versions"], json!([{"turn": again, "turns": [turns[1], edited, again]}]), "{shown}");
    let mut other = server.chat("default");
    other.send_json(&json!({"type": "resume", "session": "default", "after": shown["seq"]}));
    let (replayed, _) = other.resumed();
    assert!(replayed.is_empty(), "the page that was read has all of it: {replayed:?}");
    let choose = |turn: &Value| server.post(&format!("{path}/switch"), &json!({"turn": turn}));
    assert_eq!(choose(&turns[1]).json(), json!({"status": "ok", "session_id": "webchat:default"}));
    let told = other.until("switched");
    assert_eq!(told.last().unwrap()["turn"], turns[1], "other devices are told");
    assert_eq!(texts(&server, "assistant"), ["answer 0", "answer 1", "answer 2"]);
    let shown = server.get(path).json();
    assert_eq!(shown["versions"][0]["turn"], turns[1]);
    assert_eq!(shown["message_count"], shown["messages"].as_array().unwrap().len());
    // What the model sees is the present branch.
    let prompt = chat.say("m9", "!say further");
    assert_eq!(prompt.last().unwrap()["text"], "further");
    assert_eq!(choose(&edited).status, 200);
    assert_eq!(texts(&server, "assistant"), ["answer 0", "edited"]);
    assert_eq!(choose(&turns[1]).status, 200);
    assert_eq!(texts(&server, "assistant"), ["answer 0", "answer 1", "answer 2", "further"]);
}

#[test]
fn a_version_that_cannot_be_chosen_is_refused_in_words() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let turns = three_turns(&mut chat);
    chat.send_json(&json!({"type": "retry", "turn": turns[2]}));
    let again = chat.until("done")[0]["turn"].clone();
    let switch = |session: &str, body: Value| {
        let answer = server.post(&format!("/api/sessions/{session}/switch"), &body);
        (answer.status, answer.json()["code"].as_str().unwrap_or_default().to_owned())
    };
    let refused = |status: u16, code: &str| (status, code.to_owned());
    assert_eq!(switch("webchat:default", json!({"turn": "none"})), refused(404, "no_such_turn"));
    assert_eq!(switch("webchat:none", json!({"turn": again})).0, 404);
    assert_eq!(switch("webchat:default", json!({})).0, 422);
    chat.send_json(&json!({"type": "message", "id": "slow", "text": "!sleep 30000"}));
    chat.until("ack");
    assert_eq!(switch("webchat:default", json!({"turn": turns[2]})), refused(409, "turn_running"));
    server.post("/api/sessions/webchat:default/stop", &json!({}));
    chat.until("done");
    assert_eq!(switch("webchat:default", json!({"turn": turns[2]})).0, 200);
}

/// The turns and the texts of a conversation.
fn transcript(server: &Server, session: &str) -> Vec<(String, String)> {
    server.said(session).into_iter().filter(|(_, text)| !text.is_empty()).collect()
}

#[test]
fn fork_is_a_new_conversation_with_the_history_up_to_a_message() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let turns = three_turns(&mut chat);
    let patch = json!({"title": "Plans", "instructions": "Be brief.", "folder": "Work"}).to_string();
    let patch = Request::new("PATCH", "/api/sessions/webchat:default")
        .header("Content-Type", "application/json")
        .body(patch);
    assert_eq!(server.send(&patch).status, 200);
    let whole = transcript(&server, "webchat:default");

    let made = server.post("/api/sessions/webchat:default/fork", &json!({"turn": turns[1]}));
    assert_eq!(made.status, 201, "{}", made.text());
    let fork = made.json()["session_id"].as_str().unwrap().to_owned();
    let session = server.get(&format!("/api/sessions/{fork}")).json();
    assert_eq!((&session["title"], &session["instructions"]), (&json!("Plans (2)"), &json!("Be brief.")));
    assert_eq!(session["folder"], "Work");
    assert_eq!(transcript(&server, &fork), whole[..4], "two questions and their answers");
    // It goes on by itself, and the original stays as it was.
    let name = fork.strip_prefix("webchat:").unwrap();
    let frames = server.chat(name).say("f1", "!say forked");
    assert_eq!(frames.last().unwrap()["text"], "forked");
    assert_eq!(transcript(&server, "webchat:default"), whole);

    let first = server.get("/api/sessions/webchat:default").json()["messages"][0]["id"].clone();
    let made = server.post("/api/sessions/webchat:default/fork", &json!({"message_id": first}));
    let fork = made.json()["session_id"].as_str().unwrap().to_owned();
    assert_eq!(transcript(&server, &fork), whole[..1]);
}

#[test]
fn fork_of_an_older_version_is_named_after_what_it_contains() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let turns = three_turns(&mut chat);
    let title_of = |session: &str| {
        let shown = server.get(&format!("/api/sessions/{session}")).json();
        shown["title"].as_str().unwrap().to_owned()
    };
    let fork = |turn: &Value| {
        let made = server.post("/api/sessions/webchat:default/fork", &json!({"turn": turn}));
        title_of(made.json()["session_id"].as_str().unwrap())
    };
    let older = title_of("webchat:default");
    chat.send_json(&json!({"type": "edit", "turn": turns[0], "text": "!say quite another matter"}));
    let edited = chat.until("done")[0]["turn"].clone();
    let newer = title_of("webchat:default");
    assert!(newer.contains("another matter") && newer != older, "{newer}");
    assert_eq!(fork(&edited), format!("{newer} (2)"));
    let choose = json!({"turn": turns[0]});
    assert_eq!(server.post("/api/sessions/webchat:default/switch", &choose).status, 200);
    assert_eq!(fork(&turns[1]), format!("{older} (2)"));
    // A title that a person gave holds for every version.
    let named = Request::new("PATCH", "/api/sessions/webchat:default")
        .header("Content-Type", "application/json")
        .body(json!({"title": "Plans"}).to_string());
    assert_eq!(server.send(&named).status, 200);
    assert_eq!(fork(&turns[1]), "Plans (2)");
}

#[test]
fn fork_of_what_is_not_there_is_refused_in_words() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    three_turns(&mut chat);
    let check = |session: &str, body: Value, status: u16, code: &str| {
        let refused = server.post(&format!("/api/sessions/{session}/fork"), &body);
        assert_eq!((refused.status, refused.json()["code"].as_str()), (status, Some(code)), "{body}");
    };
    check("webchat:none", json!({"message_id": "1"}), 404, "not_found");
    check("webchat:default", json!({"message_id": "999999"}), 404, "no_such_message");
    check("webchat:default", json!({"turn": "nothing"}), 404, "no_such_message");
    check("webchat:default", json!({"message_id": "x"}), 422, "invalid_request");
    check("webchat:default", json!({}), 422, "invalid_request");
    check("webchat:default", json!({"message_id": "1", "turn": "x"}), 422, "invalid_request");
    assert_eq!(server.get("/api/sessions").json()["count"], 1, "nothing was made");
}
