//! The output is parsed as strictly as by Prometheus and its linter.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use aethon_core::channel::{Channel, ChannelState, ChannelStatus, Delivery, DeliveryError};
use aethon_core::clock::{Clock as _, SystemClock};
use aethon_core::ledger::WorkKind;
use aethon_core::telemetry::{ModelFacts, TelemetryEvent, TelemetryKind, TelemetryStatus};
use async_trait::async_trait;
use jiff::Timestamp;

use crate::options::Options;
use crate::service::tests::TestApp;

/// A sample: its labels and its value.
type Samples = Vec<(BTreeMap<String, String>, f64)>;

/// Parses an exposition and panics on anything Prometheus would refuse or its linter would report.
fn read(text: &str) -> BTreeMap<String, Samples> {
    assert!(text.ends_with('\n'));
    let (mut helps, mut types) = (BTreeSet::new(), BTreeMap::new());
    let mut metrics: BTreeMap<String, Samples> = BTreeMap::new();
    let mut last = String::new();
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, help) = help.split_once(' ').unwrap();
            assert!(helps.insert(name.to_owned()) && !help.is_empty(), "{line}");
            continue;
        }
        if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap();
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            assert!(types.insert(name.to_owned(), kind.to_owned()).is_none(), "{line}");
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap();
        let value: f64 = value.parse().unwrap();
        let (name, labels) = match series.split_once('{') {
            None => (series, BTreeMap::new()),
            Some((name, labels)) => (name, labels_of(labels.strip_suffix('}').unwrap())),
        };
        assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'), "{name}");
        let base = ["_bucket", "_sum", "_count"]
            .into_iter()
            .filter_map(|end| name.strip_suffix(end))
            .find(|base| types.get(*base).is_some_and(|kind| kind == "histogram"))
            .unwrap_or(name);
        assert!(types.contains_key(base) && helps.contains(base), "{line} was not announced");
        assert!(last == base || !metrics.keys().any(|known| known == base), "{base} is not in one piece");
        last = base.to_owned();
        assert!(value >= 0.0, "{line}");
        let samples = metrics.entry(name.to_owned()).or_default();
        assert!(samples.iter().all(|(known, _)| *known != labels), "{line} stands twice");
        samples.push((labels, value));
        if name != base {
            metrics.entry(base.to_owned()).or_default();
        }
    }
    metrics
}

fn labels_of(text: &str) -> BTreeMap<String, String> {
    let (mut labels, mut rest) = (BTreeMap::new(), text);
    while !rest.is_empty() {
        let (name, after) = rest.split_once("=\"").unwrap();
        let (mut value, mut end, mut is_escaped) = (String::new(), None, false);
        for (at, c) in after.char_indices() {
            match (is_escaped, c) {
                (true, 'n') => value.push('\n'),
                (true, c) => value.push(c),
                (false, '\\') => {}
                (false, '"') => {
                    end = Some(at);
                    break;
                }
                (false, c) => value.push(c),
            }
            is_escaped = !is_escaped && c == '\\';
        }
        assert!(labels.insert(name.trim_start_matches(',').to_owned(), value).is_none());
        rest = &after[end.unwrap() + 1..];
    }
    labels
}

