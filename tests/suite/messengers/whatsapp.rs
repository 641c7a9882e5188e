//! The owner on WhatsApp (docs/channels.md). A Graph API that keeps to Meta's rules stands behind the built server, and the
//! test calls `/webhook/whatsapp` as Meta does.

use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use aethon_tests::stub::{self, Seen};
use aethon_tests::whisper::Whisper;
use aethon_tests::{Request, Response, Server, Stub, eventually, home, signature};
use serde_json::{Value, json};
use tempfile::TempDir;

const TOKEN: &str = "EAA-canary-of-the-graph";
const SECRET: &str = "canary-of-the-app-secret";
const ADA: &str = "4915112345678";

/// The Graph API: the messages that it took, in their order.
struct Graph {
    stub: Stub,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    texts: Vec<(String, String)>,
    reads: Vec<String>,
    refusals: usize,
    faults: Vec<String>,
}

impl Graph {
    fn start() -> Self {
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = state.clone();
        let stub = Stub::answering(move |seen| answer(seen, &mut shared.lock().unwrap()));
        Self { stub, state }
    }

    fn settings(&self) -> Vec<String> {
        vec![
            "channels.whatsapp.enabled=true".into(),
            format!("channels.whatsapp.api_base=http://{}", self.stub.address),
            "channels.whatsapp.phone_number_id=11".into(),
            format!("channels.whatsapp.token={TOKEN}"),
            format!("channels.whatsapp.secret={SECRET}"),
            "channels.whatsapp.verify_token=w0rd".into(),
            // Meta does not know this one, and it is not its business.
            "webhook.enabled=false".into(),
            format!("security.allowed_senders.whatsapp=[\"{ADA}\"]"),
        ]
    }

    fn texts(&self) -> Vec<(String, String)> {
        self.state.lock().unwrap().texts.clone()
    }

    fn await_text(&self, text: &str) {
        eventually(text, || self.texts().iter().any(|(_, said)| said == text).then_some(()));
    }
}

fn answer(seen: &Seen, state: &mut State) -> Vec<u8> {
    let refuse = |status: &str, code: u64| {
        stub::failure(status, "", &json!({"error": {"code": code, "message": "no"}}).to_string())
    };
    if seen.header("authorization") != Some(&format!("Bearer {TOKEN}")) {
        return refuse("401 Unauthorized", 190);
    }
    if seen.line.starts_with("GET /v26.0/11?") {
        return stub::ok(
            "application/json",
            r#"{"display_phone_number":"+1 555 0100","verified_name":"Home"}"#,
        );
    }
    if seen.line == "GET /v26.0/77" {
        let host = seen.header("host").unwrap_or_default();
        return stub::ok("application/json", &json!({"url": format!("http://{host}/kept/77")}).to_string());
    }
    if seen.line == "GET /kept/77" {
        return stub::ok("audio/ogg", "hm\n!say heard you");
    }
    if let Some(id) = seen.line.strip_prefix("GET /v26.0/file") {
        let host = seen.header("host").unwrap_or_default();
        return stub::ok(
            "application/json",
            &json!({"url": format!("http://{host}/kept/file{id}")}).to_string(),
        );
    }
    if let Some(id) = seen.line.strip_prefix("GET /kept/file") {
        return stub::ok("text/plain", id);
    }
    let body: Value = serde_json::from_slice(&seen.body).unwrap_or_default();
    if seen.line != "POST /v26.0/11/messages" || body["messaging_product"] != "whatsapp" {
        state.faults.push(format!("{} {body}", seen.line));
        return refuse("400 Bad Request", 100);
    }
    if body["status"] == "read" {
        state.reads.extend(body["message_id"].as_str().map(str::to_owned));
        return stub::ok("application/json", r#"{"success":true}"#);
    }
    if state.refusals > 0 {
        state.refusals -= 1;
        return refuse("429 Too Many Requests", 130_429);
    }
    let text = body["text"]["body"].as_str().unwrap_or_default().to_owned();
    if body["type"] != "text" || text.is_empty() || text.encode_utf16().count() > 4096 {
        state.faults.push(body.to_string());
        return refuse("400 Bad Request", 100);
    }
    state.texts.push((body["to"].as_str().unwrap_or_default().to_owned(), text));
    let id = format!("wamid.out{}", state.texts.len());
    stub::ok("application/json", &json!({"messages": [{"id": id}]}).to_string())
}

fn message(id: &str, from: &str, text: &str) -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    json!({"from": from, "id": id, "timestamp": now.to_string(), "type": "text", "text": {"body": text}})
}

