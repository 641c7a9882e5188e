//! A provider behind HTTP: asks, classifies, and reads the answer as a stream.
//!
//! Everything that services have in common is here, once. What differs is a [`Dialect`]: how a request is written and
//! an answer read.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::message::Block;
use aethon_core::model::{
    Capabilities, ModelError, ModelErrorKind, ModelEvent, ModelProvider, ModelRequest, ModelStream,
    Readiness, SelfReport,
};
use async_trait::async_trait;
use futures_util::stream;
use serde_json::Value;
use tokio::time::timeout;
use ureq::http::HeaderMap;
use ureq::http::header::CONTENT_TYPE;

use crate::classify;
use crate::learned::{Description, LearnedCapabilities};
use crate::lessons::{Lessons, Notebook};
use crate::options::Options;
use crate::request_id;
use crate::service::Service;
use crate::settings::Settings;
use crate::stream::{Decoder, Decoding, Events, Framing, Progress};
use crate::terms::Terms;
use crate::text_calls::{self, Reading};
use crate::transport::{Body, Client, Incoming, Outgoing};

/// The most of an error's body that is read, and for how long.
const ERROR_BYTES: usize = 64 * 1024;
const ERROR_WAIT: Duration = Duration::from_secs(5);
/// How often a request is written anew after a refusal.
const MOST_CORRECTIONS: usize = 5;
/// The most of an answer to a probe that is read.
const PROBE_BYTES: usize = 4 * 1024 * 1024;
/// How long a service is given to describe its model.
const DESCRIBE_WAIT: Duration = Duration::from_secs(1);
/// How long figures are waited for after the model is done.
const FIGURES_WAIT: Duration = Duration::from_secs(3);
/// How long the end of the body is waited for after the service said that nothing follows. It comes with the same
/// packet as a rule; then the connection can be used again.
const END_WAIT: Duration = Duration::from_millis(50);

/// How one wire format is written and read.
#[async_trait]
pub(crate) trait Dialect: Send + Sync {
    /// How an answer is cut into frames.
    fn framing(&self) -> Framing;

    /// The request for an answer, on these terms.
    fn build_request(&self, request: &ModelRequest, terms: &Terms) -> Outgoing;

    /// The request with what opens the service for it, where that is not in its headers from the start.
    async fn authorize(&self, outgoing: Outgoing) -> Result<Outgoing, ModelError> {
        Ok(outgoing)
    }

    /// What reads the answer to a request that was built on these terms. `input_tokens` stands in where the service counts
    /// none.
    fn decoder(&self, input_tokens: u64, terms: &Terms) -> Box<dyn Decoder>;

    /// How to find out whether the service is there and takes the key, without spending tokens.
    fn probe(&self) -> Probe;

    /// What the answer to the probe says, for a person.
    fn read_probe(&self, answer: &Value) -> Result<String, ModelError>;

    /// What a failure of the probe says, where a failure may be good news.
    fn read_probe_failure(&self, error: ModelError) -> Result<String, ModelError> {
        Err(error)
    }
}

/// What finds out whether a service is there.
pub(crate) struct Probe {
    /// A request that every service of the kind should answer, mostly that for its models.
    pub(crate) request: Outgoing,
    /// What is sent when there is nothing at the address of the request, which says little of a service that works: a
    /// conversation of nothing, which is refused before it costs anything.
    pub(crate) fallback_probe: Option<Outgoing>,
}

impl Probe {
    /// A probe without another way.
    pub(crate) fn of(request: Outgoing) -> Self {
        Self { request, fallback_probe: None }
    }
}

/// How a service is asked about its model.
#[async_trait]
pub(crate) trait Discovery: Send + Sync {
    /// What it says; `capabilities` are what is known so far.
    async fn describe(
        &self,
        query: &Query<'_>,
        capabilities: &Capabilities,
    ) -> Result<Description, ModelError>;
}

/// Where an discovery asks.
pub(crate) struct Query<'a>(&'a Remote);

impl Query<'_> {
    /// The JSON document that the answer is.
    pub(crate) async fn send(&self, outgoing: Outgoing) -> Result<Value, ModelError> {
        let incoming = self.0.send(outgoing).await?;
        self.0.document(incoming).await
    }
}

/// The provider.
pub(crate) struct Remote {
    known: LearnedCapabilities,
    service: Arc<Service>,
    client: Client,
    dialect: Box<dyn Dialect>,
    settings: Arc<Settings>,
    notebook: Notebook,
    discovery: Option<Box<dyn Discovery>>,
    reads_text_calls: bool,
}

impl Remote {
    /// A service that is asked in its own dialect.
    pub(crate) fn new(
        options: &Options,
        known: LearnedCapabilities,
        service: Arc<Service>,
        dialect: Box<dyn Dialect>,
    ) -> Self {
        let client = Client::new(service.timeout, service.endpoint.is_loopback);
        let (settings, notebook) = (Arc::new(Settings::of(options)), Notebook::default());
        Self { known, service, client, dialect, settings, notebook, discovery: None, reads_text_calls: false }
    }

