//! Sends what was measured to a collector: OTLP over HTTP, in its JSON form, as spans.
//!
//! Batches wait in a short queue. A collector that is away for a moment is asked again; what finds the queue full, or is
//! refused, is dropped and told in the log, at most once an hour. Nothing else ever waits for it.

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

/// How many batches wait.
const QUEUE: usize = 32;

/// How long a collector may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often a batch is sent, and the first pause, which doubles.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);

/// The longest pause that a collector can ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// How long what waits may take at the end.
const FAREWELL: Duration = Duration::from_secs(2);

/// How far apart it is told that something was dropped.
const TOLD: Duration = Duration::from_secs(3600);

/// Where to.
pub(crate) struct Collector {
    exchange: Arc<dyn Exchange>,
    url: String,
    headers: Vec<(String, String)>,
}

impl Collector {
    /// The one of the configuration; `None` when there is none.
    pub(crate) fn of(section: &schema::Telemetry) -> Option<Self> {
        let base = section.otlp_endpoint.trim().trim_end_matches('/');
        if base.is_empty() {
            return None;
        }
        let exchange = aethon_providers::exchange(base, PATIENCE)
            // The configuration was checked, so this says what was overlooked there.
            .inspect_err(|error| tracing::error!(%error, "telemetry.otlp_endpoint cannot be used"))
            .ok()?;
        let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        let given = section.otlp_headers.iter();
        headers.extend(given.map(|(name, value)| (name.to_lowercase(), value.expose().to_owned())));
        Some(Self { exchange: Arc::new(exchange), url: format!("{base}/v1/traces"), headers })
    }
}

/// What is told now and then, however often it happens.
#[derive(Default)]
struct Hourly(Option<Instant>);

impl Hourly {
    /// Whether it is time again; if so, it is told now.
    fn is_due(&mut self) -> bool {
        let is_due = self.0.is_none_or(|last| last.elapsed() >= TOLD);
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

    /// Hands over a copy of a batch, if there is room for it.
    pub(crate) fn offer(&mut self, batch: &[TelemetryEvent]) {
        let is_taken = self.sender.try_send(batch.to_vec()).is_ok();
        if !is_taken && self.told.is_due() {
            tracing::warn!(
                "telemetry.otlp_endpoint does not keep up: what was measured is not exported, but kept here"
            );
        }
    }

    /// Sends what waits, for a moment.
    pub(crate) async fn stop(self) {
        drop(self.sender);
        let abort = self.task.abort_handle();
        if timeout(FAREWELL, self.task).await.is_err() {
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
            // Not as an error: errors are measured, and this would go round in circles.
            tracing::warn!(why, "telemetry.otlp_endpoint does not take what was measured; it is kept here");
        }
    }
}

/// Sends a batch until it is taken; else why it is not.
async fn send(collector: &Collector, request: Value) -> Result<(), String> {
    let body = request.to_string().into_bytes();
    let mut pause = PAUSE;
    let mut why = String::new();
    for attempt in 1..=ATTEMPTS {
        let asked = match timeout(PATIENCE, post(collector, body.clone())).await {
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
            sleep(after.unwrap_or(pause).min(LONGEST_PAUSE)).await;
            pause *= 2;
        }
    }
    Err(why)
}

enum Reception {
    Taken,
    Refused(String),
    /// To be asked again, after this pause if the collector names one.
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
            // Read to its end, so that the connection can be used again; it is short.
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