#[tokio::test]
async fn counters_are_readable_by_prometheus() {
    let app = TestApp::new(Options::default());
    let event = |kind, name: &str, status| TelemetryEvent::new(kind, name, status, Timestamp::UNIX_EPOCH);
    let mut facts = ModelFacts::new("fake", "m\"o\\d\nel", WorkKind::Turn);
    (facts.input_tokens, facts.output_tokens, facts.cost_usd) = (100, 20, 0.25);
    let bus = app.bus();
    bus.record(
        event(TelemetryKind::ModelCall, "m\"o\\d\nel", TelemetryStatus::Ok)
            .took(Duration::from_millis(70))
            .with_call(facts),
    );
    bus.record(event(TelemetryKind::ToolCall, "shell", TelemetryStatus::Ok).took(Duration::from_secs(3)));
    bus.record(
        event(TelemetryKind::ToolCall, "shell", TelemetryStatus::Error).took(Duration::from_secs(9000)),
    );
    bus.record(event(TelemetryKind::ToolCall, "shell", TelemetryStatus::Denied).took(Duration::ZERO));
    bus.record(event(TelemetryKind::Turn, "webchat", TelemetryStatus::Ok).took(Duration::from_secs(4)));
    let seen = app.get("/metrics", &[]).await;
    assert_eq!((seen.status, seen.header("content-type")), (200, "text/plain; version=0.0.4; charset=utf-8"));
    let metrics = read(seen.text());
    let value = |name: &str, wanted: &[(&str, &str)]| {
        let samples = metrics.get(name).unwrap_or_else(|| panic!("no {name}"));
        let fits = |labels: &BTreeMap<String, String>| {
            wanted.iter().all(|(name, value)| labels.get(*name).is_some_and(|own| own == value))
        };
        samples.iter().filter(|(labels, _)| fits(labels)).map(|(_, value)| value).sum::<f64>()
    };
    assert_eq!(value("aethon_tool_calls_total", &[("tool", "shell"), ("status", "denied")]), 1.0);
    assert_eq!(value("aethon_tool_call_duration_seconds_count", &[("tool", "shell")]), 2.0);
    assert_eq!(value("aethon_tool_call_duration_seconds_bucket", &[("le", "5")]), 1.0);
    assert_eq!(value("aethon_tool_call_duration_seconds_bucket", &[("le", "600")]), 1.0);
    assert_eq!(value("aethon_tool_call_duration_seconds_bucket", &[("le", "+Inf")]), 2.0);
    assert_eq!(value("aethon_tokens_total", &[("model", "m\"o\\d\nel"), ("type", "input")]), 100.0);
    assert_eq!(value("aethon_cost_usd_total", &[]), 0.25);
    assert_eq!(value("aethon_messages_total", &[("channel", "webchat")]), 1.0);
    assert_eq!(value("aethon_channel_up", &[("channel", "webchat")]), 0.0);
    assert_eq!(value("aethon_outbox_deliveries", &[("state", "failed")]), 0.0);
    assert_eq!(value("aethon_build_info", &[]), 1.0);
    for name in metrics.keys() {
        assert!(name.starts_with("aethon_") || name.starts_with("process_"), "{name}");
    }
    // The previous response is counted by now.
    let again = read(app.get("/metrics", &[]).await.text());
    assert!(
        again["aethon_http_requests_total"].iter().any(|(labels, n)| labels["code"] == "2xx" && *n >= 1.0)
    );
}

#[tokio::test]
async fn each_cache_says_what_it_takes_and_the_process_what_it_uses() {
    let app = TestApp::new(Options::default());
    app.bus().telemetry().caches().add("context_windows", || Some(4096));
    let metrics = read(app.get("/metrics", &[]).await.text());
    let caches: BTreeMap<&str, f64> = metrics["aethon_cache_bytes"]
        .iter()
        .map(|(labels, bytes)| (labels["cache"].as_str(), *bytes))
        .collect();
    assert_eq!(caches["context_windows"], 4096.0);
    for cache in ["frame_logs", "log_records", "telemetry_queue"] {
        assert!(caches.contains_key(cache), "{cache} in {caches:?}");
    }
    #[cfg(target_os = "linux")]
    {
        for name in [
            "process_cpu_seconds_total",
            "process_resident_memory_bytes",
            "process_virtual_memory_bytes",
            "process_threads",
            "process_open_fds",
            "process_max_fds",
        ] {
            assert!(metrics.contains_key(name), "{name}");
        }
        let started = metrics["process_start_time_seconds"][0].1;
        // The kernel knows its own start to a second only.
        let ago = SystemClock.now().as_second() as f64 - started;
        assert!((-2.0..3_600.0).contains(&ago), "{started} {ago}");
    }
}

/// A channel whose task runs and which reports its own health.
struct Told(ChannelState);

#[async_trait]
impl Channel for Told {
    fn name(&self) -> &str {
        "telegram"
    }

    async fn send(&self, _delivery: &Delivery) -> Result<(), DeliveryError> {
        Ok(())
    }

    fn status(&self) -> Option<ChannelStatus> {
        Some(ChannelStatus::new(self.0, "the platform cannot be reached"))
    }
}

#[tokio::test]
async fn a_channel_whose_platform_cannot_be_reached_is_not_up() {
    for (state, word, expected) in [
        (ChannelState::Running, "running", 1.0),
        (ChannelState::Connecting, "connecting", 0.0),
        (ChannelState::Degraded, "degraded", 0.0),
    ] {
        let (options, app) = (Options::default(), TestApp::new(Options::default()));
        app.run_channel(&options, Arc::new(Told(state)));
        let listed = app.get("/api/channels", &[]).await.json();
        let listed = listed["channels"].as_array().unwrap().clone();
        let row = listed.into_iter().find(|row| row["name"] == "telegram").unwrap();
        assert_eq!(row["state"], word);
        let metrics = read(app.get("/metrics", &[]).await.text());
        let samples = &metrics["aethon_channel_up"];
        assert_eq!((samples.len(), samples[0].1), (1, expected), "{word}");
    }
}
