//! A model as the rest of the program sees it: a request goes in, a stream of events comes out.
//!
//! Providers translate; they keep no conversation, run no tool and never write. Dropping a [`ModelStream`] cancels the
//! request: its socket is shut down without waiting for the other side.

use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use futures_core::Stream;
use serde::{Deserialize, Serialize};

use crate::answer_schema::AnswerSchema;
pub use crate::effort::Effort;
use crate::ids::{SessionId, TurnId};
use crate::ledger::Price;
use crate::message::{Message, Opaque, ToolCall};
use crate::model_choice::ListedModel;
pub use crate::model_error::{ModelError, ModelErrorKind};
pub use crate::token_usage::Usage;
use crate::tool::{RefusedTool, ToolSpec, choose};
use crate::web_search::{Source, WebSearch};
use crate::words::setters;

/// A model behind some wire format, or one of the offline models.
#[async_trait]
pub trait ModelProvider: Send + Sync {
    /// Returns the abilities of the configured model, as far as they are known. Cheap, without I/O.
    fn capabilities(&self) -> Arc<Capabilities>;

    /// Returns whether it could answer now, judging by the configuration alone.
    fn readiness(&self) -> Readiness;

    /// Starts one request. An error means that it failed before anything was received; later failures come through the
    /// stream.
    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError>;

    /// Checks that the service is reachable and accepts the key, without spending tokens. For `doctor`.
    async fn probe(&self) -> Result<String, ModelError>;

    /// Asks the service for its list of models. Empty if it keeps none, or if the list is not of models that could answer
    /// here.
    async fn list(&self) -> Result<Vec<ListedModel>, ModelError> {
        Ok(Vec::new())
    }

    /// Asks the service about the model, if such services can tell; `capabilities` reflect the answer from then on. The
    /// answer is cached, so this may be called before every request. Waits for two seconds at most.
    async fn learn(&self) -> Result<SelfReport, ModelError> {
        Ok(SelfReport::default())
    }
}

/// The events of one model response, ended by [`ModelEvent::Finished`] or an error, never by silence.
pub type ModelStream = Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>> + Send>>;

/// The abilities of a model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Capabilities {
    /// The provider's name, such as `openai`.
    pub provider: String,
    /// The model's id, as configured.
    pub model: String,
    /// The address that serves it; empty for the provider's own.
    pub host: String,
    /// The table of the configuration that describes it, whose keys a remedy names: `model`, `model.named.fast`, ...
    pub section: String,
    /// How many tokens a request and its answer may take together.
    pub context_window: u64,
    /// What is known about that number.
    pub window: WindowFacts,
    /// How many tokens an answer may take.
    pub max_output: u64,
    /// Whether it sees pictures.
    pub images: bool,
    /// Whether it can call tools.
    pub tools: bool,
    /// Whether it may produce output that cannot be watched while it arrives (reasoning that is billed but not streamed,
    /// or an answer that arrives as a whole). Then the whole output limit has to be paid for in advance.
    pub hidden_output: bool,
    /// What its service does with the tools of a request.
    pub tool_terms: ToolTerms,
    /// Whether the owner wants the provider to search the web, and whether it can.
    pub web_search: ProviderSearch,
    /// The price that its service reports; only a proxy run by the owner does so.
    pub price: Option<Price>,
    /// Whether its service runs on this machine, so that it is free unless someone states a price.
    pub is_local: bool,
    /// Whether the model is known; if `false`, all of this is assumed until its service says more.
    pub is_known: bool,
}