/// A call of Meta's, with everything escaped that is no ASCII.
fn call(server: &Server, messages: &[Value], sign: impl FnOnce(&[u8]) -> String) -> Response {
    let value = json!({"messages": messages, "metadata": {"phone_number_id": "11"}});
    let changes = json!([{"field": "messages", "value": value}]);
    let body = json!({"object": "whatsapp_business_account", "entry": [{"changes": changes}]}).to_string();
    let escaped = |c: char| if c.is_ascii() { c.to_string() } else { format!("\\u{:04x}", u32::from(c)) };
    let body: String = body.chars().map(escaped).collect();
    let signature = sign(body.as_bytes());
    let request = Request::new("POST", "/webhook/whatsapp").header("Content-Type", "application/json");
    server.send(&request.header("X-Hub-Signature-256", &signature).body(body))
}

fn signed(body: &[u8]) -> String {
    format!("sha256={}", signature(SECRET, body))
}

fn start(graph: &Graph, home: &Arc<TempDir>) -> Server {
    let settings = graph.settings();
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    Server::start_in(home.clone(), &settings)
}

#[test]
fn whatsapp_messages_are_answered_once_despite_forgeries_and_repeats() {
    let (graph, home) = (Graph::start(), home());
    let server = start(&graph, &home);
    let verify = |word: &str| {
        server
            .get(&format!("/webhook/whatsapp?hub.mode=subscribe&hub.verify_token={word}&hub.challenge=7421"))
    };
    let verified = verify("w0rd");
    assert_eq!((verified.status, verified.text().as_str()), (200, "7421"));
    assert_eq!(verify("wrong").status, 403);

    // Forged, unsigned, signed for another body: refused before anything is read.
    let hello = [message("wamid.1", ADA, "!say Grüße *one*")];
    assert_eq!(call(&server, &hello, |_| "sha256=00".to_owned()).status, 403);
    assert_eq!(call(&server, &hello, |_| String::new()).status, 403);
    assert_eq!(call(&server, &hello, |body| signed(&body[1..])).status, 403);
    assert_eq!(call(&server, &hello, |body| format!("sha256={}", signature("other", body))).status, 403);
    assert!(server.get("/api/sessions").json()["count"] == 0);

    // Meta repeats calls at will, one after the other and in one call.
    for _ in 0..3 {
        assert_eq!(call(&server, &hello, signed).status, 200);
    }
    let both = [hello[0].clone(), message("wamid.2", ADA, "!say two"), hello[0].clone()];
    assert_eq!(call(&server, &both, signed).status, 200);
    graph.await_text("two");
    // A stranger learns nothing.
    assert_eq!(call(&server, &[message("wamid.3", "4999", "!say stranger")], signed).status, 200);
    // Meta wants a pause.
    graph.state.lock().unwrap().refusals = 1;
    assert_eq!(call(&server, &[message("wamid.4", ADA, "!say after the pause")], signed).status, 200);
    graph.await_text("after the pause");

    // Meta has no ids of senders, so a delivery whose arrival was not noted before a crash is made again.
    eventually("its arrival is noted", || server.has_delivered().then_some(()));

    // A crash as soon as the call was answered, and in the middle of a turn: acknowledged messages are answered.
    let slow = [
        message("wamid.5", ADA, "!sleep 1500\n!say before the crash"),
        message("wamid.6", ADA, "!say behind it"),
    ];
    assert_eq!(call(&server, &slow, signed).status, 200);
    let home = server.kill();
    let server = start(&graph, &home);
    // Meta has not heard of it, and brings it again.
    assert_eq!(call(&server, &slow, signed).status, 200);
    assert_eq!(call(&server, &hello, signed).status, 200);
    graph.await_text("behind it");
    assert_eq!(call(&server, &[message("wamid.7", ADA, "!say last")], signed).status, 200);
    graph.await_text("last");
    let texts = graph.texts();
    let said: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
    let expected = ["two", "after the pause", "before the crash", "behind it", "last"];
    assert_eq!(said[1..], expected, "each once, in order: {said:?}");
    assert!(said[0].starts_with("Grüße"), "{said:?}");
    assert!(texts.iter().all(|(to, _)| to == ADA), "{texts:?}");
    let faults = graph.state.lock().unwrap().faults.clone();
    assert!(faults.is_empty(), "{faults:?}");
    let sessions = server.get("/api/sessions").json();
    assert_eq!(sessions["count"], 1, "{sessions}");
    assert_eq!(sessions["sessions"][0]["session_id"], format!("whatsapp:{ADA}"));
    drop(server);
    for secret in [TOKEN, SECRET] {
        let found =
            std::process::Command::new("grep").args(["-rl", secret]).arg(home.path()).output().unwrap();
        assert!(found.stdout.is_empty(), "{}", String::from_utf8_lossy(&found.stdout));
    }
}

