//! `/metrics`: counters since the program started, in the text format of Prometheus.

mod process;
mod text;

use std::collections::BTreeMap;

use aethon_core::assistant::ActiveTurn;
use aethon_core::channel::{ChannelState, DeliveryState};
use aethon_core::telemetry::{Counters, Series, TelemetryKind, TelemetryStatus};
use http::header::{CONTENT_TYPE, HeaderValue};
use std::sync::Arc;

use self::text::{Exposition, Histogram};
use crate::app::About;
use crate::deps::{Activity, Chat, Setup};
use crate::request::Request;
use crate::response::{self, HandlerResult};
use crate::traffic::{Kind, Traffic};

const FORMAT: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// The metrics of each kind of event: its counter, the label of its name, and its histogram, if any.
const EVENTS: [(TelemetryKind, &str, &str, &str, Option<&str>); 9] = [
    (
        TelemetryKind::Turn,
        "aethon_turns_total",
        "Turns that ended, by the channel that brought them.",
        "channel",
        Some("aethon_turn_duration_seconds"),
    ),
    (
        TelemetryKind::ToolCall,
        "aethon_tool_calls_total",
        "Tool calls.",
        "tool",
        Some("aethon_tool_call_duration_seconds"),
    ),
    (
        TelemetryKind::ModelCall,
        "aethon_model_calls_total",
        "Model calls.",
        "model",
        Some("aethon_model_call_duration_seconds"),
    ),
    (TelemetryKind::Denial, "aethon_denials_total", "What hooks and rules refused.", "name", None),
    (
        TelemetryKind::Approval,
        "aethon_approvals_total",
        "Questions to a person that were settled.",
        "tool",
        Some("aethon_approval_duration_seconds"),
    ),
    (
        TelemetryKind::Delivery,
        "aethon_deliveries_total",
        "Attempts to deliver something.",
        "channel",
        Some("aethon_delivery_duration_seconds"),
    ),
    (
        TelemetryKind::Job,
        "aethon_job_runs_total",
        "Runs of scheduled jobs that ended.",
        "job",
        Some("aethon_job_run_duration_seconds"),
    ),
    (
        TelemetryKind::Channel,
        "aethon_channel_changes_total",
        "Changes of a channel's state.",
        "channel",
        None,
    ),
    (
        TelemetryKind::Error,
        "aethon_errors_total",
        "Errors that were logged, by the part that logged them.",
        "target",
        None,
    ),
];

type Parts = ((Chat, Activity), (Setup, About), Arc<Traffic>);

/// `GET /metrics`.
pub(super) async fn show(
    ((chat, activity), (setup, about), traffic): Parts,
    _request: Request,
) -> HandlerResult {
    let mut text = Exposition::default();
    let counters = activity.bus.telemetry().counters();
    about_process(&mut text, &about);
    caches(&mut text, &chat, &activity);
    events(&mut text, &counters);
    models(&mut text, &counters);
    turns(&mut text, &counters, &chat.assistant.activity());
    connected(&mut text, &traffic);
    channels(&mut text, &setup);
    for state in [DeliveryState::Waiting, DeliveryState::Failed] {
        let count = activity.outbox.undelivered(state, 0).await?.count;
        text.gauge(
            "aethon_outbox_deliveries",
            "Deliveries that have not arrived.",
            &[("state", state.as_str())],
            count as f64,
        );
    }
    let dropped = activity.bus.telemetry().dropped();
    text.counter(
        "aethon_telemetry_dropped_total",
        "Telemetry events that were not stored.",
        &[],
        dropped as f64,
    );
    let today = activity.ledger.today().await?;
    text.gauge("aethon_spent_today_usd", "What models have cost today, in UTC.", &[], today.spent_usd);
    let mut answer = response::with_body(http::StatusCode::OK, text.into_text());
    answer.headers_mut().insert(CONTENT_TYPE, FORMAT);
    Ok(answer)
}

fn about_process(text: &mut Exposition, about: &About) {
    let help = "The running version; the value is always 1.";
    text.gauge("aethon_build_info", help, &[("version", about.version)], 1.0);
    let help = "How long the program has been running.";
    text.gauge("aethon_uptime_seconds", help, &[], about.started.elapsed().as_secs_f64());
    process::show(text);
}

/// Adds the sizes of data kept in memory between requests and turns. All of it is bounded, and removed when unused.
fn caches(text: &mut Exposition, chat: &Chat, activity: &Activity) {
    let mut sizes = activity.bus.telemetry().caches().measured();
    sizes.insert("frame_logs", chat.hub.log_bytes());
    sizes.insert("log_records", activity.logs.bytes());
    sizes.insert("telemetry_queue", activity.bus.telemetry().waiting_bytes());
    for (cache, bytes) in sizes {
        let help = "Memory that is kept for what may be needed again.";
        text.gauge("aethon_cache_bytes", help, &[("cache", cache)], bytes as f64);
    }
}

