//! The client against servers of all kinds: one that works, and some that die, hang, flood or lie.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "in tests a failed expectation is the result"
)]

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aethon_core::async_trait;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::Inbound;
use aethon_core::program::{Program, ProgramLife, Programs, RunningProgram};
use aethon_core::surface::Unattended;
use aethon_core::tool::{Tool, ToolContext, ToolError, ToolOutput};
use aethon_core::turn::TurnContext;
use aethon_mcp::client::{Address, Options, ServerOptions, ServerState, Servers};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split,
};
use tokio::sync::oneshot;
use tokio::time::timeout;

const TIMEOUT: Duration = Duration::from_secs(60);

/// The behaviour of a server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It has a tool that echoes, and one that kills it.
    Works,
    /// It ends before it says anything.
    Dies,
    /// It writes to its error output and never answers.
    Hangs,
    /// It answers with something other than the protocol.
    Babbles,
    /// Once it is connected it says more than anybody can hear.
    Floods,
    /// Its list has odd entries, its results have odd blocks, and one is larger than memory.
    Odd,
    /// Its first list is larger than memory.
    Large,
    /// It lists pages without end, with unusable tools among them.
    Lies,
}

/// Starts servers of one kind.
struct Fakes {
    kind: Kind,
    started: AtomicUsize,
    ended: Arc<AtomicUsize>,
    heard: Arc<Mutex<Vec<Value>>>,
}

struct Life {
    ended: oneshot::Receiver<()>,
    count: Arc<AtomicUsize>,
}

#[async_trait::async_trait]
impl ProgramLife for Life {
    async fn ended(&mut self) -> String {
        let _ = (&mut self.ended).await;
        self.ended = oneshot::channel().1;
        "with exit status 7".into()
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.count.fetch_add(1, Ordering::SeqCst);
    }
}

#[async_trait::async_trait]
impl Programs for Fakes {
    async fn start(&self, program: &Program) -> io::Result<RunningProgram> {
        if program.command == "missing" {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        }
        self.started.fetch_add(1, Ordering::SeqCst);
        let (ours, theirs) = duplex(1 << 20);
        let (errors, mut words) = duplex(4096);
        let (end, ended) = oneshot::channel();
        let (kind, heard) = (self.kind, self.heard.clone());
        tokio::spawn(async move {
            words.write_all(b"the disk of the server is full\n").await.unwrap();
            drop(words);
            server(kind, theirs, heard).await;
            let _ = end.send(());
        });
        let (output, input) = split(ours);
        let life = Box::new(Life { ended, count: self.ended.clone() });
        Ok(RunningProgram {
            input: Box::new(input),
            output: Box::new(output),
            errors: Box::new(errors),
            life,
        })
    }
}

struct Wire {
    input: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    output: WriteHalf<DuplexStream>,
}

impl Wire {
    async fn say(&mut self, message: Value) -> bool {
        self.output.write_all(format!("{message}\n").as_bytes()).await.is_ok()
    }
}

