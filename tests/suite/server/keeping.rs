//! Conversations that have settings before a message, titles by a small model, and exports with all versions.

use aethon_tests::server::run_cli;
use aethon_tests::stub::{Seen, Stub, failure, ok};
use aethon_tests::{Request, Server, eventually};
use serde_json::{Value, json};

fn title(server: &Server, session: &str) -> String {
    server.get(&format!("/api/sessions/{session}")).json()["title"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_conversation_has_instructions_before_its_first_message() {
    let server = Server::start(&["model.provider=echo"]);
    let begun = json!({"name": "plans", "instructions": "Be brief.", "pinned": true});
    let answer = server.post("/api/sessions/new", &begun);
    let session = answer.json();
    assert_eq!(answer.status, 201, "{session}");
    assert_eq!(
        (&session["session_id"], &session["instructions"]),
        (&json!("webchat:plans"), &json!("Be brief."))
    );
    assert_eq!(
        (&session["message_count"], &session["title"], &session["pinned"]),
        (&json!(0), &json!(""), &json!(true))
    );
    let again = server.post("/api/sessions/new", &begun);
    assert_eq!((again.status, &again.json()["code"]), (409, &json!("session_exists")));
    server.chat("plans").say("m1", "how do plums grow");
    let after = server.get("/api/sessions/webchat:plans").json();
    assert_eq!((&after["instructions"], &after["title"]), (&json!("Be brief."), &json!("how do plums grow")));

    let named = server.post("/api/sessions/new", &json!({}));
    assert_eq!(named.status, 201);
    assert!(named.json()["session_id"].as_str().unwrap().starts_with("webchat:new-"));
    let bad = server.post("/api/sessions/new", &json!({"name": "a\u{7}b"}));
    assert_eq!(bad.status, 422, "{:?}", bad.json());
}

#[test]
fn an_export_has_all_versions_if_they_are_wanted() {
    let server = Server::start(&[]);
    let mut chat = server.chat("plans");
    chat.say("m1", "!say apples");
    let turn = server.messages("webchat:plans")[0]["turn"].clone();
    chat.send_json(&json!({"type": "edit", "id": "m2", "turn": turn, "text": "!say pears"}));
    chat.until("done");
    let export = |query: &str| server.get(&format!("/api/sessions/webchat:plans/export?{query}"));
    let texts = |messages: &Value| -> Vec<String> {
        let messages = messages.as_array().cloned().unwrap_or_default();
        messages.iter().map(|one| one["content"][0]["text"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let live = export("format=json").json();
    assert_eq!(texts(&live["messages"]), ["!say pears", "pears"]);
    assert_eq!(live["other_versions"], Value::Null);
    let all = export("format=json&versions=all").json();
    assert_eq!(texts(&all["messages"]), ["!say pears", "pears"]);
    assert_eq!(texts(&all["other_versions"][0]), ["!say apples", "apples"]);
    assert_eq!(all["other_versions"].as_array().map(Vec::len), Some(1));
    let markdown = export("format=markdown&versions=all").text();
    let home = server.home();
    let terminal = |form: &[&str]| {
        let arguments = [&["sessions", "export", "plans"], form].concat();
        let output = run_cli(home.path(), &arguments, None);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let check_terminal = |which: &str| {
        assert_eq!(terminal(&["--versions"]), markdown, "{which}");
        let all: Value = serde_json::from_str(&terminal(&["--versions", "--format", "json"])).unwrap();
        assert_eq!(texts(&all["other_versions"][0]), ["!say apples", "apples"], "{which}");
        assert!(!terminal(&[]).contains("apples"), "{which}: only the live version without the flag");
    };
    check_terminal("the terminal with a daemon");
    let (now, aside) = markdown.split_once("*Another version:*").expect("the versions have a heading");
    assert!(now.contains("pears") && !now.contains("apples") && aside.contains("apples"), "{markdown}");
    assert!(!export("format=markdown").text().contains("apples"));
    assert_eq!(export("versions=some").status, 422);
    server.chat("one").say("m", "!say hello");
    let none = server.get("/api/sessions/webchat:one/export?versions=all").json();
    assert_eq!(none["other_versions"], json!([]), "it has no versions");
    server.terminate();
    check_terminal("the terminal without a daemon");
}

#[test]
fn titles_of_calls_are_plain_words() {
    let server = Server::start(&[]);
    server.chat("garden").say("m1", "topic=\"dry gardens\" where=\"Crete\"");
    assert_eq!(title(&server, "webchat:garden"), "dry gardens Crete");
}

/// A service whose small model names conversations, and whose large one answers.
fn service() -> Stub {
    Stub::answering(|seen| match seen.line.as_str() {
        "POST /v1/chat/completions" => {
            let is_small = seen.json()["model"] == "small-1";
            let said = if is_small { "\"Growing plums.\"" } else { "In the sun." };
            let chunk = |delta: Value, finish: Value| {
                let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
                let body =
                    json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "choices": [choice]});
                format!("data: {body}\n\n")
            };
            let text = chunk(json!({"role": "assistant", "content": said}), Value::Null);
            let end = chunk(json!({}), json!("stop"));
            ok("text/event-stream", &format!("{text}{end}data: [DONE]\n\n"))
        }
        _ => failure("404 Not Found", "", "{}"),
    })
}

fn start(service: &Stub, more: &[&str]) -> Server {
    let host = format!("model.host=\"http://{}/v1\"", service.address);
    let usual =
        ["model.provider=\"openai\"", "model.model_id=\"large-1\"", "model.api_key=\"sk-test\"", &host];
    Server::start(&[&usual[..], more].concat())
}

/// How many requests the large and the small model got.
fn asked(service: &Stub) -> (usize, usize) {
    let requests: Vec<Seen> =
        service.requests().into_iter().filter(|seen| seen.line.starts_with("POST")).collect();
    let small = requests.iter().filter(|seen| seen.json()["model"] == "small-1").count();
    (requests.len() - small, small)
}

#[test]
fn a_small_model_names_a_conversation_once() {
    let service = service();
    let server = start(&service, &["model.small=\"small-1\""]);
    let mut chat = server.chat("plums");
    chat.say("m1", "how do plums grow");
    eventually("it has a name", || (title(&server, "webchat:plums") == "Growing plums").then_some(()));
    chat.say("m2", "and pears?");
    chat.say("m3", "and figs?");
    assert_eq!(asked(&service), (3, 1), "one request for the name, and none later");
    assert_eq!(title(&server, "webchat:plums"), "Growing plums");
    let usage = server.get("/api/usage").json().to_string();
    assert!(usage.contains("background"), "it is booked: {usage}");

    // What a person has called it stays.
    let rename = Request::new("PATCH", "/api/sessions/webchat:plums");
    let rename = rename.header("Content-Type", "application/json").body(json!({"title": "Mine"}).to_string());
    assert_eq!(server.send(&rename).status, 200);
    chat.say("m4", "and quinces?");
    assert_eq!(title(&server, "webchat:plums"), "Mine");
}

#[test]
fn nothing_is_asked_for_a_title_without_a_small_model_or_by_setting() {
    for more in [&[][..], &["model.small=\"small-1\"", "session.generate_titles=false"]] {
        let service = service();
        let server = start(&service, more);
        let mut chat = server.chat("plums");
        chat.say("m1", "how do plums grow");
        chat.say("m2", "and pears?");
        assert_eq!(asked(&service), (2, 0), "{more:?}");
        assert_eq!(title(&server, "webchat:plums"), "how do plums grow");
    }
}

#[test]
fn a_conversation_that_has_a_title_is_not_named() {
    let service = service();
    let server = start(&service, &["model.small=\"small-1\""]);
    assert_eq!(server.post("/api/sessions/new", &json!({"name": "plums", "title": "Mine"})).status, 201);
    server.chat("plums").say("m1", "how do plums grow");
    server.chat("plums").say("m2", "and pears?");
    assert_eq!((asked(&service), title(&server, "webchat:plums")), ((2, 0), "Mine".to_owned()));
}
