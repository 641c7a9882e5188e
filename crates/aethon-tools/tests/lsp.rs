//! The tool `lsp` against a strict server: one that refuses what the protocol forbids, and that knows a small language
//! in which a line `def NAME` defines, a line with NAME uses, and a line with `broken` is an error.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "in tests a failed expectation is the result"
)]

mod common;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use aethon_core::async_trait;
use aethon_core::hook::Hook;
use aethon_core::live::Live;
use aethon_core::message::{ToolCall, ToolResult};
use aethon_core::program::{Program, ProgramLife, Programs, RunningProgram};
use aethon_core::tool::{ArgumentRole, Tool, ToolSpec};
use aethon_tools::{
    LanguageServer, LanguageServers, LspOptions, Options, VerifyEdits, VerifyOptions, sets, tools,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex};

/// Starts strict servers.
#[derive(Default)]
struct Strict {
    started: AtomicUsize,
    /// Whether it answers requests for diagnostics, or pushes them.
    is_asked: bool,
    /// After how many requests it dies; 0 for never.
    dies_after: usize,
}

struct Life(#[expect(dead_code, reason = "the pipe breaks when this is dropped")] DuplexStream);

#[async_trait::async_trait]
impl ProgramLife for Life {
    async fn ended(&mut self) -> String {
        std::future::pending().await
    }
}

#[async_trait::async_trait]
impl Programs for Strict {
    async fn start(&self, program: &Program) -> io::Result<RunningProgram> {
        assert_eq!(program.command, "tiny-server");
        assert!(program.sandbox.is_some(), "where commands run");
        self.started.fetch_add(1, Ordering::SeqCst);
        let (input, from) = duplex(1 << 16);
        let (to, output) = duplex(1 << 16);
        let (errors, held) = duplex(64);
        let server = Server { to, documents: BTreeMap::new(), phase: 0, is_asked: self.is_asked };
        tokio::spawn(server.run(BufReader::new(from), self.dies_after));
        let (input, output, errors) = (Box::new(input), Box::new(output), Box::new(errors));
        Ok(RunningProgram { input, output, errors, life: Box::new(Life(held)) })
    }
}

/// A server; a breach of the protocol panics, which closes its pipes.
struct Server {
    to: DuplexStream,
    /// Version and text by address.
    documents: BTreeMap<String, (i64, String)>,
    /// 0: nothing yet, 1: `initialize`, 2: `initialized`.
    phase: u8,
    is_asked: bool,
}

impl Server {
    async fn run(mut self, mut from: BufReader<DuplexStream>, dies_after: usize) {
        let mut requests = 0;
        loop {
            let mut head = String::new();
            if from.read_line(&mut head).await.unwrap() == 0 {
                return;
            }
            let length: usize =
                head.strip_prefix("Content-Length: ").expect("a length first").trim().parse().unwrap();
            let mut empty = String::new();
            from.read_line(&mut empty).await.unwrap();
            assert_eq!(empty, "\r\n");
            let mut body = vec![0; length];
            from.read_exact(&mut body).await.unwrap();
            let message: Value = serde_json::from_slice(&body).expect("JSON of just this length");
            assert_eq!(message["jsonrpc"], "2.0");
            let method = message["method"].as_str().unwrap_or_default().to_owned();
            if let Some(id) = message.get("id").filter(|_| !method.is_empty()) {
                requests += 1;
                if dies_after > 0 && requests > dies_after {
                    return;
                }
                let answer = self.answer(&method, &message["params"]);
                self.say(json!({"jsonrpc": "2.0", "id": id, "result": answer})).await;
            } else if !method.is_empty() {
                self.hear(&method, &message["params"]).await;
            } else {
                assert_eq!(message["result"], json!([null]), "the answer to what it asked");
            }
        }
    }

    async fn say(&mut self, message: Value) {
        let body = message.to_string();
        self.to.write_all(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes()).await.unwrap();
    }

    fn answer(&mut self, method: &str, params: &Value) -> Value {
        if method == "initialize" {
            assert_eq!(self.phase, 0);
            assert!(params["rootUri"].as_str().unwrap().starts_with("file:///"));
            self.phase = 1;
            let provider = if self.is_asked { json!({"interFileDependencies": false}) } else { Value::Null };
            return json!({"capabilities": {"textDocumentSync": 1, "diagnosticProvider": provider}});
        }
        assert_eq!(self.phase, 2, "{method} before `initialized`");
        if method == "workspace/symbol" {
            let all = self.documents.iter().flat_map(|(uri, (_, text))| places(uri, text, "def "));
            let query = params["query"].as_str().unwrap();
            let named = all.map(|location| json!({"name": "thing", "kind": 12, "location": location}));
            return if query == "thing" { named.collect() } else { json!([]) };
        }
        let uri = params["textDocument"]["uri"].as_str().unwrap().to_owned();
        let (_, text) = self.documents.get(&uri).expect("it was opened before it is asked about").clone();
        let word = || {
            let at = usize::try_from(params["position"]["line"].as_u64().unwrap()).unwrap();
            let from = usize::try_from(params["position"]["character"].as_u64().unwrap()).unwrap();
            let line: Vec<u16> = text.lines().nth(at).unwrap().encode_utf16().collect();
            let rest = String::from_utf16(&line[from..]).unwrap();
            rest.chars().take_while(|c| c.is_alphanumeric()).collect::<String>()
        };
        match method {
            "textDocument/definition" => places(&uri, &text, &format!("def {}", word())).into(),
            "textDocument/references" => {
                assert_eq!(params["context"]["includeDeclaration"], true);
                places(&uri, &text, &word()).into()
            }
            "textDocument/hover" => {
                json!({"contents": {"kind": "plaintext", "value": format!("about {}", word())}})
            }
            "textDocument/documentSymbol" => {
                let ranges = places(&uri, &text, "def ");
                ranges.iter().map(|it| json!({"name": "thing", "kind": 12, "range": it["range"]})).collect()
            }
            "textDocument/diagnostic" => json!({"kind": "full", "items": faults(&uri, &text)}),
            other => panic!("{other} is not known"),
        }
    }

    async fn hear(&mut self, method: &str, params: &Value) {
        let document = &params["textDocument"];
        let uri = document["uri"].as_str().unwrap_or_default().to_owned();
        match method {
            "initialized" => {
                assert_eq!(self.phase, 1);
                self.phase = 2;
                let items = json!({"items": [{"section": "tiny"}]});
                self.say(json!({"jsonrpc": "2.0", "id": "s1", "method": "workspace/configuration", "params": items})).await;
                return;
            }
            "textDocument/didOpen" => {
                assert_eq!((&document["version"], &document["languageId"]), (&json!(1), &json!("tiny")));
                let text = document["text"].as_str().unwrap().to_owned();
                assert!(self.documents.insert(uri.clone(), (1, text)).is_none(), "opened twice");
            }
            "textDocument/didChange" => {
                let known = self.documents.get_mut(&uri).expect("opened before it changes");
                known.0 += 1;
                assert_eq!(document["version"], known.0);
                known.1 = params["contentChanges"][0]["text"].as_str().unwrap().to_owned();
            }
            "textDocument/didSave" => return,
            other => panic!("{other} is not known"),
        }
        if !self.is_asked {
            let faults = faults(&uri, &self.documents[&uri].1);
            let params = json!({"uri": uri, "diagnostics": faults});
            self.say(
                json!({"jsonrpc": "2.0", "method": "textDocument/publishDiagnostics", "params": params}),
            )
            .await;
        }
    }
}

/// The lines in which this stands.
fn places(uri: &str, text: &str, what: &str) -> Vec<Value> {
    let found = |line: &str| Some(line[..line.find(what)?].encode_utf16().count());
    let lines = text.lines().enumerate().filter_map(|(at, line)| Some((at, found(line)?)));
    let place = |(at, from)| {
        let range = json!({"start": {"line": at, "character": from}, "end": {"line": at, "character": from}});
        json!({"uri": uri, "range": range})
    };
    lines.map(place).collect()
}

fn faults(uri: &str, text: &str) -> Vec<Value> {
    let fault = |place: &Value| json!({"range": place["range"], "severity": 1, "message": "it is broken"});
    places(uri, text, "broken").iter().map(fault).collect()
}

struct Stage {
    home: TempDir,
    strict: Arc<Strict>,
    options: Options,
    lsp: Arc<LanguageServers>,
}

impl Stage {
    fn new(strict: Strict) -> Self {
        let home = tempfile::tempdir().unwrap();
        let strict = Arc::new(strict);
        let mut options = Options::default();
        options.workspace = home.path().to_owned();
        let server = LanguageServer {
            name: "tiny".into(),
            command: "tiny-server".into(),
            args: Vec::new(),
            environment: Vec::new(),
            extensions: vec!["tiny".into()],
        };
        let lsp =
            LspOptions { timeout: Duration::from_secs(60), servers: vec![server], workspace_only: false };
        let lsp = Arc::new(LanguageServers::new(lsp, strict.clone(), &options));
        Self { home, strict, options, lsp }
    }

    fn tool(&self) -> Arc<dyn Tool> {
        let mut needs = common::needs();
        needs.lsp = Some(self.lsp.clone());
        common::named(&tools(&sets(&self.options, &needs)), "lsp")
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.home.path().join(name), text).unwrap();
    }

    async fn ask(&self, tool: &Arc<dyn Tool>, arguments: Value) -> Result<String, String> {
        let answer = tool.call(&common::context(12_000), arguments).await;
        answer.map(|output| output.to_text()).map_err(|error| error.to_string())
    }
}

