//! Each conversation chooses its model, and each message may name another.

use std::time::{Duration, Instant};

use aethon_tests::http::{Request, TIMEOUT};
use aethon_tests::server::{self, Server, run_cli};
use aethon_tests::socket::of_type;
use aethon_tests::stub::{Seen, Stub, failure, ok};
use serde_json::{Value, json};

/// A service with OpenAI's chat completions that lists three models and answers with the name of the one asked.
fn service() -> Stub {
    Stub::answering(|seen| match seen.line.as_str() {
        "GET /v1/models" => {
            let models = ["main-1", "other-2", "third-3"].map(|id| json!({"id": id, "object": "model"}));
            ok("application/json", &json!({"object": "list", "data": models}).to_string())
        }
        "POST /v1/chat/completions" => {
            let model = seen.json()["model"].as_str().unwrap_or_default().to_owned();
            let chunk = |delta: Value, finish: Value| {
                let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
                format!(
                    "data: {}\n\n",
                    json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": [choice]})
                )
            };
            let text = chunk(json!({"role": "assistant", "content": format!("I am {model}.")}), Value::Null);
            let end = chunk(json!({}), json!("stop"));
            ok("text/event-stream", &format!("{text}{end}data: [DONE]\n\n"))
        }
        _ => failure("404 Not Found", "", "{}"),
    })
}

/// The settings of an assistant with that service, a named model there, and another at a second service.
fn settings(first: &Stub, second: &Stub) -> Vec<String> {
    [
        "model.provider=\"openai\"".to_owned(),
        "model.model_id=\"main-1\"".to_owned(),
        "model.api_key=\"sk-first\"".to_owned(),
        format!("model.host=\"http://{}/v1\"", first.address),
        "model.named.fast={ model_id = \"other-2\", effort = \"low\" }".to_owned(),
        format!(
            "model.named.away={{ model_id = \"far-9\", host = \"http://{}/v1\", context_window = 9000 }}",
            second.address
        ),
    ]
    .to_vec()
}