fn events(text: &mut Exposition, counters: &Counters) {
    for (kind, name, help, label, duration) in EVENTS {
        let of_kind = || counters.events.iter().filter(|((other, ..), _)| *other == kind);
        text.announce(name, help, "counter");
        for ((_, subject, status), series) in of_kind() {
            text.counter(name, help, &[(label, subject), ("status", status.as_str())], series.count as f64);
        }
        let Some(duration) = duration else { continue };
        let mut by_subject: BTreeMap<&str, Series> = BTreeMap::new();
        // A refused call did not run, so it has no duration.
        let ran = |status: TelemetryStatus| {
            kind == TelemetryKind::Approval
                || !matches!(status, TelemetryStatus::Denied | TelemetryStatus::Skipped)
        };
        for ((_, subject, _), series) in of_kind().filter(|((.., status), _)| ran(*status)) {
            let sum = by_subject.entry(subject).or_default();
            sum.timed += series.timed;
            sum.seconds += series.seconds;
            for (sum, more) in sum.buckets.iter_mut().zip(series.buckets) {
                *sum += more;
            }
        }
        for (subject, series) in &by_subject {
            let histogram = Histogram { name: duration, help: "How long it took.", label: (label, subject) };
            text.histogram(&histogram, series);
        }
    }
}

fn models(text: &mut Exposition, counters: &Counters) {
    let (tokens, help) = ("aethon_tokens_total", "Tokens; cached ones are part of the input.");
    for ((provider, model), sum) in &counters.models {
        let kinds =
            [("input", sum.input_tokens), ("output", sum.output_tokens), ("cached_input", sum.cached_tokens)];
        for (kind, count) in kinds {
            let labels = [("provider", provider.as_str()), ("model", model), ("type", kind)];
            text.counter(tokens, help, &labels, count as f64);
        }
    }
    for ((provider, model), sum) in &counters.models {
        let labels = [("provider", provider.as_str()), ("model", model)];
        text.counter("aethon_cost_usd_total", "What model calls cost.", &labels, sum.cost_usd);
    }
}

fn turns(text: &mut Exposition, counters: &Counters, activity: &[ActiveTurn]) {
    let mut by_channel: BTreeMap<&str, u64> = BTreeMap::new();
    for ((kind, channel, _), series) in &counters.events {
        if *kind == TelemetryKind::Turn {
            *by_channel.entry(channel).or_default() += series.count;
        }
    }
    let help = "Messages that were answered, by the channel that brought them.";
    for (channel, count) in by_channel {
        text.counter("aethon_messages_total", help, &[("channel", channel)], count as f64);
    }
    for state in ["running", "queued"] {
        let count = activity.iter().filter(|turn| turn.state == state).count();
        let help = "Turns that run or wait for the one before them.";
        text.gauge("aethon_turns_active", help, &[("state", state)], count as f64);
    }
    let waiting = activity.iter().filter(|turn| turn.state == "queued").count();
    text.gauge("aethon_queue_depth", "Turns that wait.", &[], waiting as f64);
}

fn connected(text: &mut Exposition, traffic: &Traffic) {
    let connections = traffic.present(Kind::Connection);
    let help = "TCP connections, those of WebSockets included.";
    text.gauge("aethon_connections", help, &[], connections as f64);
    for (kind, socket) in [(Kind::ChatSocket, "chat"), (Kind::DashboardSocket, "dashboard")] {
        let count = traffic.present(kind);
        text.gauge("aethon_websockets", "Open WebSockets.", &[("socket", socket)], count as f64);
    }
    for (class, count) in ["1xx", "2xx", "3xx", "4xx", "5xx"].into_iter().zip(traffic.answers()) {
        let help = "HTTP requests that were answered, by the class of the status.";
        text.counter("aethon_http_requests_total", help, &[("code", class)], count as f64);
    }
}

fn channels(text: &mut Exposition, setup: &Setup) {
    for name in setup.channels.names() {
        // As in `/api/channels`: a channel's task may run while its platform is unreachable.
        let is_up = setup.channels.status(name).is_some_and(|status| status.state == ChannelState::Running);
        let help = "Whether a channel that is set up works.";
        text.gauge("aethon_channel_up", help, &[("channel", name)], f64::from(u8::from(is_up)));
    }
}

#[cfg(test)]
mod tests;
