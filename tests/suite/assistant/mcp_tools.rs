//! Servers of tools never end a chat: their tools are fitted to the service of the model, counted together, set aside when
//! the service refuses them, and waited for right after the start (docs/mcp.md).

use aethon_tests::socket::{of_type, spoken};
use aethon_tests::stub::{Seen, Stub, failure, ok};
use aethon_tests::{Server, eventually, home, run_cli};
use serde_json::{Value, json};

fn fake(name: &str, word: &str) -> [String; 2] {
    let command = format!("mcp.servers.{name}.command={:?}", env!("CARGO_BIN_EXE_fake-mcp"));
    [command, format!("mcp.servers.{name}.args=[{word:?}]")]
}

/// Starts a server with these MCP servers (name and mode) and settings.
fn start(servers: &[(&str, &str)], settings: &[&str]) -> Server {
    let own: Vec<String> = servers.iter().flat_map(|(name, word)| fake(name, word)).collect();
    let all: Vec<&str> = own.iter().map(String::as_str).chain(settings.iter().copied()).collect();
    Server::start(&all)
}

fn offered(seen: &Seen) -> Vec<Value> {
    if seen.body.is_empty() {
        return Vec::new();
    }
    seen.json()["tools"].as_array().cloned().unwrap_or_default()
}

fn name(tool: &Value) -> &str {
    tool["function"]["name"].as_str().unwrap_or_default()
}

fn refused(message: &str, param: &str) -> Vec<u8> {
    let body =
        json!({"error": {"message": message, "type": "invalid_request_error", "param": param, "code": null}});
    failure("400 Bad Request", "", &body.to_string())
}