impl Capabilities {
    /// A model with a window of 32,768 tokens, answers of up to 4,096, tools, and no pictures.
    pub fn new(provider: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            provider: provider.into(),
            model: model.into(),
            host: String::new(),
            section: "model".to_owned(),
            context_window: 32_768,
            window: WindowFacts {
                source: WindowSource::Assumed,
                longest: None,
                is_asked_first: false,
                cuts_silently: false,
            },
            max_output: 4_096,
            images: false,
            tools: true,
            hidden_output: false,
            tool_terms: ToolTerms { are_read: true, limit: None, refused: Arc::default() },
            web_search: ProviderSearch::Off,
            price: None,
            is_local: false,
            is_known: true,
        }
    }

    setters! {
        /// Sets whether the model is known.
        pub fn with_known(is_known: bool);
        /// Sets the price that its service reports.
        pub fn with_price(price: Option<Price>);
        /// Sets whether its service runs on this machine.
        pub fn with_local(is_local: bool);
        /// Sets what is known about the context window's size.
        pub fn with_window(window: WindowFacts);
    }

    /// Describes the context window in words: `context window 32768 of 40960, from Ollama`.
    pub fn window_in_words(&self) -> String {
        let longest = self.window.longest.filter(|longest| *longest > self.context_window);
        let longest = longest.map_or_else(String::new, |longest| format!(" of {longest}"));
        let set = format!("from {}.context_window", self.section);
        let source = match self.window.source {
            WindowSource::Config => set.as_str(),
            WindowSource::Table => "from the table of models",
            WindowSource::Service if self.window.cuts_silently => "from Ollama",
            WindowSource::Service => "from its service",
            WindowSource::Learnt => "learnt earlier from its service",
            WindowSource::Assumed => "assumed",
            WindowSource::Program => "from the program",
        };
        format!("context window {}{longest}, {source}", self.context_window)
    }

    /// Sets the table of the configuration that describes it.
    #[must_use]
    pub fn with_section(self, section: impl Into<String>) -> Self {
        Self { section: section.into(), ..self }
    }

    /// Returns which of these tools its service gets.
    pub fn choose_tools(&self, specs: &[ToolSpec]) -> Vec<bool> {
        choose(specs, self.tool_terms.limit, &self.tool_terms.refused)
    }

    /// Sets the address that serves it.
    #[must_use]
    pub fn with_host(self, host: impl Into<String>) -> Self {
        Self { host: host.into(), ..self }
    }

    /// Sets the sizes in tokens: of a request and its answer together, and of an answer.
    #[must_use]
    pub fn with_sizes(self, context_window: u64, max_output: u64) -> Self {
        Self { context_window, max_output, ..self }
    }

    /// Sets the abilities: seeing pictures, calling tools.
    #[must_use]
    pub fn with_abilities(self, images: bool, tools: bool) -> Self {
        Self { images, tools, ..self }
    }
}

/// What a service does with the tools of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolTerms {
    /// Whether its model reads their descriptions, so that they take room and are billed. The offline models do not.
    pub are_read: bool,
    /// How many it takes in one request; `None` if no limit is known.
    pub limit: Option<usize>,
    /// The tools that it has refused.
    pub refused: Arc<[RefusedTool]>,
}

/// What is known about the size of a context window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowFacts {
    /// Its source.
    pub source: WindowSource,
    /// The longest context that the model is made for, if its service says so.
    pub longest: Option<u64>,
    /// Whether the service is asked about the model before the first request, because only it knows the window.
    pub is_asked_first: bool,
    /// Whether its service silently cuts a conversation that is too long, instead of rejecting it.
    pub cuts_silently: bool,
}

/// The source of a context window's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowSource {
    /// The setting `model.context_window`.
    Config,
    /// The built-in table of models.
    Table,
    /// The service that runs the model.
    Service,
    /// What its service said or accepted in an earlier run.
    Learnt,
    /// A guess, because no table has the model.
    Assumed,
    /// The program that supplied the model.
    Program,
}

/// Whether a provider searches the web while its model answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ProviderSearch {
    /// The owner does not want it.
    #[default]
    Off,
    /// It does, when the model finds that useful.
    On,
    /// The owner wants it, but as far as is known this model cannot.
    Lacking,
}

/// A service's report about its model; unset fields were not reported.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SelfReport {
    /// How many tokens a request and its answer may take together.
    pub context_window: Option<u64>,
    /// The longest context that the model is made for.
    pub longest_window: Option<u64>,
    /// How many tokens an answer may take.
    pub max_output: Option<u64>,
    /// Whether it sees pictures.
    pub images: Option<bool>,
    /// Whether it can call tools.
    pub tools: Option<bool>,
    /// Its price.
    pub price: Option<Price>,
}