    /// With how the service is asked what its model can do.
    pub(crate) fn with_discovery(mut self, discovery: Option<Box<dyn Discovery>>) -> Self {
        self.discovery = discovery;
        self
    }

    /// With calls read from text, where the model may write them there.
    pub(crate) fn reading_text_calls(self, reads_text_calls: bool) -> Self {
        Self { reads_text_calls, ..self }
    }

    /// The terms of a request that is written now.
    fn terms(&self) -> Terms {
        let (capabilities, lessons) = (self.known.capabilities(), self.notebook.lessons());
        Terms { capabilities, rules: self.service.rules, settings: self.settings.clone(), lessons }
    }

    /// Asks for an answer. What the service refuses by name is left out, and the request is sent again: as long as there is
    /// something to leave out, and a few times at most.
    async fn begin(&self, request: &ModelRequest) -> Result<(Incoming, Terms), ModelError> {
        let mut terms = self.terms();
        let mut written = self.dialect.build_request(request, &terms);
        for _ in 0..MOST_CORRECTIONS {
            let before = (written.url.clone(), written.body.clone());
            let error = match self.send(written).await {
                Ok(incoming) => return Ok((incoming, terms)),
                Err(error) => error,
            };
            self.learn_from(&error, request);
            terms = self.terms();
            written = self.dialect.build_request(request, &terms);
            if (&written.url, &written.body) == (&before.0, &before.1) {
                return Err(error);
            }
            let (model, detail) = (&terms.capabilities.model, error.detail());
            tracing::warn!(
                model,
                detail,
                "the service refuses a part of the request, which is left out from now on"
            );
        }
        Ok((self.send(written).await?, terms))
    }

    /// Takes over what a refusal gives away about the model and the request.
    fn learn_from(&self, error: &ModelError, request: &ModelRequest) {
        let mut hint = classify::hint::of(error);
        let lessons = classify::lessons(error);
        // A picture stays in the conversation, so a refusal in words that nobody knows must not end it for good.
        let is_wrong = error.kind() == ModelErrorKind::InvalidRequest;
        let is_unexplained = hint.tools.is_none() && lessons == Lessons::default();
        if is_wrong && self.known.are_pictures_assumed() && is_unexplained && has_picture(request) {
            hint.images = Some(false);
        }
        self.known.refused(hint);
        self.notebook.keep(lessons);
    }

    /// Opens the service for a request and sends it.
    async fn send(&self, outgoing: Outgoing) -> Result<Incoming, ModelError> {
        let outgoing = self.dialect.authorize(outgoing).await?;
        exchange(&self.client, &self.service, outgoing).await
    }

    /// What a service says to a conversation of nothing, after its list of models was not to be had.
    async fn probe_again(&self, fallback_probe: Outgoing, no_list: ModelError) -> Result<String, ModelError> {
        let is_there = || {
            let (title, base) = (self.service.title(), &self.service.endpoint.base);
            Ok(format!("{title} answers at {base}, and keeps no list of models"))
        };
        match self.send(fallback_probe).await {
            Ok(_) => is_there(),
            Err(error) if matches!(error.status(), Some(400 | 422)) => is_there(),
            Err(error) if is_missing(&error) => self.dialect.read_probe_failure(no_list),
            Err(error) => Err(error),
        }
    }

    /// The JSON document that the answer to a request about the service is.
    async fn document(&self, mut incoming: Incoming) -> Result<Value, ModelError> {
        if let Media::Page = media_type(&incoming.headers) {
            return Err(classify::body_failure(&self.service, &error_body(&mut incoming.body).await));
        }
        let body = incoming.body.read(PROBE_BYTES).await;
        serde_json::from_slice(&body)
            .map_err(|error| classify::malformed(&self.service, &format!("the answer to a probe: {error}")))
    }
}

/// Whether there is nothing at the address that was asked.
fn is_missing(error: &ModelError) -> bool {
    matches!(error.status(), Some(404 | 405))
}

fn has_picture(request: &ModelRequest) -> bool {
    let is_picture = |block: &Block| matches!(block, Block::Image { .. });
    request.messages.iter().any(|message| message.content.iter().any(is_picture))
}

/// Sends a request; an answer that reports a failure is one.
pub(crate) async fn exchange(
    client: &Client,
    service: &Service,
    outgoing: Outgoing,
) -> Result<Incoming, ModelError> {
    let mut incoming = client.send(outgoing).await.map_err(|failure| classify::failure(service, &failure))?;
    let request_id = request_id::of(&incoming.headers);
    if (200..300).contains(&incoming.status) {
        tracing::debug!(
            provider = service.provider.name(),
            model = service.model,
            request_id,
            "the service answers"
        );
        return Ok(incoming);
    }
    let body = error_body(&mut incoming.body).await;
    let error = classify::status(service, incoming.status, &incoming.headers, &body);
    Err(request_id::show(error, request_id))
}

/// What a failure's body says. It is only an explanation: neither a slow nor a broken one may hide the failure.
async fn error_body(body: &mut Body) -> Vec<u8> {
    timeout(ERROR_WAIT, body.read(ERROR_BYTES)).await.unwrap_or_default()
}

