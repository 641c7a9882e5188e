//! A provider over HTTP: sends requests, classifies failures, and reads responses as streams.
//!
//! Everything services have in common is here, once. What differs is in a [`Dialect`]: how requests are written and
//! responses read.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::message::Block;
use aethon_core::model::{
    Capabilities, ModelError, ModelErrorKind, ModelEvent, ModelProvider, ModelRequest, ModelStream,
    Readiness, SelfReport,
};
use aethon_core::model_choice::ListedModel;
use aethon_core::provider::Provider;
use aethon_core::tool::RefusedTool;
use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use serde_json::Value;
use tokio::time::timeout;

use crate::answer_format;
use crate::classify;
use crate::classify::tool_refusal::{self, ToolRefusal};
use crate::dialect::Dialect;
use crate::failure_watch::FailureWatch;
use crate::headers;
use crate::learned::{Description, LearnedCapabilities};
use crate::listing;
use crate::media_type::{Media, media_type};
use crate::options::Options;
use crate::policy::RequestPolicy;
use crate::request_id;
use crate::response_stream::ResponseStream;
use crate::restrictions::{LearnedRestriction, LearnedRestrictions, RestrictionStore};
use crate::service::Service;
use crate::settings::Settings;
use crate::stream::{Decoding, Framing};
use crate::text_calls::{self, Reading, ThoughtHabit};
use crate::tool_schema::{FittedTools, ServiceTools};
use crate::transport::{Body, Client, Incoming, Outgoing};

/// How much of an error's body is read, and how long to wait for it.
const ERROR_BYTES: usize = 64 * 1024;
const ERROR_WAIT: Duration = Duration::from_secs(5);
/// How often a request is rewritten after a refusal.
const MAX_CORRECTIONS: usize = 5;
/// How many tools are set aside in one request, each of which the service has refused by name.
const MAX_SET_ASIDE: usize = 24;
/// How much of a response to a probe is read.
const PROBE_BYTES: usize = 4 * 1024 * 1024;
/// How long a service has to describe its model.
const DESCRIBE_WAIT: Duration = Duration::from_secs(2);

/// Asks a service about its model.
#[async_trait]
pub(crate) trait Discovery: Send + Sync {
    /// Returns its description. `capabilities` are those known so far.
    async fn describe(
        &self,
        query: &Query<'_>,
        capabilities: &Capabilities,
    ) -> Result<Description, ModelError>;
}

/// The connection through which a discovery asks.
pub(crate) struct Query<'a>(&'a Remote);

impl Query<'_> {
    /// Sends a request and returns the response as JSON.
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
    restriction_store: RestrictionStore,
    discovery: Option<Box<dyn Discovery>>,
    /// Held while the service is asked about its model, so that several that begin at once ask once.
    inquiry: tokio::sync::Mutex<()>,
    reads_text_calls: bool,
    thought_habit: Arc<ThoughtHabit>,
    tools: ServiceTools,
}

/// A response that has begun.
struct Begun {
    incoming: Incoming,
    policy: RequestPolicy,
    tools: Arc<FittedTools>,
}

/// A request as it is sent.
struct Written {
    outgoing: Outgoing,
    tools: Arc<FittedTools>,
}

impl Remote {
    /// Creates a provider for a service with its dialect.
    pub(crate) fn new(
        options: &Options,
        known: LearnedCapabilities,
        service: Arc<Service>,
        dialect: Box<dyn Dialect>,
    ) -> Self {
        let client = Client::new(service.timeout, service.endpoint.is_loopback);
        let thought_habit = Arc::new(ThoughtHabit::of(&service.model));
        let (settings, restriction_store) = (Arc::new(Settings::of(options)), RestrictionStore::default());
        let tools = ServiceTools::of(options.provider);
        Self {
            known,
            service,
            client,
            dialect,
            settings,
            restriction_store,
            discovery: None,
            inquiry: tokio::sync::Mutex::default(),
            reads_text_calls: false,
            thought_habit,
            tools,
        }
    }

    /// Sets how the service is asked for its model's abilities.
    pub(crate) fn with_discovery(mut self, discovery: Option<Box<dyn Discovery>>) -> Self {
        self.discovery = discovery;
        self
    }