const PROGRAM: &str = "def thing\nother ä thing here\nthing again\n";

#[tokio::test]
async fn definitions_references_hovers_and_symbols_come_with_lines() {
    let stage = Stage::new(Strict::default());
    stage.write("a.tiny", PROGRAM);
    let tool = stage.tool();
    let check = async |arguments: Value, expected: Result<&str, &str>| {
        let told = stage.ask(&tool, arguments.clone()).await;
        match expected {
            Ok(expected) => assert_eq!(told.as_deref().map(str::trim), Ok(expected), "{arguments}"),
            Err(words) => {
                assert!(told.as_ref().is_err_and(|told| told.contains(words)), "{arguments}: {told:?}")
            }
        }
    };
    let at = |action: &str| json!({"action": action, "path": "a.tiny", "line": 2, "symbol": "thing"});
    check(at("definition"), Ok("a.tiny:1:1: def thing")).await;
    let all = "a.tiny:1:5: def thing\na.tiny:2:9: other ä thing here\na.tiny:3:1: thing again";
    check(at("references"), Ok(all)).await;
    check(at("hover"), Ok("about thing")).await;
    check(json!({"action": "symbols", "path": "a.tiny"}), Ok("1: function thing")).await;
    check(json!({"action": "symbols", "query": "thing"}), Ok("a.tiny:1:1: function thing")).await;
    check(json!({"action": "hover", "path": "a.tiny", "line": 9, "symbol": "x"}), Err("no line 9")).await;
    check(json!({"action": "hover", "path": "a.tiny", "line": 1, "symbol": "none"}), Err("has no \"none\""))
        .await;
    check(json!({"action": "hover", "path": "a.tiny"}), Err("`line` is missing")).await;
    check(json!({"action": "diagnostics"}), Err("`path` is missing")).await;
    check(json!({"action": "diagnostics", "path": "a.txt"}), Err("no language server")).await;
    check(json!({"action": "diagnostics", "path": "none.tiny"}), Err("no file")).await;
    check(json!({"action": "diagnostics", "path": "../a.tiny"}), Err("outside")).await;
    assert_eq!(stage.strict.started.load(Ordering::SeqCst), 1, "one for the project");
}

