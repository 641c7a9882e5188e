//! Telemetry events as OpenTelemetry spans, in the JSON encoding of OTLP.
//!
//! A turn is a trace. Its trace id is the turn's id, a UUID and therefore 128 bits long; the turn's own span uses the second
//! half of it as its id. Spans within the turn name that span as their parent before it is sent, so no state is needed
//! between batches.
//!
//! Exported spans carry only the kind, duration and outcome of an action. Error messages and session names can contain
//! files, hosts and people, so an error is reduced to its class, and a session to a number that means nothing elsewhere.
//! Encoding and names:
//! <https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding> and
//! <https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-agent-spans/>.

use std::hash::{BuildHasher as _, RandomState};

use aethon_core::ids::{SessionId, unique};
use aethon_core::ledger::WorkKind;
use aethon_core::telemetry::{ModelFacts, TelemetryEvent, TelemetryKind, TelemetryStatus};
use serde_json::{Value, json};

/// Span kinds: internal work, and a request to another service.
const INTERNAL: u8 = 1;
const CLIENT: u8 = 3;

/// Span status codes.
const OK: u8 = 1;
const ERROR: u8 = 2;

/// Assigns numbers to sessions: stable while the program runs, and not reversible by others.
#[derive(Default)]
pub(super) struct Numbers([RandomState; 2]);

impl Numbers {
    fn of(&self, session: &SessionId) -> String {
        let [first, second] = self.0.each_ref().map(|state| state.hash_one(session.as_str()));
        format!("{first:016x}{second:016x}")
    }
}

/// Builds a request body with these events.
pub(super) fn request(events: &[TelemetryEvent], numbers: &Numbers) -> Value {
    let resource = [text("service.name", "aethon"), text("service.version", env!("CARGO_PKG_VERSION"))];
    let scope = json!({ "name": "aethon", "version": env!("CARGO_PKG_VERSION") });
    let spans: Vec<Value> = events.iter().map(|event| span(event, numbers)).collect();
    json!({ "resourceSpans": [{
        "resource": { "attributes": resource },
        "scopeSpans": [{ "scope": scope, "spans": spans }],
    }] })
}

fn span(event: &TelemetryEvent, numbers: &Numbers) -> Value {
    let turn = event.turn.as_ref().map(|turn| turn.as_str()).filter(|turn| is_trace_id(turn));
    let root = turn.map(|turn| &turn[16..]);
    let own = unique();
    let (id, parent) = match event.kind {
        TelemetryKind::Turn => (root.unwrap_or(&own[16..]), None),
        _ => (&own[16..], root),
    };
    let (name, kind) = title(event);
    let end = event.timestamp.as_nanosecond();
    let start = end - event.duration.map_or(0, nanoseconds);
    let mut span = json!({
        "traceId": turn.unwrap_or(&own),
        "spanId": id,
        "name": name,
        "kind": kind,
        // The JSON encoding writes 64-bit numbers as strings.
        "startTimeUnixNano": start.to_string(),
        "endTimeUnixNano": end.to_string(),
        "attributes": attributes(event, numbers),
        "status": status(event),
    });
    if let Some(parent) = parent {
        span["parentSpanId"] = parent.into();
    }
    span
}

/// Returns whether a turn id was made by this program: 32 hexadecimal digits, neither half all zeros.
fn is_trace_id(turn: &str) -> bool {
    turn.len() == 32
        && turn.bytes().all(|byte| byte.is_ascii_hexdigit())
        && turn[16..].bytes().any(|byte| byte != b'0')
}

#[expect(clippy::cast_possible_truncation, reason = "a duration of centuries would be an error elsewhere")]
fn nanoseconds(seconds: f64) -> i128 {
    (seconds.max(0.0) * 1e9) as i128
}

fn title(event: &TelemetryEvent) -> (String, u8) {
    match event.kind {
        TelemetryKind::Turn => ("invoke_agent aethon".to_owned(), INTERNAL),
        TelemetryKind::ModelCall => (format!("{} {}", operation(event), event.name), CLIENT),
        TelemetryKind::ToolCall => (format!("execute_tool {}", event.name), INTERNAL),
        kind => (format!("{} {}", kind.as_str(), event.name), INTERNAL),
    }
}

fn operation(event: &TelemetryEvent) -> &'static str {
    match event.call.as_ref().map(|call| call.kind) {
        Some(WorkKind::Embedding) => "embeddings",
        Some(WorkKind::Transcription) => "transcription",
        _ => "chat",
    }
}

fn attributes(event: &TelemetryEvent, numbers: &Numbers) -> Vec<Value> {
    let mut all = vec![text("aethon.status", event.status.as_str())];
    match event.kind {
        TelemetryKind::Turn => {
            all.extend([text("gen_ai.operation.name", "invoke_agent"), text("gen_ai.agent.name", "aethon")]);
            all.push(text("aethon.channel", &event.name));
        }
        TelemetryKind::ModelCall => all.push(text("gen_ai.operation.name", operation(event))),
        TelemetryKind::ToolCall => {
            all.extend([
                text("gen_ai.operation.name", "execute_tool"),
                text("gen_ai.tool.name", &event.name),
            ]);
        }
        _ => {}
    }
    if let Some(session) = &event.session_id {
        all.push(text("gen_ai.conversation.id", &numbers.of(session)));
    }
    if let Some(call) = &event.call {
        all.extend(call_attributes(call));
    }
    if event.status == TelemetryStatus::Error {
        all.push(text("error.type", class(event)));
    }
    all
}

