//! Secrets appear nowhere: masking and redaction of the configuration, logs and output.

use std::path::Path;
use std::sync::Arc;

use aethon_tests::server::server_command;
use aethon_tests::stub::{Stub, failure};
use aethon_tests::{Request, Server, home, program, run, signature};
use base64::Engine;
use serde_json::{Value, json};
use tempfile::TempDir;

/// What every planted secret contains.
const CANARY: &str = "canary/5ecret+Value";
const TOKEN: &str = "canary/5ecret+Value-token";
const WEBHOOK: &str = "canary/5ecret+Value-webhook";

const CONFIG: &str = r#"
[model]
api_key = "canary/5ecret+Value-model"
fallbacks = [{ model_id = "other", host = "http://127.0.0.1:9/v1", api_key = "canary/5ecret+Value-fallback" }]
[model.extra]
password = "canary/5ecret+Value-extra"
nested = { token = "canary/5ecret+Value-nested" }
[dashboard]
auth_token = "canary/5ecret+Value-token"
[webhook]
secret = "${credential:webhook}"
[memory.embedding]
api_key = "canary/5ecret+Value-embedding"
[transcription]
api_key = "canary/5ecret+Value-transcription"
[channels.telegram]
token = "canary/5ecret+Value-telegram"
[channels.discord]
token = "${FROM_ENVIRONMENT}"
[channels.slack]
bot_token = "canary/5ecret+Value-slack-bot"
app_token = "canary/5ecret+Value-slack-app"
[channels.whatsapp]
token = "canary/5ecret+Value-whatsapp"
secret = "canary/5ecret+Value-whatsapp-secret"
[channels.matrix]
token = "canary/5ecret+Value-matrix"
[channels.email]
password = "canary/5ecret+Value-email"
[mcp.servers.files]
command = "true"
enabled = false
args = ["--key=${credential:argument}"]
env = { KEY = "canary/5ecret+Value-mcp" }
[mcp.servers.remote]
url = "https://mcp.example/?token=canary%2F5ecret%2BValue-url"
enabled = false
headers = { Authorization = "Bearer canary/5ecret+Value-header" }
"#;

fn planted() -> Arc<TempDir> {
    let home = home();
    std::fs::write(home.path().join("config.toml"), CONFIG).unwrap();
    std::fs::create_dir_all(home.path().join("credentials")).unwrap();
    std::fs::write(home.path().join("credentials/webhook"), format!("{WEBHOOK}\n")).unwrap();
    std::fs::write(home.path().join("credentials/argument"), format!("{CANARY}-argument\n")).unwrap();
    home
}

/// Panics when a secret is in the text, as it is or encoded.
fn assert_clean(what: &str, text: &str) {
    let engine = base64::engine::general_purpose::STANDARD_NO_PAD;
    let encoded = [
        CANARY.to_owned(),
        "canary%2F5ecret%2BValue".to_owned(),
        "canary%2f5ecret%2bValue".to_owned(),
        "canary\\/5ecret+Value".to_owned(),
        // Eighteen bytes are whole groups of three, so what follows does not change them.
        engine.encode(&CANARY.as_bytes()[..18]),
    ];
    for form in encoded {
        if let Some(at) = text.find(&form) {
            let from = text[..at].char_indices().rev().nth(200).map_or(0, |(index, _)| index);
            panic!("{what} shows a secret: {}", &text[from..at + form.len()]);
        }
    }
}

fn all_text(folder: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text.push_str(&all_text(&path));
        } else {
            text.push_str(&String::from_utf8_lossy(&std::fs::read(&path).unwrap()));
        }
    }
    text
}

fn start(home: Arc<TempDir>, settings: &[&str]) -> Server {
    let mut command = server_command(home.path(), settings);
    command.env("FROM_ENVIRONMENT", "canary/5ecret+Value-discord").args(["--log-level", "trace"]);
    Server::start_command(home, command)
}

#[test]
fn the_dump_masks_every_secret() {
    let server = start(planted(), &[]);
    let answer = server.send(&Request::get("/api/config").bearer(TOKEN));
    assert_eq!(answer.status, 200);
    assert_clean("/api/config", &answer.text());
    let dump = answer.json();
    let check = |pointer: &str, expected: &str| {
        assert_eq!(dump.pointer(pointer), Some(&json!(expected)), "{pointer} of {dump:#}");
    };
    for pointer in [
        "/model/api_key",
        "/model/fallbacks/0/api_key",
        "/model/extra/password",
        "/model/extra/nested/token",
        "/dashboard/auth_token",
        "/webhook/secret",
        "/memory/embedding/api_key",
        "/transcription/api_key",
        "/channels/telegram/token",
        "/channels/discord/token",
        "/channels/slack/bot_token",
        "/channels/slack/app_token",
        "/channels/whatsapp/secret",
        "/channels/matrix/token",
        "/channels/email/password",
        "/mcp/servers/files/env/KEY",
        "/mcp/servers/remote/headers/Authorization",
    ] {
        check(pointer, "***");
    }
    let plain = Server::start(&[]).get("/api/config").json();
    assert_eq!(plain["dashboard"]["auth_token"], "", "an empty secret dumps as empty");
    assert_eq!(plain["channels"]["slack"]["bot_token"], "");
}

