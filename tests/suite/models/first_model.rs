//! The first model is set up over HTTP, as the chat page does it: it is tried before anything is written.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use aethon_tests::http::Request;
use aethon_tests::server::{Server, home, program};
use aethon_tests::stub::{Stub, failure, ok};
use serde_json::{Value, json};

const KEY: &str = "sk-first$hour-0123456789";

/// A service that knows one key and one model.
fn service() -> Stub {
    Stub::answering(|seen| {
        if seen.header("authorization") != Some(&format!("Bearer {KEY}")) {
            let error = json!({"error": {"message": format!("Incorrect API key provided: {KEY}"), "code": "invalid_api_key"}});
            return failure("401 Unauthorized", "", &error.to_string());
        }
        match seen.line.as_str() {
            "GET /v1/models" => ok(
                "application/json",
                &json!({"object": "list", "data": [{"id": "good-1", "object": "model"}]}).to_string(),
            ),
            line if line.starts_with("GET") => failure("404 Not Found", "", "{}"),
            _ if seen.json()["model"] != "good-1" => {
                let error =
                    json!({"error": {"message": "The model does not exist", "code": "model_not_found"}});
                failure("404 Not Found", "", &error.to_string())
            }
            _ => {
                let choice = |delta: Value, finish: Value| {
                    let chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "good-1",
                        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
                    format!("data: {chunk}\n\n")
                };
                let text = choice(json!({"role": "assistant", "content": "one, two"}), Value::Null);
                ok(
                    "text/event-stream",
                    &format!("{text}{}data: [DONE]\n\n", choice(json!({}), json!("stop"))),
                )
            }
        }
    })
}

/// A server that has no model, with more arguments.
fn without_model(arguments: &[&str]) -> Server {
    let home = home();
    Server::start_command(home.clone(), command(home.path(), arguments))
}

fn command(home: &std::path::Path, arguments: &[&str]) -> Command {
    let mut command = program("aethon-server", home);
    command.args(["--set", "channels.webchat.port=0"]).args(arguments);
    command
}

fn wish(service: &Stub, model: &str, key: &str) -> Value {
    json!({"provider": "openai", "host": format!("http://{}/v1", service.address), "model_id": model, "key": key})
}

/// The field that an answer complains about, and the sentence.
fn fault(server: &Server, body: &Value) -> (String, String) {
    let answer = server.post("/api/models/setup", body);
    assert_eq!(answer.status, 422, "{}", answer.text());
    let error = answer.json()["errors"][0].clone();
    (error["field"].as_str().unwrap().to_owned(), error["message"].as_str().unwrap().to_owned())
}

#[test]
fn model_that_answers_is_in_force_at_once_and_after_a_restart() {
    let service = service();
    let server = without_model(&[]);
    let status = server.get("/api/status").json();
    assert_eq!(status["model_ready"], false, "{status}");
    let offered = server.post("/api/models/offered", &wish(&service, "", KEY));
    assert_eq!(offered.json(), json!({"models": ["good-1"]}), "{}", offered.text());

    let answer = server.post("/api/models/setup", &wish(&service, "good-1", KEY));
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.json()["model"], "good-1");
    let status = server.get("/api/status").json();
    assert_eq!((&status["model_ready"], &status["model"]), (&json!(true), &json!("good-1")), "{status}");
    server.chat("default").say("m1", "hello");
    assert_eq!(server.said("webchat:default")[1].1, "one, two");

    let file = fs::read_to_string(server.home().path().join("config.toml")).unwrap();
    assert!(file.contains("${credential:openai}") && !file.contains("sk-first"), "{file}");
    let kept = server.home().path().join("credentials/openai");
    assert_eq!(fs::read_to_string(&kept).unwrap(), KEY);
    assert_eq!(fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o600);
    let audit = server.get("/api/audit?action=config").text();
    assert!(audit.contains("model.provider") && !audit.contains("sk-first"), "{audit}");
    assert!(!server.stderr().contains("sk-first"), "{}", server.stderr());

    // Once there is a model, its key goes nowhere else.
    let again = server.post("/api/models/setup", &wish(&service, "good-1", KEY));
    assert_eq!((again.status, again.json()["code"].clone()), (409, json!("model_ready")));
    let home = server.home();
    assert!(server.terminate().success());
    let server = Server::start_command(home.clone(), command(home.path(), &[]));
    assert_eq!(server.get("/api/status").json()["model_ready"], true);
    server.chat("default").say("m2", "still there?");
    assert_eq!(server.said("webchat:default")[3].1, "one, two");
}