/// Whether a provider is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// As far as is known, nothing is missing.
    Ready,
    /// Something must be configured first: a sentence that says what and where.
    NotConfigured(String),
}

/// One request to a model.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ModelRequest {
    /// The session that it is for. Providers may use it as a cache hint, and must not send anything else about it.
    pub session: SessionId,
    /// The turn that it is for.
    pub turn: TurnId,
    /// How many times this request has failed before in this turn.
    pub attempt: u32,
    /// The system prompt; byte-identical from turn to turn while nothing changes.
    pub system: Arc<str>,
    /// The conversation, oldest first and well formed: every tool call has its result in the tool message that follows.
    /// Shared, not copied, so that a request costs the same however long the conversation is.
    pub messages: Arc<Vec<Arc<Message>>>,
    /// The index of this turn's first message in `messages`.
    pub turn_start: usize,
    /// The tools that it may call.
    pub tools: Arc<[ToolSpec]>,
    /// The most tokens that the answer may take, including reasoning; `None` for the model's own limit.
    pub max_output: Option<u64>,
    /// How much it should think, if that differs from the configuration.
    pub effort: Option<Effort>,
    /// The schema that the answer has to fit.
    pub schema: Option<Arc<AnswerSchema>>,
    /// Whether the provider may search the web for it, where the owner and the model allow that.
    pub web_search: bool,
}

impl ModelRequest {
    /// A first attempt at a request without tools, all of whose messages belong to the turn.
    pub fn new(
        session: SessionId,
        turn: TurnId,
        system: impl Into<Arc<str>>,
        messages: Vec<Arc<Message>>,
    ) -> Self {
        Self {
            session,
            turn,
            attempt: 0,
            system: system.into(),
            messages: Arc::new(messages),
            turn_start: 0,
            tools: Arc::default(),
            max_output: None,
            effort: None,
            schema: None,
            web_search: false,
        }
    }

    /// Sets the tools.
    #[must_use]
    pub fn with_tools(self, tools: impl Into<Arc<[ToolSpec]>>) -> Self {
        Self { tools: tools.into(), ..self }
    }

    setters! {
        /// Sets how many times this request has failed before in this turn.
        pub fn with_attempt(attempt: u32);
        /// Sets whether the provider may search the web.
        pub fn with_web_search(web_search: bool);
        /// Sets the schema that the answer has to fit.
        pub fn with_schema(schema: Option<Arc<AnswerSchema>>);
        /// Sets the index of this turn's first message.
        pub fn with_turn_start(turn_start: usize);
    }
}

/// An event of a model's response.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// More of the answer.
    Text(String),
    /// More of the reasoning.
    Reasoning(String),
    /// The streamed reasoning is complete, with what must go back to the provider. `text` is the whole of it.
    ReasoningDone {
        /// The complete readable part.
        text: String,
        /// The data that is sent back unchanged.
        opaque: Option<Opaque>,
    },
    /// A complete picture that the model made.
    Image {
        /// Its media type, such as `image/png`.
        mime: String,
        /// The bytes in standard base64.
        data: String,
        /// What goes back to the provider with the picture, such as its signature; `None` if the provider does not want
        /// the picture back.
        opaque: Option<Opaque>,
    },
    /// A web search that the provider ran, once it is over.
    Search(WebSearch),
    /// The pages that the answer cites, before its end.
    Sources(Vec<Source>),
    /// The text of this response so far was a thought, which the service did not mark as one at its beginning.
    TextWasReasoning,
    /// A complete tool call.
    ToolCall(ToolCall),
    /// The end of the response.
    Finished {
        /// Why it ended.
        stop: StopReason,
        /// Its token usage.
        usage: Usage,
        /// The model that answered, as the service names it.
        model: Option<String>,
    },
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It was done.
    End,
    /// It is waiting for tool results.
    ToolUse,
    /// It reached the output limit.
    Length,
    /// The conversation and the answer fill the context window.
    Window,
    /// It was done, but part of the response could not be read.
    Unreadable,
    /// The provider refused or filtered.
    Refusal,
    /// The provider paused a long turn and expects another request with the same messages.
    Pause,
}