async fn server(kind: Kind, stream: DuplexStream, heard: Arc<Mutex<Vec<Value>>>) {
    let (input, output) = split(stream);
    let mut wire = Wire { input: BufReader::new(input).lines(), output };
    if kind == Kind::Dies {
        return;
    }
    let mut has_listed = false;
    while let Ok(Some(line)) = wire.input.next_line().await {
        let message: Value = serde_json::from_str(&line).unwrap();
        heard.lock().unwrap().push(message.clone());
        if kind == Kind::Hangs || message["id"].is_null() {
            continue;
        }
        if kind == Kind::Babbles {
            wire.say(json!({"jsonrpc": "2.0", "id": message["id"], "result": {"nonsense": [1, 2]}})).await;
            continue;
        }
        let answer = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({"result": {
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {"listChanged": true}},
                "serverInfo": {"name": "fake", "version": "1"},
            }}),
            "tools/list" if kind == Kind::Lies => lies(),
            "tools/list" if kind == Kind::Odd => oddities(),
            "tools/list" if kind == Kind::Large && !std::mem::replace(&mut has_listed, true) => {
                json!({"result": {"tools": [{"name": "x".repeat(9 << 20), "inputSchema": {}}]}})
            }
            "tools/call" if message["params"]["arguments"]["large"] == true => {
                json!({"result": {"content": [{"type": "text", "text": "x".repeat(9 << 20)}]}})
            }
            "tools/call" if kind == Kind::Odd => json!({"result": {"content": [
                {"type": "text", "text": "good"}, {"type": "hologram", "data": 1}, {"type": "text", "text": 42},
            ]}}),
            "tools/list" => json!({"result": {"tools": [
                {"name": "echo", "description": "says it again", "inputSchema": {"type": "object"},
                 "annotations": {"readOnlyHint": true}},
                {"name": "die", "inputSchema": {"type": "object"}},
            ]}}),
            "tools/call" if message["params"]["name"] == "die" => return,
            "tools/call" if message["params"]["arguments"]["fail"] == true => {
                json!({"result": {"content": [{"type": "text", "text": "it broke"}], "isError": true}})
            }
            "tools/call" if message["params"]["arguments"]["hang"] == true => continue,
            "tools/call" => json!({"result": {"content": [
                {"type": "text", "text": message["params"]["arguments"].to_string()},
            ]}}),
            _ => json!({"error": {"code": -32601, "message": "no such method"}}),
        };
        let mut whole = json!({"jsonrpc": "2.0", "id": message["id"]});
        for (name, value) in answer.as_object().unwrap() {
            whole[name] = value.clone();
        }
        wire.say(whole).await;
        if kind == Kind::Floods && message["method"] == "tools/list" {
            let news = json!({"jsonrpc": "2.0", "method": "notifications/message",
                "params": {"level": "info", "data": "x".repeat(100)}});
            while wire.say(news.clone()).await {}
            return;
        }
    }
}

fn lies() -> Value {
    let tools = [
        json!({"name": "fine", "inputSchema": {"type": "object"}}),
        json!({"name": "x".repeat(500), "inputSchema": {"type": "object"}}),
        json!({"name": "", "inputSchema": {"type": "object"}}),
        json!({"name": "huge", "inputSchema": {"type": "object", "title": "x".repeat(100_000)}}),
    ];
    json!({"result": {"tools": tools, "nextCursor": "again"}})
}

fn oddities() -> Value {
    let schema = json!({"type": "object"});
    json!({"result": {"nextCursor": 7, "tools": [
        {"name": "good", "inputSchema": schema},
        {"name": "bad"},
        {"name": "good2", "inputSchema": schema, "description": 5},
        {"name": "good2", "inputSchema": schema},
        {"name": "a.b", "inputSchema": schema},
        {"name": "a_b", "inputSchema": schema},
        {"name": "x".repeat(90), "inputSchema": schema},
        {"inputSchema": schema},
        "text",
    ]}})
}

struct Stage {
    servers: Servers,
    fakes: Arc<Fakes>,
}

fn stage(kind: Kind, command: &str) -> Stage {
    let fakes =
        Arc::new(Fakes { kind, started: AtomicUsize::new(0), ended: Arc::default(), heard: Arc::default() });
    let program =
        Program { command: command.into(), args: Vec::new(), environment: Vec::new(), sandbox: None };
    let servers = Servers::new(Options {
        servers: vec![ServerOptions {
            name: "s".into(),
            address: Address::Program(program),
            is_trusted: false,
        }],
        programs: fakes.clone(),
        call_timeout: Duration::from_secs(5),
        version: "0.0.1".into(),
    });
    Stage { servers, fakes }
}

impl Stage {
    fn state(&self) -> ServerState {
        self.servers.states().remove(0).1
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.servers.source().tools().tools.to_vec()
    }

    fn tool(&self, name: &str) -> Arc<dyn Tool> {
        self.tools().into_iter().find(|tool| tool.spec().name == name).expect("it is there")
    }

