//! `/ws/chat` with `aethon.chat.v1`: its frames, one by one (docs/contract/sockets.md).

use std::time::{Duration, Instant};

use aethon_tests::socket::{of_type, rendered, spoken};
use aethon_tests::{Server, Socket};
use serde_json::{Value, json};

const V1: [(&str, &str); 1] = [("Sec-WebSocket-Protocol", "aethon.chat.v1")];

fn kinds(frames: &[Value]) -> Vec<&str> {
    frames.iter().filter_map(|frame| frame["type"].as_str()).collect()
}

#[test]
fn ready_comes_first_and_carries_no_number() {
    let server = Server::start(&[]);
    let mut socket = Socket::open(server.address, "/ws/chat?session=notes", &V1);
    let ready = socket.frame();
    assert_eq!(ready, json!({"type": "ready", "session": "notes", "version": "0.3.0"}));
    let mut socket = Socket::open(server.address, "/ws/chat", &V1);
    assert_eq!(socket.frame()["session"], "default");
}

#[test]
fn frames_of_a_turn_come_in_order() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let frames = chat.say("m1", "!stream 30 2\n!say # The end\\n\n!say - a\n!say - **b**");
    let kinds = kinds(&frames);
    assert_eq!((kinds[0], kinds[kinds.len() - 1]), ("ack", "done"), "{kinds:?}");
    assert!(kinds.contains(&"delta") && kinds.contains(&"blocks") && kinds.contains(&"usage"), "{kinds:?}");
    assert_eq!((&frames[0]["id"], &frames[0]["queued"]), (&json!("m1"), &json!(0)));
    let turn = frames[0]["turn"].as_str().expect("a turn");
    let mut last = 0;
    for frame in &frames {
        assert_eq!(frame["turn"], turn, "{frame}");
        let seq = frame["seq"].as_u64().expect("a number");
        assert!(seq > last, "numbers increase: {frame}");
        last = seq;
    }
    let done = frames.last().unwrap();
    assert_eq!((&done["stop_reason"], &done["model"]), (&json!("end"), &json!("fake")));
    assert_eq!(done["text"], spoken(&frames), "the deltas concatenated are the text");
    let html = done["html"].as_str().unwrap();
    let flat = |html: &str| html.split_whitespace().collect::<Vec<_>>().join(" ").replace("> <", "><");
    assert_eq!(flat(&rendered(&frames)), flat(html), "the blocks joined are the html");
    assert!(html.contains("<strong>b</strong>"), "{html}");
    assert!(chat.is_silent(Duration::from_millis(300)), "nothing follows done");
}

#[test]
fn usage_is_the_sum_over_the_turn() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let one = chat.say("m1", "!say short");
    let two = chat.say("m2", "!tool current_time {}\n!then\n!say short");
    let usage = |frames: &[Value]| of_type(frames, "usage").last().copied().cloned().expect("usage");
    for name in ["input_tokens", "output_tokens", "cached_tokens", "cost_usd"] {
        assert!(usage(&one)[name].is_number(), "{name}");
    }
    let input = |frames: &[Value]| usage(frames)["input_tokens"].as_u64().unwrap();
    assert!(input(&one) > 0 && input(&two) > input(&one), "two requests cost more than one");
}

#[test]
fn repeated_message_id_is_one_message() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let message = json!({"type": "message", "id": "m1", "text": "!say once"});
    chat.send_json(&message);
    let frames = chat.until("done");
    chat.send_json(&message);
    let again = chat.frame();
    assert_eq!(
        (&again["type"], &again["id"], &again["turn"]),
        (&json!("ack"), &json!("m1"), &frames[0]["turn"])
    );
    assert!(chat.is_silent(Duration::from_millis(300)), "a second ack and nothing else");
    // Another text under the same id is the same message too, and so it is from another socket.
    let mut other = server.chat("default");
    other.send_json(&json!({"type": "message", "id": "m1", "text": "!say other"}));
    assert_eq!(other.until("ack").last().unwrap()["turn"], frames[0]["turn"]);
    assert_eq!(server.said("webchat:default").len(), 2);
    // In another session it is another message.
    let elsewhere = server.chat("elsewhere").say("m1", "!say elsewhere");
    assert_ne!(elsewhere[0]["turn"], frames[0]["turn"]);
}

#[test]
fn repeated_message_id_is_recognised_during_the_turn_and_after_restart() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let message = json!({"type": "message", "id": "m1", "text": "!stream 30 10\n!say end"});
    chat.send_json(&message);
    chat.until("delta");
    chat.send_json(&message);
    let frames = chat.until("done");
    assert_eq!(of_type(&frames, "ack").len(), 1, "{:?}", kinds(&frames));
    let turn = frames.last().unwrap()["turn"].clone();
    let home = server.home();
    drop(chat);
    server.terminate();
    let server = Server::start_in(home, &[]);
    let mut chat = server.chat("default");
    chat.send_json(&message);
    assert_eq!(chat.until("ack").last().unwrap()["turn"], turn);
    assert_eq!(server.said("webchat:default").len(), 2);
}