#[test]
fn a_voice_message_is_answered_by_its_words() {
    let (graph, whisper) = (Graph::start(), Whisper::start());
    let settings: Vec<String> = graph.settings().into_iter().chain(whisper.settings()).collect();
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let server = Server::start_in(home(), &settings);
    let mut spoken = message("wamid.1", ADA, "");
    spoken["type"] = "audio".into();
    spoken["audio"] = json!({"id": "77", "mime_type": "audio/ogg; codecs=opus", "voice": true});
    let behind = message("wamid.2", ADA, "!say behind it");
    for _ in 0..2 {
        assert_eq!(call(&server, &[spoken.clone(), behind.clone()], signed).status, 200);
    }
    graph.await_text("behind it");
    let said: Vec<String> = graph.texts().into_iter().map(|(_, text)| text).collect();
    assert_eq!(said, ["heard you", "behind it"]);
    let (heard, wrong) = (whisper.transcribed(), whisper.faults());
    assert!(heard == ["hm\n!say heard you"] && wrong.is_empty(), "{heard:?} {wrong:?}");
    let faults = graph.state.lock().unwrap().faults.clone();
    assert!(faults.is_empty(), "{faults:?}");
}

#[test]
fn several_files_and_their_words_are_one_turn_despite_a_kill() {
    let (graph, home) = (Graph::start(), home());
    let server = start(&graph, &home);
    let file = |id: &str, caption: &str| {
        let mut message = message(id, ADA, "");
        message["type"] = "document".into();
        message["document"] = json!({
            "id": format!("file{id}"), "mime_type": "text/plain", "filename": format!("{id}.txt"), "caption": caption,
        });
        message
    };
    let asked = |server: &Server| -> Vec<String> {
        let messages = server.messages(&format!("whatsapp:{ADA}"));
        let told = |message: &Value| {
            let blocks = message["content"].as_array().cloned().unwrap_or_default();
            let parts = blocks.iter().filter_map(|block| block["text"].as_str().or(block["name"].as_str()));
            // A file's name counts, not its text.
            let names = blocks.iter().filter_map(|block| block["name"].as_str());
            let texts = parts.filter(|part| part.starts_with('!')).map(str::to_owned);
            texts.chain(names.map(str::to_owned)).collect::<Vec<_>>().join(" | ")
        };
        messages.iter().filter(|message| message["role"] == "user").map(told).collect()
    };
    // Each in a call of its own.
    for (id, caption) in [("f1", "!say files"), ("f2", ""), ("f3", "")] {
        assert_eq!(call(&server, &[file(id, caption)], signed).status, 200);
    }
    graph.await_text("files");
    assert_eq!(asked(&server), ["!say files | f1.txt | f2.txt | f3.txt"]);
    // Killed between the text and its file, which Meta brings once more.
    let words = message("t1", ADA, "!say text and file");
    assert_eq!(call(&server, std::slice::from_ref(&words), signed).status, 200);
    let home = server.kill();
    let server = start(&graph, &home);
    assert_eq!(call(&server, &[words, file("f4", "")], signed).status, 200);
    graph.await_text("text and file");
    assert_eq!(call(&server, &[file("f4", "")], signed).status, 200);
    assert_eq!(call(&server, &[message("t2", ADA, "!say last")], signed).status, 200);
    graph.await_text("last");
    let texts: Vec<String> = graph.texts().into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["files", "text and file", "last"]);
    assert_eq!(asked(&server)[1..], ["!say text and file | f4.txt", "!say last"]);
    // An edit, as Meta reports it.
    let slow = message("t3", ADA, "!sleep 600000\n!say old");
    assert_eq!(call(&server, &[slow], signed).status, 200);
    eventually("its turn runs", || (asked(&server).len() == 4).then_some(()));
    let mut edit = message("t4", ADA, "");
    edit["type"] = "edit".into();
    edit["edit"] =
        json!({"original_message_id": "t3", "message": {"type": "text", "text": {"body": "!say new"}}});
    assert_eq!(call(&server, &[edit], signed).status, 200);
    graph.await_text("new");
    assert_eq!(graph.texts().len(), 4, "{:?}", graph.texts());
    let faults = graph.state.lock().unwrap().faults.clone();
    assert!(faults.is_empty(), "{faults:?}");
}
