//! Telemetry, over the API and at a collector. docs/telemetry.md.

use aethon_tests::stub::{Stub, failure, ok};
use aethon_tests::telegram::Telegram;
use aethon_tests::{Server, eventually};
use serde_json::{Value, json};

/// The spans that a collector took, which checks what the form requires.
fn spans(collector: &Stub) -> Vec<Value> {
    let mut all = Vec::new();
    for seen in collector.requests() {
        assert_eq!(seen.line, "POST /v1/traces");
        assert_eq!(seen.header("content-type"), Some("application/json"));
        assert_eq!(seen.header("x-key"), Some("collector-secret-1"));
        let body = seen.json();
        let resource = &body["resourceSpans"][0];
        assert_eq!(resource["resource"]["attributes"][0]["key"], "service.name");
        for span in resource["scopeSpans"][0]["spans"].as_array().unwrap() {
            for (key, digits) in [("traceId", 32), ("spanId", 16)] {
                let id = span[key].as_str().unwrap();
                assert!(id.len() == digits && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{span}");
            }
            let moment = |key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
            assert!(moment("startTimeUnixNano") <= moment("endTimeUnixNano"), "{span}");
            all.push(span.clone());
        }
    }
    all
}

fn named<'s>(spans: &'s [Value], name: &str) -> Option<&'s Value> {
    spans.iter().find(|span| span["name"] == name)
}

#[test]
fn measurements_reach_the_api_and_the_collector() {
    let mut is_away = true;
    let collector = Stub::answering(move |_| match std::mem::replace(&mut is_away, false) {
        true => failure("503 Service Unavailable", "Retry-After: 0\r\n", "{}"),
        false => ok("application/json", "{}"),
    });
    let endpoint = format!("telemetry.otlp_endpoint=\"http://{}/\"", collector.address);
    let server = Server::start(&[&endpoint, "telemetry.otlp_headers.x-key=\"collector-secret-1\""]);
    server.chat("default").say("m1", "!tool current_time {}\n!then\n!say the swordfish is asleep");

    let turn = eventually("the turn is at the collector, which was away at first", || {
        if collector.requests().len() < 2 {
            return None;
        }
        let spans = spans(&collector);
        let turn = named(&spans, "invoke_agent aethon")?.clone();
        let tool = named(&spans, "execute_tool current_time")?;
        assert_eq!((&tool["traceId"], &tool["parentSpanId"]), (&turn["traceId"], &turn["spanId"]));
        Some(turn)
    });
    let requests = collector.requests();
    assert_eq!(requests[0].body, requests[1].body, "what was not taken comes again");
    assert!(requests.iter().all(|seen| !String::from_utf8_lossy(&seen.body).contains("swordfish")));

    let told = server.get("/api/telemetry").json();
    assert_eq!(
        (&told["summary"]["total_tool_calls"], &told["summary"]["total_turns"]),
        (&1.into(), &1.into())
    );
    let event = told["metrics"].as_array().unwrap().iter().find(|event| event["type"] == "turn").unwrap();
    assert_eq!(event["turn"], turn["traceId"]);
    let shown = server.get("/api/config").text() + &server.get("/api/logs").text();
    assert!(!shown.contains("collector-secret-1"));
    let feature = server.get("/api/features").text();
    assert!(feature.contains("telemetry.otlp_endpoint"), "{feature}");
}

/// The newest event of a kind and name, as the API lists it.
fn newest(server: &Server, kind: &str, name: &str) -> Option<Value> {
    let told = server.get(&format!("/api/telemetry?type={kind}")).json();
    told["metrics"].as_array().unwrap().iter().find(|event| event["name"] == name).cloned()
}

