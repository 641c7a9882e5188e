//! The offline models `echo` and `fake`.

use std::time::{Duration, Instant};

use aethon_tests::socket::{of_type, spoken};
use aethon_tests::{Server, Socket};
use serde_json::{Value, json};

fn fake(settings: &[&str]) -> (Server, Socket) {
    let server = Server::start(settings);
    let chat = server.chat("default");
    (server, chat)
}

/// The text of the reply to this.
fn reply(chat: &mut Socket, id: &str, text: &str) -> String {
    chat.say(id, text).last().unwrap()["text"].as_str().unwrap().to_owned()
}

/// How many calls each assistant message of the last turn makes.
fn calls(server: &Server) -> Vec<usize> {
    let messages = server.messages("webchat:default");
    let last = messages.iter().rposition(|message| message["role"] == "user").unwrap();
    let count = |message: &Value| {
        message["content"].as_array().unwrap().iter().filter(|block| block["type"] == "tool_call").count()
    };
    messages[last..].iter().filter(|message| message["role"] == "assistant").map(count).collect()
}

#[test]
fn echo_model_streams_its_input_word_by_word() {
    let (_server, mut chat) = fake(&["model.provider=echo"]);
    let text = "one two  three\nfour \u{1f980}\n\n- five";
    let frames = chat.say("m1", text);
    assert_eq!(frames.last().unwrap()["text"], text);
    let deltas = of_type(&frames, "delta");
    assert!(deltas.len() >= 5, "streamed by word: {deltas:?}");
    assert_eq!(frames.last().unwrap()["model"], "echo");
    assert_eq!(reply(&mut chat, "m2", "!say not a directive"), "!say not a directive");
}

#[test]
fn fake_model_answers_other_lines_with_the_fixed_reply() {
    let (_server, mut chat) = fake(&[]);
    let first = chat.say("m1", "hello there");
    let html = first.last().unwrap()["html"].as_str().unwrap();
    for element in ["<h", "<li", "<table", "<code", "<pre"] {
        assert!(html.contains(element), "{element} in {html}");
    }
    assert_eq!(reply(&mut chat, "m2", "and again"), first.last().unwrap()["text"], "it is fixed");
    assert_eq!(
        reply(&mut chat, "m3", "hello !say not at the start of a line"),
        first.last().unwrap()["text"]
    );
}

#[test]
fn say_directive_is_the_final_reply() {
    let (_server, mut chat) = fake(&[]);
    assert_eq!(reply(&mut chat, "m1", "!say hello"), "hello");
    assert_eq!(reply(&mut chat, "m2", "words before\n  !say hello\nwords after"), "hello");
    assert_eq!(reply(&mut chat, "m3", "!say one\n!say two"), "one\ntwo");
}

#[test]
fn tool_lines_become_calls_of_one_response() {
    let (server, mut chat) = fake(&[]);
    for (name, text) in [("a.txt", "apple"), ("b.txt", "banana")] {
        std::fs::write(server.home().path().join("workspace").join(name), text).unwrap();
    }
    let text = "!tool file_read {\"path\": \"a.txt\"}\n!tool file_read {\"path\": \"b.txt\"}";
    let told = reply(&mut chat, "m1", text);
    assert!(told.contains("apple") && told.contains("banana"), "{told}");
    assert_eq!(calls(&server), [2, 0]);
}

#[test]
fn then_directive_separates_responses() {
    let (server, mut chat) = fake(&[]);
    let told =
        reply(&mut chat, "m1", "!tool current_time {}\n!then\n!tool current_time {}\n!then\n!say done");
    assert_eq!(told, "done");
    assert_eq!(calls(&server), [1, 1, 0]);
}

#[test]
fn stream_directive_sets_token_count_and_interval() {
    let (_server, mut chat) = fake(&[]);
    let begun = Instant::now();
    let frames = chat.say("m1", "!stream 20 25");
    assert!(begun.elapsed() >= Duration::from_millis(19 * 25), "{:?}", begun.elapsed());
    assert_eq!(spoken(&frames).split_whitespace().count(), 20);
}

#[test]
fn sleep_directive_delays_the_first_token() {
    let (_server, mut chat) = fake(&[]);
    let begun = Instant::now();
    chat.send_json(&json!({"type": "message", "id": "m1", "text": "!sleep 400\n!say awake"}));
    chat.until("delta");
    assert!(begun.elapsed() >= Duration::from_millis(400));
    assert_eq!(chat.until("done").last().unwrap()["text"], "awake");
}

#[test]
fn error_directive_fails_the_given_number_of_times() {
    let (_server, mut chat) = fake(&["model.max_retries=4"]);
    for kind in ["rate_limit", "overloaded", "network"] {
        let frames = chat.say(kind, &format!("!error {kind}\n!say recovered"));
        assert_eq!(frames.last().unwrap()["text"], "recovered", "{kind} is tried again");
        assert_eq!(frames.last().unwrap()["stop_reason"], "end");
    }
    assert_eq!(reply(&mut chat, "twice", "!error overloaded 2\n!say recovered"), "recovered");
    let frames = chat.say("auth", "!error auth\n!say never");
    assert_eq!(frames.last().unwrap()["stop_reason"], "error", "a key does not get better by trying");
    // A conversation that is too long does, when it is folded: once, and not again.
    let frames = chat.say("folds", "!error context_length\n!say recovered");
    assert!(!of_type(&frames, "folded").is_empty());
    assert_eq!(frames.last().unwrap()["text"], "recovered");
    let frames = chat.say("gives up", "!error context_length 9\n!say never");
    assert_eq!(frames.last().unwrap()["stop_reason"], "error");
    assert_eq!(of_type(&frames, "error")[0]["code"], "context_length");
}

