//! Models on one's own machines: `model.context_window`, Ollama and other local servers.

use aethon_tests::stub::{Seen, failure, ok};
use aethon_tests::{Server, Stub, home, run_cli};
use serde_json::{Value, json};

/// The person's messages of a chat request.
fn said(request: &Seen) -> String {
    let body = request.json();
    let messages = body["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "user");
    messages.map(|message| message["content"].as_str().unwrap_or_default()).collect()
}

fn settings(provider: &str, host: &str) -> [String; 4] {
    [
        format!("model.provider={provider}"),
        "model.model_id=homegrown".to_owned(),
        format!("model.host={host}"),
        "model.max_retries=0".to_owned(),
    ]
}

fn server(provider: &str, host: &str) -> Server {
    Server::start(&settings(provider, host).each_ref().map(String::as_str))
}

fn lines(stub: &Stub) -> Vec<String> {
    stub.requests().into_iter().map(|request| request.line).collect()
}

fn long() -> String {
    format!("The beginning. {}The end.", "Words that fill the window. ".repeat(2_000))
}

/// The requests for an answer of Ollama.
fn chats(stub: &Stub) -> usize {
    lines(stub).iter().filter(|line| *line == "POST /api/chat").count()
}

/// An Ollama whose model is made for 4096 tokens and which, like the real one, would cut a longer prompt without a word.
fn ollama() -> Stub {
    let answer = json!({
        "model": "homegrown", "message": {"role": "assistant", "content": "heard"}, "done": true,
        "done_reason": "stop", "prompt_eval_count": 100, "eval_count": 1,
    });
    Stub::answering(move |request| match request.line.as_str() {
        "POST /api/chat" => ok("application/x-ndjson", &format!("{answer}\n")),
        "GET /api/tags" => ok("application/json", r#"{"models": [{"name": "homegrown:latest"}]}"#),
        "POST /api/show" => ok(
            "application/json",
            r#"{"capabilities": ["completion"], "model_info": {"llama.context_length": 4096}}"#,
        ),
        _ => failure("404 Not Found", "", r#"{"error": "unknown"}"#),
    })
}

#[test]
fn ollama_context_size_is_queried_before_truncation() {
    let stub = ollama();
    let server = server("ollama", &format!("http://{}", stub.address));
    let mut chat = server.chat("default");
    chat.say("m1", "hello");
    assert_eq!(lines(&stub), ["POST /api/show", "POST /api/chat"]);
    let frames = chat.say("m2", &long());
    assert_eq!(frames.last().unwrap()["text"], "heard");
    assert!(frames.iter().any(|frame| frame["code"] == "context_cut"), "the person is told");
    let sent = stub.requests().pop().unwrap();
    assert!(sent.body.len() < 4 * 4_096, "{} bytes", sent.body.len());
    assert!(said(&sent).contains("The beginning.") && said(&sent).contains("The end."));
    assert_eq!(sent.json()["tools"], Value::Null, "it says that this model calls none");
    chat.say("m3", &long());
    let asked = lines(&stub).iter().filter(|line| *line == "POST /api/show").count();
    assert_eq!(asked, 1, "what it said is remembered");
}

#[test]
fn doctor_reports_the_context_size_of_ollama() {
    let stub = ollama();
    let home = home();
    let settings = settings("ollama", &format!("http://{}", stub.address));
    let mut arguments = vec!["doctor", "--json", "--set", "channels.webchat.port=0"];
    arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    let output = run_cli(home.path(), &arguments, None);
    let findings: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = findings.to_string();
    assert!(text.contains("4096 tokens, no tools, no images"), "{text}");
    assert!(text.contains("num_ctx") && text.contains("choose a model with a longer context"), "{text}");
}

#[test]
fn context_size_from_a_refusal_is_remembered() {
    let refusal = "This model's maximum context length is 4096 tokens. However, you requested more.";
    let refusal = json!({"error": {"message": refusal, "type": "BadRequestError", "code": 400}}).to_string();
    let stub = Stub::answering(move |request| match request.line.as_str() {
        "POST /v1/chat/completions" if request.body.len() > 4 * 4_096 => {
            failure("400 Bad Request", "", &refusal)
        }
        "POST /v1/chat/completions" => ok(
            "text/event-stream",
            concat!(
                "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"heard\"}}]}\n\n",
                "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
                "data: [DONE]\n\n"
            ),
        ),
        _ => failure("404 Not Found", "", r#"{"error": "unknown"}"#),
    });
    let server = server("openai", &format!("http://{}/v1", stub.address));
    let mut chat = server.chat("default");
    let refused = || stub.requests().iter().filter(|request| request.body.len() > 4 * 4_096).count();
    for id in ["m1", "m2", "m3"] {
        assert_eq!(chat.say(id, &long()).last().unwrap()["text"], "heard");
        assert_eq!(refused(), 1, "once, and not again");
    }
}

#[test]
fn server_refusing_tools_gets_requests_without_them() {
    let stub = Stub::answering(|request| {
        if request.line != "POST /api/chat" {
            return failure("404 Not Found", "", r#"{"error": "unknown"}"#);
        }
        if request.json()["tools"].is_array() {
            let refusal = r#"{"error": "registry.ollama.ai/library/homegrown does not support tools"}"#;
            return failure("400 Bad Request", "", refusal);
        }
        let answer =
            r#"{"message": {"role": "assistant", "content": "hello"}, "done": true, "done_reason": "stop"}"#;
        ok("application/x-ndjson", &format!("{answer}\n"))
    });
    let server = server("ollama", &format!("http://{}", stub.address));
    let mut chat = server.chat("default");
    assert_eq!(chat.say("m1", "hi").last().unwrap()["text"], "hello");
    assert_eq!(chat.say("m2", "hi").last().unwrap()["text"], "hello");
    assert_eq!(chats(&stub), 3, "refused once, and remembered");
}

/// A model whose server knows no tools: it writes its calls into its text, a few characters at a time.
fn writes_its_calls(answer: &str) -> Vec<u8> {
    let pieces: Vec<char> = answer.chars().collect();
    let line = |content: &str| json!({"message": {"role": "assistant", "content": content}, "done": false});
    let mut body: String =
        pieces.chunks(5).map(|piece| format!("{}\n", line(&piece.iter().collect::<String>()))).collect();
    let end = json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop"});
    body += &format!("{end}\n");
    ok("application/x-ndjson", &body)
}

#[test]
fn tool_call_written_as_text_runs_and_is_hidden() {
    let call = r#"{"name": "current_time", "arguments": {}}"#;
    for written in [
        format!("Let me look.\n<tool_call>\n{call}\n</tool_call>"),
        format!("Let me look.\n[TOOL_CALLS][{call}]"),
        "Let me look.\n<tool_call>\n<function=current_time>\n</function>\n</tool_call>".to_owned(),
    ] {
        let stub = Stub::answering(move |request| {
            if request.line != "POST /api/chat" {
                return failure("404 Not Found", "", r#"{"error": "unknown"}"#);
            }
            let body = request.json();
            let is_answered =
                body["messages"].as_array().unwrap().iter().any(|message| message["role"] == "tool");
            writes_its_calls(if is_answered { "There is nothing." } else { &written })
        });
        let server = server("ollama", &format!("http://{}", stub.address));
        let mut chat = server.chat("default");
        let frames = chat.say("m1", "What is here?");
        let deltas = frames.iter().filter(|frame| frame["type"] == "delta");
        let shown: String = deltas.filter_map(|frame| frame["text"].as_str()).collect();
        assert!(shown.starts_with("Let me look.") && shown.ends_with("There is nothing."), "{shown}");
        assert!(!shown.contains(['<', '[', '{']), "no token is shown: {shown}");
        let tools: Vec<&Value> = frames.iter().filter(|frame| frame["type"] == "tool").collect();
        assert!(tools.iter().all(|frame| frame["name"] == "current_time"), "{tools:?}");
        assert_eq!(tools.last().unwrap()["state"], "ok", "{tools:?}");
        assert_eq!(chats(&stub), 2);
    }
}

#[test]
fn quoted_tool_call_is_shown_and_not_run() {
    let answer =
        "This is the form:\n```\n<tool_call>{\"name\": \"current_time\", \"arguments\": {}}</tool_call>\n```";
    let stub = Stub::answering(move |_| writes_its_calls(answer));
    let server = server("ollama", &format!("http://{}", stub.address));
    let frames = server.chat("default").say("m1", "What is the form?");
    assert_eq!(frames.last().unwrap()["text"], answer);
    assert!(frames.iter().all(|frame| frame["type"] != "tool"), "{frames:?}");
    assert_eq!(chats(&stub), 1);
}

#[test]
fn picture_is_sent_to_an_unknown_model_and_its_refusal_reported() {
    let stub = Stub::answering(|request| {
        if request.line != "POST /api/chat" {
            return ok("application/json", r#"{"model_info": {"llama.context_length": 131072}}"#);
        }
        if request.json()["messages"].to_string().contains("iVBORw0KGgo=") {
            return failure("400 Bad Request", "", r#"{"error": "some words that nobody knows"}"#);
        }
        let answer =
            r#"{"message": {"role": "assistant", "content": "hello"}, "done": true, "done_reason": "stop"}"#;
        ok("application/x-ndjson", &format!("{answer}\n"))
    });
    let server = server("ollama", &format!("http://{}", stub.address));
    let mut chat = server.chat("default");
    let picture = json!([{"name": "dot.png", "mime": "image/png", "data": "iVBORw0KGgo="}]);
    chat.send_json(&json!({"type": "message", "id": "m1", "text": "what is this?", "attachments": picture}));
    let frames = chat.until("done");
    assert_eq!(frames.last().unwrap()["text"], "hello");
    assert!(frames.iter().any(|frame| frame["code"] == "picture_not_seen"), "{frames:?}");
    assert_eq!(chats(&stub), 2, "with the picture, and without");
    assert_eq!(chat.say("m2", "hi").last().unwrap()["text"], "hello");
    assert_eq!(chats(&stub), 3, "the refusal is remembered");
}

/// LM Studio with one model, loaded for 4096 tokens, which refuses longer prompts in its own words.
fn lm_studio() -> Stub {
    let refusal = "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with \
        context length of only 4096 tokens, which is not enough.";
    let refusal = json!({ "error": refusal }).to_string();
    Stub::answering(move |request| match request.line.as_str() {
        "GET /v1/models" => ok(
            "application/json",
            r#"{"object": "list", "data": [{"id": "homegrown", "object": "model", "owned_by": "organization_owner"}]}"#,
        ),
        "GET /api/v0/models" => ok(
            "application/json",
            r#"{"data": [{"id": "homegrown", "type": "llm", "state": "loaded", "max_context_length": 131072,
                "loaded_context_length": 4096}]}"#,
        ),
        "POST /v1/chat/completions" if request.body.len() > 5 * 4_096 => {
            failure("400 Bad Request", "", &refusal)
        }
        "POST /v1/chat/completions" => ok(
            "text/event-stream",
            concat!(
                "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"heard\"},\"finish_reason\":\"stop\"}]}\n\n",
                "data: [DONE]\n\n"
            ),
        ),
        _ => failure("404 Not Found", "", r#"{"error": "unknown"}"#),
    })
}

#[test]
fn lm_studio_context_size_is_that_of_the_loaded_model() {
    let stub = lm_studio();
    let server = server("openai", &format!("http://{}/v1", stub.address));
    let frames = server.chat("default").say("m1", &long());
    assert_eq!(frames.last().unwrap()["text"], "heard");
    let chats = lines(&stub).iter().filter(|line| line.starts_with("POST")).count();
    assert_eq!(chats, 1, "{:?}", lines(&stub));
    let detail = server.feature("model")["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("context window 4096 of 131072, from its service"), "{detail}");
}

#[test]
fn lm_studio_refusal_says_what_fits() {
    let stub = lm_studio();
    let server = server("openai", &format!("http://{}/v1", stub.address));
    let mut chat = server.chat("default");
    for id in ["m1", "m2"] {
        let frames = chat.say(id, "hello");
        assert_eq!(frames.last().unwrap()["text"], "heard", "{frames:?}");
    }
    let chats = lines(&stub).iter().filter(|line| line.starts_with("POST")).count();
    assert!(chats <= 3, "refused once at most: {:?}", lines(&stub));
}

/// A server that answers in OpenAI's form and keeps no list of models.
fn answers() -> Stub {
    Stub::answering(|request| match request.line.as_str() {
        "POST /v1/chat/completions" => ok(
            "text/event-stream",
            concat!(
                "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"heard\"},\"finish_reason\":\"stop\"}]}\n\n",
                "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1000,\"completion_tokens\":100}}\n\n",
                "data: [DONE]\n\n"
            ),
        ),
        _ => failure("404 Not Found", "", r#"{"error": "unknown"}"#),
    })
}

#[test]
fn model_on_this_machine_is_free_unless_a_price_is_set() {
    let check = |provider, price: Option<&str>, expected: f64| {
        let stub = answers();
        let mut all = settings(provider, &format!("http://{}/v1", stub.address)).to_vec();
        all.push("budget.daily_usd=1".into());
        all.extend(price.map(str::to_owned));
        let server = Server::start(&all.iter().map(String::as_str).collect::<Vec<_>>());
        let frames = server.chat("default").say("m1", "hello");
        assert_eq!(frames.last().unwrap()["text"], "heard", "{frames:?}");
        let usage = frames.iter().rfind(|frame| frame["type"] == "usage").unwrap();
        let cost = usage["cost_usd"].as_f64().unwrap();
        assert!((cost - expected).abs() < 1e-9, "{provider} {price:?}: {cost}");
        let budget = server.feature("budget");
        assert!(!budget["detail"].as_str().unwrap().contains("refused"), "{budget}");
    };
    check("openai", None, 0.0);
    check("litellm", None, 0.0);
    check("openai", Some("budget.pricing.homegrown={input = 1.0, output = 2.0}"), 0.0012);
}

#[test]
fn local_fallback_answers_while_the_priced_model_is_down() {
    let local = answers();
    let down =
        Stub::answering(|_| failure("503 Service Unavailable", "", r#"{"error": {"message": "down"}}"#));
    let fallback = format!(
        "model.fallbacks=[{{provider = \"openai\", model_id = \"homegrown\", host = \"http://{}/v1\"}}]",
        local.address
    );
    let host = format!("model.host=http://{}/v1", down.address);
    let priced =
        ["model.provider=openai", "model.model_id=gpt-4o", "model.api_key=sk-test", "model.max_retries=0"];
    let settings = [&priced[..], &[&host, &fallback, "budget.daily_usd=1"]].concat();
    let server = Server::start(&settings);
    let frames = server.chat("default").say("m1", "hello");
    assert_eq!(frames.last().unwrap()["text"], "heard", "{frames:?}");
    assert_eq!(server.feature("budget")["detail"], "1 USD a day");
}

#[test]
fn model_elsewhere_without_a_price_is_refused_with_the_keys() {
    let host = "model.host=http://192.168.77.5:1234/v1";
    let settings = ["model.provider=openai", "model.model_id=homegrown", "model.allow_http=true", host];
    let home = home();
    let mut command = aethon_tests::server::server_command(home.path(), &settings);
    let output = aethon_tests::run(command.args(["--set", "budget.daily_usd=1", "--check"]), None);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("budget.pricing.homegrown") && text.contains("budget.unpriced"), "{text}");
}