#[test]
fn refusals_approvals_deliveries_and_errors_are_stored_and_streamed() {
    let telegram = Telegram::start();
    let own = telegram.settings();
    let settings =
        ["approval.enabled=true", "approval.requires_approval=[\"file_read\"]", "agent.loop_limit=5"];
    let server =
        Server::start(&settings.into_iter().chain(own.iter().map(String::as_str)).collect::<Vec<_>>());
    telegram.await_poll();
    let mut live = server.socket("/ws/dashboard");
    live.send_json(&json!({"channel": "subscribe", "topics": ["telemetry"]}));
    assert!(live.has_handled_all());

    let mut chat = server.chat("measured");
    chat.say("m1", "!tool shell {\"command\": \"sudo true\"}");
    chat.send_json(&json!({"type": "message", "id": "m2", "text": "!tool file_read {\"path\": \"a.txt\"}"}));
    let id = eventually("it asks", || {
        let open = server.get("/api/approvals").json();
        open["approvals"][0]["id"].as_str().map(str::to_owned)
    });
    server.post(&format!("/api/approvals/{id}"), &json!({"decision": "deny"}));
    chat.until("done");
    let lost = json!({"text": "!say hello", "channel": "telegram", "recipient": "@nobody"});
    assert_eq!(server.post("/webhook/trigger", &lost).status, 200);
    let job = json!({"job_id": "watch", "cron": "@yearly", "prompt": "!error auth 9"});
    assert_eq!(server.post("/api/scheduler/jobs", &job).status, 201);
    server.post("/api/scheduler/jobs/watch/run", &json!({}));
    std::fs::write(server.home().path().join("config.toml"), "logging.level = 7\n").unwrap();
    server.signal(rustix::process::Signal::HUP);

    // What each has besides the fields of all: its status, whether it took time, whether it belongs to a conversation.
    let expected = [
        ("channel", "telegram", "ok", false, false),
        ("denial", "shell", "denied", false, true),
        ("approval", "file_read", "denied", true, true),
        ("delivery", "telegram", "error", true, true),
        ("job", "watch", "error", true, false),
        ("error", "aethon::reload", "error", false, false),
    ];
    let mut told: Vec<Value> = Vec::new();
    for (kind, name, status, is_timed, has_session) in expected {
        let event = eventually(&format!("a row of {kind}"), || newest(&server, kind, name));
        assert_eq!((&event["type"], &event["status"]), (&json!(kind), &json!(status)), "{event}");
        assert!(
            event["id"].is_string() && event["detail"].as_str().is_some_and(|why| !why.is_empty()),
            "{event}"
        );
        assert!(event["timestamp"].as_str().unwrap().ends_with('Z'), "{event}");
        assert_eq!(event["duration"].is_f64(), is_timed, "{event}");
        assert_eq!(
            (event["session_id"].is_string(), event["turn"].is_string()),
            (has_session, has_session),
            "{event}"
        );
        // The channel had begun before anybody listened.
        while kind != "channel" && !told.iter().any(|live| live["type"] == kind && live["name"] == name) {
            let frame = live.frame();
            assert_eq!(frame["channel"], "telemetry");
            told.push(frame["data"].clone());
        }
    }
    assert_eq!(newest(&server, "approval", "file_read").unwrap()["detail"], "a person decided");
    let summary = eventually("all of it is in the figures of today", || {
        let summary = server.get("/api/telemetry?days=2").json();
        (summary["summary"]["today"]["total_turns"].as_u64() >= Some(4)).then_some(summary)
    });
    let today = &summary["summary"]["today"];
    // Two in the chat and one by the webhook; the job's own prompt is no message.
    assert_eq!((&today["total_messages"], &today["denied_tool_calls"]), (&json!(3), &json!(2)));
    let rate = today["error_rate"].as_f64().unwrap();
    assert!(rate > 0.0 && rate < 1.0, "{rate}");
    let days = summary["days"].as_array().unwrap();
    assert_eq!(
        (days.len(), &days[1]["total_messages"], &days[0]["total_messages"]),
        (2, &json!(3), &json!(0))
    );
    assert_eq!(days[1]["error_rate"], today["error_rate"]);
    assert_eq!(server.get("/api/telemetry?days=99").status, 422);
}
