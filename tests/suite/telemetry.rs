//! What was measured: over the API, and at a collector. docs/telemetry.md.

use aethon_tests::stub::{Stub, failure, ok};
use aethon_tests::{Server, eventually};
use serde_json::Value;

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
fn what_was_measured_is_in_the_api_and_at_the_collector() {
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