#[test]
fn session_runs_in_order_and_reports_its_queue_length() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    for number in 0..4 {
        let text = format!("!sleep 50\n!say answer {number}");
        chat.send_json(&json!({"type": "message", "id": format!("m{number}"), "text": text}));
    }
    let mut frames = Vec::new();
    for _ in 0..4 {
        frames.extend(chat.until("done"));
    }
    let queued: Vec<u64> = of_type(&frames, "ack").iter().filter_map(|ack| ack["queued"].as_u64()).collect();
    assert_eq!(queued, [0, 1, 2, 3]);
    let texts: Vec<&str> = of_type(&frames, "done").iter().filter_map(|done| done["text"].as_str()).collect();
    assert_eq!(texts, ["answer 0", "answer 1", "answer 2", "answer 3"]);
}

#[test]
fn sessions_run_independently() {
    let server = Server::start(&[]);
    let mut slow = server.chat("slow");
    slow.send_json(&json!({"type": "message", "id": "m1", "text": "!sleep 60000"}));
    slow.until("ack");
    let begun = Instant::now();
    for number in 0..10 {
        let mut chat = server.chat(&format!("quick{number}"));
        assert_eq!(chat.say("m1", "!say quick").last().unwrap()["text"], "quick");
    }
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn several_sessions_share_a_socket() {
    let server = Server::start(&[]);
    let mut chat = server.chat("home");
    for session in ["one", "two"] {
        chat.send_json(
            &json!({"type": "message", "id": "m1", "session": session, "text": format!("!say in {session}")}),
        );
        assert_eq!(chat.until("done").last().unwrap()["text"], format!("in {session}"));
        assert_eq!(server.said(&format!("webchat:{session}")).len(), 2);
    }
    assert_eq!(server.get("/api/sessions/webchat:home").status, 404, "nothing was said there");
}

#[test]
fn every_client_of_a_session_sees_its_turns() {
    let server = Server::start(&[]);
    let (mut one, mut two) = (server.chat("shared"), server.chat("shared"));
    let mut stranger = server.chat("private");
    for socket in [&mut two, &mut stranger] {
        socket.settle();
    }
    let mine = one.say("m1", "!stream 10 5\n!say shared");
    let theirs = two.until("done");
    assert_eq!(spoken(&theirs), spoken(&mine));
    assert_eq!(theirs.last(), mine.last());
    assert!(stranger.is_silent(Duration::from_millis(300)), "and nobody else");
}

#[test]
fn tool_call_frames_cover_start_to_end() {
    let server = Server::start(&[]);
    std::fs::write(server.home().path().join("workspace/notes.txt"), "milk and honey\n").unwrap();
    let mut chat = server.chat("default");
    let frames = chat.say("m1", "!tool file_read {\"path\": \"notes.txt\"}\n!tool current_time {}");
    let tools = of_type(&frames, "tool");
    let of =
        |name: &str| -> Vec<&Value> { tools.iter().copied().filter(|tool| tool["name"] == name).collect() };
    for (name, input) in [("file_read", json!({"path": "notes.txt"})), ("current_time", json!({}))] {
        let [running, ended] = of(name)[..] else { panic!("two frames for {name}: {tools:?}") };
        assert_eq!((&running["state"], &running["input"]), (&json!("running"), &input));
        assert_eq!(ended["state"], "ok");
        assert!(running["call"].is_string() && running["call"] == ended["call"]);
        assert!(ended["output"].is_string() && ended["ms"].is_number(), "{ended}");
    }
    assert!(of("file_read")[1]["output"].as_str().unwrap().contains("milk and honey"));
    assert!(
        frames.last().unwrap()["text"].as_str().unwrap().contains("milk and honey"),
        "quoted in the reply"
    );
}

#[test]
fn failing_tool_is_reported_and_the_turn_continues() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    for call in [
        "!tool no_such_tool {}",
        "!tool file_read {\"path\": \"not-there.txt\"}",
        "!tool file_read {}",
        "!tool file_read {\"path\": 7}",
    ] {
        let frames = chat.say(call, &format!("{call}\n!then\n!say went on"));
        let states: Vec<&str> =
            of_type(&frames, "tool").iter().filter_map(|tool| tool["state"].as_str()).collect();
        assert_eq!(states.last(), Some(&"error"), "{call}: {states:?}");
        let done = frames.last().unwrap();
        assert_eq!((&done["text"], &done["stop_reason"]), (&json!("went on"), &json!("end")), "{call}");
    }
}

#[test]
fn failing_model_is_reported_in_a_sentence() {
    let server = Server::start(&["model.max_retries=0"]);
    for kind in ["rate_limit", "overloaded", "auth", "context_length", "network", "malformed"] {
        let mut chat = server.chat(kind);
        let frames = chat.say(kind, &format!("!error {kind}"));
        let error = of_type(&frames, "error")[0];
        assert_eq!(error["code"], kind);
        assert!(error["message"].as_str().unwrap().len() > 20, "{error}");
        assert!(error["seq"].is_u64() && error["turn"].is_string(), "within a turn it is numbered");
        assert_eq!(frames.last().unwrap()["stop_reason"], "error");
        assert_eq!(chat.say("m9", "!say well again").last().unwrap()["text"], "well again");
    }
}

