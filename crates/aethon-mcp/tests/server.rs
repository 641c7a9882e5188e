//! The server over a pipe, against the SDK's own client and against a client that sends anything.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "in tests a failed expectation is the result"
)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aethon_core::async_trait;
use aethon_core::event::{Event, EventBus};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::jiff::Timestamp;
use aethon_core::log::{Level, LogRecord};
use aethon_core::message::{Inbound, ToolCall, ToolResult};
use aethon_core::surface::Unattended;
use aethon_core::tool::{OutputBlock, ToolContext, ToolSpec, Toolbox};
use aethon_core::turn::TurnContext;
use aethon_mcp::server::{Options, Prompt, PromptArgument, Prompts, serve};
use rmcp::ServiceExt;
use rmcp::model::{CallToolRequestParams, GetPromptRequestParams};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, duplex, split,
};
use tokio::task::JoinHandle;
use tokio::time::timeout;

const TIMEOUT: Duration = Duration::from_secs(30);
const PNG: &str = "iVBORw0KGgo=";

/// Tools that do what their names say.
#[derive(Default)]
struct Fakes {
    begun: Arc<AtomicUsize>,
    dropped: Arc<AtomicUsize>,
}

struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[async_trait::async_trait]
impl Toolbox for Fakes {
    fn specs(&self) -> Arc<[ToolSpec]> {
        let object = json!({"type": "object", "properties": {"text": {"type": "string"}}});
        let spec = |name: &str| ToolSpec::new(name, format!("does {name}"), object.clone());
        [spec("echo").reading_only(), spec("picture"), spec("denied"), spec("hangs")].into()
    }

    async fn run(&self, context: &ToolContext, call: &ToolCall) -> ToolResult {
        assert_eq!(context.session.channel(), "mcp");
        match call.name.as_str() {
            "echo" => ToolResult::ok(call, call.input["text"].as_str().unwrap_or("nothing")),
            "picture" => {
                let mut result = ToolResult::ok(call, "a dot");
                result.untrusted = Some("0123456789abcdef".into());
                result.blocks = vec![
                    OutputBlock::Image { mime: "image/png".into(), data: PNG.into() },
                    OutputBlock::File { name: "a b.txt".into(), mime: "text/plain".into(), text: "x".into() },
                ];
                result
            }
            "denied" => ToolResult::refused(call, "`denied` needs `approval.requires_approval`"),
            _ => {
                let _counted = Counted(self.dropped.clone());
                self.begun.fetch_add(1, Ordering::SeqCst);
                std::future::pending().await
            }
        }
    }
}

/// Greets, and changes its own description.
#[derive(Default)]
struct OnePrompt(Mutex<String>);

#[async_trait::async_trait]
impl Prompts for OnePrompt {
    async fn list(&self) -> Vec<Prompt> {
        let argument = PromptArgument { name: "who".into(), description: "whom".into(), required: true };
        vec![Prompt {
            name: "greet".into(),
            description: self.0.lock().unwrap().clone(),
            arguments: vec![argument],
        }]
    }

    async fn fill(&self, name: &str, arguments: &[(String, String)]) -> Result<String, String> {
        match arguments {
            [(blank, who)] if name == "greet" && blank == "who" => Ok(format!("Greet {who}.")),
            _ => Err("`greet` needs `who`".into()),
        }
    }

    async fn complete(&self, name: &str, argument: &str, begun: &str) -> Result<Vec<String>, String> {
        if (name, argument) != ("greet", "who") {
            return Err("there is no such argument".into());
        }
        let all = (0..150).map(|number| format!("Ada {number}"));
        Ok(all.filter(|name| name.starts_with(begun)).collect())
    }
}

fn options(toolbox: Fakes) -> Options {
    let session = SessionId::of("mcp", "test").unwrap();
    let turn = TurnContext::of(TurnId::fresh(), &Inbound::say(session, ""));
    Options {
        toolbox: Arc::new(toolbox),
        context: ToolContext::of(&turn, Arc::new(Unattended), 1_000),
        prompts: Some(Arc::new(OnePrompt(Mutex::new("greets".into())))),
        bus: None,
        version: "0.0.1".into(),
    }
}

/// A served connection: its other end, and how it ended.
fn served(options: Options) -> (DuplexStream, JoinHandle<Result<(), aethon_mcp::Error>>) {
    let (ours, theirs) = duplex(1 << 16);
    let (input, output) = split(theirs);
    let serving = tokio::spawn(serve(options, input, output, std::future::pending()));
    (ours, serving)
}

/// A client that sends lines.
struct Raw {
    input: WriteHalf<DuplexStream>,
    output: Lines<BufReader<ReadHalf<DuplexStream>>>,
    serving: JoinHandle<Result<(), aethon_mcp::Error>>,
}