#[test]
fn more_errors_than_retries_end_the_turn() {
    let (_server, mut chat) = fake(&["model.max_retries=1"]);
    let frames = chat.say("m1", "!error network 3\n!say never");
    assert_eq!(of_type(&frames, "error")[0]["code"], "network");
    assert!(spoken(&frames).is_empty());
    assert_eq!(reply(&mut chat, "m2", "!error network 1\n!say now"), "now");
}

#[test]
fn a_loop_is_ended_by_the_loop_limit() {
    let (server, mut chat) = fake(&["agent.loop_limit=3"]);
    std::fs::write(server.home().path().join("workspace/a.txt"), "the same").unwrap();
    let frames = chat.say("m1", "!loop file_read {\"path\": \"a.txt\"}");
    let done = frames.last().unwrap();
    assert_eq!(done["stop_reason"], "limit");
    assert!(done["text"].as_str().unwrap().contains("file_read"), "with the reason: {done}");
    let runs = of_type(&frames, "tool").iter().filter(|tool| tool["state"] == "running").count();
    assert!((3..=4).contains(&runs), "{runs} calls");
    // Two calls in alternation are a loop too.
    std::fs::write(server.home().path().join("workspace/b.txt"), "the other").unwrap();
    let pair = "!tool file_read {\"path\": \"a.txt\"}\n!then\n!tool file_read {\"path\": \"b.txt\"}\n!then\n";
    let frames = chat.say("m2", &format!("{}!say never", pair.repeat(10)));
    assert_eq!(frames.last().unwrap()["stop_reason"], "limit");
}

#[test]
fn polling_with_a_sleep_is_no_loop() {
    let (server, mut chat) = fake(&[]);
    std::fs::write(server.home().path().join("workspace/status.txt"), "pending").unwrap();
    let poll = "!tool shell {\"command\": \"sleep 0.2; cat status.txt\"}\n!then\n".repeat(6);
    let done = chat.say("one", &format!("{poll}!say still pending")).pop().unwrap();
    assert_eq!((&done["text"], &done["stop_reason"]), (&json!("still pending"), &json!("end")));
    let cat = "!tool shell {\"command\": \"cat status.txt\"}\n!then\n!tool shell {\"command\": \"sleep .1\"}\n!then\n";
    let done = chat.say("two", &format!("{}!say waited", cat.repeat(5))).pop().unwrap();
    assert_eq!((&done["text"], &done["stop_reason"]), (&json!("waited"), &json!("end")));
    let hasty = "!tool file_read {\"path\": \"status.txt\"}\n!then\n".repeat(6);
    let done = chat.say("three", &format!("{hasty}!say never")).pop().unwrap();
    assert_eq!(done["stop_reason"], "limit");
}

#[test]
fn directives_count_in_the_turn_that_sent_them_only() {
    let (server, mut chat) = fake(&[]);
    assert_eq!(reply(&mut chat, "m1", "!tool current_time {}\n!then\n!say first"), "first");
    let second = reply(&mut chat, "m2", "hello");
    assert!(second.contains("directive"), "the fixed reply: {second}");
    assert_eq!(calls(&server), [0]);
}

#[test]
fn invalid_directive_is_reported() {
    let (_server, mut chat) = fake(&[]);
    for line in
        ["!tool", "!tool current_time {broken", "!stream x y", "!sleep soon", "!error strange", "!loop"]
    {
        let frames = chat.say(line, line);
        assert_eq!(frames.last().unwrap()["type"], "done", "{line}");
        assert!(!frames.last().unwrap()["text"].as_str().unwrap().is_empty(), "{line}");
    }
}

#[test]
fn the_tools_of_the_contract_have_their_parameters() {
    let (server, mut chat) = fake(&[]);
    std::fs::write(server.home().path().join("workspace/notes.txt"), "milk").unwrap();
    assert!(reply(&mut chat, "m1", "!tool file_read {\"path\": \"notes.txt\"}").contains("milk"));
    let told = reply(&mut chat, "m2", "!tool current_time {}");
    assert!(told.contains("20") && told.contains(':'), "a time: {told}");
}

#[test]
fn tool_output_is_capped() {
    let (server, mut chat) = fake(&["agent.max_tool_output_chars=500"]);
    std::fs::write(server.home().path().join("workspace/long.txt"), "line of text\n".repeat(5000)).unwrap();
    let told = reply(&mut chat, "m1", "!tool file_read {\"path\": \"long.txt\"}");
    assert!(told.len() < 2000 && told.contains("line of text"), "{} characters", told.len());
}

#[test]
fn failing_model_is_replaced_by_the_fallback() {
    let server = Server::start(&["model.fallbacks=[\"fake-b\"]"]);
    let frames = server.chat("default").say("m1", "!error auth\n!say from the second");
    let model = frames.iter().find(|frame| frame["type"] == "model").expect("it is told");
    assert_eq!(model["model"], "fake-b");
    let done = frames.last().unwrap();
    assert_eq!((&done["text"], &done["model"]), (&"from the second".into(), &"fake-b".into()));
}