#[test]
fn model_that_does_not_answer_changes_nothing_and_names_the_field() {
    let service = service();
    let server = without_model(&["--demo"]);
    assert_eq!(server.get("/api/status").json()["demo"], true);
    let (field, why) = fault(&server, &wish(&service, "good-1", "wrong"));
    assert_eq!(field, "key", "{why}");
    let (field, why) = fault(&server, &wish(&service, "bad-2", KEY));
    assert_eq!(field, "model_id", "{why}");
    assert!(!why.contains(KEY), "{why}");
    let (field, why) =
        fault(&server, &json!({"provider": "openai", "host": "http://127.0.0.1:1/v1", "key": KEY}));
    assert_eq!(field, "host", "{why}");
    let (field, why) = fault(&server, &json!({"provider": "openai", "host": "not a url", "key": KEY}));
    assert_eq!(field, "host", "{why}");
    let (field, why) = fault(&server, &json!({"provider": "opnai", "key": KEY}));
    assert!(field == "provider" && why.contains("anthropic"), "{why}");
    let (field, why) = fault(&server, &json!({"provider": "anthropic"}));
    assert_eq!(field, "key", "{why}");
    // What is written is no reference to what the home holds.
    let (field, why) = fault(&server, &wish(&service, "good-1", "${credential:other}"));
    assert_eq!(field, "key", "{why}");
    let home = server.home();
    assert!(!home.path().join("credentials/openai").exists());
    let file = fs::read_to_string(home.path().join("config.toml")).unwrap_or_default();
    assert!(!file.contains("model"), "{file}");
    assert_eq!(server.get("/api/status").json()["demo"], true);
    // The demonstration ends with a model that answers.
    assert_eq!(server.post("/api/models/setup", &wish(&service, "good-1", KEY)).status, 200);
    let status = server.get("/api/status").json();
    assert_eq!((&status["demo"], &status["model"]), (&json!(false), &json!("good-1")), "{status}");
}

#[test]
fn keys_of_other_things_are_neither_replaced_nor_sent() {
    let service = service();
    let home = home();
    fs::create_dir_all(home.path().join("credentials")).unwrap();
    fs::write(home.path().join("credentials/openai"), "sk-of-something-else").unwrap();
    let old = "[model]\nprovider = \"anthropic\"\nhost = \"http://127.0.0.1:1\"\n[transcription]\nprovider = \"openai\"\napi_key = \"${credential:openai}\"\n";
    fs::write(home.path().join("config.toml"), old).unwrap();
    let mut command = command(home.path(), &[]);
    command.env("OPENAI_API_KEY", "sk-of-the-environment");
    let server = Server::start_command(home.clone(), command);
    let open =
        json!({"provider": "openai", "host": format!("http://{}/v1", service.address), "model_id": "good-1"});
    let (field, why) = fault(&server, &open);
    assert!(field == "key" && why.contains("OPENAI_API_KEY"), "{why}");
    assert_eq!(server.post("/api/models/offered", &open).status, 422);
    assert!(service.requests().is_empty(), "no key was sent anywhere");
    // What is left empty is not taken from the file: there, it belongs to another service.
    let (field, why) =
        fault(&server, &json!({"provider": "openai", "key": KEY, "host": "http://127.0.0.1:1/v1"}));
    assert_eq!(field, "host", "{why}");
    assert_eq!(server.post("/api/models/setup", &wish(&service, "good-1", KEY)).status, 200);
    let kept = |name: &str| fs::read_to_string(home.path().join("credentials").join(name)).unwrap();
    assert_eq!((kept("openai").as_str(), kept("openai-model").as_str()), ("sk-of-something-else", KEY));
    let file = fs::read_to_string(home.path().join("config.toml")).unwrap();
    assert!(file.contains("${credential:openai-model}"), "{file}");
    assert_eq!(server.get("/api/status").json()["model"], "good-1");
}

#[test]
fn model_setup_is_refused_to_anyone_but_the_owner() {
    let service = service();
    let server = without_model(&["--set", "dashboard.auth_token=a-long-token-for-this-test"]);
    let body = wish(&service, "good-1", KEY);
    assert_eq!(server.post("/api/models/setup", &body).status, 401);
    let foreign = Request::post("/api/models/setup", &body).header("Origin", "https://evil.example");
    assert_eq!(server.send(&foreign.bearer("a-long-token-for-this-test")).status, 403);
    let own = Request::post("/api/models/setup", &body).bearer("a-long-token-for-this-test");
    assert_eq!(server.send(&own).status, 200);
    // Behind a proxy, without a token, nobody knows who it is.
    let server = without_model(&["--set", "server.trusted_proxies=[\"127.0.0.1\"]"]);
    let far = Request::post("/api/models/setup", &body).header("X-Forwarded-For", "203.0.113.9");
    let answer = server.send(&far);
    assert_eq!(
        (answer.status, answer.json()["code"].clone()),
        (403, json!("terminal_only")),
        "{}",
        answer.text()
    );
    // What a flag says cannot be chosen.
    let server = without_model(&["--set", "model.provider=anthropic"]);
    let (field, why) = fault(&server, &body);
    assert!(field == "provider" && why.contains("--set"), "{why}");
    assert!(!server.home().path().join("credentials/openai").exists());
}
