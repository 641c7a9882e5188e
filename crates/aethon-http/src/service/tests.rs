//! The service without a socket: a request goes in as a value, a response comes out.

use aethon_core::approval::PendingApprovals;
use aethon_core::audit::{AuditTrail, NoAudit};
use aethon_core::channel::{Channel, Channels};
use aethon_core::clock::{Clock as _, SystemClock};
use aethon_core::feature::Features;
use aethon_core::ids::SessionId;
use aethon_core::ledger::{Claim, LedgerEntry, WorkKind};
use aethon_core::memory::Memory;
use aethon_core::message::{Destination, Role};
use aethon_core::model::Usage;
use aethon_core::secret::Secret;
use aethon_core::shutdown::ShutdownTrigger;
use aethon_core::testkit::{MemoryLedger, MemoryStore, NoWorkflows};
use aethon_core::usage::{Budget, day_of};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use ring::hmac;
use serde_json::{Value, json};
mod approvals;
mod assets;
mod captured;
mod read_response;
mod test_app;

use super::*;
use crate::deps::{Activity, Archive, Chat, Deps, Knowledge, Runtime, Setup, Workflows};
use crate::fakes::{FakeAssistant, FakeConfig, FakeProvider};
use crate::hex::hex;
use crate::options::Options;
use crate::ws::{Hub, WebChat};
pub(crate) use read_response::ReadResponse;

/// An application and its fakes.
pub(crate) struct TestApp {
    pub(crate) app: Arc<App>,
    assistant: Arc<FakeAssistant>,
    pub(crate) features: Features,
}

impl TestApp {
    pub(crate) fn new(options: Options) -> Self {
        Self::at(options, "127.0.0.1:18790")
    }

    fn at(options: Options, address: &str) -> Self {
        Self::knowing(options, address, Knowledge::default())
    }

    /// Creates one with this memory.
    pub(crate) fn remembering(memory: Arc<dyn Memory>) -> Self {
        let knowledge = Knowledge { memory: Some(memory), ..Knowledge::default() };
        Self::knowing(Options::default(), "127.0.0.1:18790", knowledge)
    }

    /// Creates one with these recordings.
    pub(crate) fn recorded(archive: Archive) -> Self {
        let knowledge = Knowledge { archive: Some(archive), ..Knowledge::default() };
        Self::knowing(Options::default(), "127.0.0.1:18790", knowledge)
    }

    fn knowing(options: Options, address: &str, knowledge: Knowledge) -> Self {
        let (assistant, features) = (Arc::new(FakeAssistant::default()), Features::default());
        let hub = Arc::new(Hub::new(Arc::new(SystemClock)));
        let webchat: Arc<dyn Channel> = Arc::new(WebChat::new(assistant.clone(), Arc::clone(&hub)));
        let deps = Deps {
            chat: Chat {
                transcriber: None,
                assistant: assistant.clone(),
                transcripts: assistant.transcripts.clone(),
                history: Arc::new(aethon_core::history::NoHistory),
                uploads: Arc::new(aethon_core::upload::NoUploads),
                files: Arc::new(aethon_core::file_changes::NoFileHistory),
                approvals: PendingApprovals::default(),
                choices: Arc::new(aethon_core::model_choice::NoChoices),
                hub,
                commands: Arc::new(aethon_core::background::NoBackgroundCommands::default()),
                bin_days: 7,
            },
            activity: Activity {
                bus: Default::default(),
                logs: Default::default(),
                ledger: Arc::new(MemoryLedger::new(Arc::new(SystemClock))),
                audit: Arc::new(NoAudit),
                agents: Default::default(),
                telemetry: Arc::new(MemoryStore::default()),
                outbox: Arc::new(MemoryStore::default()),
                trail: AuditTrail::new().0,
            },
            workflows: Workflows {
                sops: Arc::new(NoWorkflows),
                prompts: Arc::new(NoWorkflows),
                sop_runs: Arc::new(MemoryStore::default()),
                sop_runner: Arc::new(NoWorkflows),
                schedule: Arc::new(NoWorkflows),
                work: Arc::new(NoWorkflows),
            },
            knowledge,
            setup: Setup {
                first_model: None,
                channel_setup: Arc::new(aethon_core::channel_setup::NoChannelSetup),
                config: Arc::new(FakeConfig),
                provider: Arc::new(FakeProvider::default()),
                messengers: &["telegram", "email"],
                pairings: Arc::new(aethon_core::pairing::NoPairings),
                reach: Default::default(),
                features: features.clone(),
                backups: None,
                push: None,
                channels: Channels::new([webchat]).unwrap(),
            },
            runtime: Runtime {
                clock: Arc::new(SystemClock),
                health: Default::default(),
                shutdown: ShutdownTrigger::pair().1,
                instances: Default::default(),
            },
        };
        Self { app: App::new(options, deps, address.parse().expect("an address")), assistant, features }
    }