#[test]
fn invalid_frame_gets_an_error_and_the_socket_stays_open() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let deep = format!("{{\"type\": \"message\", \"id\": {}}}", "[".repeat(10_000));
    let long = json!({"type": "message", "id": "x".repeat(100_000), "text": "!say x"}).to_string();
    for frame in [
        "hello",
        "",
        "null",
        "7",
        "[]",
        "{}",
        r#"{"type": 3}"#,
        r#"{"type": "dance"}"#,
        r#"{"type": "message"}"#,
        r#"{"type": "message", "id": "a"}"#,
        r#"{"type": "message", "text": "a"}"#,
        r#"{"type": "message", "id": 3, "text": "a"}"#,
        r#"{"type": "message", "id": "", "text": "a"}"#,
        r#"{"type": "message", "id": "a", "text": ["a"]}"#,
        r#"{"type": "message", "id": "a", "text": "a", "session": 3}"#,
        r#"{"type": "message", "id": "a", "text": "a", "session": ""}"#,
        r#"{"type": "message", "id": "a", "text": "a", "session": "x\u0000y"}"#,
        r#"{"type": "message", "id": "a", "text": ""}"#,
        r#"{"type": "message", "id": "a", "text": "a", "attachments": 3}"#,
        r#"{"type": "approval"}"#,
        r#"{"type": "approval", "id": "none", "decision": "approve"}"#,
        r#"{"type": "approval", "id": "none", "decision": "maybe"}"#,
        r#"{"type": "resume", "session": "default"}"#,
        r#"{"type": "resume", "session": "default", "after": -1}"#,
        r#"{"type": "resume", "after": 0}"#,
        r#"{"type": "retry"}"#,
        r#"{"type": "retry", "turn": "none"}"#,
        r#"{"type": "edit", "turn": "none", "text": "x"}"#,
        r#"{"type": "edit", "turn": "none"}"#,
        &deep,
        &long,
    ] {
        chat.send(frame);
        let answer = chat.frame();
        let shown: String = frame.chars().take(80).collect();
        assert_eq!(answer["type"], "error", "{shown}: {answer}");
        assert!(answer["code"].as_str().is_some_and(|code| !code.is_empty()), "{shown}: {answer}");
        assert!(answer["message"].as_str().is_some_and(|message| message.len() > 10), "{shown}: {answer}");
        assert!(answer.get("seq").is_none() && answer.get("turn").is_none(), "outside a turn: {answer}");
    }
    assert_eq!(chat.say("m1", "!say fine").last().unwrap()["text"], "fine");
    assert_eq!(server.said("webchat:default").len(), 2, "none of it was taken for a message");
}

#[test]
fn replies_are_rendered_without_anything_that_acts() {
    let server = Server::start(&["model.provider=echo"]);
    let mut chat = server.chat("default");
    let hostile = [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<svg onload=alert(1)>",
        "[a](javascript:alert(1))",
        "[a](JaVaScRiPt:alert(1))",
        "[a](&#106;avascript:alert(1))",
        "[a](data:text/html,x)",
        "![a](https://evil.example/x.png)",
        "[a]: vbscript:x\n[a]",
        "<a href='javascript:x'>a</a>",
        "```\"><script>\nx\n```",
        "<iframe src=//evil.example>",
    ];
    for (number, text) in hostile.iter().enumerate() {
        let frames = chat.say(&format!("m{number}"), text);
        let done = frames.last().unwrap();
        assert_eq!(done["text"], *text, "the source stays as it is");
        for html in [done["html"].as_str().unwrap().to_owned(), rendered(&frames)] {
            let lower = html.to_lowercase();
            for bad in [
                "<script",
                "<img",
                "<svg",
                "<iframe",
                "href=\"javascript",
                "href=\"data",
                "href=\"vbscript",
                "src=\"http",
            ] {
                assert!(!lower.contains(bad), "{text}: {html}");
            }
        }
    }
    let done =
        chat.say("scripts", "!say 这是**重要。**所以，见 https://other.example/x，谢谢").pop().unwrap();
    let html = done["html"].as_str().unwrap();
    assert!(
        html.contains("<strong>重要。</strong>") && html.contains("href=\"https://other.example/x\""),
        "{html}"
    );
    let done = chat.say("link", "[a](https://other.example/x)").pop().unwrap();
    let html = done["html"].as_str().unwrap();
    assert!(
        html.contains("other.example") && html.contains("noopener") && html.contains("noreferrer"),
        "{html}"
    );
}

#[test]
fn fast_model_and_slow_reader_lose_no_text() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    for (id, words) in [("m1", 20_000), ("m2", 30_000)] {
        let said: Vec<String> = (0..words).map(|word| format!("w{word}")).collect();
        let frames = chat.say(id, &format!("!say {}", said.join(" ")));
        let done = frames.last().expect("a last frame");
        assert_eq!(done["text"], spoken(&frames));
        assert!(spoken(&frames).ends_with(said.last().expect("a word")));
        assert!(of_type(&frames, "delta").len() > 100, "it still comes in pieces");
    }
}
