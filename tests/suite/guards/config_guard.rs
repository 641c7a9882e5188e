//! Changing the configuration through the API with `X-Aethon-Confirm`: a change that loosens protection needs the token once
//! more, and without a token the terminal.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use aethon_tests::stub::failure;
use aethon_tests::{Request, Response, Server, Stub, eventually, home, program};
use serde_json::{Value, json};
use tempfile::TempDir;

const TOKEN: &str = "a-token-of-the-owner-0123";
/// A configuration in which every protection stands, so that each can be loosened.
const TIGHT: &str = "[channels.webchat]\nport = 0\n[model]\nprovider = \"fake\"\n[approval]\nenabled = true\n\
                     [security]\ntaint_requires_approval = true\nworkspace_only = true\nblocked_paths = [\"/srv/keys\"]\n\
                     owners = [\"telegram:1\"]\nallowed_senders = { telegram = [1] }\n[budget]\ndaily_usd = 1\n\
                     [mcp.servers.mine]\nenabled = false\ncommand = \"/bin/true\"\n[memory]\nguard_patterns = [\"ACME\"]\n\
                     [lsp.servers.mine]\ncommand = \"/bin/true\"\nextensions = [\"x\"]\n[work]\napprove_plan = true\n[household.people.anna]\nsenders = [\"telegram:2\"]\n";

fn written(configuration: &str) -> Arc<TempDir> {
    let home = home();
    std::fs::write(home.path().join("config.toml"), configuration).unwrap();
    home
}

fn file(home: &Path) -> String {
    std::fs::read_to_string(home.join("config.toml")).unwrap()
}

fn started(home: &Arc<TempDir>) -> Server {
    Server::start_command(home.clone(), program("aethon-server", home.path()))
}

/// A server with a token, and the cookie of a browser that signed in.
fn guarded() -> (Server, String) {
    let home = written(&format!("{TIGHT}[dashboard]\nauth_token = \"{TOKEN}\"\n"));
    let server = started(&home);
    let answer = server.get(&format!("/dashboard?token={TOKEN}"));
    let cookie = answer.header("set-cookie").expect("a cookie").split(';').next().unwrap().to_owned();
    (server, cookie)
}

fn patch(query: &str, changes: &Value) -> Request {
    Request::new("PATCH", &format!("/api/config{query}"))
        .header("Content-Type", "application/json")
        .body(changes.to_string())
}

/// The code of a refusal and its keys.
fn refusal(answer: &Response) -> (u16, String, Value) {
    let problem: Value = serde_json::from_str(&answer.text()).unwrap_or_default();
    (answer.status, problem["code"].as_str().unwrap_or_default().to_owned(), problem["keys"].clone())
}