    async fn until(&self, is_so: impl Fn(&ServerState) -> bool) -> ServerState {
        let reached = async {
            loop {
                let state = self.state();
                if is_so(&state) {
                    return state;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(TIMEOUT * 10, reached).await.expect("in time")
    }

    fn why(&self) -> String {
        match self.state() {
            ServerState::Failing { why } => why,
            other => panic!("{other:?}"),
        }
    }
}

async fn call(tool: &Arc<dyn Tool>, input: Value) -> Result<ToolOutput, ToolError> {
    let turn = TurnContext::of(TurnId::fresh(), &Inbound::say(SessionId::of("cli", "a").unwrap(), ""));
    tool.call(&ToolContext::of(&turn, Arc::new(Unattended), 1_000), input).await
}

#[tokio::test(start_paused = true)]
async fn a_server_that_works_lends_its_tools() {
    let stage = stage(Kind::Works, "x");
    assert_eq!(stage.state(), ServerState::Idle, "nothing starts by itself");
    assert!(stage.tools().is_empty());
    stage.servers.settled().await;
    assert_eq!(stage.state(), ServerState::Connected { tools: 2, left_out: 0 });
    let echo = stage.tool("s__echo");
    assert!(echo.spec().read_only && echo.spec().untrusted_output && echo.spec().sends_or_runs());
    assert!(!stage.tool("s__die").spec().read_only);
    assert_eq!(call(&echo, json!({"a": 1})).await.unwrap().to_text(), "{\"a\":1}");
    assert_eq!(call(&echo, json!({"fail": true})).await.unwrap_err().to_string(), "it broke");
    stage.servers.stop().await;
    assert_eq!(stage.fakes.ended.load(Ordering::SeqCst), 1, "its processes are gone");
    assert!(stage.tools().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_given_up_is_taken_back() {
    let stage = stage(Kind::Works, "x");
    stage.servers.settled().await;
    let echo = stage.tool("s__echo");
    assert!(timeout(Duration::from_secs(1), call(&echo, json!({"hang": true}))).await.is_err());
    let taken_back = async {
        while !stage
            .fakes
            .heard
            .lock()
            .unwrap()
            .iter()
            .any(|heard| heard["method"] == "notifications/cancelled")
        {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(TIMEOUT, taken_back).await.expect("the server is told");
    stage.servers.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_dies_under_a_call_is_started_again() {
    let stage = stage(Kind::Works, "x");
    stage.servers.settled().await;
    let error = call(&stage.tool("s__die"), json!({})).await.unwrap_err().to_string();
    assert!(error.contains("s__die"), "{error}");
    let state = stage.until(|state| matches!(state, ServerState::Failing { .. })).await;
    assert!(state.to_string().contains("exit status 7"), "{state}");
    assert!(stage.tools().is_empty(), "nobody calls a tool that is not there");
    stage.until(|state| matches!(state, ServerState::Connected { .. })).await;
    assert_eq!(stage.fakes.started.load(Ordering::SeqCst), 2);
    assert_eq!(call(&stage.tool("s__echo"), json!({})).await.unwrap().to_text(), "{}");
    stage.servers.stop().await;
}

#[tokio::test(start_paused = true)]
async fn faults_of_a_server_are_reported() {
    for (kind, command, words) in [
        (Kind::Works, "missing", "`missing` cannot be started"),
        (Kind::Dies, "x", "`x` ended with exit status 7; it said: the disk of the server is full"),
        (Kind::Hangs, "x", "it did not answer within 90 s"),
        (Kind::Babbles, "x", "something else than the protocol"),
    ] {
        let stage = stage(kind, command);
        stage.servers.settled().await;
        assert!(stage.why().contains(words), "{words}: {}", stage.why());
        stage.servers.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_floods_is_cut_off() {
    let stage = stage(Kind::Floods, "x");
    stage.servers.settled().await;
    stage.until(|state| matches!(state, ServerState::Failing { .. })).await;
    stage.servers.stop().await;
    assert!(stage.fakes.ended.load(Ordering::SeqCst) >= 1, "its processes are gone");
}

#[tokio::test(start_paused = true)]
async fn a_list_without_end_ends_and_what_cannot_be_used_is_left_out() {
    let stage = stage(Kind::Lies, "x");
    stage.servers.settled().await;
    let ServerState::Connected { tools: 2, left_out } = stage.state() else { panic!("{}", stage.state()) };
    assert!(left_out >= 100, "{left_out}");
    assert_eq!(stage.tools()[0].spec().name, "s__fine");
    assert_eq!(stage.tools()[1].spec().name.len(), 64, "a long name is shortened");
    let lists =
        stage.fakes.heard.lock().unwrap().iter().filter(|heard| heard["method"] == "tools/list").count();
    assert!(lists <= 40, "{lists}");
    stage.servers.stop().await;
}

#[tokio::test(start_paused = true)]
async fn odd_entries_and_blocks_cost_themselves() {
    let names = |stage: &Stage| -> Vec<String> {
        stage.tools().iter().map(|tool| tool.spec().name.clone()).collect()
    };
    let stage = stage(Kind::Odd, "x");
    stage.servers.settled().await;
    assert_eq!(stage.state(), ServerState::Connected { tools: 5, left_out: 4 });
    let known = names(&stage);
    for name in ["s__good", "s__good2", "s__a_b"] {
        assert!(known.contains(&name.to_owned()), "{known:?}");
    }
    assert_eq!(known.iter().filter(|name| name.starts_with("s__a_b")).count(), 2, "{known:?}");
    assert_eq!(known.iter().filter(|name| name.len() == 64).count(), 1, "{known:?}");
    let remarks = stage.servers.remarks()["s"].join("; ");
    assert!(
        remarks.contains("bad (no input schema)") && remarks.contains("good2 (a name twice)"),
        "{remarks}"
    );
    let text = call(&stage.tool("s__good"), json!({})).await.unwrap().to_text();
    assert!(text.starts_with("good\n") && text.contains("hologram") && text.contains("42"), "{text}");
    stage.servers.stop().await;
    let again = self::stage(Kind::Odd, "x");
    again.servers.settled().await;
    assert_eq!(names(&again), known, "the names are the same after a restart");
    again.servers.stop().await;
}

#[tokio::test]
async fn result_that_is_too_large_ends_the_call_at_once() {
    let stage = stage(Kind::Works, "x");
    stage.servers.settled().await;
    let echo = stage.tool("s__echo");
    let large = call(&echo, json!({"large": true}));
    let error = timeout(TIMEOUT, large).await.expect("at once").unwrap_err().to_string();
    assert!(error.contains("its answer is larger than 8 MiB"), "{error}");
    assert_eq!(call(&stage.tool("s__echo"), json!({"a": 1})).await.unwrap().to_text(), "{\"a\":1}");
    assert_eq!(stage.fakes.started.load(Ordering::SeqCst), 1, "its process was kept");
    stage.servers.stop().await;
}

#[tokio::test(start_paused = true)]
async fn list_that_is_too_large_degrades_the_server_until_the_next_one() {
    let stage = stage(Kind::Large, "x");
    stage.servers.settled().await;
    assert_eq!(stage.why(), "its list of tools is larger than 8 MiB");
    stage.until(|state| matches!(state, ServerState::Connected { .. })).await;
    assert_eq!(stage.fakes.started.load(Ordering::SeqCst), 1, "its process was kept");
    stage.servers.stop().await;
}

#[tokio::test(start_paused = true)]
async fn turns_wait_for_servers_in_their_first_start() {
    let works = stage(Kind::Works, "x");
    let source = works.servers.source();
    assert!(source.starting().is_empty(), "what nobody starts is not starting");
    works.servers.start();
    assert_eq!(source.starting(), ["s"]);
    timeout(TIMEOUT, source.ready()).await.expect("it is ready");
    assert_eq!(works.tools().len(), 2);
    works.servers.stop().await;
    let missing = stage(Kind::Works, "missing");
    missing.servers.start();
    let source = missing.servers.source();
    timeout(TIMEOUT, source.ready()).await.expect("it has failed");
    assert!(source.starting().is_empty(), "a failed one is not starting");
    missing.servers.stop().await;
}
