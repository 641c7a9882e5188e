//! A provider behind HTTP: asks, classifies, and reads the answer as a stream.
//!
//! Everything that services have in common is here, once. What differs is a [`Dialect`]: how a request is written and
//! an answer read.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::ledger::Price;
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
use crate::known::{Description, Known};
use crate::service::Service;
use crate::stream::{Decoder, Decoding, Events, Framing, Progress};
use crate::transport::{Body, Client, Incoming, Outgoing};

/// The most of an error's body that is read, and for how long.
const ERROR_BYTES: usize = 64 * 1024;
const ERROR_WAIT: Duration = Duration::from_secs(5);
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

    /// The request for an answer.
    fn ask(&self, request: &ModelRequest, capabilities: &Capabilities) -> Outgoing;

    /// The request with what opens the service for it, where that is not in its headers from the start.
    async fn open(&self, outgoing: Outgoing) -> Result<Outgoing, ModelError> {
        Ok(outgoing)
    }

    /// What reads the answer to a request. `input_tokens` stands in where the service counts none.
    fn decoder(&self, input_tokens: u64) -> Box<dyn Decoder>;

    /// How to find out whether the service is there and takes the key, without spending tokens.
    fn probe(&self) -> Probe;

    /// What the answer to the probe says, for a person.
    fn judge(&self, answer: &Value) -> Result<String, ModelError>;

    /// What a failure of the probe says, where a failure may be good news.
    fn judge_failure(&self, error: ModelError) -> Result<String, ModelError> {
        Err(error)
    }
}

/// What finds out whether a service is there.
pub(crate) struct Probe {
    /// A question that every service of the kind should answer, mostly that for its models.
    pub(crate) question: Outgoing,
    /// What is sent when there is nothing at the address of the question, which says little of a service that works: a
    /// conversation of nothing, which is refused before it costs anything.
    pub(crate) knock: Option<Outgoing>,
}

impl Probe {
    /// A probe without another way.
    pub(crate) fn of(question: Outgoing) -> Self {
        Self { question, knock: None }
    }
}

/// How a service is asked about its model.
#[async_trait]
pub(crate) trait Inquiry: Send + Sync {
    /// What it says; `capabilities` are what is known so far.
    async fn describe(&self, desk: &Desk<'_>, capabilities: &Capabilities)
    -> Result<Description, ModelError>;
}

/// Where an inquiry asks.
pub(crate) struct Desk<'a>(&'a Remote);

impl Desk<'_> {
    /// The JSON document that the answer is.
    pub(crate) async fn ask(&self, outgoing: Outgoing) -> Result<Value, ModelError> {
        let incoming = self.0.send(outgoing).await?;
        self.0.document(incoming).await
    }
}

/// The provider.
pub(crate) struct Remote {
    known: Known,
    service: Arc<Service>,
    client: Client,
    dialect: Box<dyn Dialect>,
    price: Option<Price>,
    inquiry: Option<Box<dyn Inquiry>>,
}

impl Remote {
    /// What answers cost is told where the price is known.
    pub(crate) fn new(
        known: Known,
        service: Arc<Service>,
        dialect: Box<dyn Dialect>,
        price: Option<Price>,
    ) -> Self {
        let client = Client::new(service.timeout, service.endpoint.is_loopback);
        Self { known, service, client, dialect, price, inquiry: None }
    }

    /// With how the service is asked what its model can do.
    pub(crate) fn with_inquiry(mut self, inquiry: Option<Box<dyn Inquiry>>) -> Self {
        self.inquiry = inquiry;
        self
    }

    /// Asks for an answer. A service that refuses because of the tools or a picture is asked once more without them.
    async fn begin(&self, request: ModelRequest) -> Result<Incoming, ModelError> {
        let capabilities = self.known.capabilities();
        let error = match self.send(self.dialect.ask(&request, &capabilities)).await {
            Ok(incoming) => return Ok(incoming),
            Err(error) => error,
        };
        let mut hint = classify::hint::of(&error);
        // A picture stays in the conversation, so a refusal in words that nobody knows must not end it for good.
        let is_wrong = error.kind() == ModelErrorKind::InvalidRequest;
        if is_wrong && self.known.are_pictures_assumed() && hint.tools.is_none() && has_picture(&request) {
            hint.images = Some(false);
        }
        self.known.refused(hint);
        let less = self.known.capabilities();
        let without_tools = capabilities.tools && !less.tools && !request.tools.is_empty();
        let without_pictures = capabilities.images && !less.images && has_picture(&request);
        if without_tools || without_pictures {
            let (model, detail) = (&capabilities.model, error.detail());
            tracing::warn!(
                model,
                detail,
                without_tools,
                without_pictures,
                "the model takes less than was assumed"
            );
            return self.send(self.dialect.ask(&request, &less)).await;
        }
        Err(error)
    }

