//! Exports telemetry to a collector: spans as OTLP over HTTP, in the JSON encoding.
//!
//! Batches wait in a short queue. If the collector is briefly unavailable, the batch is retried; batches that find the queue
//! full or are rejected are dropped, which is logged at most once an hour. Nothing else ever waits for the export.

use std::sync::Arc;
use std::time::Duration;

use aethon_config::schema;
use aethon_core::exchange::{Exchange, ExchangeRequest, Method};
use aethon_core::telemetry::TelemetryEvent;
use futures_util::StreamExt as _;
use serde_json::Value;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::span::{self, Numbers};

/// How many batches the queue holds.
const QUEUE: usize = 32;

/// The time limit for the collector's answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How often a batch is sent, and the first pause between, which doubles.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);

/// The longest pause that a collector can request.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// How long shutdown waits for queued batches.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

/// The minimum time between two log lines about dropped batches.
const LOG_INTERVAL: Duration = Duration::from_secs(3600);

/// A collector and how to reach it.
pub(crate) struct Collector {
    exchange: Arc<dyn Exchange>,
    url: String,
    headers: Vec<(String, String)>,
}

impl Collector {
    /// The collector in the configuration, if any.
    pub(crate) fn of(section: &schema::Telemetry) -> Option<Self> {
        let base = section.otlp_endpoint.trim().trim_end_matches('/');
        if base.is_empty() {
            return None;
        }
        let exchange = aethon_providers::exchange(base, TIMEOUT)
            // The configuration was checked, so this reports a gap of the check.
            .inspect_err(|error| tracing::error!(%error, "telemetry.otlp_endpoint cannot be used"))
            .ok()?;
        let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        let given = section.otlp_headers.iter();
        headers.extend(given.map(|(name, value)| (name.to_lowercase(), value.expose().to_owned())));
        Some(Self { exchange: Arc::new(exchange), url: format!("{base}/v1/traces"), headers })
    }
}

/// Limits how often a recurring problem is logged.
#[derive(Default)]
struct Hourly(Option<Instant>);

impl Hourly {
    /// Returns whether it is time to log again; if so, the time is noted.
    fn is_due(&mut self) -> bool {
        let is_due = self.0.is_none_or(|last| last.elapsed() >= LOG_INTERVAL);
        if is_due {
            self.0 = Some(Instant::now());
        }
        is_due
    }
}

/// The running task.
pub(crate) struct Exporter {
    sender: Sender<Vec<TelemetryEvent>>,
    task: JoinHandle<()>,
    told: Hourly,
}

impl Exporter {
    pub(crate) fn start(collector: Collector) -> Self {
        let (sender, receiver) = channel(QUEUE);
        Self { sender, task: tokio::spawn(run(collector, receiver)), told: Hourly::default() }
    }

    /// Queues a copy of a batch if there is room for it.
    pub(crate) fn offer(&mut self, batch: &[TelemetryEvent]) {
        let is_taken = self.sender.try_send(batch.to_vec()).is_ok();
        if !is_taken && self.told.is_due() {
            tracing::warn!("telemetry.otlp_endpoint is too slow: some telemetry is only stored locally");
        }
    }

    /// Sends the queued batches within a short time limit.
    pub(crate) async fn stop(self) {
        drop(self.sender);
        let abort = self.task.abort_handle();
        if timeout(SHUTDOWN_GRACE, self.task).await.is_err() {
            abort.abort();
        }
    }
}

async fn run(collector: Collector, mut receiver: Receiver<Vec<TelemetryEvent>>) {
    let (mut told, numbers) = (Hourly::default(), Numbers::default());
    while let Some(batch) = receiver.recv().await {
        if let Err(why) = send(&collector, span::request(&batch, &numbers)).await
            && told.is_due()
        {
            // Not logged as an error: errors are telemetry events, so this would feed itself.
            tracing::warn!(why, "telemetry.otlp_endpoint rejects telemetry; it is only stored locally");
        }
    }
}

/// Sends a batch, retrying until it is accepted; otherwise returns the reason.
async fn send(collector: &Collector, request: Value) -> Result<(), String> {
    let body = request.to_string().into_bytes();
    let mut pause = PAUSE;
    let mut why = String::new();
    for attempt in 1..=ATTEMPTS {
        let asked = match timeout(TIMEOUT, post(collector, body.clone())).await {
            Ok(asked) => asked,
            Err(_) => Reception::Later("no answer in time".to_owned(), None),
        };
        let after = match asked {
            Reception::Taken => return Ok(()),
            Reception::Refused(why) => return Err(why),
            Reception::Later(reason, after) => {
                why = reason;
                after
            }
        };
        if attempt < ATTEMPTS {
            sleep(after.unwrap_or(pause).min(MAX_PAUSE)).await;
            pause *= 2;
        }
    }
    Err(why)
}

enum Reception {
    Taken,
    Refused(String),
    /// Retry, after this pause if the collector names one.
    Later(String, Option<Duration>),
}

async fn post(collector: &Collector, body: Vec<u8>) -> Reception {
    let (url, headers) = (collector.url.clone(), collector.headers.clone());
    let request = ExchangeRequest { method: Method::Post, url, headers, body };
    match collector.exchange.send(request).await {
        Err(error) => Reception::Later(error.to_string(), None),
        Ok(mut response) => {
            let status = response.status;
            let after =
                response.header("retry-after").and_then(|after| after.parse().ok()).map(Duration::from_secs);
            // The body is short; reading it to the end lets the connection be reused.
            for _ in 0..16 {
                if response.body.next().await.is_none() {
                    break;
                }
            }
            match status {
                200..=299 => Reception::Taken,
                429 | 502 | 503 | 504 => Reception::Later(format!("status {status}"), after),
                _ => Reception::Refused(format!("status {status}")),
            }
        }
    }
}