#[test]
fn no_answer_shows_a_secret() {
    let server = start(planted(), &[]);
    server.send(&Request::post("/webhook/trigger", &json!({"text": "!say hello"})));
    for target in [
        "/api/config",
        "/api/config/schema",
        "/api/status",
        "/api/sessions",
        "/api/logs?level=trace&limit=1000",
        "/api/approvals",
        "/dashboard",
        "/",
        "/api/nothing",
        "/api/sessions/webchat:none",
        "/api/sessions?limit=x",
    ] {
        for request in [Request::get(target), Request::get(target).bearer(TOKEN)] {
            let answer = server.send(&request);
            assert_clean(target, &answer.text());
            assert_clean(target, &format!("{:?}", answer.headers));
        }
    }
}

#[test]
fn no_log_shows_a_secret() {
    let stub = Stub::start(vec![failure(
        "401 Unauthorized",
        "",
        r#"{"error": {"message": "Incorrect API key provided: canary/5ecret+Value-model", "code": "invalid_api_key"}}"#,
    )]);
    let host = format!("model.host=\"http://{}/v1\"", stub.address);
    let server = start(planted(), &["model.provider=openai", "model.max_retries=0", &host]);
    // The token in every place, right and wrong, in addresses, headers and bodies.
    let encoded = "canary%2F5ecret%2BValue";
    for target in [
        format!("/dashboard?token={encoded}-token"),
        format!("/api/status?token={encoded}-wrong"),
        format!("/api/nothing/{encoded}-token?token={encoded}-token"),
        "/api/nothing/canary%2f5ecret%2bValue-token".to_owned(),
        format!("/api/sessions?token={encoded}-token&limit=x"),
    ] {
        assert_clean(&target, &server.get(&target).text());
    }
    let wrong = format!("{TOKEN}-wrong");
    server.send(&Request::get("/api/status").bearer(&wrong));
    server.send(&Request::get("/api/status").header("Cookie", &format!("aethon_dash={TOKEN}")));
    let body = json!({"text": "hello"}).to_string();
    let signed = Request::new("POST", "/webhook/trigger").header("Content-Type", "application/json");
    let signed = signed.header("X-Aethon-Signature", &signature(WEBHOOK, body.as_bytes())).body(body);
    let answer = server.send(&signed);
    assert_eq!(answer.status, 502);
    assert_clean("a webhook", &answer.text());

    let bearer = format!("Bearer {TOKEN}");
    let headers = [("Authorization", bearer.as_str()), ("Sec-WebSocket-Protocol", "aethon.chat.v1")];
    let mut chat = aethon_tests::Socket::open(server.address, "/ws/chat", &headers);
    let frames = chat.say("m1", "hello");
    assert!(frames.iter().any(|frame| frame["type"] == "error"), "{frames:?}");
    assert_clean("the chat", &format!("{frames:?}"));
    for form in ["json", "markdown"] {
        let target = format!("/api/sessions/webchat:default/export?format={form}");
        assert_clean(&target, &server.send(&Request::get(&target).bearer(TOKEN)).text());
    }
    let home = server.home();
    drop(chat);
    server.signal(rustix::process::Signal::TERM);
    let (_, stderr) = server.wait();
    assert_clean("stderr", &stderr);
    let logs = all_text(&home.path().join("logs"));
    assert!(!logs.is_empty());
    assert_clean("the log file", &logs);
}

