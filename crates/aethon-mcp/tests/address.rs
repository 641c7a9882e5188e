//! The client against servers behind an address, of all kinds: a strict one, and some that refuse, forget, flood or babble.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "in tests a failed expectation is the result"
)]

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aethon_core::async_trait;
use aethon_core::exchange::{BodyStream, Exchange, ExchangeRequest, ExchangeResponse, Method};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::Inbound;
use aethon_core::program::NoPrograms;
use aethon_core::secret::Secret;
use aethon_core::surface::Unattended;
use aethon_core::tool::{Tool, ToolContext, ToolError, ToolOutput};
use aethon_core::turn::TurnContext;
use aethon_mcp::client::{Address, Options, ServerOptions, ServerState, Servers};
use bytes::Bytes;
use futures_util::stream;
use serde_json::{Value, json};
use tokio::time::timeout;

const TIMEOUT: Duration = Duration::from_secs(600);
const URL: &str = "http://tools.example/mcp";

/// How a server behaves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It answers with documents.
    Documents,
    /// It answers with streams of events, cut anywhere.
    Streams,
    /// Every second call of a tool finds that the session is over.
    Forgets,
    /// The same, and it says so in this way.
    ForgetsIn(Forgotten),
    /// It refuses the list after the first time, in sessions before the second one.
    RefusesLists,
    /// It refuses everything with this status.
    Refuses(u16),
    /// It refuses calls of tools with this status.
    RefusesCalls(u16),
    /// A tool of it fails with a session of its own, in an answer with this status.
    FailsWithSession(u16),
    /// It has resources, and refuses their list.
    RefusesResources,
    /// It is the page of something else.
    Page,
    /// The result of a tool is larger than memory, as a document.
    LargeDocument,
    /// The same as an event.
    LargeEvent,
    /// Its first list is larger than memory.
    LargeList,
    /// A stream ends before the answer came.
    Breaks,
    /// Nothing listens there.
    Absent,
}

/// How a server says that it does not know a session.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Forgotten {
    /// Status 400 and an error of the protocol, as the reference servers do.
    BadRequest,
    /// Status 400 and a text.
    Text,
    /// Status 200 and this error of the protocol.
    Answer(i64),
}

impl Forgotten {
    fn response(self) -> ExchangeResponse {
        let error = |code: i64, message: &str| {
            json!({"jsonrpc": "2.0", "id": null, "error": {"code": code, "message": message}}).to_string()
        };
        let json = "application/json";
        match self {
            Self::BadRequest => {
                let error = error(-32000, "Bad Request: No valid session ID provided");
                answer(400, json, &[], vec![error.into()])
            }
            Self::Text => answer(400, "text/plain", &[], vec!["Invalid session".into()]),
            Self::Answer(code) => answer(200, json, &[], vec![error(code, "Session not found").into()]),
        }
    }
}

/// The requests to a server.
#[derive(Debug, Clone)]
struct Seen {
    method: Method,
    headers: Vec<(String, String)>,
    body: Value,
}

impl Seen {
    fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    fn asks(&self, method: &str) -> bool {
        self.body["method"] == method
    }
}

/// A server that insists on every rule of the protocol.
struct Strict {
    kind: Kind,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    seen: Vec<Seen>,
    sessions: usize,
    /// The session that is open.
    open: Option<String>,
    calls: usize,
    lists: usize,
}

fn answer(status: u16, kind: &str, headers: &[(&str, &str)], pieces: Vec<Bytes>) -> ExchangeResponse {
    let own = [("content-type", kind)];
    let headers = own.iter().chain(headers).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let body: BodyStream = Box::pin(stream::iter(pieces.into_iter().map(Ok)));
    ExchangeResponse { status, headers: headers.collect(), body }
}

fn bare(status: u16) -> ExchangeResponse {
    answer(status, "text/plain", &[("www-authenticate", "Bearer")], vec!["<b>no</b>".into()])
}