    /// Opens the service for a request and sends it.
    async fn send(&self, outgoing: Outgoing) -> Result<Incoming, ModelError> {
        let outgoing = self.dialect.open(outgoing).await?;
        exchange(&self.client, &self.service, outgoing).await
    }

    /// What a service says to a conversation of nothing, after its list of models was not to be had.
    async fn knocked(&self, knock: Outgoing, no_list: ModelError) -> Result<String, ModelError> {
        let there = || {
            let (title, base) = (self.service.title(), &self.service.endpoint.base);
            Ok(format!("{title} answers at {base}, and keeps no list of models"))
        };
        match self.send(knock).await {
            Ok(_) => there(),
            Err(error) if matches!(error.status(), Some(400 | 422)) => there(),
            Err(error) if is_missing(&error) => self.dialect.judge_failure(no_list),
            Err(error) => Err(error),
        }
    }

    /// The JSON document that the answer to a question about the service is.
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
    if (200..300).contains(&incoming.status) {
        return Ok(incoming);
    }
    let body = error_body(&mut incoming.body).await;
    Err(classify::status(service, incoming.status, &incoming.headers, &body))
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
        let Incoming { headers, mut body, .. } = self.begin(request).await?;
        let framing = match media_type(&headers) {
            Media::Page => {
                return Err(classify::body_failure(&self.service, &error_body(&mut body).await));
            }
            Media::Json if matches!(self.dialect.framing(), Framing::Events | Framing::Binary) => {
                Framing::Whole
            }
            _ => self.dialect.framing(),
        };
        let answer = Answer {
            service: self.service.clone(),
            decoding: Decoding::new(self.service.title(), framing, self.dialect.decoder(input_tokens)),
            body,
            events: Events::new(),
            state: State::Reading,
            price: self.price,
        };
        Ok(Box::pin(stream::unfold(answer, |mut answer| async {
            answer.next().await.map(|event| (event, answer))
        })))
    }

    async fn probe(&self) -> Result<String, ModelError> {
        let probe = self.dialect.probe();
        match self.send(probe.question).await {
            Ok(incoming) => self.dialect.judge(&self.document(incoming).await?),
            Err(error) => match probe.knock.filter(|_| is_missing(&error)) {
                Some(knock) => self.knocked(knock, error).await,
                None => self.dialect.judge_failure(error),
            },
        }
    }

    async fn learn(&self) -> Result<SelfReport, ModelError> {
        let Some(inquiry) = &self.inquiry else { return Ok(SelfReport::default()) };
        if let Some(report) = self.known.report() {
            return Ok(report);
        }
        let (desk, capabilities) = (Desk(self), self.capabilities());
        let description = match timeout(DESCRIBE_WAIT, inquiry.describe(&desk, &capabilities)).await {
            Ok(Ok(description)) => description,
            // A service that was reached and does not understand the question never will.
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
struct Answer {
    service: Arc<Service>,
    decoding: Decoding,
    body: Body,
    events: Events,
    state: State,
    price: Option<Price>,
}

enum State {
    Reading,
    Failed(ModelError),
    Over,
}

impl Answer {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            // What came before a failure is delivered before it.
            if let Some(event) = self.events.pop_front() {
                return Some(Ok(self.priced(event)));
            }
            match std::mem::replace(&mut self.state, State::Over) {
                State::Over => return None,
                State::Failed(error) => return Some(Err(error)),
                State::Reading => self.state = self.read().await,
            }
        }
    }

    fn priced(&self, mut event: ModelEvent) -> ModelEvent {
        if let (ModelEvent::Finished { usage, .. }, Some(price)) = (&mut event, self.price) {
            usage.cost_usd = price.of(usage);
        }
        event
    }

    /// Takes the next piece of the body.
    async fn read(&mut self) -> State {
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
                    return State::Over;
                }
                Ok(piece) => piece,
            },
        };
        let outcome = match piece {
            Some(Ok(bytes)) => self.decoding.push(&bytes, &mut self.events).map(|()| State::Reading),
            Some(Err(failure)) => Err(classify::failure(&self.service, &failure)),
            None => self.decoding.finish(&mut self.events).map(|()| State::Over),
        };
        outcome.unwrap_or_else(State::Failed)
    }
}