    /// Sets whether calls are read from text, for models that may write them there.
    pub(crate) fn reading_text_calls(self, reads_text_calls: bool) -> Self {
        Self { reads_text_calls, ..self }
    }

    /// Returns the policy for a request written now.
    fn policy(&self) -> RequestPolicy {
        let (capabilities, restrictions) = (self.known.capabilities(), self.restriction_store.restrictions());
        RequestPolicy {
            capabilities,
            rules: self.service.rules,
            settings: self.settings.clone(),
            restrictions,
        }
    }

    /// Sends a request for a response. If the service refuses a part or a tool by name, that is left out and the request
    /// is sent again, as long as there is something to leave out, but only a few times.
    async fn begin(&self, request: &ModelRequest) -> Result<Begun, ModelError> {
        self.known.readmit_tools();
        let mut policy = self.policy();
        let mut written = self.write(request, &policy);
        let (mut corrections, mut set_aside, mut refused) = (0, 0, Vec::new());
        let mut is_schema_refused = false;
        loop {
            let Written { outgoing, tools } = written;
            let before = (outgoing.url.clone(), outgoing.body.clone());
            let error = match self.send(outgoing).await {
                Ok(incoming) => return Ok(Begun { incoming, policy, tools }),
                Err(error) => error,
            };
            if self.lacks_responses(&error, &policy) {
                return Err(classify::tools_need_responses(&self.service, &error));
            }
            // A tool is judged by its own words; a parameter may have the same name.
            if let Some(refusal) = self.tool_refusal(&error, &before.1) {
                set_aside += 1;
                if let ToolRefusal::Tool(sent) = &refusal {
                    refused.push(tools.own_name(sent).to_owned());
                }
                let error = self.leave_out(refusal, &error, request, &tools);
                policy = self.policy_for(is_schema_refused);
                written = self.write(request, &policy);
                if set_aside > MAX_SET_ASIDE || written.outgoing.body == before.1 {
                    return Err(error);
                }
                continue;
            }
            corrections += 1;
            let has_schema = policy.schema(request).is_some();
            self.learn_from(&error, request, has_schema);
            policy = self.policy_for(is_schema_refused);
            self.check_room(request, &policy)?;
            written = self.write(request, &policy);
            let is_wrong = error.kind() == ModelErrorKind::InvalidRequest;
            let is_same =
                |written: &Written| (&written.outgoing.url, &written.outgoing.body) == (&before.0, &before.1);
            if is_same(&written) && has_schema && is_wrong {
                // A service may take schemas in general and refuse this one, in words of its own.
                is_schema_refused = true;
                policy = self.policy_for(is_schema_refused);
                written = self.write(request, &policy);
            }
            if is_same(&written) || corrections > MAX_CORRECTIONS {
                self.known.doubt(refused);
                return Err(error);
            }
            let (model, detail) = (&policy.capabilities.model, error.detail());
            tracing::warn!(
                model,
                detail,
                "the service refuses a part of the request, which is left out from now on"
            );
        }
    }

    /// Returns what a refusal says about the tools of a request with this body.
    fn tool_refusal(&self, error: &ModelError, body: &[u8]) -> Option<ToolRefusal> {
        // A model that takes no tools at all has not refused one of them.
        if classify::hint::of(error).tools == Some(false) {
            return None;
        }
        tool_refusal::of(error, body)
    }

    /// Leaves out what the service refused of the tools. Returns the error in case that the service still refuses.
    fn leave_out(
        &self,
        refusal: ToolRefusal,
        error: &ModelError,
        request: &ModelRequest,
        tools: &FittedTools,
    ) -> ModelError {
        let (model, detail) = (&self.service.model, error.detail());
        match refusal {
            ToolRefusal::TooMany(most) => {
                tracing::warn!(model, most, detail, "the service takes fewer tools; the others are left out");
                self.known.limit_tools(most);
                error.clone()
            }
            ToolRefusal::Tool(sent) => {
                let tool = tools.own_name(&sent);
                tracing::warn!(
                    model,
                    tool,
                    detail,
                    "the service refuses a tool, which is set aside until it changes"
                );
                if let Some(spec) = request.tools.iter().find(|spec| spec.name == tool) {
                    self.known.refuse_tool(RefusedTool::of(spec));
                }
                tool_refusal::explained(error, self.service.title(), tool)
            }
        }
    }