impl Raw {
    fn new(toolbox: Fakes) -> Self {
        Self::of(options(toolbox))
    }

    fn of(options: Options) -> Self {
        let (ours, serving) = served(options);
        let (output, input) = split(ours);
        Self { input, output: BufReader::new(output).lines(), serving }
    }

    async fn say(&mut self, line: &str) {
        self.input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// Sends a request and waits for its answer.
    async fn ask(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()).await;
        self.answer(id).await
    }

    async fn answer(&mut self, id: u64) -> Value {
        loop {
            let line = timeout(TIMEOUT, self.output.next_line()).await.expect("in time").unwrap();
            let message: Value = serde_json::from_str(&line.expect("it lives")).expect("nothing but JSON");
            assert_eq!(message["jsonrpc"], "2.0");
            if message["id"] == id {
                return message;
            }
        }
    }

    /// Waits for a notification.
    async fn until(&mut self, method: &str) -> Value {
        loop {
            let line = timeout(TIMEOUT, self.output.next_line()).await.expect("in time").unwrap();
            let message: Value = serde_json::from_str(&line.expect("it lives")).expect("nothing but JSON");
            if message["method"] == method {
                return message;
            }
        }
    }

    async fn initialize(&mut self, revision: &str) -> Value {
        let client = json!({"name": "raw", "version": "1"});
        let params = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": client});
        let answer = self.ask(0, "initialize", params).await;
        self.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        answer
    }
}

#[tokio::test]
async fn the_sdks_client_lists_calls_and_fills_in() {
    let (ours, serving) = served(options(Fakes::default()));
    let client = ().serve(ours).await.unwrap();
    assert_eq!(client.peer_info().unwrap().server_info.as_ref().unwrap().name, "aethon");
    let tools = client.list_all_tools().await.unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_ref()).collect();
    assert_eq!(names, ["echo", "picture", "denied", "hangs"]);
    let reads = |at: usize| tools[at].annotations.as_ref().unwrap().read_only_hint;
    assert_eq!((reads(0), reads(1)), (Some(true), Some(false)));
    assert_eq!(tools[0].input_schema["type"], "object");

    let arguments = json!({"text": "hello"}).as_object().cloned().unwrap();
    let echoed =
        client.call_tool(CallToolRequestParams::new("echo").with_arguments(arguments)).await.unwrap();
    assert_eq!(echoed.content[0].as_text().unwrap().text, "hello");
    assert_ne!(echoed.is_error, Some(true));
    let picture = client.call_tool(CallToolRequestParams::new("picture")).await.unwrap();
    let text = &picture.content[0].as_text().unwrap().text;
    assert!(text.starts_with("[UNTRUSTED EXTERNAL CONTENT]") && text.contains("a dot"), "{text}");
    assert_eq!(picture.content[1].as_image().unwrap().data, PNG);
    assert!(picture.content[2].as_resource().is_some());
    let denied = client.call_tool(CallToolRequestParams::new("denied")).await.unwrap();
    let text = &denied.content[0].as_text().unwrap().text;
    assert!(
        denied.is_error == Some(true) && text.starts_with("Denied here") && text.contains("approval."),
        "{text}"
    );
    assert!(client.call_tool(CallToolRequestParams::new("nothing")).await.is_err());

    let prompts = client.list_all_prompts().await.unwrap();
    assert_eq!(prompts[0].arguments.as_ref().unwrap()[0].required, Some(true));
    let mut filled = GetPromptRequestParams::new("greet");
    filled.arguments = json!({"who": "Ada"}).as_object().cloned();
    let filled = client.get_prompt(filled).await.unwrap();
    assert!(format!("{:?}", filled.messages[0].content).contains("Greet Ada."));
    assert!(client.get_prompt(GetPromptRequestParams::new("greet")).await.is_err());

    client.cancel().await.unwrap();
    timeout(TIMEOUT, serving).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn revisions_are_agreed_on() {
    for (asked, expected) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let mut raw = Raw::new(Fakes::default());
        let answer = raw.initialize(asked).await;
        assert_eq!(answer["result"]["protocolVersion"], expected, "{answer}");
        assert!(answer["result"]["capabilities"]["tools"].is_object(), "{answer}");
        let listed = raw.ask(1, "tools/list", json!({})).await;
        assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 4, "{asked}");
    }
}