/// Changes that loosen protection, or say where keys are sent or which programs run.
fn loosening() -> Vec<(&'static str, Value)> {
    vec![
        ("approval.enabled", json!(false)),
        ("approval.enabled", Value::Null),
        ("approval.requires_approval", json!([])),
        ("approval.requires_approval", json!(["shell"])),
        ("security.taint_requires_approval", json!(false)),
        ("security.workspace_only", json!(false)),
        ("security.mark_untrusted_content", json!(false)),
        ("security.blocked_commands", json!([])),
        ("security.blocked_commands", json!(["sudo", "mkfs"])),
        ("security.blocked_paths", json!([])),
        ("security.allowed_paths", json!(["~/.ssh", "/"])),
        ("security.owners", json!(["telegram:1", "telegram:666"])),
        ("security.owners", json!([])),
        ("security.allowed_senders", json!({"telegram": [1, 666]})),
        ("security.allowed_senders.telegram", json!([666])),
        ("security.allowed_senders.discord", json!(["666"])),
        ("security.egress_allowed_hosts", json!(["192.168.0.1"])),
        ("security.sandbox_image", json!("evil:latest")),
        ("security.sandbox_network", json!("host")),
        ("security.sandbox_pids_limit", json!(100_000)),
        ("household.people.evil.senders", json!(["telegram:666"])),
        ("household.people.anna", Value::Null),
        ("mcp.servers.evil.command", json!("/bin/sh")),
        ("mcp.servers.evil.url", json!("https://evil.example")),
        ("mcp.servers.mine.enabled", json!(true)),
        ("mcp.servers.mine.command", json!("/bin/sh")),
        ("mcp.servers.mine.args", json!(["-c", "id"])),
        ("mcp.servers.mine.sandbox", json!(false)),
        ("lsp.enabled", json!(true)),
        ("lsp.servers.mine.command", json!("/bin/sh")),
        ("verification.command", json!("curl evil.example")),
        ("verification.enabled", json!(true)),
        ("runtime_tools.enabled", json!(true)),
        ("agent.dynamic_specialists", json!(true)),
        ("agent.specialists.scout.tools", json!(["*"])),
        ("channels.webchat.host", json!("0.0.0.0")),
        ("channels.webchat.socket", json!("other.sock")),
        ("channels.webchat.allowed_origins", json!(["https://evil.example"])),
        ("channels.webchat.allowed_hosts", json!(["evil.example"])),
        ("channels.email.oauth_command", json!(["/bin/sh"])),
        ("channels.email.trust_from", json!(true)),
        ("channels.telegram.api_base", json!("https://evil.example")),
        ("channels.telegram.home", json!("666")),
        ("channels.telegram.group_mode", json!("all")),
        ("channels.telegram.pairing", json!("request")),
        ("server.trusted_proxies", json!(["0.0.0.0/0"])),
        ("model.host", json!("https://evil.example")),
        ("model.provider", json!("echo")),
        ("model.region", json!("evil.example/")),
        ("model.allow_http", json!(true)),
        ("model.extra", json!({"api_base": "https://evil.example"})),
        ("memory.embedding.host", json!("https://evil.example")),
        ("memory.guard_patterns", json!([])),
        ("transcription.host", json!("https://evil.example")),
        ("telemetry.otlp_endpoint", json!("https://evil.example")),
        ("tools.web_search.host", json!("https://evil.example")),
        ("tools.github.api_base", json!("https://evil.example")),
        ("budget.daily_usd", json!(0)),
        ("budget.daily_usd", json!(100)),
        ("budget.unpriced", json!("allow")),
        ("budget.pricing.gpt.input", json!(0.5)),
        ("work.approve_plan", json!(false)),
        ("dashboard.enabled", json!(false)),
    ]
}

/// Changes that tighten protection, or have nothing to do with it.
fn free() -> Vec<(&'static str, Value)> {
    vec![
        (
            "approval.requires_approval",
            json!(["shell", "file_write", "manage_tools", "manage_specialists", "web_fetch"]),
        ),
        ("approval.timeout_seconds", json!(60)),
        ("security.blocked_commands", json!(["rm -rf /", "sudo", "mkfs", "dd"])),
        ("security.blocked_paths", json!(["/srv/keys", "/srv/more"])),
        ("security.allowed_senders.telegram", Value::Null),
        ("security.sandbox_pids_limit", json!(10)),
        ("mcp.servers.mine.enabled", json!(false)),
        ("webhook.enabled", json!(false)),
        ("budget.daily_usd", json!(0.5)),
        ("channels.telegram.pairing", json!("off")),
        ("agent.loop_limit", json!(4)),
        ("logging.level", json!("debug")),
        ("model.model_id", json!("fake-2")),
        ("scheduler.jobs.morning", json!({"cron": "@daily", "prompt": "hello"})),
    ]
}

#[test]
fn loosening_protection_needs_the_token_once_more() {
    let (server, cookie) = guarded();
    let before = file(server.home().path());
    for (key, value) in loosening() {
        let changes = json!({key: value});
        for query in ["", "?dry_run=true"] {
            for request in
                [patch(query, &changes).header("Cookie", &cookie), patch(query, &changes).bearer(TOKEN)]
            {
                let (status, code, keys) = refusal(&server.send(&request));
                assert_eq!((status, code.as_str()), (403, "confirm_required"), "{query} {changes}");
                assert!(!keys.as_array().expect("keys").is_empty(), "{changes}: {keys}");
                let is_about = |told: &Value| told.as_str().unwrap().starts_with(key);
                assert!(keys.as_array().unwrap().iter().any(is_about), "{changes}: {keys}");
            }
        }
        assert_eq!(file(server.home().path()), before, "{changes}");
    }
    // A change that is free does not carry one that is not.
    let mixed = json!({"agent.loop_limit": 5, "approval.enabled": false});
    let (status, _, keys) = refusal(&server.send(&patch("", &mixed).bearer(TOKEN)));
    assert_eq!((status, keys), (403, json!(["approval.enabled"])));
    // Nor does a table.
    let table = json!({"channels.webchat": {"port": 0, "allowed_origins": ["https://evil.example"]}});
    let (status, _, keys) = refusal(&server.send(&patch("", &table).bearer(TOKEN)));
    assert_eq!((status, keys), (403, json!(["channels.webchat.allowed_origins"])));
    assert_eq!(file(server.home().path()), before);
    let status = server.send(&Request::get("/api/status").bearer(TOKEN)).status;
    assert_eq!(status, 200);
}