impl State {
    fn post(&mut self, kind: Kind, seen: &Seen) -> ExchangeResponse {
        let accepted = seen.header("accept").unwrap_or_default();
        if !accepted.contains("application/json") || !accepted.contains("text/event-stream") {
            return bare(406);
        }
        if seen.header("content-type") != Some("application/json") {
            return bare(415);
        }
        let id = &seen.body["id"];
        if seen.asks("initialize") {
            self.sessions += 1;
            let session = format!("session-{}", self.sessions);
            let mut capabilities = json!({"tools": {"listChanged": true}});
            if kind == Kind::RefusesResources {
                capabilities["resources"] = json!({});
            }
            let result = json!({
                "protocolVersion": "2025-06-18",
                "capabilities": capabilities,
                "serverInfo": {"name": "strict", "version": "1"},
            });
            let whole = json!({"jsonrpc": "2.0", "id": id, "result": result});
            let answer = told(kind, &whole, &[("mcp-session-id", &session)]);
            self.open = Some(session);
            return answer;
        }
        let Some(session) = seen.header("mcp-session-id") else { return bare(400) };
        if self.open.as_deref() != Some(session) {
            return bare(404);
        }
        if seen.header("mcp-protocol-version") != Some("2025-06-18") {
            return bare(400);
        }
        if id.is_null() {
            return answer(202, "", &[], Vec::new());
        }
        let schema = json!({"type": "object"});
        let result = match seen.body["method"].as_str().unwrap_or_default() {
            "tools/list" if kind == Kind::RefusesLists && self.sessions == 1 && self.lists > 0 => {
                return bare(403);
            }
            "tools/list" if kind == Kind::LargeList && self.lists == 0 => {
                self.lists += 1;
                json!({"tools": [{"name": "echo", "inputSchema": schema, "description": "x".repeat(9 << 20)}]})
            }
            "tools/list" => {
                self.lists += 1;
                json!({"tools": [{"name": "echo", "inputSchema": schema}]})
            }
            "tools/call" => {
                self.calls += 1;
                match kind {
                    Kind::Forgets if self.calls.is_multiple_of(2) => {
                        self.open = None;
                        return bare(404);
                    }
                    Kind::ForgetsIn(how) if self.calls.is_multiple_of(2) => {
                        self.open = None;
                        return how.response();
                    }
                    Kind::RefusesCalls(status) => return bare(status),
                    Kind::FailsWithSession(status) => {
                        let error = json!({"code": -32000, "message": "the browser session is closed"});
                        let whole = json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string();
                        return answer(status, "application/json", &[], vec![whole.into()]);
                    }
                    Kind::Breaks => {
                        return answer(200, "text/event-stream", &[], vec![": hold on\n\n".into()]);
                    }
                    _ => {}
                }
                let text = match kind {
                    Kind::LargeDocument | Kind::LargeEvent => "x".repeat(9 << 20),
                    _ => seen.body["params"]["arguments"].to_string(),
                };
                json!({"content": [{"type": "text", "text": text}]})
            }
            "resources/list" => return bare(500),
            _ => return bare(400),
        };
        told(kind, &json!({"jsonrpc": "2.0", "id": id, "result": result}), &[])
    }
}

fn told(kind: Kind, message: &Value, headers: &[(&str, &str)]) -> ExchangeResponse {
    if matches!(kind, Kind::Streams | Kind::LargeEvent) {
        let news = json!({"jsonrpc": "2.0", "method": "notifications/message",
            "params": {"level": "info", "data": "on my way"}});
        let events = format!(": hello\n\nevent: message\ndata: {news}\n\nid: 7\ndata: {message}\n\n");
        let pieces = events.as_bytes().chunks(1 << 16).map(Bytes::copy_from_slice).collect();
        return answer(200, "text/event-stream; charset=utf-8", headers, pieces);
    }
    answer(200, "application/json; charset=utf-8", headers, vec![message.to_string().into()])
}

#[async_trait::async_trait]
impl Exchange for Strict {
    async fn send(&self, request: ExchangeRequest) -> io::Result<ExchangeResponse> {
        assert_eq!(request.url, URL);
        let body = serde_json::from_slice(&request.body).unwrap_or_default();
        let seen = Seen { method: request.method, headers: request.headers, body };
        let mut state = self.state.lock().unwrap();
        state.seen.push(seen.clone());
        Ok(match (self.kind, seen.method) {
            (Kind::Absent, _) => {
                return Err(io::Error::new(io::ErrorKind::NotConnected, "nothing listens there"));
            }
            (Kind::Refuses(status), _) => bare(status),
            (Kind::Page, _) => answer(200, "text/html", &[], vec!["<h1>Welcome</h1>".into()]),
            (kind, Method::Post) => state.post(kind, &seen),
            (_, Method::Delete) => bare(204),
            _ => bare(405),
        })
    }
}