#[tokio::test]
async fn the_newest_revision_needs_no_handshake() {
    let mut raw = Raw::new(Fakes::default());
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let found = raw.ask(1, "server/discover", json!({"_meta": meta})).await;
    let versions = found["result"]["supportedVersions"].as_array().unwrap().clone();
    assert!(versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2024-11-05")), "{found}");
    let params = json!({"_meta": meta, "name": "echo", "arguments": {"text": "new"}});
    let called = raw.ask(2, "tools/call", params).await;
    assert_eq!(called["result"]["content"][0]["text"], "new", "{called}");
}

#[tokio::test]
async fn garbage_changes_nothing() {
    let mut raw = Raw::new(Fakes::default());
    for garbage in [
        "",
        "not json",
        "{",
        "\u{0}\u{1}",
        "[]",
        "42",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":77,"result":{}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/nonsense","params":[]}"#,
    ] {
        raw.say(garbage).await;
    }
    raw.input.write_all(b"\xff\xfe\n").await.unwrap();
    raw.say(&"[".repeat(100_000)).await;
    raw.initialize("2025-06-18").await;
    raw.say("not json either").await;
    raw.say(&"{\"a\":".repeat(50_000)).await;
    let unknown = raw.ask(1, "no/such/method", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
    let wrong = raw.ask(2, "tools/call", json!({"name": 5})).await;
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
    let nobody = raw.ask(3, "tools/call", json!({"name": "nobody"})).await;
    assert_eq!(nobody["error"]["code"], -32602, "{nobody}");
    let fine = raw.ask(4, "tools/call", json!({"name": "echo", "arguments": {"text": "alive"}})).await;
    assert_eq!(fine["result"]["content"][0]["text"], "alive");
    assert!(raw.ask(5, "ping", json!({})).await["result"].is_object());
}

#[tokio::test]
async fn array_is_refused_in_every_revision_and_the_connection_stays() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18"] {
        let mut raw = Raw::new(Fakes::default());
        raw.initialize(revision).await;
        let ping = |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
        for array in [json!([]), json!([ping(1)]), json!([ping(1), ping(2), 7])] {
            raw.say(&array.to_string()).await;
            let refused = loop {
                let line = timeout(TIMEOUT, raw.output.next_line()).await.expect("in time").unwrap().unwrap();
                let message: Value = serde_json::from_str(&line).unwrap();
                // The list of tools may be announced in between.
                if message.get("method").is_none() {
                    break message;
                }
            };
            assert_eq!(
                (&refused["id"], &refused["error"]["code"]),
                (&Value::Null, &json!(-32600)),
                "{refused}"
            );
            assert!(refused["error"]["message"].as_str().unwrap().contains("batches"), "{refused}");
        }
        assert!(raw.ask(3, "ping", json!({})).await["result"].is_object());
    }
}

#[tokio::test]
async fn client_that_stops_reading_ends_the_connection_without_an_error() {
    let (mut to_server, input) = duplex(1 << 16);
    let (output, from_server) = duplex(1 << 16);
    let serving = tokio::spawn(serve(options(Fakes::default()), input, output, std::future::pending()));
    drop(from_server);
    let client = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client});
    to_server.write_all(format!("{initialize}\n").as_bytes()).await.unwrap();
    timeout(TIMEOUT, serving).await.expect("it ends").unwrap().unwrap();
}

#[tokio::test]
async fn cancellation_and_disconnection_end_a_call() {
    let fakes = Fakes::default();
    let (begun, dropped) = (fakes.begun.clone(), fakes.dropped.clone());
    let reach = async |count: &AtomicUsize, expected: usize| {
        let reached = async {
            while count.load(Ordering::SeqCst) < expected {
                tokio::task::yield_now().await;
            }
        };
        timeout(TIMEOUT, reached).await.expect("in time");
    };
    let mut raw = Raw::new(fakes);
    raw.initialize("2025-11-25").await;
    let call = json!({"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {"name": "hangs"}});
    raw.say(&call.to_string()).await;
    reach(&begun, 1).await;
    raw.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8}}"#).await;
    reach(&dropped, 1).await;
    assert!(raw.ask(9, "ping", json!({})).await["result"].is_object());
    raw.say(&call.to_string().replace("\"id\":8", "\"id\":10")).await;
    reach(&begun, 2).await;
    raw.input.shutdown().await.unwrap();
    timeout(TIMEOUT, raw.serving).await.expect("it ends").unwrap().unwrap();
    reach(&dropped, 2).await;
}