fn call_attributes(call: &ModelFacts) -> [Value; 7] {
    [
        text("gen_ai.provider.name", provider(&call.provider)),
        text("gen_ai.request.model", &call.model),
        number("gen_ai.usage.input_tokens", call.input_tokens),
        number("gen_ai.usage.output_tokens", call.output_tokens),
        number("gen_ai.usage.cache_read.input_tokens", call.cached_tokens),
        text("aethon.work", call.kind.as_str()),
        json!({ "key": "aethon.cost_usd", "value": { "doubleValue": call.cost_usd } }),
    ]
}

/// Maps a provider to its well-known name, or to ours if it has none.
fn provider(name: &str) -> &str {
    match name {
        "bedrock" => "aws.bedrock",
        "gemini" => "gcp.gemini",
        "mistral" => "mistral_ai",
        other => other,
    }
}

fn status(event: &TelemetryEvent) -> Value {
    match event.status {
        TelemetryStatus::Ok => json!({ "code": OK }),
        TelemetryStatus::Error => json!({ "code": ERROR, "message": class(event) }),
        // Refused or stopped by a person: not a failure.
        _ => json!({}),
    }
}

/// Classifies a failure in a few words.
fn class(event: &TelemetryEvent) -> &'static str {
    match event.kind {
        TelemetryKind::ToolCall => "tool_error",
        TelemetryKind::ModelCall => "model_error",
        TelemetryKind::Turn if event.detail.starts_with("budget") => "budget_exceeded",
        TelemetryKind::Turn => "turn_error",
        TelemetryKind::Delivery => "delivery_error",
        TelemetryKind::Job => "job_error",
        TelemetryKind::Channel => "channel_error",
        TelemetryKind::Error => "logged_error",
        TelemetryKind::Denial | TelemetryKind::Approval => "_OTHER",
    }
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn number(key: &str, value: u64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

#[cfg(test)]
mod tests {
    use aethon_core::ids::{SessionId, TurnId};

    use super::*;

    fn event(kind: TelemetryKind, name: &str, turn: Option<&TurnId>) -> TelemetryEvent {
        let at = "2026-11-22T10:00:02Z".parse().unwrap();
        let session = SessionId::parse("webchat:a").unwrap();
        TelemetryEvent::new(kind, name, TelemetryStatus::Ok, at)
            .took(std::time::Duration::from_millis(1500))
            .within(Some(&session), turn)
    }

    fn attribute<'s>(span: &'s Value, key: &str) -> &'s Value {
        let all = span["attributes"].as_array().unwrap();
        all.iter().find(|one| one["key"] == key).map_or(&Value::Null, |one| &one["value"])
    }

    #[test]
    fn actions_of_a_turn_are_children_of_its_span() {
        let turn = TurnId::fresh();
        let mut call = ModelFacts::new("gemini", "gemini-x", WorkKind::Turn);
        call.input_tokens = 7;
        let events = [
            event(TelemetryKind::ModelCall, "gemini-x", Some(&turn)).with_call(call),
            event(TelemetryKind::ToolCall, "shell", Some(&turn)),
            event(TelemetryKind::Turn, "webchat", Some(&turn)),
        ];
        let numbers = Numbers::default();
        let body = request(&events, &numbers);
        let spans = body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
        let root = &spans[2];
        assert_eq!((&root["name"], root.get("parentSpanId")), (&"invoke_agent aethon".into(), None));
        for span in spans {
            assert_eq!(span["traceId"], turn.as_str());
            assert_eq!(span["spanId"].as_str().unwrap().len(), 16);
            assert_eq!(span["startTimeUnixNano"], "1795341600500000000");
            assert_eq!(span["endTimeUnixNano"], "1795341602000000000");
            let conversation = &attribute(span, "gen_ai.conversation.id")["stringValue"];
            assert_eq!(*conversation, numbers.of(&SessionId::parse("webchat:a").unwrap()));
        }
        assert!(spans[..2].iter().all(|span| span["parentSpanId"] == root["spanId"]));
        let (model, tool) = (&spans[0], &spans[1]);
        assert_eq!((&model["name"], &model["kind"]), (&"chat gemini-x".into(), &3.into()));
        assert_eq!(attribute(model, "gen_ai.provider.name")["stringValue"], "gcp.gemini");
        assert_eq!(attribute(model, "gen_ai.usage.input_tokens")["intValue"], "7");
        assert_eq!((&tool["name"], &tool["kind"]), (&"execute_tool shell".into(), &1.into()));
    }

    #[test]
    fn an_event_of_no_turn_is_a_trace_of_its_own() {
        let strange = TurnId::existing("not ours");
        for turn in [None, Some(&strange)] {
            let mut failed = event(TelemetryKind::Delivery, "telegram", turn).with_detail("blocked");
            failed.status = TelemetryStatus::Error;
            let span = span(&failed, &Numbers::default());
            assert_eq!(span["traceId"].as_str().unwrap().len(), 32);
            assert_eq!(span.get("parentSpanId"), None);
            assert_eq!(span["status"], json!({ "code": 2, "message": "delivery_error" }));
            assert_eq!(attribute(&span, "error.type")["stringValue"], "delivery_error");
        }
    }

    #[test]
    fn sessions_and_contents_are_not_exported() {
        let session = SessionId::parse("whatsapp:15551234567").unwrap();
        let mut events = Vec::new();
        for kind in TelemetryKind::ALL {
            for status in TelemetryStatus::ALL {
                let mut event = event(kind, "name", None)
                    .within(Some(&session), None)
                    .with_detail("/home/ada/diary.txt could not be opened");
                event.status = status;
                events.push(event);
            }
        }
        let numbers = Numbers::default();
        let body = request(&events, &numbers).to_string();
        assert!(!body.contains("diary") && !body.contains("5551234567"), "{body}");
        assert_eq!(numbers.of(&session).len(), 32);
        assert_ne!(numbers.of(&session), Numbers::default().of(&session), "another program, another number");
    }
}