struct Stage {
    servers: Servers,
    server: Arc<Strict>,
}

fn stage(kind: Kind) -> Stage {
    let server = Arc::new(Strict { kind, state: Mutex::default() });
    let headers = vec![("authorization".to_owned(), Secret::new("Bearer key-of-the-owner"))];
    let address = Address::Url { url: URL.into(), headers, exchange: server.clone() };
    let servers = Servers::new(Options {
        servers: vec![ServerOptions { name: "s".into(), address, is_trusted: false }],
        programs: Arc::new(NoPrograms),
        call_timeout: Duration::from_secs(5),
        version: "0.0.1".into(),
    });
    Stage { servers, server }
}

impl Stage {
    fn state(&self) -> ServerState {
        self.servers.states().remove(0).1
    }

    fn echo(&self) -> Arc<dyn Tool> {
        self.servers.source().tools().tools.first().expect("its tool is there").clone()
    }

    fn seen(&self) -> Vec<Seen> {
        self.server.state.lock().unwrap().seen.clone()
    }

    async fn until(&self, what: &str, is_so: impl Fn(&ServerState) -> bool) {
        let reached = async {
            while !is_so(&self.state()) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(TIMEOUT, reached).await.unwrap_or_else(|_| panic!("{what}: {:?}", self.state()));
    }
}

async fn call(tool: &Arc<dyn Tool>, input: Value) -> Result<ToolOutput, ToolError> {
    let turn = TurnContext::of(TurnId::fresh(), &Inbound::say(SessionId::of("cli", "a").unwrap(), ""));
    let context = ToolContext::of(&turn, Arc::new(Unattended), 1_000);
    timeout(TIMEOUT, tool.call(&context, input)).await.expect("it comes to an end")
}

#[tokio::test(start_paused = true)]
async fn tools_of_a_server_work_over_documents_and_streams() {
    for kind in [Kind::Documents, Kind::Streams] {
        let stage = stage(kind);
        stage.servers.settled().await;
        assert_eq!(stage.state(), ServerState::Connected { tools: 1, left_out: 0 });
        assert_eq!(stage.echo().spec().name, "s__echo");
        for word in ["one", "two"] {
            let returned = call(&stage.echo(), json!({"word": word})).await.unwrap().to_text();
            assert_eq!(returned, json!({"word": word}).to_string());
        }
        stage.servers.stop().await;
        let seen = stage.seen();
        assert!(seen.iter().all(|seen| seen.header("authorization") == Some("Bearer key-of-the-owner")));
        let begun = seen.iter().position(|seen| seen.asks("initialize")).unwrap();
        assert!(seen[..=begun].iter().all(|seen| seen.header("mcp-session-id").is_none()));
        assert!(seen[begun + 1..].iter().all(|seen| seen.header("mcp-session-id") == Some("session-1")));
        assert!(seen.iter().any(|seen| seen.method == Method::Delete), "the session is ended");
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_over_begins_anew_and_the_call_is_answered() {
    let ways = [
        Kind::Forgets,
        Kind::ForgetsIn(Forgotten::BadRequest),
        Kind::ForgetsIn(Forgotten::Text),
        Kind::ForgetsIn(Forgotten::Answer(-32000)),
        Kind::ForgetsIn(Forgotten::Answer(-32001)),
    ];
    for (place, kind) in ways.into_iter().enumerate() {
        let stage = stage(kind);
        stage.servers.settled().await;
        for word in ["one", "two", "three"] {
            let returned = call(&stage.echo(), json!({"word": word})).await;
            let returned = returned.unwrap_or_else(|error| panic!("{place}: {error}")).to_text();
            assert_eq!(returned, json!({"word": word}).to_string());
        }
        assert_eq!(stage.server.state.lock().unwrap().sessions, 3, "{place}: two were forgotten");
        assert_eq!(stage.state(), ServerState::Connected { tools: 1, left_out: 0 }, "nobody noticed");
        let lists = || stage.seen().iter().filter(|seen| seen.asks("tools/list")).count();
        let reads_again = async {
            while lists() < 2 {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        timeout(TIMEOUT, reads_again).await.expect("a restarted server may have other tools");
        stage.servers.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn list_that_is_refused_after_it_worked_begins_a_new_session_at_once() {
    let stage = stage(Kind::RefusesLists);
    stage.servers.settled().await;
    let begun = tokio::time::Instant::now();
    let sessions = || stage.server.state.lock().unwrap().sessions;
    let renewed = async {
        while sessions() < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(TIMEOUT, renewed).await.expect("a new session");
    // The list is read every five minutes.
    assert!(begun.elapsed() < Duration::from_secs(301), "{:?}", begun.elapsed());
    stage.until("again", |state| matches!(state, ServerState::Connected { .. })).await;
    stage.servers.stop().await;
}

#[tokio::test(start_paused = true)]
async fn list_that_is_too_large_degrades_the_server_until_the_next_one() {
    let stage = stage(Kind::LargeList);
    stage.servers.settled().await;
    let ServerState::Failing { why } = stage.state() else { panic!("{}", stage.state()) };
    assert_eq!(why, "its list of tools is larger than 8 MiB");
    stage.until("the next list", |state| matches!(state, ServerState::Connected { .. })).await;
    assert_eq!(stage.server.state.lock().unwrap().sessions, 1, "the connection was kept");
    assert_eq!(call(&stage.echo(), json!({"a": 1})).await.unwrap().to_text(), "{\"a\":1}");
    stage.servers.stop().await;
}

#[tokio::test(start_paused = true)]
async fn unusable_servers_are_explained_without_their_own_words() {
    for (kind, words) in [
        (Kind::Refuses(401), "it refused the sign-in (status 401)"),
        (Kind::Refuses(403), "the status 403"),
        (Kind::Refuses(404), "the status 404"),
        (Kind::Refuses(429), "the status 429"),
        (Kind::Refuses(500), "the status 500"),
        (Kind::Page, "text/html"),
        (Kind::Absent, "nothing listens there"),
    ] {
        let stage = stage(kind);
        stage.servers.settled().await;
        let ServerState::Failing { why } = stage.state() else { panic!("{words}: {}", stage.state()) };
        assert!(why.contains(words), "{words}: {why}");
        for foreign in ["<b>", "<h1>", "key-of-the-owner", "rmcp", "Transport"] {
            assert!(!why.contains(foreign), "{foreign}: {why}");
        }
        stage.servers.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn refused_calls_are_explained_and_the_server_is_tried_again() {
    for (kind, words) in [
        (Kind::RefusesCalls(401), "it refused the sign-in"),
        (Kind::RefusesCalls(500), "the status 500"),
        (Kind::RefusesCalls(403), "the status 403"),
        (Kind::LargeDocument, "larger than 8 MiB"),
        (Kind::LargeEvent, "larger than 8 MiB"),
        (Kind::Breaks, "its server is gone"),
    ] {
        let stage = stage(kind);
        stage.servers.settled().await;
        let error = call(&stage.echo(), json!({})).await.unwrap_err().to_string();
        assert!(error.contains("`s__echo` failed") && error.contains(words), "{words}: {error}");
        assert!(!error.contains("<b>") && error.len() < 400, "{error}");
        assert!(!error.contains("mcp login"), "the owner has configured a token: {error}");
        stage.until(words, |state| matches!(state, ServerState::Connected { .. })).await;
        stage.servers.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn tool_error_about_its_own_session_does_not_repeat_the_call() {
    for status in [200, 400] {
        let stage = stage(Kind::FailsWithSession(status));
        stage.servers.settled().await;
        let error = call(&stage.echo(), json!({})).await.unwrap_err().to_string();
        assert!(error.contains("the browser session is closed"), "{status}: {error}");
        tokio::time::sleep(Duration::from_secs(60)).await;
        stage.servers.stop().await;
        let state = stage.server.state.lock().unwrap();
        assert_eq!((state.calls, state.sessions), (1, 1), "{status}");
        assert!(state.lists > 1, "{status}: whether the session is lost shows in the list");
    }
}

#[tokio::test(start_paused = true)]
async fn refused_list_of_resources_leaves_the_connection_as_it_is() {
    let stage = stage(Kind::RefusesResources);
    stage.servers.settled().await;
    let tools = stage.servers.source().tools().tools;
    let list = tools.iter().find(|tool| tool.spec().name == "s__list_resources").expect("it has resources");
    let error = call(list, json!({})).await.unwrap_err().to_string();
    assert!(error.contains("the status 500"), "{error}");
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(stage.server.state.lock().unwrap().sessions, 1);
    stage.servers.stop().await;
}