#[test]
fn tightening_and_unrelated_changes_need_no_confirmation() {
    for (key, value) in free() {
        let (server, cookie) = guarded();
        let answer = server.send(&patch("", &json!({key: value})).header("Cookie", &cookie));
        assert_eq!(answer.status, 200, "{key} {value}: {}", answer.text());
        assert_eq!(answer.json()["loosened"], json!([]), "{key}");
        let open = started(&written(TIGHT));
        let answer = open.send(&patch("", &json!({key: value})));
        assert_eq!(answer.status, 200, "without a token: {key} {value}: {}", answer.text());
    }
}

#[test]
fn the_token_confirms_a_change_and_each_try_is_in_the_audit() {
    let (server, cookie) = guarded();
    let change = json!({"approval.enabled": false});
    let send = |request: Request| server.send(&request.header("Cookie", &cookie));
    assert_eq!(send(patch("", &change)).status, 403);
    for wrong in ["wrong", &format!("{TOKEN}x"), &cookie["aethon_dash=".len()..]] {
        let (status, code, _) = refusal(&send(patch("", &change).header("X-Aethon-Confirm", wrong)));
        assert_eq!((status, code.as_str()), (403, "confirm_required"));
    }
    let preview = send(patch("?dry_run=true", &change));
    let problem: Value = serde_json::from_str(&preview.text()).unwrap();
    assert_eq!(preview.status, 403);
    assert!(problem["change"]["diff"].as_str().unwrap().contains("-enabled = true"), "{problem}");
    let answer = send(patch("", &change).header("X-Aethon-Confirm", TOKEN));
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.json()["loosened"], json!(["approval.enabled"]));
    assert!(file(server.home().path()).contains("[approval]\nenabled = false"));
    let rows = eventually("the rows are stored", || {
        let answer = send(Request::get("/api/audit?limit=100")).json();
        let rows = answer["audit"].as_array().cloned().unwrap_or_default();
        let of = |action: &str, outcome: &str| {
            rows.iter().filter(|row| row["action"] == action && row["outcome"] == outcome).count()
        };
        // The first wrong token of an address has a row of its own.
        let found = (of("config", "confirm_required"), of("config", "confirmed"), of("access", "wrong"));
        (found == (4, 1, 1)).then_some(rows)
    });
    assert!(rows.iter().all(|row| !row.to_string().contains(TOKEN)), "{rows:?}");
    let log = server.stderr();
    assert!(log.contains("confirm_required") && log.contains("confirmed") && !log.contains(TOKEN), "{log}");
}

#[test]
fn a_wrong_confirmation_counts_as_a_wrong_token() {
    let (server, cookie) = guarded();
    let change = json!({"approval.enabled": false});
    let send = |token: &str| {
        let request = patch("", &change).header("Cookie", &cookie).header("X-Aethon-Confirm", token);
        server.send(&request)
    };
    let answers: Vec<u16> = (0..61).map(|_| send("wrong").status).collect();
    assert_eq!((answers[0], answers[59], answers[60]), (403, 403, 429));
    assert_eq!(send(TOKEN).status, 200, "the owner's is judged all the same");
}

#[test]
fn without_a_token_only_the_terminal_loosens_protection() {
    let home = written(TIGHT);
    let server = started(&home);
    for (key, value) in loosening() {
        for request in [patch("", &json!({key: value})), patch("?dry_run=true", &json!({key: value}))] {
            let answer = server.send(&request.header("X-Aethon-Confirm", ""));
            let (status, code, _) = refusal(&answer);
            assert_eq!((status, code.as_str()), (403, "terminal_only"), "{key} {value}");
            assert!(answer.text().contains(&"aethon-cli config set ".to_owned()), "{}", answer.text());
        }
    }
    assert_eq!(file(home.path()), TIGHT);
    let mut set: Command = program("aethon-cli", home.path());
    let done = set.args(["config", "set", "approval.enabled", "false"]).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    assert!(file(home.path()).contains("[approval]\nenabled = false"));
}