#[tokio::test]
async fn diagnostics_follow_changes_of_the_file_pulled_or_pushed() {
    for is_asked in [false, true] {
        let stage = Stage::new(Strict { is_asked, ..Strict::default() });
        stage.write("a.tiny", PROGRAM);
        let tool = stage.tool();
        let asked = json!({"action": "diagnostics", "path": "a.tiny"});
        assert_eq!(stage.ask(&tool, asked.clone()).await.unwrap(), "a.tiny: nothing is wrong");
        stage.write("a.tiny", "def thing\nbroken\n");
        for _ in 0..2 {
            let told = stage.ask(&tool, asked.clone()).await;
            assert_eq!(told.unwrap(), "a.tiny:2:1: error: it is broken\n", "as long as it is so");
        }
        stage.write("a.tiny", "def thing\n");
        assert_eq!(stage.ask(&tool, asked).await.unwrap(), "a.tiny: nothing is wrong");
    }
}

#[tokio::test]
async fn a_server_that_dies_is_started_again() {
    // It dies at its second question; `initialize` is the first.
    let stage = Stage::new(Strict { dies_after: 1, ..Strict::default() });
    stage.write("a.tiny", PROGRAM);
    let tool = stage.tool();
    for expected in 1..=3 {
        let told = stage.ask(&tool, json!({"action": "symbols", "path": "a.tiny"})).await;
        assert!(told.as_ref().is_err_and(|told| told.contains("has ended")), "{told:?}");
        assert_eq!(stage.strict.started.load(Ordering::SeqCst), expected);
    }
}