fn start(first: &Stub, second: &Stub) -> Server {
    let settings = settings(first, second);
    Server::start(&settings.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The models that a service was asked for, in order.
fn asked(service: &Stub) -> Vec<String> {
    let completions = |seen: &Seen| seen.line.starts_with("POST");
    let model = |seen: Seen| seen.json()["model"].as_str().unwrap_or_default().to_owned();
    service.requests().into_iter().filter(completions).map(model).collect()
}

fn patch(server: &Server, session: &str, body: &Value) -> (u16, Value) {
    let request = Request::new("PATCH", &format!("/api/sessions/{session}"))
        .header("Content-Type", "application/json")
        .body(body.to_string());
    let answer = server.send(&request);
    (answer.status, answer.json())
}

/// Says something and returns the text and the model of the answer.
fn say(chat: &mut aethon_tests::socket::Socket, id: &str, extra: Value) -> (String, String) {
    let mut frame = json!({"type": "message", "id": id, "text": "who are you?"});
    frame.as_object_mut().unwrap().extend(extra.as_object().cloned().unwrap_or_default());
    chat.send_json(&frame);
    let frames = chat.until("done");
    let done = of_type(&frames, "done")[0];
    (done["text"].as_str().unwrap().to_owned(), done["model"].as_str().unwrap().to_owned())
}

#[test]
fn a_message_names_its_model_and_a_conversation_keeps_one() {
    let (first, second) = (service(), service());
    let server = start(&first, &second);
    let mut chat = server.chat("default");
    let answer = |id: &str| (format!("I am {id}."), id.to_owned());
    assert_eq!(say(&mut chat, "1", json!({})), answer("main-1"));
    assert_eq!(say(&mut chat, "2", json!({"model": "fast"})), answer("other-2"));
    assert_eq!(say(&mut chat, "3", json!({})), answer("main-1"), "only that message named it");

    let (status, session) = patch(&server, "webchat:default", &json!({"model": "away", "effort": "high"}));
    assert_eq!((status, &session["model"], &session["effort"]), (200, &json!("away"), &json!("high")));
    assert_eq!(say(&mut chat, "4", json!({})), answer("far-9"));
    assert_eq!(say(&mut chat, "5", json!({"model": "third-3"})), answer("third-3"), "any id of the service");
    assert_eq!(asked(&second), ["far-9"]);
    let key =
        |stub: &Stub| stub.requests().iter().find_map(|seen| seen.header("authorization").map(str::to_owned));
    assert_eq!(
        (key(&first).as_deref(), key(&second)),
        (Some("Bearer sk-first"), None),
        "a key goes to its own host only"
    );
    assert_eq!(server.get("/api/sessions/webchat:default").json()["model"], "away");

    let home = server.kill();
    let settings = settings(&first, &second);
    let server = Server::start_in(home, &settings.iter().map(String::as_str).collect::<Vec<_>>());
    let mut chat = server.chat("default");
    assert_eq!(say(&mut chat, "6", json!({})), answer("far-9"), "the choice survives a kill");
    let (status, session) = patch(&server, "webchat:default", &json!({"model": null}));
    assert_eq!((status, &session["model"]), (200, &Value::Null));
    assert_eq!(say(&mut chat, "7", json!({})), answer("main-1"));
}

#[test]
fn models_are_listed_by_source_and_unknown_ones_are_refused() {
    let (first, second) = (service(), service());
    let server = start(&first, &second);
    let mut chat = server.chat("default");
    say(&mut chat, "1", json!({}));
    let listed = server.get("/api/models").json();
    assert_eq!(listed["current"], "main-1");
    let sources: Vec<(&str, &str)> = listed["models"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| (model["id"].as_str().unwrap(), model["source"].as_str().unwrap()))
        .collect();
    let expected = [
        ("away", "named"),
        ("fast", "named"),
        ("main-1", "service"),
        ("other-2", "service"),
        ("third-3", "service"),
    ];
    assert_eq!(sources, expected);
    let found = server.get("/api/models?q=THIRD").json();
    assert_eq!(found["models"].as_array().unwrap().len(), 1);

    let (status, problem) = patch(&server, "webchat:default", &json!({"model": "other-3"}));
    assert_eq!((status, &problem["errors"][0]["field"]), (422, &json!("model")));
    assert!(problem["errors"][0]["message"].as_str().unwrap().contains("other-2"), "{problem}");
    assert_eq!(patch(&server, "webchat:default", &json!({"effort": "lots"})).0, 422);
    assert_eq!(patch(&server, "webchat:none", &json!({"model": "fast"})).0, 404);
    chat.send_json(&json!({"type": "message", "id": "2", "text": "x", "model": "nope"}));
    let refused = chat.frame();
    assert_eq!(
        (&refused["type"], &refused["code"], &refused["id"]),
        (&json!("error"), &json!("unknown_model"), &json!("2"))
    );
    assert_eq!(asked(&first), ["main-1"], "nothing was asked of a model that there is not");
}

#[test]
fn slash_model_works_wherever_people_write() {
    let (first, second) = (service(), service());
    let server = start(&first, &second);
    let mut chat = server.socket("/ws/chat?session=plain");
    chat.send("/model");
    let overview = chat.text();
    assert!(overview.contains("`main-1`") && overview.contains("`fast`: other-2"), "{overview}");
    chat.send("/model fast");
    assert!(chat.text().contains("`fast`"));
    chat.send("hi");
    assert_eq!(chat.text(), "I am other-2.");
    chat.send("/model nope");
    assert!(chat.text().starts_with("There is no model `nope`"));
    chat.send("/model default");
    assert!(chat.text().contains("`main-1`"));
    chat.send("hi");
    assert_eq!(chat.text(), "I am main-1.");
}

#[test]
fn ask_takes_a_model() {
    let (first, second) = (service(), service());
    let settings = settings(&first, &second);
    let mut arguments: Vec<&str> = settings.iter().flat_map(|set| ["--set", set.as_str()]).collect();
    let home = server::home();
    arguments.extend(["ask", "--model", "fast", "who are you?"]);
    let output = run_cli(home.path(), &arguments, None);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "I am other-2.\n", "{output:?}");
    let position = arguments.len() - 2;
    arguments[position] = "nope";
    let output = run_cli(home.path(), &arguments, None);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("no model `nope`"), "{output:?}");
}