#[test]
fn no_command_shows_a_secret() {
    let home = planted();
    let commands: &[&[&str]] = &[
        &["config", "show"],
        &["config", "show", "--json"],
        &["config", "check"],
        &["config", "schema"],
        &["config", "get", "dashboard.auth_token"],
        &["config", "get", "model"],
        &["config", "get", "mcp.servers"],
        &["config", "set", "agent.max_iterations", "many"],
        &["secrets", "list"],
        &["secrets", "list", "--json"],
        &["doctor"],
        &["doctor", "--json"],
        &["sessions", "list"],
        &["ask", "hello", "--log-level", "trace"],
    ];
    for command in commands {
        let mut cli = program("aethon-cli", home.path());
        cli.env("FROM_ENVIRONMENT", "canary/5ecret+Value-discord").args(["--set", "model.provider=fake"]);
        let output = run(cli.args(*command), None);
        assert_clean(&format!("{command:?}"), &String::from_utf8_lossy(&output.stdout));
        assert_clean(&format!("{command:?}"), &String::from_utf8_lossy(&output.stderr));
    }
    let mut check = server_command(home.path(), &[]);
    let output = run(check.env("FROM_ENVIRONMENT", CANARY).arg("--check"), None);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_clean("--check", &format!("{output:?}"));
}

#[test]
fn no_refusal_shows_a_secret() {
    for config in [
        // A line that is no TOML, a doubled key, a wrong type, a wrong place.
        "[dashboard]\nauth_token = \"canary/5ecret+Value\" x\n",
        "[dashboard]\nauth_token = \"canary/5ecret+Value\n",
        "[webhook]\nsecret = \"canary/5ecret+Value\"\nsecret = \"canary/5ecret+Value\"\n",
        "[model]\napi_key = [\"canary/5ecret+Value\"]\n",
        "[model]\napi_key = { key = \"canary/5ecret+Value\" }\n",
        "[mcp.servers.x]\nurl = \"https://user:canary%2F5ecret%2BValue@mcp.example/\"\n",
        "[model]\nprovider = \"${credential:webhook}\"\n",
    ] {
        let home = planted();
        std::fs::write(home.path().join("config.toml"), config).unwrap();
        let output = run(&mut program("aethon-server", home.path()), None);
        assert_eq!(output.status.code(), Some(2), "{config}");
        assert_clean(config, &String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_tool_shows_no_configured_secret() {
    let home = planted();
    std::fs::create_dir_all(home.path().join("workspace")).unwrap();
    let notes = format!("before {WEBHOOK} after, and {TOKEN} too\n");
    std::fs::write(home.path().join("workspace/notes.txt"), notes).unwrap();
    let server = start(home, &[]);
    let body = json!({"text": "!tool file_read {\"path\": \"notes.txt\"}"}).to_string();
    let request = Request::new("POST", "/webhook/trigger").header("Content-Type", "application/json");
    let request = request.header("X-Aethon-Signature", &signature(WEBHOOK, body.as_bytes())).body(body);
    let answer = server.send(&request).json();
    let told = answer["response"].as_str().unwrap();
    assert!(told.contains("before") && told.contains("after"), "the file was read: {told}");
    assert_clean("the reply", told);
    let sessions: Value = server.send(&Request::get("/api/sessions").bearer(TOKEN)).json();
    let id = sessions["sessions"][0]["session_id"].as_str().unwrap();
    let transcript = server.send(&Request::get(&format!("/api/sessions/{id}")).bearer(TOKEN)).text();
    assert_clean("the transcript", &transcript);
}

#[test]
fn tool_output_masks_stored_secrets_in_every_encoding() {
    const STORED: &str = "stored/Credential+that-nothing-refers-to";
    let home = home();
    std::fs::create_dir_all(home.path().join("credentials")).unwrap();
    std::fs::write(home.path().join("credentials/forgotten"), format!("{STORED}\n")).unwrap();
    std::fs::create_dir_all(home.path().join("workspace")).unwrap();
    let base64 = base64::engine::general_purpose::STANDARD.encode(format!("x{STORED}"));
    let hex: Vec<String> = STORED.bytes().map(|byte| format!("{byte:02x}")).collect();
    let backwards: String = STORED.chars().rev().collect();
    let (first, rest) = STORED.split_at(15);
    let (first64, rest64) = base64.split_at(20);
    let notes = format!(
        "{STORED}\n{base64}\n{first64}\n{rest64}\n{}\n%{}\n{backwards}\n{first}\n    {rest}\nend\n",
        hex.join(":"),
        hex.join("%")
    );
    std::fs::write(home.path().join("workspace/notes.txt"), notes).unwrap();
    let server = Server::start_in(home, &[]);
    let answer =
        server.post("/webhook/trigger", &json!({"text": "!tool file_read {\"path\": \"notes.txt\"}"}));
    let told = answer.json()["response"].as_str().unwrap().to_owned();
    assert!(told.contains("***") && told.contains("end"), "the file was read: {told}");
    for piece in
        ["Credential", "laitnederC", "that-nothing", &base64[4..14], &base64[24..34], "43:72:65", "%43%72"]
    {
        assert!(!told.contains(piece), "{piece} is in {told}");
    }
}
