//! Webhooks: signatures, sessions, replies and refusals (docs/contract/http.md).

use std::time::{Duration, Instant};

use aethon_tests::server::server_command;
use aethon_tests::{Request, Response, Server, eventually, home, signature};
use serde_json::{Value, json};

const SECRET: &str = "webhook s3cret";

fn signed(target: &str, body: &str, signature: &str) -> Request {
    let request = Request::new("POST", target).header("Content-Type", "application/json");
    request.header("X-Aethon-Signature", signature).body(body)
}

fn trigger(server: &Server, body: &Value) -> Response {
    server.post("/webhook/trigger", body)
}

fn ids(server: &Server) -> Vec<String> {
    let page = server.get("/api/sessions?limit=100").json();
    let sessions = page["sessions"].as_array().unwrap();
    sessions.iter().map(|session| session["session_id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_reply_is_in_the_body() {
    let server = Server::start(&[]);
    for target in ["/webhook/trigger", "/webhook/any"] {
        let answer = server.post(target, &json!({"text": "!say **hello**"}));
        assert_eq!(answer.status, 200);
        assert_eq!(answer.json(), json!({"status": "ok", "response": "**hello**"}));
        assert_eq!(answer.header("content-type").unwrap().split(';').next(), Some("application/json"));
        answer.assert_guarded();
    }
}

#[test]
fn every_form_of_a_right_signature_is_accepted() {
    let server = Server::start(&[&format!("webhook.secret=\"{SECRET}\"")]);
    // Spaces, an unusual order and escapes: what counts are the bytes.
    let body = "  {\"x\" : 1 ,\n\t\"text\":\"!say h\\u0065llo\" }\r\n";
    let right = signature(SECRET, body.as_bytes());
    for target in ["/webhook/trigger", "/webhook/any"] {
        for form in [
            right.clone(),
            right.to_uppercase(),
            format!("sha256={right}"),
            format!("sha256={}", right.to_uppercase()),
        ] {
            let answer = server.send(&signed(target, body, &form));
            assert_eq!(answer.status, 200, "{form}");
            assert_eq!(answer.json()["response"], "hello");
        }
    }
}

#[test]
fn a_missing_or_wrong_signature_is_403() {
    let server = Server::start(&[&format!("webhook.secret=\"{SECRET}\"")]);
    let body = r#"{"text": "!say hello"}"#;
    let right = signature(SECRET, body.as_bytes());
    let mut flipped = right.clone().into_bytes();
    flipped[63] = if flipped[63] == b'0' { b'1' } else { b'0' };
    let wrong = [
        String::from_utf8(flipped).unwrap(),
        right[..63].to_owned(),
        format!("{right}0"),
        format!("sha1={right}"),
        format!("sha256=sha256={right}"),
        signature("another secret", body.as_bytes()),
        signature(SECRET, br#"{"text":"!say hello"}"#),
        signature("", body.as_bytes()),
        "zz".repeat(32),
        "\u{fc}".repeat(32),
        String::new(),
        "sha256=".to_owned(),
    ];
    for target in ["/webhook/trigger", "/webhook/any"] {
        for signature in &wrong {
            let answer = server.send(&signed(target, body, signature));
            assert_eq!(answer.status, 403, "{signature}");
            answer.problem();
        }
        assert_eq!(server.send(&Request::post(target, &json!({"text": "!say hello"}))).status, 403);
        let twice = signed(target, body, &right).header("X-Aethon-Signature", &"0".repeat(64));
        assert_eq!(server.send(&twice).status, 403, "two signatures");
        let in_the_address = Request::post(&format!("{target}?signature={right}"), &json!({"text": "x"}));
        assert_eq!(server.send(&in_the_address).status, 403);
        // The signature comes before the parsing.
        for broken in ["{", "", "[]", "{}"] {
            assert_eq!(server.send(&signed(target, broken, "00")).status, 403, "{broken}");
        }
    }
    assert_eq!(server.get("/api/sessions").json()["count"], 0, "nothing was run");
}

#[test]
fn invalid_webhook_body_has_its_own_status() {
    let server = Server::start(&[]);
    let send = |target: &str, body: &str| {
        server.send(&Request::new("POST", target).header("Content-Type", "application/json").body(body))
    };
    for target in ["/webhook/trigger", "/webhook/any"] {
        for body in ["", " ", "{", "{\"text\": }", "text=hello", "\u{0}", "{\"text\": \"x\"} x"] {
            assert_eq!(send(target, body).status, 400, "{body:?}");
        }
        for body in [
            "{}",
            "[]",
            "7",
            "null",
            "\"text\"",
            "{\"text\": 7}",
            "{\"text\": null}",
            "{\"text\": [\"x\"]}",
            "{\"Text\": \"x\"}",
        ] {
            let answer = send(target, body);
            assert_eq!(answer.status, 422, "{body}: {}", answer.text());
            answer.problem();
            assert!(answer.json()["errors"].is_array(), "{body}");
        }
        let deep = format!("{{\"text\": {}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!([400, 422].contains(&send(target, &deep).status));
    }
    let typed = send("/webhook/trigger", "{\"text\": \"x\", \"channel\": 7}");
    assert_eq!((typed.status, &typed.json()["errors"][0]["field"]), (422, &json!("channel")));
    assert_eq!(server.get("/api/sessions").json()["count"], 0, "nothing was run");
}

#[test]
fn webhook_sop_name_must_be_valid() {
    let server = Server::start(&[]);
    assert_eq!(trigger(&server, &json!({"text": "!say plain", "sop_name": ""})).json()["response"], "plain");
    assert_eq!(trigger(&server, &json!({"text": "!say plain", "sop_name": null})).status, 200);
    for name in ["Upper", "a b", "../x", "a/b", "\u{e4}", &"x".repeat(65), " ", "a.sop.md"] {
        let answer = trigger(&server, &json!({"text": "x", "sop_name": name}));
        assert_eq!(
            (answer.status, &answer.json()["errors"][0]["field"]),
            (422, &json!("sop_name")),
            "{name}"
        );
    }
    let answer = trigger(&server, &json!({"text": "x", "sop_name": "no-such-sop"}));
    assert_eq!((answer.status, answer.problem()), (404, "unknown_sop".to_owned()));
}

#[test]
fn each_trigger_has_a_session_of_its_own() {
    let server = Server::start(&[]);
    for _ in 0..3 {
        trigger(&server, &json!({"text": "!say hello"}));
    }
    let ids = ids(&server);
    assert_eq!(ids.len(), 3);
    for id in &ids {
        assert!(id.starts_with("webhook:trigger:"), "{id}");
        assert_eq!(server.said(id).len(), 2);
    }
}

#[test]
fn a_named_session_lasts_and_a_channel_continues() {
    let server = Server::start(&[]);
    for _ in 0..2 {
        trigger(&server, &json!({"text": "!say hello", "session": "nightly"}));
        server.post("/webhook/garden", &json!({"text": "!say hello"}));
    }
    let mut ids = ids(&server);
    ids.sort();
    assert_eq!(ids, ["webhook:garden", "webhook:trigger:nightly"]);
    for id in ids {
        assert_eq!(server.said(&id).len(), 4, "{id}");
    }
    for session in ["", "x\u{0}y", &"x".repeat(1000)] {
        let answer = trigger(&server, &json!({"text": "!say x", "session": session}));
        assert!(
            answer.status == 422 || (session.is_empty() && answer.status == 200),
            "{session:?}: {}",
            answer.status
        );
    }
}

#[test]
fn webhook_callers_run_independently() {
    let server = Server::start(&[]);
    let address = server.address;
    let slow = std::thread::spawn(move || {
        Request::post("/webhook/trigger", &json!({"text": "!sleep 3000\n!say slow"})).send(address)
    });
    eventually("the slow one runs", || (server.get("/api/sessions").json()["count"] == 1).then_some(()));
    let begun = Instant::now();
    for _ in 0..5 {
        assert_eq!(trigger(&server, &json!({"text": "!say quick"})).json()["response"], "quick");
    }
    assert!(begun.elapsed() < Duration::from_millis(2500), "{:?}", begun.elapsed());
    assert_eq!(slow.join().unwrap().json()["response"], "slow");
}

#[test]
fn a_channel_in_the_path_is_a_plain_name() {
    let server = Server::start(&[]);
    for path in [
        "",
        "a/b",
        "a%2Fb",
        "a%20b",
        "caf%C3%A9",
        "%00",
        "..",
        ".",
        "%2e%2e",
        "a:b",
        &"x".repeat(65),
        "trigger/x",
    ] {
        let request = format!(
            "POST /webhook/{path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 21\r\n\r\n{{\"text\": \"!say hello\""
        );
        let answer =
            aethon_tests::http::exchange(server.address, (request + "}").as_bytes()).expect("an answer");
        assert!([404, 422].contains(&answer.status), "{path}: {}", answer.status);
    }
    assert_eq!(server.get("/api/sessions").json()["count"], 0);
}

#[test]
fn a_failing_model_is_502_with_its_sentence() {
    let server = Server::start(&["model.max_retries=0"]);
    for kind in ["rate_limit", "overloaded", "auth", "context_length", "network", "malformed"] {
        let answer = trigger(&server, &json!({"text": format!("!error {kind} 9")}));
        assert_eq!((answer.status, answer.problem()), (502, "model_error".to_owned()), "{kind}");
        // A session of its own each, as the webhook has: there is nothing older that could be folded.
        let frames = server.chat(kind).say(kind, &format!("!error {kind} 9"));
        let told = frames.iter().find(|frame| frame["type"] == "error").expect("an error")["message"].clone();
        assert_eq!(answer.json()["detail"], told, "the sentence that the chat shows");
    }
}

#[test]
fn a_reply_that_takes_too_long_is_504() {
    let server = Server::start(&["server.webhook_timeout_seconds=1"]);
    let begun = Instant::now();
    let answer = trigger(&server, &json!({"text": "!sleep 60000"}));
    assert_eq!(answer.status, 504);
    answer.problem();
    assert!(begun.elapsed() < Duration::from_secs(6));
}

#[test]
fn a_turn_that_a_limit_ends_is_200_with_the_reason() {
    let server = Server::start(&["agent.turn_timeout_seconds=1"]);
    for text in ["!loop current_time {}", "!say before\n!stream 500 20"] {
        let answer = trigger(&server, &json!({"text": text}));
        assert_eq!(answer.status, 200, "{text}");
        let told = answer.json()["response"].as_str().unwrap().to_owned();
        assert!(told.len() > 40, "{told}");
    }
}

#[test]
fn webhooks_switched_off_are_404() {
    let server = Server::start(&["webhook.enabled=false"]);
    for target in ["/webhook/trigger", "/webhook/any"] {
        assert_eq!(server.post(target, &json!({"text": "!say hello"})).status, 404);
        assert_eq!(server.get(target).status, 404, "not even as another method");
    }
}

#[test]
fn webhooks_beyond_loopback_need_a_secret() {
    let home = home();
    let mut command = server_command(home.path(), &["channels.webchat.host=0.0.0.0"]);
    command.arg("--insecure-bind");
    let server = Server::start_command(home, command);
    assert_eq!(server.post("/webhook/trigger", &json!({"text": "!say hello"})).status, 404);
    drop(server);
    let body = r#"{"text": "!say hello"}"#;
    let secret = format!("webhook.secret=\"{SECRET}\"");
    let server = Server::start(&[
        "channels.webchat.host=0.0.0.0",
        "dashboard.auth_token=t0ken-of-sixteen-or-more",
        &secret,
    ]);
    let request = signed("/webhook/trigger", body, &signature(SECRET, body.as_bytes()));
    assert_eq!(server.send(&request).status, 200);
    let server = Server::start(&[
        "channels.webchat.host=0.0.0.0",
        "dashboard.auth_token=t0ken-of-sixteen-or-more",
        "webhook.secret=\"  \"",
    ]);
    assert_ne!(server.send(&request).status, 200, "a secret of blanks is none");
}

#[test]
fn a_full_queue_is_503_with_retry_after() {
    let server = Server::start(&[]);
    let address = server.address;
    let send = move |text: &str| Request::post("/webhook/busy", &json!({ "text": text })).send(address);
    let first = std::thread::spawn(move || send("!sleep 8000\n!say first"));
    eventually("the first one runs", || (server.get("/api/sessions").json()["count"] == 1).then_some(()));
    let others: Vec<_> = (0..400).map(|_| std::thread::spawn(move || send("!say other"))).collect();
    let answers: Vec<Response> = others.into_iter().map(|other| other.join().unwrap()).collect();
    let refused: Vec<&Response> = answers.iter().filter(|answer| answer.status != 200).collect();
    assert!(!refused.is_empty(), "a queue is bounded");
    for answer in refused {
        assert_eq!(answer.status, 503, "{}", answer.text());
        answer.problem();
        assert!(answer.header("retry-after").is_some());
    }
    assert_eq!(first.join().unwrap().json()["response"], "first");
}

#[test]
fn a_recipient_that_cannot_be_one_is_refused_before_the_turn() {
    let server = Server::start(&[]);
    for recipient in ["a\0b", &"r".repeat(500)] {
        let body = json!({"text": "!say x", "channel": "webchat", "recipient": recipient});
        let refused = server.post("/webhook/trigger", &body);
        assert_eq!(refused.status, 422, "{recipient:?}");
        assert_eq!(refused.json()["errors"][0]["field"], "recipient");
    }
    assert_eq!(server.get("/api/sessions").json()["count"], 0);
    let body = json!({"text": "!say x", "channel": "webchat", "recipient": "bob"});
    assert_eq!(server.post("/webhook/trigger", &body).status, 200);
    eventually("it is delivered", || (server.get("/api/sessions/webchat:bob").status == 200).then_some(()));
}

#[test]
fn bodies_with_marks_other_charsets_and_vendor_types_are_read() {
    let server = Server::start(&[&format!("webhook.secret=\"{SECRET}\"")]);
    let json = r#"{"text": "!say Grüße"}"#;
    let marked = |mark: &[u8], bytes: &[u8]| [mark, bytes].concat();
    let little: Vec<u8> = json.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let latin: Vec<u8> = json.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    let rows: [(&str, Vec<u8>); 8] = [
        ("application/json", marked(b"\xef\xbb\xbf", json.as_bytes())),
        ("application/json; charset=utf-8", marked(b"\xef\xbb\xbf", json.as_bytes())),
        ("application/json;charset=\"UTF-8\"", json.into()),
        ("application/vnd.example.v2+json", json.into()),
        ("application/cloudevents+json; charset=utf-8", marked(b"\xef\xbb\xbf", json.as_bytes())),
        ("application/json; charset=iso-8859-1", latin.clone()),
        ("application/json; charset=iso-8859-1", json.into()),
        ("application/json; charset=utf-16", marked(b"\xff\xfe", &little)),
    ];
    for target in ["/webhook/trigger", "/webhook/any"] {
        for (kind, body) in &rows {
            // The signature is that of the bytes.
            let request = Request::new("POST", target)
                .header("Content-Type", kind)
                .header("X-Aethon-Signature", &signature(SECRET, body))
                .body(body.clone());
            let answer = server.send(&request);
            assert_eq!(answer.status, 200, "{kind} {body:?}: {}", answer.text());
            assert_eq!(answer.json()["response"], "Grüße", "{kind}");
        }
        let wrong = Request::new("POST", target)
            .header("Content-Type", "application/json")
            .header("X-Aethon-Signature", &signature(SECRET, json.as_bytes()))
            .body(rows[0].1.clone());
        assert_eq!(server.send(&wrong).status, 403, "the mark is part of what is signed");
        let undeclared = Request::new("POST", target)
            .header("Content-Type", "application/json")
            .header("X-Aethon-Signature", &signature(SECRET, &latin))
            .body(latin.clone());
        assert_eq!(server.send(&undeclared).status, 400);
    }
    // The API reads the same.
    let entry = marked(b"\xef\xbb\xbf", r#"{"content": "Tea is green."}"#.as_bytes());
    let request =
        Request::new("POST", "/api/memory").header("Content-Type", "application/vnd.x+json").body(entry);
    assert_eq!(server.send(&request).status, 201);
}
