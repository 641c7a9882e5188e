//! `ask --schema`: in this process, through the daemon and with `--connect`, against a service that checks the request.

use std::path::Path;
use std::process::Output;

use aethon_tests::stub::{Seen, Stub, failure, ok};
use aethon_tests::{Server, home, run_cli};
use serde_json::{Value, json};

const SCHEMA: &str = r#"{"type": "object", "additionalProperties": false, "required": ["name"],
    "properties": {"name": {"type": "string"}}}"#;

fn says(text: &str) -> Vec<u8> {
    let chunk = json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": "stop"}]});
    ok("text/event-stream", &format!("data: {chunk}\n\ndata: [DONE]\n\n"))
}

/// A service that answers with these texts, one after the other.
fn service<const N: usize>(answers: [&'static str; N]) -> Stub {
    let mut answers = answers.into_iter();
    Stub::answering(move |_| says(answers.next().unwrap_or("nothing is left")))
}

fn settings(stub: &Stub) -> [String; 6] {
    [
        "model.provider=openai".to_owned(),
        format!("model.host=\"http://{}/v1\"", stub.address),
        "model.model_id=test-model".to_owned(),
        "model.api_key=test-key".to_owned(),
        "model.max_retries=0".to_owned(),
        // Otherwise the service is asked for it first.
        "model.context_window=32000".to_owned(),
    ]
}

fn ask(home: &Path, settings: &[String], arguments: &[&str]) -> Output {
    let file = home.join("schema.json");
    std::fs::write(&file, SCHEMA).unwrap();
    let mut all: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    all.extend(["ask", "--schema", file.to_str().unwrap()]);
    all.extend(arguments);
    run_cli(home, &all, None)
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn format_of(seen: &Seen) -> Value {
    seen.json()["response_format"].clone()
}

#[test]
fn the_answer_is_the_json_that_fits_the_schema() {
    let stub = service(["{\"name\": \"Ada\"}", "{\"name\": 3}", "```json\n{\"name\": \"Bob\"}\n```"]);
    let (home, settings) = (home(), settings(&stub));
    let first = ask(home.path(), &settings, &["Who?"]);
    assert_eq!((first.status.code(), out(&first).as_str()), (Some(0), "{\"name\": \"Ada\"}\n"), "{first:?}");
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let expected =
        json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": true}});
    assert_eq!(format_of(&stub.requests()[0]), expected);
    let repaired = ask(home.path(), &settings, &["--json", "Who?"]);
    let document: Value = serde_json::from_str(&out(&repaired)).unwrap();
    assert_eq!(document["text"], "{\"name\": \"Bob\"}");
    let requests = stub.requests();
    assert_eq!(requests.len(), 3);
    let repair = requests[2].json()["messages"].to_string();
    assert!(repair.contains("`/name` must be of type string"), "{repair}");
}

#[test]
fn an_answer_that_never_fits_exits_1_with_the_fault_and_the_text() {
    let stub = service(["Ada.", "It is Ada."]);
    let output = ask(home().path(), &settings(&stub), &["Who?"]);
    assert_eq!((output.status.code(), out(&output).as_str()), (Some(1), ""), "{output:?}");
    let told = words(&output);
    assert!(told.contains("It is Ada.\n") && told.contains("does not fit the JSON Schema"), "{told}");
    assert_eq!(stub.requests().len(), 2);
}

#[test]
fn a_bad_schema_exits_2_and_names_file_and_fault() {
    let home = home();
    let file = home.path().join("bad.json");
    let check = |content: Option<&str>, expected: &str| {
        content.into_iter().for_each(|content| std::fs::write(&file, content).unwrap());
        let arguments = ["--set", "model.provider=fake", "ask", "--schema", file.to_str().unwrap(), "Who?"];
        let output = run_cli(home.path(), &arguments, None);
        let told = words(&output);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains("bad.json") && told.contains(expected) && out(&output).is_empty(), "{told}");
    };
    check(None, "No such file");
    check(Some("{\"type\": "), "it is not JSON");
    check(Some("{\"type\": \"objekt\"}"), "`/type` must be one of object");
}

#[test]
fn a_daemon_gets_the_schema_in_both_ways() {
    let stub = service(["{\"name\": \"Ada\"}", "{\"name\": \"Bob\"}"]);
    let settings = settings(&stub);
    let server = Server::start(&settings.iter().map(String::as_str).collect::<Vec<_>>());
    let attached = ask(server.home().path(), &[], &["Who?"]);
    assert_eq!(out(&attached), "{\"name\": \"Ada\"}\n", "{attached:?}");
    let address = format!("http://{}", server.address);
    let connected = ask(home().path(), &[], &["--connect", &address, "Who?"]);
    assert_eq!(out(&connected), "{\"name\": \"Bob\"}\n", "{connected:?}");
    assert!(stub.requests().iter().all(|seen| format_of(seen)["type"] == "json_schema"));
}

#[test]
fn a_service_that_refuses_the_field_is_asked_in_words() {
    let stub = Stub::answering(|seen| match format_of(seen).is_null() {
        true => says("{\"name\": \"Ada\"}"),
        false => {
            let error = json!({"error": {"message": "response_format is not supported", "type": "invalid_request_error"}});
            failure("400 Bad Request", "", &error.to_string())
        }
    });
    let output = ask(home().path(), &settings(&stub), &["Who?"]);
    assert_eq!(out(&output), "{\"name\": \"Ada\"}\n", "{output:?}");
    let second = stub.requests()[1].json()["messages"].to_string();
    assert!(second.contains("It must fit this JSON Schema"), "{second}");
}