    /// Starts this channel too.
    pub(crate) fn run_channel(&self, options: &Options, channel: Arc<dyn Channel>) {
        let mut setup: Setup = self.app.part();
        let name = channel.name().to_owned();
        setup.channels = Channels::new([channel]).unwrap();
        setup.channels.note_health(&name, aethon_core::channel::ChannelHealth::Running);
        self.app.reload(options, setup);
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> ReadResponse {
        let mut request = http::Request::builder().method(method).uri(target);
        if !headers.iter().any(|(name, _)| *name == "host") {
            request = request.header("host", "127.0.0.1:18790");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (head, ()) = request.body(()).expect("well formed").into_parts();
        let body = if body.is_empty() {
            RequestBody::Empty
        } else {
            RequestBody::Whole(Bytes::from(body.to_owned()))
        };
        let peer = "192.0.2.7".parse().expect("an address");
        let Ok(answer) = call(&self.app, head, body, peer, |_| ()).await;
        let (head, body) = answer.into_parts();
        let body = body.collect().await.expect("in memory").to_bytes();
        let body = String::from_utf8_lossy(&body).into_owned();
        ReadResponse { status: head.status.as_u16(), headers: head.headers, body }
    }

    pub(crate) async fn get(&self, target: &str, headers: &[(&str, &str)]) -> ReadResponse {
        self.send("GET", target, headers, "").await
    }

    async fn post(&self, target: &str, body: &str) -> ReadResponse {
        self.send("POST", target, &[("content-type", "application/json")], body).await
    }
}

/// Creates an application backed by fakes.
pub(crate) fn app() -> Arc<App> {
    TestApp::new(Options::default()).app
}

fn with_token() -> Options {
    Options { token: Secret::new("right"), ..Options::default() }
}

#[tokio::test]
async fn every_answer_carries_the_common_headers() {
    let app = TestApp::new(with_token());
    let mut ids = Vec::new();
    for (target, status) in
        [("/health", 200), ("/", 200), ("/api/status", 401), ("/dashboard", 401), ("/nothing", 401)]
    {
        let seen = app.get(target, &[]).await;
        assert_eq!(seen.status, status, "{target}");
        assert!(seen.header("content-security-policy").starts_with("default-src 'none'; script-src 'self';"));
        assert_eq!(seen.header("x-content-type-options"), "nosniff");
        assert_eq!(seen.header("referrer-policy"), "no-referrer");
        assert_eq!(seen.header("cross-origin-opener-policy"), "same-origin");
        assert_eq!(seen.header("cross-origin-resource-policy"), "same-origin");
        assert!(!seen.headers.contains_key("access-control-allow-origin"));
        ids.push(seen.header("x-request-id").to_owned());
    }
    ids.dedup();
    assert_eq!(ids.len(), 5);
    let status = app.get("/api/status", &[("authorization", "Bearer right")]).await;
    assert_eq!((status.status, status.header("cache-control")), (200, "no-store"));
}

#[tokio::test]
async fn with_a_token_all_but_the_exceptions_is_401_before_routing() {
    let app = TestApp::new(with_token());
    for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"] {
        for target in [
            "/api/status",
            "/api/sessions",
            "/nothing",
            "/health/",
            "//health",
            "/docs",
            "/api/config?x=1",
            "*",
        ] {
            let seen = app.send(method, target, &[("origin", "http://evil.example")], "").await;
            assert_eq!(seen.status, 401, "{method} {target}");
            assert!(!seen.headers.contains_key("allow"));
        }
    }
    assert_eq!(app.get("/health", &[]).await.body, r#"{"status":"ok"}"#);
    assert_eq!(app.get("/ws/chat", &[]).await.status, 401);
    let plain = app.get("/ws/chat", &[("authorization", "Bearer right")]).await;
    assert_eq!(
        (plain.status, plain.header("upgrade"), plain.code().as_str()),
        (426, "websocket", "upgrade_required")
    );
    assert_eq!(app.get("/nothing", &[("authorization", "Bearer right")]).await.code(), "not_found");
}

#[tokio::test]
async fn without_a_token_unknown_is_404_and_a_wrong_method_405() {
    let app = TestApp::new(Options::default());
    assert_eq!(app.get("/nothing", &[]).await.code(), "not_found");
    for (method, target, allow) in [
        ("POST", "/health", "GET, HEAD"),
        ("OPTIONS", "/api/sessions", "GET, HEAD"),
        ("GET", "/webhook/trigger", "POST"),
        ("PUT", "/api/sessions/webchat:a", "GET, HEAD, DELETE, PATCH"),
        ("POST", "/dashboard/static/x", "GET, HEAD"),
    ] {
        let seen = app.send(method, target, &[], "").await;
        assert_eq!((seen.status, seen.header("allow")), (405, allow), "{method} {target}");
        assert_eq!(seen.code(), "method_not_allowed");
    }
    let options = app.send("OPTIONS", "*", &[], "").await;
    assert_eq!(
        (options.status, options.header("allow")),
        (204, "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
    );
    assert_eq!(app.send("HEAD", "/api/status", &[], "").await.status, 200);
    assert_eq!(app.get("/", &[("host", "evil.example")]).await.code(), "host_not_allowed");
    assert_eq!(app.get("/health", &[("host", "evil.example")]).await.status, 200);
}

#[tokio::test]
async fn opening_the_dashboard_with_the_token_signs_the_browser_in() {
    let app = TestApp::new(with_token());
    let page = app.get("/dashboard?token=right", &[("cookie", "aethon_dash=stale")]).await;
    assert_eq!(page.status, 200);
    let cookie = page.header("set-cookie").to_owned();
    assert!(
        cookie.starts_with("aethon_dash=") && cookie.ends_with("; HttpOnly; SameSite=Strict; Path=/"),
        "{cookie}"
    );
    let pair = cookie.split(';').next().expect("a pair");
    assert_eq!(app.get("/api/status", &[("cookie", pair)]).await.status, 200);

    let navigation = app.get("/dashboard?token=right", &[("sec-fetch-mode", "navigate")]).await;
    assert_eq!((navigation.status, navigation.header("location")), (303, "/dashboard"));
    assert!(!navigation.header("set-cookie").is_empty());

    let by_header = app.get("/dashboard", &[("authorization", "Bearer right")]).await;
    assert_eq!((by_header.status, by_header.header("set-cookie").is_empty()), (200, false));
    let script = app.get("/api/status", &[("authorization", "Bearer right")]).await;
    assert!(script.header("set-cookie").is_empty());
    let page = [("authorization", "Bearer right"), ("sec-fetch-site", "same-origin")];
    assert!(!app.get("/api/status", &page).await.header("set-cookie").is_empty());

    let denied = app.get("/dashboard?token=wrong", &[]).await;
    assert_eq!((denied.status, denied.header("content-type")), (401, "text/html; charset=utf-8"));
    assert!(denied.header("set-cookie").is_empty());
    assert_eq!(app.get("/api/status?token=right", &[("cookie", "aethon_dash=stale")]).await.status, 401);

    let out = app.send("POST", "/api/sign-out", &[("cookie", pair)], "").await;
    assert_eq!(out.status, 200);
    assert!(
        out.header("set-cookie").contains("aethon_dash=;") && out.header("set-cookie").contains("Max-Age=0")
    );
}

#[tokio::test]
async fn changes_must_be_json_and_come_from_our_own_page() {
    let app = TestApp::new(Options::default());
    app.assistant.transcripts.add(&SessionId::parse("webchat:a").unwrap(), &[(Role::User, "hi")]);
    let json = ("content-type", "application/json");
    for (headers, status, code) in [
        (&[("content-type", "text/plain")] as &[(&str, &str)], 415, "unsupported_media_type"),
        (&[], 415, "unsupported_media_type"),
        (&[json, ("content-encoding", "gzip")], 415, "unsupported_media_type"),
        (&[json, ("origin", "http://evil.example")], 403, "foreign_origin"),
        (&[json, ("origin", "null")], 403, "foreign_origin"),
        (&[json, ("sec-fetch-site", "cross-site")], 403, "foreign_origin"),
        (&[json, ("content-length", "1048577")], 413, "body_too_large"),
    ] {
        for (method, target) in
            [("POST", "/webhook/trigger"), ("PATCH", "/api/sessions/webchat:a"), ("POST", "/api/approvals/1")]
        {
            let seen = app.send(method, target, headers, "{\"text\": \"x\", \"title\": \"x\"}").await;
            assert_eq!((seen.status, seen.code().as_str()), (status, code), "{method} {target} {headers:?}");
        }
    }
    for headers in [&[("origin", "http://evil.example")], &[("sec-fetch-site", "cross-site")]] {
        let seen = app.send("POST", "/api/sessions/webchat:a/reset", headers, "").await;
        assert_eq!(seen.code(), "foreign_origin");
    }
    let form = [("content-type", "application/x-www-form-urlencoded")];
    assert_eq!(app.send("DELETE", "/api/sessions/webchat:a", &form, "").await.status, 415);
    assert!(app.assistant.seen().is_empty());
    let own = [json, ("origin", "http://127.0.0.1:18790"), ("sec-fetch-site", "same-origin")];
    assert_eq!(app.send("POST", "/webhook/trigger", &own, "{\"text\": \"x\"}").await.status, 200);
    let large = format!("{{\"text\": \"{}\"}}", "x".repeat(1 << 20));
    assert_eq!(app.post("/webhook/trigger", &large).await.code(), "body_too_large");
}

#[tokio::test]
async fn a_webhook_answers_with_the_reply() {
    let app = TestApp::new(Options::default());
    let seen =
        app.post("/webhook/trigger", r#"{"text": "hello", "channel": "webchat", "recipient": "me"}"#).await;
    assert_eq!((seen.status, seen.json()), (200, json!({"status": "ok", "response": "hello"})));
    assert_eq!(app.post("/webhook/github", r#"{"text": "push"}"#).await.json()["response"], "push");
    assert_eq!(app.post("/webhook/trigger", r#"{"text": "a", "session": "b"}"#).await.status, 200);
    assert_eq!(app.post("/webhook/trigger", r#"{"text": "!silent"}"#).await.json()["response"], Value::Null);

    let inbounds = app.assistant.seen();
    assert!(inbounds[0].session.as_str().starts_with("webhook:trigger:") && inbounds[0].oneshot);
    assert!(inbounds[0].untrusted && inbounds[0].channel == "webhook");
    let destination = Destination { channel: "webchat".into(), recipient: Some("me".into()) };
    assert_eq!(inbounds[0].deliver_to, Some(destination));
    assert_eq!((inbounds[1].session.as_str(), inbounds[1].oneshot), ("webhook:github", false));
    assert_eq!((inbounds[2].session.as_str(), inbounds[2].oneshot), ("webhook:trigger:b", false));
}

#[tokio::test]
async fn a_webhook_refuses_in_its_order() {
    let app = TestApp::new(Options::default());
    for (body, status, code) in [
        ("", 400, "bad_json"),
        ("{", 400, "bad_json"),
        ("[]", 422, "invalid_request"),
        ("{}", 422, "invalid_request"),
        (r#"{"text": 1}"#, 422, "invalid_request"),
        (r#"{"text": " "}"#, 422, "invalid_request"),
        (r#"{"text": "x", "sop_name": "Bad Name"}"#, 422, "invalid_request"),
        (r#"{"text": "x", "sop_name": 5}"#, 422, "invalid_request"),
        (r#"{"text": "x", "channel": "telegram"}"#, 422, "channel_not_running"),
        (r#"{"text": "x", "sop_name": "code-assist"}"#, 404, "unknown_sop"),
        (r#"{"text": "x", "session": "a\nb"}"#, 422, "invalid_request"),
    ] {
        let seen = app.post("/webhook/trigger", body).await;
        assert_eq!((seen.status, seen.code().as_str()), (status, code), "{body}");
        if status == 422 {
            assert!(seen.json()["errors"][0]["field"].is_string(), "{body}");
        }
    }
    assert!(app.assistant.seen().is_empty());
    assert_eq!(
        app.post("/webhook/trigger", r#"{"text": "x", "sop_name": "", "channel": null}"#).await.status,
        200
    );
    for wrong in ["%74rigger", "..", "a%20b", "a%3Ab", "caf%C3%A9", &"a".repeat(65)] {
        let seen = app.post(&format!("/webhook/{wrong}"), r#"{"text": "x"}"#).await;
        assert_eq!((seen.status, seen.code().as_str()), (404, "unknown_channel"), "{wrong}");
    }
    for right in ["GitHub", "my.channel", "n8n_2", "a~b"] {
        assert_eq!(app.post(&format!("/webhook/{right}"), r#"{"text": "x"}"#).await.status, 200, "{right}");
    }
    for (text, status, code) in [
        ("!error auth", 502, "model_error"),
        ("!error timeout", 504, "model_error"),
        ("!error storage", 500, "internal_error"),
        ("!error interrupted", 503, "interrupted"),
        ("!error input_too_long", 422, "invalid_request"),
        ("!budget", 429, "budget_exceeded"),
        ("!full", 503, "busy"),
        ("!panic", 500, "internal_error"),
    ] {
        let seen = app.post("/webhook/trigger", &json!({"text": text}).to_string()).await;
        assert_eq!((seen.status, seen.code().as_str()), (status, code), "{text}");
    }
    let limit = app.post("/webhook/trigger", r#"{"text": "!limit"}"#).await;
    assert_eq!((limit.status, limit.json()["response"].as_str()), (200, Some("stopped: a loop")));
}

#[tokio::test]
async fn a_secret_makes_signatures_necessary() {
    let mut options = Options::default();
    options.webhooks.secret = Secret::new("s3cret");
    let app = TestApp::new(options);
    let body = r#"{"text": "hello"}"#;
    let signature = hex(hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, b"s3cret"), body.as_bytes()).as_ref());
    let json = ("content-type", "application/json");
    let signed = [json, ("x-aethon-signature", signature.as_str())];
    assert_eq!(app.send("POST", "/webhook/trigger", &signed, body).await.status, 200);
    assert_eq!(app.send("POST", "/webhook/trigger", &signed, "{}").await.code(), "bad_signature");
    assert_eq!(app.post("/webhook/x", "not json").await.code(), "bad_signature");
    // A missing signature is reported first, whatever else is wrong.
    let plain = ("content-type", "text/plain");
    assert_eq!(app.send("POST", "/webhook/x", &[plain], body).await.status, 403);
    assert_eq!(app.send("POST", "/webhook/x", &[plain, signed[1]], body).await.status, 415);
}

#[tokio::test]
async fn webhooks_are_absent_when_switched_off_or_open_to_the_network() {
    let mut off = with_token();
    off.webhooks.enabled = false;
    let open = TestApp::at(with_token(), "192.168.0.9:18790");
    for app in [TestApp::new(off), open] {
        for target in ["/webhook/trigger", "/webhook/github"] {
            assert_eq!(app.post(target, r#"{"text": "x"}"#).await.code(), "not_found");
        }
    }
    let mut signed = with_token();
    signed.webhooks.secret = Secret::new("s");
    assert_eq!(TestApp::at(signed, "0.0.0.0:18790").post("/webhook/x", "{}").await.code(), "bad_signature");
    assert_eq!(TestApp::at(with_token(), "[::ffff:127.0.0.1]:1").post("/webhook/x", "{}").await.status, 422);
}

#[tokio::test]
async fn an_idempotency_key_runs_once() {
    let app = TestApp::new(Options::default());
    let headers = [("content-type", "application/json"), ("idempotency-key", "k1")];
    let first = app.send("POST", "/webhook/trigger", &headers, r#"{"text": "!error auth"}"#).await;
    let second = app.send("POST", "/webhook/trigger", &headers, r#"{"text": "!error auth"}"#).await;
    assert_eq!((first.status, &first.body), (502, &second.body));
    assert_eq!(app.assistant.seen().len(), 1);
    let other = app.send("POST", "/webhook/trigger", &headers, r#"{"text": "other"}"#).await;
    assert_eq!((other.status, other.code().as_str()), (422, "idempotency_mismatch"));
    assert_eq!(app.send("POST", "/webhook/x", &headers, r#"{"text": "other"}"#).await.status, 200);
    let dedupe = app.assistant.seen()[0].dedupe.clone().expect("a key");
    assert_eq!((dedupe.id.as_str(), dedupe.valid_for), ("/webhook/trigger k1", Some(86_400)));
    let long = "k".repeat(256);
    let headers = [("content-type", "application/json"), ("idempotency-key", long.as_str())];
    assert_eq!(app.send("POST", "/webhook/x", &headers, r#"{"text": "x"}"#).await.status, 422);
}

#[tokio::test]
async fn a_slow_webhook_turn_continues_without_its_caller() {
    let mut options = Options::default();
    options.limits.webhook_timeout = std::time::Duration::ZERO;
    let app = TestApp::new(options);
    let seen = app.post("/webhook/trigger", r#"{"text": "!hold"}"#).await;
    assert_eq!((seen.status, seen.code().as_str()), (504, "webhook_timeout"));
    assert_eq!(app.assistant.release(), 1);
}

#[tokio::test]
async fn sessions_are_listed_shown_renamed_exported_and_removed() {
    let app = TestApp::new(Options::default());
    let id = SessionId::parse("webchat:default").unwrap();
    app.assistant.transcripts.add(&id, &[(Role::User, "hi"), (Role::Assistant, "**hello**")]);
    let list = app.get("/api/sessions?limit=10&q=", &[]).await.json();
    assert_eq!((&list["count"], &list["sessions"][0]["busy"]), (&json!(1), &json!(false)));
    assert_eq!(list["sessions"][0]["session_id"], "webchat:default");

    for target in ["/api/sessions/webchat:default", "/api/sessions/webchat%3Adefault"] {
        let detail = app.get(target, &[]).await.json();
        assert_eq!(detail["messages"][0]["content"], json!([{"type": "text", "text": "hi"}]));
        let html = detail["messages"][1]["content"][0]["html"][0].as_str().expect("rendered");
        assert!(html.contains("<strong>hello</strong>"), "{html}");
        assert_eq!(
            (&detail["seq"], &detail["pending"], &detail["has_more"]),
            (&json!(0), &json!([]), &json!(false))
        );
    }
    let newest = app.get("/api/sessions/webchat:default?limit=1", &[]).await.json();
    assert_eq!((&newest["messages"][0]["id"], &newest["has_more"]), (&json!("2"), &json!(true)));
    let older = app.get("/api/sessions/webchat:default?before=2", &[]).await.json();
    assert_eq!(older["messages"].as_array().map(Vec::len), Some(1));

    let json = [("content-type", "application/json")];
    let renamed = app.send("PATCH", "/api/sessions/webchat:default", &json, r#"{"title": " New "}"#).await;
    assert_eq!(renamed.json()["title"], "New");
    let file = app.get("/api/sessions/webchat:default/export?format=markdown", &[]).await;
    assert_eq!(file.header("content-disposition"), "attachment; filename=\"webchat-default.md\"");
    assert!(file.body.starts_with("# New\n\n## You"), "{}", file.body);
    assert_eq!(
        app.get("/api/sessions/webchat:default/export", &[]).await.json()["messages"][1]["role"],
        "assistant"
    );
    assert_eq!(app.send("POST", "/api/sessions/webchat:default/stop", &[], "").await.json()["stopped"], 0);
    assert_eq!(app.send("POST", "/api/sessions/webchat:default/reset", &[], "").await.status, 200);
    assert_eq!(app.send("DELETE", "/api/sessions/webchat:default", &[], "").await.status, 200);
    for target in ["/api/sessions/webchat:default", "/api/sessions/nonsense", "/api/sessions/%ff"] {
        assert_eq!(app.get(target, &[]).await.code(), "not_found", "{target}");
    }
    assert_eq!(app.send("POST", "/api/sessions/webchat:x/stop", &[], "").await.status, 404);
}

#[tokio::test]
async fn numbers_and_words_in_queries_are_checked() {
    let app = TestApp::new(Options::default());
    app.assistant.transcripts.add(&SessionId::parse("webchat:a").unwrap(), &[(Role::User, "hi")]);
    for (target, field) in [
        ("/api/sessions?limit=0", "limit"),
        ("/api/sessions?limit=-1", "limit"),
        ("/api/sessions?limit=many", "limit"),
        ("/api/sessions?limit=99999999999999999999999", "limit"),
        ("/api/sessions?cursor=nonsense", "cursor"),
        ("/api/sessions/webchat:a?before=x", "before"),
        ("/api/sessions/webchat:a?limit=1001", "limit"),
        ("/api/sessions/webchat:a/export?format=pdf", "format"),
        ("/api/usage?days=0", "days"),
        ("/api/usage?days=367", "days"),
        ("/api/usage?days=-1", "days"),
        ("/api/usage?days=1.5", "days"),
        ("/api/logs?limit=x", "limit"),
        ("/api/logs?level=loud", "level"),
    ] {
        let seen = app.get(target, &[]).await;
        assert_eq!((seen.status, &seen.json()["errors"][0]["field"]), (422, &json!(field)), "{target}");
    }
    let none = app.get("/api/logs?level=WARN", &[]).await.json();
    assert_eq!(none, json!({"records": [], "next_cursor": null}));
}

#[tokio::test]
async fn usage_is_grouped_by_day_model_and_kind_with_the_ceiling() {
    let budget = Budget { daily_usd: 1.0, warn_ratio: 0.5, ..Budget::default() };
    let app = TestApp::new(Options { budget, ..Options::default() });
    let empty = app.get("/api/usage", &[]).await.json();
    assert_eq!((&empty["rows"], &empty["days"]), (&json!([]), &json!(30)));
    let now = SystemClock.now();
    let entry = |kind, cost_usd, is_ok| LedgerEntry {
        at: now,
        session: None,
        turn: None,
        provider: "openai".into(),
        model: "gpt-5.1".into(),
        kind,
        usage: Usage { input_tokens: 10, output_tokens: 5, cached_tokens: 4, cost_usd, ..Usage::default() },
        saved_usd: 0.125,
        is_ok,
    };
    let ledger = &app.app.deps.activity.ledger;
    ledger.settle(None, entry(WorkKind::Turn, 0.25, true)).await.unwrap();
    ledger.settle(None, entry(WorkKind::Turn, 0.0, false)).await.unwrap();
    ledger.settle(None, entry(WorkKind::Compaction, 0.25, true)).await.unwrap();
    ledger.reserve("p", "m", Claim::exactly(0.25, 1.0)).await.unwrap();
    let usage = app.get("/api/usage?days=366", &[]).await.json();
    let tokens = |input: u64| json!({"input": input, "output": input / 2, "cached": input / 10 * 4});
    let of = |row: &Value| {
        let count = |name: &str| row[name].as_u64().expect("a count");
        let (input, output, cached) = (count("input_tokens"), count("output_tokens"), count("cached_tokens"));
        (count("requests"), count("failed"), json!({"input": input, "output": output, "cached": cached}))
    };
    assert_eq!((of(&usage["rows"][0]), of(&usage["rows"][1])), ((2, 1, tokens(20)), (1, 0, tokens(10))));
    assert_eq!(usage["rows"][1]["kind"], "compaction");
    let saved = |sum: &Value| sum["saved_usd"].as_f64();
    assert_eq!((saved(&usage["rows"][0]), saved(&usage["total"])), (Some(0.25), Some(0.375)));
    assert_eq!((&usage["day"], &usage["rows"][0]["day"]), (&json!(day_of(now)), &json!(day_of(now))));
    assert_eq!((of(&usage["today"]), of(&usage["total"])), ((3, 1, tokens(30)), (3, 1, tokens(30))));
    assert_eq!(usage["today"]["cost_usd"], 0.5);
    let budget = json!({"daily_usd": 1.0, "spent_usd": 0.5, "reserved_usd": 0.25, "state": "warn"});
    assert_eq!(usage["budget"], budget);
}

#[tokio::test]
async fn without_the_dashboard_the_status_stays() {
    let app = TestApp::new(Options { dashboard_enabled: false, ..with_token() });
    let token = [("authorization", "Bearer right")];
    for target in ["/dashboard", "/ws/dashboard", "/api/sessions", "/api/config", "/docs", "/openapi.json"] {
        assert_eq!(app.get(target, &[]).await.code(), "unauthorized", "{target}");
        assert_eq!(app.get(target, &token).await.code(), "not_found", "{target}");
    }
    let status = app.get("/api/status", &token).await.json();
    assert_eq!((&status["status"], &status["version"]), (&json!("running"), &json!("0.3.0")));
    assert_eq!((&status["model_ready"], &status["channels"]), (&json!(false), &json!(["webchat"])));
    assert_eq!(app.get("/", &[]).await.status, 200);
}