#[async_trait]
impl ModelProvider for Remote {
    fn capabilities(&self) -> Arc<Capabilities> {
        self.known.capabilities()
    }

    fn readiness(&self) -> Readiness {
        Readiness::Ready
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let input_tokens = crate::estimate::request(&request);
        let reading = Reading::of(&request).filter(|_| self.reads_text_calls);
        let (Incoming { headers, mut body, .. }, terms) =
            self.begin(&request).await.inspect_err(|error| request_id::log_failure(&self.service, error))?;
        let request_id = request_id::of(&headers);
        let framing = match media_type(&headers) {
            Media::Page => {
                return Err(classify::body_failure(&self.service, &error_body(&mut body).await));
            }
            Media::Json if matches!(self.dialect.framing(), Framing::Events | Framing::Binary) => {
                Framing::Whole
            }
            _ => self.dialect.framing(),
        };
        let response = ResponseStream {
            service: self.service.clone(),
            decoding: Decoding::new(
                self.service.title(),
                framing,
                self.dialect.decoder(input_tokens, &terms),
            ),
            body,
            events: Events::new(),
            phase: Phase::Reading,
            request_id,
        };
        let events = Box::pin(stream::unfold(response, |mut response| async {
            response.next().await.map(|event| (event, response))
        }));
        match reading.filter(|_| self.capabilities().tools) {
            Some(reading) => Ok(text_calls::read(events, reading)),
            None => Ok(events),
        }
    }

    async fn probe(&self) -> Result<String, ModelError> {
        let probe = self.dialect.probe();
        match self.send(probe.request).await {
            Ok(incoming) => self.dialect.read_probe(&self.document(incoming).await?),
            Err(error) => match probe.fallback_probe.filter(|_| is_missing(&error)) {
                Some(fallback_probe) => self.probe_again(fallback_probe, error).await,
                None => self.dialect.read_probe_failure(error),
            },
        }
    }

    async fn learn(&self) -> Result<SelfReport, ModelError> {
        let Some(discovery) = &self.discovery else { return Ok(SelfReport::default()) };
        if let Some(report) = self.known.report() {
            return Ok(report);
        }
        let (query, capabilities) = (Query(self), self.capabilities());
        let description = match timeout(DESCRIBE_WAIT, discovery.describe(&query, &capabilities)).await {
            Ok(Ok(description)) => description,
            // A service that was reached and does not understand the request never will.
            Ok(Err(error)) if error.status().is_some() || error.kind() == ModelErrorKind::Malformed => {
                self.known.describe(&Description::default());
                return Err(error);
            }
            Ok(Err(error)) => return Err(error),
            // Nobody waits for it before every turn.
            Err(_) => Description { is_open: true, ..Description::default() },
        };
        self.known.describe(&description);
        Ok(description.report)
    }
}

enum Media {
    Page,
    Json,
    Other,
}

fn media_type(headers: &HeaderMap) -> Media {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "text/html" | "application/xhtml+xml" => Media::Page,
        "application/json" => Media::Json,
        _ => Media::Other,
    }
}

/// An answer that is being read. Dropping it closes the connection, unless its end was seen.
struct ResponseStream {
    service: Arc<Service>,
    decoding: Decoding,
    body: Body,
    events: Events,
    phase: Phase,
    request_id: Option<String>,
}

enum Phase {
    Reading,
    Failed(ModelError),
    Over,
}

impl ResponseStream {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            // What came before a failure is delivered before it.
            if let Some(event) = self.events.pop_front() {
                return Some(Ok(event));
            }
            match std::mem::replace(&mut self.phase, Phase::Over) {
                Phase::Over => return None,
                Phase::Failed(error) => return Some(Err(self.failed(error))),
                Phase::Reading => self.phase = self.read().await,
            }
        }
    }

    fn failed(&self, error: ModelError) -> ModelError {
        let error = request_id::show(error, self.request_id.clone());
        request_id::log_failure(&self.service, &error);
        error
    }

    /// Takes the next piece of the body.
    async fn read(&mut self) -> Phase {
        let wait = match self.decoding.progress() {
            Progress::Running => None,
            Progress::Complete => Some(FIGURES_WAIT),
            Progress::Over => Some(END_WAIT),
        };
        let piece = match wait {
            None => self.body.next().await,
            Some(wait) => match timeout(wait, self.body.next()).await {
                // A connection that breaks after the model was done took nothing away.
                Ok(Some(Err(_))) | Err(_) => {
                    self.decoding.conclude(&mut self.events);
                    return Phase::Over;
                }
                Ok(piece) => piece,
            },
        };
        let outcome = match piece {
            Some(Ok(bytes)) => self.decoding.push(&bytes, &mut self.events).map(|()| Phase::Reading),
            Some(Err(failure)) => Err(classify::failure(&self.service, &failure)),
            None => self.decoding.finish(&mut self.events).map(|()| Phase::Over),
        };
        outcome.unwrap_or_else(Phase::Failed)
    }
}
