//! Every key the service knows, one file per section.
//!
//! The doc comment of a field becomes its description in the JSON Schema, on the configuration page and in hints about unknown
//! keys; its `Default` is the built-in layer. The ranges of numbers are in `crate::limits`, not here, so that validation and
//! description cannot disagree.

mod agent;
mod approval;
mod backup;
mod budget;
mod code;
mod dashboard;
mod discord;
mod email;
mod household;
mod logging;
mod matrix;
mod mcp;
mod memory;
mod messenger_section;
mod messengers;
mod model;
pub(crate) mod offers;
mod push;
mod recorder;
mod runtime_tools;
mod scheduler;
mod security;
mod server;
mod session;
mod slack;
mod specialists;
mod storage;
mod telegram;
mod telemetry;
mod tools;
mod transcription;
mod verification;
mod webchat;
mod webhook;
mod whatsapp;
mod work;

use aethon_core::secret::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::agent::Agent;
pub use self::approval::Approval;
pub use self::backup::Backup;
pub use self::budget::{Budget, Price, Unpriced};
pub use self::code::{Lsp, LspServer, RepoMap};
pub use self::dashboard::Dashboard;
pub use self::discord::Discord;
pub use self::email::Email;
pub use self::household::{Household, HouseholdPerson};
pub use self::logging::Logging;
pub use self::matrix::Matrix;
pub use self::mcp::{Mcp, McpOauth, McpServer};
pub use self::memory::{Embedding, Memory};
pub use self::messenger_section::{MessengerSection, SharedKeys};
pub(crate) use self::messengers::SecretKey;
pub use self::messengers::{Channels, MESSENGER_NAMES, MESSENGERS, Messenger};
pub use self::model::{Fallback, Model};
pub use self::push::Push;
pub use self::recorder::SessionRecorder;
pub use self::runtime_tools::RuntimeTools;
pub use self::scheduler::{Job, Missed, Scheduler};
pub use self::security::Security;
pub use self::server::Server;
pub use self::session::Session;
pub use self::slack::Slack;
pub use self::specialists::{Specialist, Specialists};
pub use self::storage::Storage;
pub use self::telegram::Telegram;
pub use self::telemetry::Telemetry;
pub use self::tools::{GitHub, SearchProvider, Tools, WebSearch};
pub use self::transcription::Transcription;
pub use self::verification::Verification;
pub use self::webchat::WebChat;
pub use self::webhook::Webhook;
pub use self::whatsapp::WhatsApp;
pub use self::work::{Ambient, Work};
pub use aethon_core::log::Level;
pub use aethon_core::provider::{AnthropicVersion, OpenAiApi, Provider};
pub use aethon_core::sandbox::Sandbox;
pub use aethon_core::storage::Synchronous;

/// The whole configuration. `Config::default()` is the built-in layer.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// The model that answers.
    pub model: Model,
    /// The browser chat and the messengers.
    pub channels: Channels,
    /// The dashboard and its access token.
    pub dashboard: Dashboard,
    /// Inbound webhooks.
    pub webhook: Webhook,
    /// Access to files and commands, and who may talk to the assistant.
    pub security: Security,
    /// The people who share the assistant.
    pub household: Household,
    /// Asking a person before an action.
    pub approval: Approval,
    /// One turn of the assistant.
    pub agent: Agent,
    /// Conversations, and how they are kept short.
    pub session: Session,
    /// Long-term memory.
    pub memory: Memory,
    /// Transcription of voice messages.
    pub transcription: Transcription,
    /// Spending on models.
    pub budget: Budget,
    /// Scheduled jobs.
    pub scheduler: Scheduler,
    /// Work that takes more than one turn.
    pub work: Work,
    /// Checks after edits.
    pub verification: Verification,
    /// Language servers for questions about code.
    pub lsp: Lsp,
    /// A map of the source files of a folder.
    pub repo_map: RepoMap,
    /// Tools from MCP servers.
    pub mcp: Mcp,
    /// Services that tools use.
    pub tools: Tools,
    /// Tools created at run time.
    pub runtime_tools: RuntimeTools,
    /// Recordings of sessions.
    pub session_recorder: SessionRecorder,
    /// The history of tool and model calls.
    pub telemetry: Telemetry,
    /// The service's own log.
    pub logging: Logging,
    /// Limits of the HTTP server.
    pub server: Server,
    /// The database.
    pub storage: Storage,
    /// Scheduled backups.
    pub backup: Backup,
    /// Notifications of devices.
    pub push: Push,
    /// Credentials that were put into strings which are not secrets by type, such as an argument of an MCP server.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) embedded: Vec<Secret>,
}