    /// Returns whether a server that asked for the responses API does not serve it.
    fn lacks_responses(&self, error: &ModelError, policy: &RequestPolicy) -> bool {
        is_missing(error) && policy.has_learnt(LearnedRestriction::NeedsResponses)
    }

    /// Returns the policy for a request whose schema the service may have refused.
    fn policy_for(&self, is_schema_refused: bool) -> RequestPolicy {
        let mut policy = self.policy();
        if is_schema_refused {
            policy.restrictions = policy.restrictions.with(LearnedRestriction::NoSchema);
        }
        policy
    }

    /// Writes a request. The schema of its answer is asked for in words if the service does not take it.
    fn write(&self, request: &ModelRequest, policy: &RequestPolicy) -> Written {
        let tools = self.fit(request, policy);
        let request = tools.request(request);
        let outgoing = match request.schema.is_some() && policy.schema(&request).is_none() {
            true => self.dialect.build_request(&answer_format::in_words(&request), policy),
            false => self.dialect.build_request(&request, policy),
        };
        Written { outgoing, tools }
    }

    /// Returns the tools of a request in the form of the service.
    fn fit(&self, request: &ModelRequest, policy: &RequestPolicy) -> Arc<FittedTools> {
        let reserved = usize::from(policy.searches_web(request));
        self.tools.fit(request, &policy.capabilities, reserved)
    }

    /// Learns from a refusal about the model and the request.
    fn learn_from(&self, error: &ModelError, request: &ModelRequest, has_schema: bool) {
        let mut hint = classify::hint::of(error);
        let restrictions = classify::restrictions(error);
        // A picture stays in the conversation, so a refusal in unknown words must not end the conversation for good.
        let is_wrong = error.kind() == ModelErrorKind::InvalidRequest;
        // A refused schema is left out first; if pictures are to blame, the next refusal says the same.
        let is_unexplained =
            !has_schema && hint.tools.is_none() && restrictions == LearnedRestrictions::default();
        if is_wrong && self.known.are_pictures_assumed() && is_unexplained && has_picture(request) {
            hint.images = Some(false);
        }
        self.known.refused(hint);
        if self.known.capabilities().window.cuts_silently && classify::hint::lacks_memory(error) {
            self.known.lacks_memory();
        }
        self.restriction_store.keep(restrictions);
    }

    /// Checks that a request still fits a window that has just become smaller, where the service would cut it without
    /// a word.
    fn check_room(&self, request: &ModelRequest, policy: &RequestPolicy) -> Result<(), ModelError> {
        let model = &policy.capabilities;
        if !model.window.cuts_silently || crate::estimate::request(request) <= model.context_window {
            return Ok(());
        }
        let sentence = format!(
            "{} has no memory for this conversation: {}.",
            self.service.title(),
            model.window_in_words()
        );
        Err(ModelError::new(ModelErrorKind::ContextLength, sentence))
    }

    /// Authorises and sends a request.
    async fn send(&self, outgoing: Outgoing) -> Result<Incoming, ModelError> {
        let outgoing = self.dialect.authorize(outgoing).await?;
        exchange(&self.client, &self.service, outgoing).await
    }

    /// Probes with an empty conversation, after the list of models was not available.
    async fn probe_again(&self, fallback_probe: Outgoing, no_list: ModelError) -> Result<String, ModelError> {
        let is_there = || Ok(format!("{}, and keeps no list of models", self.service.answers()));
        match self.send(fallback_probe).await {
            Ok(_) => is_there(),
            Err(error) if matches!(error.status(), Some(400 | 422)) => is_there(),
            Err(error) if is_missing(&error) => self.dialect.read_probe_failure(no_list),
            Err(error) => Err(error),
        }
    }

    /// Returns the JSON response to a request about the service.
    async fn document(&self, mut incoming: Incoming) -> Result<Value, ModelError> {
        if let Media::Page = media_type(&incoming.headers) {
            return Err(classify::body_failure(&self.service, &error_body(&mut incoming.body).await));
        }
        let body = incoming.body.read(PROBE_BYTES).await;
        serde_json::from_slice(&body)
            .map_err(|error| classify::malformed(&self.service, &format!("the answer to a probe: {error}")))
    }
}