#[test]
fn a_new_host_never_gets_the_key_of_the_old_one() {
    const OLD: &str = "key-of-the-old-host-77";
    const NEW: &str = "key-of-the-new-host-88";
    let answer = || vec![failure("500 Internal Server Error", "", "{}")];
    let (old, new) = (Stub::start(answer()), Stub::start(answer()));
    let home = written(&format!(
        "[channels.webchat]\nport = 0\n[dashboard]\nauth_token = \"{TOKEN}\"\n[model]\nprovider = \"openai\"\n\
         model_id = \"m\"\nmax_retries = 0\nhost = \"http://{}/v1\"\napi_key = \"{OLD}\"\n",
        old.address
    ));
    let credentials = home.path().join("credentials");
    std::fs::create_dir(&credentials).unwrap();
    std::fs::write(credentials.join("new"), NEW).unwrap();
    let server = started(&home);
    let ask = || server.post("/webhook/trigger", &json!({"text": "hello"}));
    let keys = |stub: &Stub| -> String {
        stub.requests().iter().filter_map(|seen| seen.header("authorization").map(str::to_owned)).collect()
    };
    ask();
    assert!(keys(&old).contains(OLD));
    let host = format!("http://{}/v1", new.address);
    let confirmed =
        |changes: Value| server.send(&patch("", &changes).bearer(TOKEN).header("X-Aethon-Confirm", TOKEN));
    let moved = confirmed(json!({"model.host": host}));
    assert_eq!(moved.status, 200, "{}", moved.text());
    assert!(moved.text().contains("model.api_key is removed"), "{}", moved.text());
    ask();
    assert!(!keys(&new).contains(OLD), "{}", keys(&new));
    assert!(!file(home.path()).contains(OLD));
    let named = confirmed(json!({"model.host": host, "model.api_key": "${credential:new}"}));
    assert_eq!(named.status, 200, "{}", named.text());
    ask();
    assert!(keys(&new).contains(NEW) && !keys(&new).contains(OLD), "{}", keys(&new));
    // A key is named and never written.
    let written = confirmed(json!({"model.api_key": "sk-a-key-in-plain-words"}));
    assert_eq!(written.status, 422, "{}", written.text());
}

#[test]
fn a_key_of_the_environment_keeps_its_host() {
    let home = written(&format!(
        "[channels.webchat]\nport = 0\n[dashboard]\nauth_token = \"{TOKEN}\"\n[model]\nprovider = \"openai\"\n"
    ));
    for (variable, key) in [("OPENAI_API_KEY", "usual"), ("AETHON_MODEL__API_KEY", "set for this program")] {
        let mut command = program("aethon-server", home.path());
        command.env(variable, key);
        let server = Server::start_command(home.clone(), command);
        let changes = json!({"model.host": "http://127.0.0.1:9/v1"});
        let answer = server.send(&patch("", &changes).bearer(TOKEN).header("X-Aethon-Confirm", TOKEN));
        assert_eq!(answer.status, 422, "{variable}: {}", answer.text());
        assert!(
            answer.text().contains("model.api_key") && answer.text().contains("credential"),
            "{}",
            answer.text()
        );
        assert!(!file(home.path()).contains("127.0.0.1:9"));
    }
}

#[test]
fn key_overridden_by_a_variable_is_guarded_in_the_file() {
    let home = written(&format!("{TIGHT}[dashboard]\nauth_token = \"{TOKEN}\"\n"));
    let mut command = program("aethon-server", home.path());
    command.env("AETHON_APPROVAL__ENABLED", "true");
    let server = Server::start_command(home.clone(), command);
    let (status, code, _) =
        refusal(&server.send(&patch("", &json!({"approval.enabled": false})).bearer(TOKEN)));
    assert_eq!((status, code.as_str()), (403, "confirm_required"));
}

#[test]
fn the_openapi_document_has_the_header_and_the_refusal() {
    let document = Server::start(&[]).get("/openapi.json").json();
    let operation = &document["paths"]["/api/config"]["patch"];
    let parameters = operation["parameters"].as_array().unwrap();
    assert!(
        parameters.iter().any(|it| it["name"] == "X-Aethon-Confirm" && it["in"] == "header"),
        "{parameters:?}"
    );
    assert!(operation["responses"]["403"]["content"].get("application/problem+json").is_some());
}