/// OpenAI's rules for tools, as far as they are of use here. `cursed`: it refuses the tool of this name, for no good reason.
fn openai(seen: &Seen, cursed: &str) -> Vec<u8> {
    if !seen.line.ends_with("/chat/completions") {
        return ok("application/json", r#"{"data":[]}"#);
    }
    let tools = offered(seen);
    if tools.len() > 128 {
        let message = format!(
            "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length {} \
             instead.",
            tools.len()
        );
        return refused(&message, "tools");
    }
    for tool in &tools {
        let (name, schema) = (name(tool), &tool["function"]["parameters"]);
        let has_combination =
            ["anyOf", "oneOf", "allOf", "enum", "not", "$ref"].iter().any(|key| !schema[*key].is_null());
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        let properties = schema["properties"].as_object().cloned().unwrap_or_default();
        let is_odd = properties.iter().any(|(name, property)| {
            !name.chars().all(plain) || !property["$ref"].is_null() || property["type"] == "str"
        });
        if has_combination || is_odd || name == cursed {
            return refused(
                &format!("Invalid schema for function '{name}': it is refused."),
                "tools.function.parameters",
            );
        }
    }
    let chunk =
        |delta: Value, end: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": end}]});
    let words = chunk(json!({"role": "assistant", "content": format!("{} tools", tools.len())}), Value::Null);
    let end = chunk(json!({}), "stop".into());
    ok("text/event-stream", &format!("data: {words}\n\ndata: {end}\n\ndata: [DONE]\n\n"))
}

fn service(cursed: &'static str) -> (Stub, [String; 3]) {
    let stub = Stub::answering(move |seen| openai(seen, cursed));
    let host = format!("model.host=http://{}/v1", stub.address);
    (stub, ["model.provider=openai".to_owned(), "model.model_id=gpt-4o".to_owned(), host])
}

fn until_servers(server: &Server, words: &str) {
    eventually(words, || server.feature("mcp")["detail"].as_str()?.contains(words).then_some(()));
}

#[test]
fn odd_tools_are_fitted_and_a_refused_one_is_set_aside() {
    let (stub, settings) = service("x__cursed");
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let server = start(&[("x", "odd")], &settings);
    until_servers(&server, "x: connected, 7 tools, 1 left out (bad (no input schema))");
    let frames = server.chat("default").say("m1", "hello");
    assert!(spoken(&frames).ends_with(" tools"), "{frames:?}");
    let asked: Vec<Vec<Value>> =
        stub.requests().iter().map(offered).filter(|tools| !tools.is_empty()).collect();
    assert_eq!(asked.len(), 2, "refused once, and asked again once");
    assert_eq!(asked[0].len(), asked[1].len() + 1);
    let names: Vec<&str> = asked[1].iter().map(name).collect();
    for there in ["x__good", "x__either", "x__names", "x__a_b", "shell"] {
        assert!(names.contains(&there), "{names:?}");
    }
    assert_eq!(names.iter().filter(|name| name.starts_with("x__a_b")).count(), 2, "{names:?}");
    assert!(!names.contains(&"x__cursed"));
    let detail = server.feature("tools")["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("refused by openai") && detail.ends_with(": x__cursed"), "{detail}");
    server.chat("default").say("m2", "and again");
    let requests = stub.requests().iter().map(offered).filter(|tools| !tools.is_empty()).count();
    assert_eq!(requests, 3, "it is not sent again");
}

#[test]
fn service_gets_as_many_tools_as_it_takes_and_the_rest_is_named() {
    let (stub, settings) = service("");
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let server = start(&[("one", "many"), ("two", "many")], &settings);
    until_servers(&server, "two: connected, 120 tools");
    until_servers(&server, "one: connected, 120 tools");
    let frames = server.chat("default").say("m1", "hello");
    assert_eq!(spoken(&frames), "128 tools");
    let requests = stub.requests();
    let tools = requests.iter().map(offered).find(|tools| !tools.is_empty()).unwrap();
    let of = |server: &str| tools.iter().filter(|tool| name(tool).starts_with(server)).count();
    assert!(of("one__").abs_diff(of("two__")) <= 1, "{} and {}", of("one__"), of("two__"));
    assert!(tools.iter().any(|tool| name(tool) == "shell"));
    let detail = server.feature("tools")["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("openai takes 128 tools in one request, so "), "{detail}");
}

#[test]
fn work_right_after_the_start_has_the_tools_of_slow_servers() {
    let call = "!tool fake__echo {\"word\": \"borrowed\"}";
    let home = home();
    let [command, args] = fake("fake", "slow");
    let asked = run_cli(
        home.path(),
        &["--set", "model.provider=fake", "--set", &command, "--set", &args, "ask", call],
        None,
    );
    let said = String::from_utf8_lossy(&asked.stdout).into_owned();
    assert!(said.contains("borrowed") && !said.contains("there is no tool"), "{said}");
    let server = start(&[("fake", "slow")], &["security.guest_tools=[\"fake__*\"]"]);
    let answer = server.post("/webhook/trigger", &json!({"text": call})).text();
    assert!(answer.contains("borrowed") && !answer.contains("there is no tool"), "{answer}");
}

#[test]
fn server_that_does_not_start_is_named_after_a_bounded_wait() {
    let server = start(&[("fake", "hang")], &[]);
    let frames = server.chat("default").say("m1", "hello");
    let notices = of_type(&frames, "notice");
    let said = notices
        .iter()
        .any(|notice| notice["message"].as_str().is_some_and(|it| it.contains("fake is still starting")));
    assert!(said, "{notices:?}");
    assert!(of_type(&frames, "done").last().is_some());
}

#[test]
fn result_that_is_too_large_ends_the_call_in_words() {
    let server = start(&[("x", "odd")], &[]);
    until_servers(&server, "x: connected");
    let begun = std::time::Instant::now();
    let frames = server.chat("default").say("m1", "!tool x__large {}");
    let text = frames.iter().map(Value::to_string).collect::<String>();
    assert!(text.contains("its answer is larger than 8 MiB"), "{text}");
    assert!(begun.elapsed() < std::time::Duration::from_secs(60), "{:?}", begun.elapsed());
    until_servers(&server, "x: connected");
    let frames = server.chat("default").say("m2", "!tool x__good {}");
    assert_eq!(of_type(&frames, "tool").last().expect("a tool frame")["state"], "ok");
}