/// Returns whether nothing exists at the requested address.
fn is_missing(error: &ModelError) -> bool {
    matches!(error.status(), Some(404 | 405))
}

fn has_picture(request: &ModelRequest) -> bool {
    let is_picture = |block: &Block| matches!(block, Block::Image { .. });
    request.messages.iter().any(|message| message.content.iter().any(is_picture))
}

/// Sends a request. A response that reports a failure becomes an error.
pub(crate) async fn exchange(
    client: &Client,
    service: &Service,
    outgoing: Outgoing,
) -> Result<Incoming, ModelError> {
    let mut outgoing = outgoing;
    // After the authorisation, which an owner's own header may replace.
    headers::replace(&mut outgoing.headers, &service.headers);
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

/// Reads the body of a failure. It only explains the failure, so neither a slow nor a broken body may hide it.
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
        // Where the service counts nothing, neither does the decoder: the meter knows the tools, the pictures and how
        // this model counts.
        let input_tokens = 0;
        let Begun { incoming: Incoming { headers, mut body, .. }, policy, tools } =
            self.begin(&request).await.inspect_err(|error| request_id::log_failure(&self.service, error))?;
        let request = tools.request(&request);
        let reading = Reading::of(&request).filter(|_| self.reads_text_calls);
        let request_id = request_id::of(&headers);
        let framing = match media_type(&headers) {
            Media::Page => {
                return Err(classify::body_failure(&self.service, &error_body(&mut body).await));
            }
            Media::Json => Framing::Whole,
            _ => self.dialect.framing(),
        };
        let decoder = FailureWatch::new(self.service.clone(), self.dialect.decoder(input_tokens, &policy));
        let decoding = Decoding::new(self.service.title(), framing, Box::new(decoder));
        let response = ResponseStream::new(self.service.clone(), decoding, body, request_id);
        let mut events: ModelStream = Box::pin(stream::unfold(response, |mut response| async {
            response.next().await.map(|event| (event, response))
        }));
        if text_calls::may_think_in_text(&self.service) {
            events = text_calls::read_thoughts(events, &request, self.thought_habit.clone());
        }
        let events = match reading.filter(|_| self.capabilities().tools) {
            Some(reading) => text_calls::read(events, reading),
            None => events,
        };
        Ok(Box::pin(events.map(move |event| event.map(|event| with_own_names(event, &tools)))))
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

    async fn list(&self) -> Result<Vec<ListedModel>, ModelError> {
        // Bedrock's list is on another host, with permissions of its own.
        if self.service.provider == Provider::Bedrock {
            return Ok(Vec::new());
        }
        let answer = self.send(self.dialect.probe().request).await?;
        Ok(listing::models(&self.document(answer).await?))
    }

    async fn learn(&self) -> Result<SelfReport, ModelError> {
        let Some(discovery) = &self.discovery else { return Ok(SelfReport::default()) };
        if let Some(report) = self.known.report() {
            return Ok(report);
        }
        let _held = self.inquiry.lock().await;
        // Another caller may have asked meanwhile.
        if let Some(report) = self.known.report() {
            return Ok(report);
        }
        let (query, capabilities) = (Query(self), self.capabilities());
        let description = match timeout(DESCRIBE_WAIT, discovery.describe(&query, &capabilities)).await {
            Ok(Ok(description)) => description,
            // A service that was reached but does not understand the request never will, unless it is only starting.
            Ok(Err(error)) if error.status().is_some() || error.kind() == ModelErrorKind::Malformed => {
                let is_busy = error.status().is_some_and(|status| status == 429 || status >= 500);
                let is_open = is_busy || capabilities.window.cuts_silently;
                self.known.describe(&Description { is_open, ..Description::default() });
                return Err(error);
            }
            Ok(Err(error)) => return Err(error),
            // Do not wait for it again before every turn.
            Err(_) => Description { is_open: true, ..Description::default() },
        };
        self.known.describe(&description);
        Ok(description.report)
    }
}

/// Converts a call to the tool's own names.
fn with_own_names(event: ModelEvent, tools: &FittedTools) -> ModelEvent {
    match event {
        ModelEvent::ToolCall(call) => ModelEvent::ToolCall(tools.back(call)),
        event => event,
    }
}