#[tokio::test]
async fn edits_return_the_servers_diagnostics() {
    let stage = Stage::new(Strict::default());
    let verify = VerifyOptions {
        command: None,
        detects: false,
        timeout: Duration::from_secs(60),
        strict: false,
        runs: false,
        lsp: Some(stage.lsp.clone()),
    };
    let hook = VerifyEdits::new(&stage.options, Live::default(), verify);
    let edit = async |path: &str| {
        let context = common::context(10_000);
        let spec = ToolSpec::new("file_write", "", json!({})).with_role("path", ArgumentRole::WritePath);
        let input = json!({"path": path, "content": "x"});
        let call = ToolCall { id: "c".into(), name: "file_write".into(), input, opaque: None };
        hook.before_tool(&context, &spec, &call).await;
        let mut result = ToolResult::ok(&call, "written");
        hook.after_tool(&context, &call, &mut result).await;
        result
    };
    stage.write("a.tiny", "broken\n");
    let told = edit("a.tiny").await;
    assert!(told.output.contains("a.tiny:1:1: error: it is broken") && told.untrusted.is_some(), "{told:?}");
    assert!(told.note.as_deref().is_some_and(|note| note.contains("finds errors")), "{told:?}");
    stage.write("a.tiny", "def thing\n");
    let told = edit("a.tiny").await;
    assert_eq!((told.output.as_str(), told.is_error), ("written", false));
    assert!(told.note.as_deref().is_some_and(|note| note.contains("no errors")), "{told:?}");
    stage.write("a.txt", "broken\n");
    assert_eq!(edit("a.txt").await.note, None, "nobody looks after such files");
}

#[tokio::test]
async fn a_map_shows_what_files_define_and_the_most_used_first() {
    let home = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = home.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("src/little.rs", "pub fn seldom() {}\n");
    write("src/core.rs", "pub struct Engine;\n\nimpl Engine {\n    pub fn start(&self) {}\n}\n");
    write("src/main.rs", "mod core;\nfn main() { Engine.start() }\n");
    write("web/page.ts", "export function draw() { /* Engine */ }\n");
    write("target/made.rs", "pub fn made() {}\n");
    write(".gitignore", "target\n");
    write("notes.txt", "fn nothing() {}\n");
    let mut options = Options::default();
    options.workspace = home.path().to_owned();
    options.map_chars = 4_000;
    let tool = common::tool(&options, "repo_map");
    let map = async |arguments: Value| {
        tool.call(&common::context(12_000), arguments).await.map(|output| output.to_text()).unwrap()
    };
    let told = map(json!({})).await;
    assert!(
        told.starts_with("src/core.rs\n  1: pub struct Engine;\n  3: impl Engine\n  4: pub fn start"),
        "{told}"
    );
    assert!(told.contains("web/page.ts\n  1: export function draw()"), "{told}");
    assert!(!told.contains("made") && !told.contains("nothing"), "{told}");
    assert!(
        map(json!({"about": "seldom"})).await.starts_with("src/little.rs"),
        "what is asked for comes first"
    );
    assert!(map(json!({"path": "web"})).await.starts_with("web/page.ts"));
    let error = tool.call(&common::context(12_000), json!({"path": "../.."})).await.unwrap_err();
    assert!(error.is_denied(), "{error}");
    options.map_chars = 0;
    assert!(
        !common::all(&options).iter().any(|tool| tool.spec().name == "repo_map" || tool.spec().name == "lsp")
    );
}