#[tokio::test]
async fn requests_before_the_end_are_answered() {
    let mut raw = Raw::new(Fakes::default());
    raw.initialize("2025-11-25").await;
    let call = json!({"name": "echo", "arguments": {"text": "last"}});
    raw.say(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).to_string()).await;
    raw.input.shutdown().await.unwrap();
    assert_eq!(raw.answer(1).await["result"]["content"][0]["text"], "last");
    timeout(TIMEOUT, raw.serving).await.expect("it ends").unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn progress_is_sent_to_a_client_that_asks_for_it() {
    let mut raw = Raw::new(Fakes::default());
    raw.initialize("2025-11-25").await;
    let params = json!({"name": "hangs", "_meta": {"progressToken": "p"}});
    raw.say(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()).await;
    let mut heard = Vec::new();
    while heard.len() < 2 {
        let line = timeout(TIMEOUT, raw.output.next_line()).await.expect("in time").unwrap().unwrap();
        let message: Value = serde_json::from_str(&line).unwrap();
        if message["method"] == "notifications/progress" {
            heard.push(message["params"]["progress"].as_f64().unwrap());
        }
    }
    assert!(heard[0] > 0.0 && heard[1] > heard[0], "{heard:?}");
}

#[tokio::test]
async fn arguments_of_prompts_are_completed() {
    let mut raw = Raw::new(Fakes::default());
    let begun = raw.initialize("2025-06-18").await;
    let capabilities = &begun["result"]["capabilities"];
    assert!(
        capabilities["completions"].is_object() && capabilities["prompts"]["listChanged"] == true,
        "{begun}"
    );
    let mut complete = async |id: u64, reference: Value, name: &str, value: &str| {
        let params = json!({"ref": reference, "argument": {"name": name, "value": value}});
        raw.ask(id, "completion/complete", params).await
    };
    let greet = json!({"type": "ref/prompt", "name": "greet"});
    let some = complete(1, greet.clone(), "who", "Ada 14").await;
    assert_eq!(some["result"]["completion"]["values"].as_array().unwrap().len(), 11, "{some}");
    assert_eq!(some["result"]["completion"]["hasMore"], false);
    let many = complete(2, greet.clone(), "who", "").await;
    let completion = &many["result"]["completion"];
    assert_eq!(completion["values"].as_array().unwrap().len(), 100);
    assert_eq!((&completion["total"], &completion["hasMore"]), (&json!(150), &json!(true)));
    for (id, reference, name) in [
        (3, greet, "whom"),
        (4, json!({"type": "ref/prompt", "name": "none"}), "who"),
        (5, json!({"type": "ref/resource", "uri": "file:///{x}"}), "x"),
        (6, json!({"type": "ref/nonsense"}), "x"),
    ] {
        let refused = complete(id, reference.clone(), name, "").await;
        assert_eq!(refused["error"]["code"], -32602, "{reference}: {refused}");
    }
}

#[tokio::test]
async fn changed_prompts_are_announced() {
    let prompts = Arc::new(OnePrompt(Mutex::new("greets".into())));
    let options = Options { prompts: Some(prompts.clone()), ..options(Fakes::default()) };
    let mut raw = Raw::of(options);
    raw.initialize("2025-06-18").await;
    raw.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    assert!(raw.ask(1, "ping", json!({})).await["result"].is_object());
    *prompts.0.lock().unwrap() = "greets better".into();
    raw.until("notifications/prompts/list_changed").await;
}

#[tokio::test]
async fn log_is_sent_at_the_level_that_a_client_sets() {
    let bus = EventBus::default();
    let mut raw = Raw::of(Options { bus: Some(bus.clone()), ..options(Fakes::default()) });
    let begun = raw.initialize("2025-06-18").await;
    assert!(begun["result"]["capabilities"]["logging"].is_object(), "{begun}");
    let record = |level: Level, target: &str, message: &str| {
        let (target, message) = (target.to_owned(), message.to_owned());
        let fields = serde_json::Map::new();
        bus.publish(|| {
            Event::Log(Arc::new(LogRecord { ts: Timestamp::UNIX_EPOCH, level, target, message, fields }))
        });
    };
    assert_eq!(raw.ask(1, "logging/setLevel", json!({"level": "loud"})).await["error"]["code"], -32602);
    record(Level::Error, "aethon", "before a level is set");
    assert!(raw.ask(2, "logging/setLevel", json!({"level": "warning"})).await["result"].is_object());
    record(Level::Info, "aethon", "too little");
    record(Level::Error, "rmcp::service", "of sending itself");
    record(Level::Warn, "aethon::x", "the disk is nearly full");
    let sent = raw.until("notifications/message").await;
    let expected = json!({"level": "warning", "logger": "aethon::x", "data": "the disk is nearly full"});
    assert_eq!(sent["params"], expected);
    assert!(raw.ask(3, "logging/setLevel", json!({"level": "debug"})).await["result"].is_object());
    record(Level::Debug, "aethon", "a detail");
    assert_eq!(raw.until("notifications/message").await["params"]["level"], "debug");
}