#[test]
fn a_conversation_whose_model_is_gone_is_answered_with_a_notice() {
    let (first, second) = (service(), service());
    let server = start(&first, &second);
    let mut chat = server.chat("default");
    say(&mut chat, "1", json!({}));
    assert_eq!(patch(&server, "webchat:default", &json!({"model": "away"})).0, 200);
    let home = server.kill();
    let settings = settings(&first, &second);
    let without: Vec<&str> =
        settings.iter().map(String::as_str).filter(|set| !set.contains("named")).collect();
    let server = Server::start_in(home, &without);
    let mut chat = server.chat("default");
    chat.send_json(&json!({"type": "message", "id": "2", "text": "hi"}));
    let frames = chat.until("done");
    let notices = of_type(&frames, "notice");
    assert!(notices.iter().any(|notice| notice["code"] == "model_gone"), "{frames:?}");
    assert_eq!(of_type(&frames, "done")[0]["model"], "main-1");
}

#[test]
fn sops_and_jobs_name_a_model() {
    let (first, second) = (service(), service());
    let server = start(&first, &second);
    let sop =
        "# Greeting\n\n## Overview\nGreets.\n\n**Model:** `fast`\n\n## Steps\n\n### 1. Greet\nSay hello.\n";
    let request = Request::new("PUT", "/api/sops/greeting")
        .header("Content-Type", "application/json")
        .body(json!({"content": sop}).to_string());
    assert_eq!(server.send(&request).status, 200);
    let mut chat = server.chat("default");
    chat.send_json(&json!({"type": "message", "id": "1", "text": "/greeting"}));
    let frames = chat.until("done");
    assert_eq!(of_type(&frames, "done")[0]["model"], "other-2");

    let job = json!({"job_id": "far", "cron": "0 0 1 1 *", "prompt": "hi", "model": "away"});
    let made = server.post("/api/scheduler/jobs", &job);
    assert_eq!((made.status, &made.json()["model"]), (201, &json!("away")));
    let unknown = json!({"job_id": "bad", "cron": "0 0 1 1 *", "prompt": "hi", "model": "nope"});
    assert_eq!(server.post("/api/scheduler/jobs", &unknown).json()["errors"][0]["field"], "model");
    assert!(server.post("/api/scheduler/jobs/far/run", &json!({})).status < 300);
    let deadline = Instant::now() + TIMEOUT;
    while asked(&second).is_empty() {
        assert!(Instant::now() < deadline, "the job was not run");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(asked(&second), ["far-9"]);
}

#[test]
fn offline_models_have_no_siblings() {
    let server = Server::start(&["model.named.second={ model_id = \"fake-2\" }"]);
    let mut chat = server.chat("default");
    chat.send_json(&json!({"type": "message", "id": "1", "text": "!say hi", "model": "nope"}));
    assert_eq!(chat.frame()["code"], "unknown_model");
    chat.send_json(&json!({"type": "message", "id": "2", "text": "!say hi", "model": "second"}));
    let frames = chat.until("done");
    assert_eq!(
        (&of_type(&frames, "done")[0]["text"], &of_type(&frames, "done")[0]["model"]),
        (&json!("hi"), &json!("fake-2"))
    );
}

#[test]
fn doctor_and_check_know_the_named_models() {
    let home = server::home();
    let arguments = [
        "--set",
        "model.provider=fake",
        "--set",
        "budget.daily_usd=1",
        "--set",
        "model.named.far={ provider = \"openai\", model_id = \"zz\", host = \"https://x.invalid/v1\", api_key = \"k\" }",
    ];
    let check: Vec<&str> = arguments.iter().copied().chain(["--check"]).collect();
    let output = aethon_tests::server::run_server(home.path(), &check);
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("zz"), "{said}");
}

#[test]
fn repeated_last_line_of_ollama_does_not_double_the_text() {
    let stub = Stub::answering(|seen| match seen.line.as_str() {
        "POST /api/chat" => ok(
            "application/x-ndjson",
            concat!(
                "{\"message\":{\"role\":\"assistant\",\"content\":\"Hel\"},\"done\":false}\n",
                "{\"message\":{\"role\":\"assistant\",\"content\":\"lo.\"},\"done\":false}\n",
                "{\"message\":{\"role\":\"assistant\",\"content\":\"Hello.\"},\"done\":true,\"done_reason\":\"stop\"}\n",
            ),
        ),
        _ => failure("404 Not Found", "", "{}"),
    });
    let host = format!("model.host=\"http://{}\"", stub.address);
    let server = Server::start(&["model.provider=ollama", "model.model_id=m", &host]);
    let frames = server.chat("default").say("1", "hi");
    assert_eq!(of_type(&frames, "done")[0]["text"], "Hello.");
}
