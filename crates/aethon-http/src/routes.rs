//! The table of all routes: method, pattern, access, condition, body and handler.
//!
//! The handlers of the JSON API are in the files below, one per resource; those of the pages, files, webhooks and
//! sockets have modules of their own. A route is a row here and a function there, and nothing else. The second line
//! of a row is its part of the OpenAPI document, in the short form that `openapi` reads.
//!
//! Access is a column, and whatever is not in the table is gated, so a forgotten row yields 401.

use std::future::Future;
use std::pin::Pin;

use http::Method;

mod agents;
mod approvals;
mod audit;
mod backups;
mod channel_setup;
mod channels;
mod config;
mod export;
mod features;
mod fork;
mod instances;
mod logs;
mod memory;
mod metrics;
mod models;
mod outbox;
mod pairings;
mod prompts;
mod push;
mod ready;
mod recordings;
mod scheduler;
mod search;
mod sessions;
mod sign_in_codes;
mod sign_ins;
mod sign_out;
mod sops;
mod status;
mod telemetry;
mod transcribe;
mod uploads;
mod usage;
mod work;

use crate::app::{About, App};
use crate::base_path::BasePath;
use crate::openapi::{self, Row};
use crate::request::Request;
use crate::response::{self, HandlerResult};
use crate::ws::SocketKind;
use crate::{assets, handbook, pages, platform_calls, webhook};

/// One row.
pub(crate) struct Route {
    /// The method. A row for GET answers HEAD as well.
    pub(crate) method: Method,
    /// Literal segments, `{name}` for one segment, a last `*` for the rest.
    pub(crate) pattern: &'static str,
    /// Who may call it.
    pub(crate) access: Access,
    /// When it exists.
    pub(crate) needs: Needs,
    /// Which body it takes.
    pub(crate) takes: Takes,
    /// The handler.
    pub(crate) handler: Handler,
    /// Its description in the OpenAPI document: `[tag, summary, responses, query parameters, body]` in JSON.
    pub(crate) description: Description,
}

/// Who may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Everyone who reaches the address; only for the few rows that the specification names.
    Public,
    /// Requires the token, if one is set.
    Gated,
}

/// When a route exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Always.
    Nothing,
    /// While `dashboard.enabled` is set.
    Dashboard,
    /// While webhooks are enabled, and with a secret or on loopback.
    Webhooks,
    /// While the channel runs whose platform calls it.
    PlatformCalls,
}

/// Which body a route takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// None; a body is ignored.
    Nothing,
    /// A JSON document; any other content type is 415.
    Json,
    /// A file of the type that it says; without one it is 415.
    File,
}

/// How a route is answered.
pub(crate) enum Handler {
    /// Immediately, from memory.
    Sync(fn(&App, &Request) -> HandlerResult),
    /// After reading a body or querying other parts of the program.
    Async(fn(&App, Request) -> HandlerFuture),
    /// By becoming a WebSocket.
    Socket(SocketKind),
}

/// The future of a response.
pub(crate) type HandlerFuture = Pin<Box<dyn Future<Output = HandlerResult> + Send>>;

impl Route {
    /// Returns whether the row answers this method.
    pub(crate) fn answers(&self, method: &Method) -> bool {
        self.method == *method || (self.method == Method::GET && *method == Method::HEAD)
    }

    /// Returns whether it changes something with versions, which `If-Match` can name.
    pub(crate) fn has_versions(&self) -> bool {
        self.description.contains("\"412\"")
    }

    /// Returns the row as the OpenAPI document describes it.
    pub(crate) fn described(&'static self) -> Row {
        let (takes_json, takes_file) = (self.takes == Takes::Json, self.takes == Takes::File);
        Row {
            method: &self.method,
            pattern: self.pattern,
            is_gated: self.access == Access::Gated,
            takes_json,
            takes_file,
            description: self.description,
        }
    }

    /// Returns the methods for an `Allow` header.
    pub(crate) fn methods(&self) -> &'static [&'static str] {
        match self.method {
            Method::POST => &["POST"],
            Method::PUT => &["PUT"],
            Method::PATCH => &["PATCH"],
            Method::DELETE => &["DELETE"],
            _ => &["GET", "HEAD"],
        }
    }
}

/// The description of a row, in the short form of `openapi`.
type Description = &'static str;

const fn get(
    pattern: &'static str,
    access: Access,
    needs: Needs,
    handler: Handler,
    description: Description,
) -> Route {
    Route { method: Method::GET, pattern, access, needs, takes: Takes::Nothing, handler, description }
}

/// `GET /openapi.json`: this table in machine-readable form.
fn openapi_document((about, base): (About, BasePath), _request: &Request) -> HandlerResult {
    response::json(&openapi::document(about.version, &base.address(""), ROUTES.iter().map(Route::described)))
}

/// Creates a gated row of the dashboard's API.
const fn api(
    method: Method,
    pattern: &'static str,
    takes: Takes,
    handler: Handler,
    description: Description,
) -> Route {
    Route { method, pattern, access: Access::Gated, needs: Needs::Dashboard, takes, handler, description }
}

const fn hook(pattern: &'static str, handler: Handler, description: Description) -> Route {
    let (access, needs) = (Access::Public, Needs::Webhooks);
    Route { method: Method::POST, pattern, access, needs, takes: Takes::Json, handler, description }
}

/// Creates a row for calls from a platform, which authenticates with its own signature.
const fn called(
    method: Method,
    pattern: &'static str,
    takes: Takes,
    handler: Handler,
    description: Description,
) -> Route {
    Route {
        method,
        pattern,
        access: Access::Public,
        needs: Needs::PlatformCalls,
        takes,
        handler,
        description,
    }
}

use Access::{Gated, Public};
use Needs::{Dashboard, Nothing};
use Takes::Json;

/// A handler that answers immediately. The type of its first parameter names the parts of the application it needs.
macro_rules! sync {
    ($handler:path) => {
        Handler::Sync(|app, request| $handler(app.part(), request))
    };
}

/// A handler that reads a body or queries other parts of the program.
macro_rules! async_handler {
    ($handler:path) => {
        Handler::Async(|app, request| Box::pin($handler(app.part(), request)))
    };
}

/// The table. `/health` comes first because it is requested most often.
#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    get("/health", Public, Nothing, sync!(status::health),
        r#"["Service", "Says that the process answers. Always open.", {"200": {"Health": {"status": "string"}}}]"#),
    get("/", Public, Nothing, sync!(pages::chat),
        r#"["Pages", "The chat page.", {"200": "text/html"}]"#),
    get("/dashboard/static/*", Public, Nothing, sync!(assets::serve),
        r#"["Pages", "Scripts, styles, fonts and pictures of the pages.", {"200": "*/*", "304": ""}]"#),
    get("/favicon.ico", Gated, Dashboard, sync!(assets::favicon),
        r#"["Pages", "The icon, for browsers that show a response without a page.", {"200": "*/*", "304": ""}]"#),
    hook("/webhook/trigger", async_handler!(webhook::trigger),
        r#"["Webhooks", "Runs a turn, or a SOP, and waits for the reply.", {"200": "Answer", "404": "Problem", "429": "Problem", "502": "Problem", "503": "Problem", "504": "Problem"}, {}, "Trigger"]"#),
    called(Method::GET, "/webhook/whatsapp", Takes::Nothing, sync!(platform_calls::challenge),
        r#"["Webhooks", "Meta's verification of the address, while the WhatsApp channel is on.", {"200": "text/plain", "403": "Problem"}, {"hub.mode": "string", "hub.verify_token": "string", "hub.challenge": "string"}]"#),
    called(Method::POST, "/webhook/whatsapp", Json, async_handler!(platform_calls::take),
        r#"["Webhooks", "Meta's events for the WhatsApp channel, under their own signature. While the channel is off, the next route answers.", {"200": "text/plain", "403": "Problem", "503": "Problem"}, {}, "Object"]"#),
    hook("/webhook/{channel}", async_handler!(webhook::channel),
        r#"["Webhooks", "Continues the session of that channel.", {"200": "Answer", "429": "Problem", "502": "Problem", "503": "Problem", "504": "Problem"}, {}, {"WebhookText": {"text": "string"}}]"#),
    get("/ws/chat", Gated, Nothing, Handler::Socket(SocketKind::Chat),
        r#"["Sockets", "The chat socket: a WebSocket upgrade; see docs/contract/sockets.md for the frames.", {"101": "", "426": "Problem"}, {"session": "string"}]"#),
    get("/ws/dashboard", Gated, Dashboard, Handler::Socket(SocketKind::Dashboard),
        r#"["Sockets", "The dashboard socket with live events: a WebSocket upgrade; see docs/contract/sockets.md for the frames.", {"101": "", "426": "Problem"}]"#),
    get("/dashboard", Gated, Dashboard, async_handler!(pages::dashboard),
        r#"["Pages", "The dashboard; with 401, the page that asks for the token.", {"200": "text/html", "303": "", "401": "text/html"}]"#),
    get("/api/status", Gated, Nothing, async_handler!(status::status),
        r#"["Service", "The state of the service: version, model, channels.", {"200": "Status"}]"#),
    get("/docs", Gated, Dashboard, sync!(pages::docs),
        r#"["Pages", "This documentation.", {"200": "text/html"}]"#),
    get("/docs/handbook", Gated, Dashboard, sync!(handbook::index),
        r#"["Pages", "The index of the handbook.", {"200": "text/html", "304": ""}]"#),
    get("/docs/handbook/{page}", Gated, Dashboard, sync!(handbook::page),
        r#"["Pages", "A page of the handbook.", {"200": "text/html", "304": "", "404": "Problem"}]"#),
    get("/docs/reference/{page}", Gated, Dashboard, sync!(handbook::reference),
        r#"["Pages", "A document that the handbook links to.", {"200": "text/html", "304": "", "404": "Problem"}]"#),
    get("/openapi.json", Gated, Dashboard, sync!(openapi_document),
        r#"["Service", "This document.", {"200": "Object"}]"#),
    get("/metrics", Gated, Nothing, async_handler!(metrics::show),
        r#"["Service", "Counters and histograms for Prometheus.", {"200": "text/plain"}]"#),
    api(Method::POST, "/api/sign-out", Takes::Nothing, async_handler!(sign_out::sign_out),
        r#"["Service", "Revokes the session cookie and closes its sockets.", {"200": "Object", "204": ""}]"#),
    api(Method::GET, "/api/sign-ins", Takes::Nothing, sync!(sign_ins::list),
        r#"["Service", "The browsers that are signed in.", {"200": "SignIns"}]"#),
    api(Method::DELETE, "/api/sign-ins/{id}", Takes::Nothing, async_handler!(sign_ins::end),
        r#"["Service", "Ends a sign-in remotely.", {"204": ""}]"#),
    api(Method::GET, "/api/sessions", Takes::Nothing, async_handler!(sessions::list),
        r#"["Sessions", "Conversations, newest first.", {"200": "SessionList"}, {"limit": "1-1000", "cursor": "string", "q": "string"}]"#),
    api(Method::GET, "/api/sessions/recordings", Takes::Nothing, async_handler!(recordings::list),
        r#"["Recordings", "The recordings of sessions, newest first.", {"200": "RecordingList"}, {"limit": "1-1000", "cursor": "string"}]"#),
    api(Method::GET, "/api/sessions/recordings/{name}", Takes::Nothing, async_handler!(recordings::show),
        r#"["Recordings", "A summary of a recording.", {"200": "Recording"}]"#),
    api(Method::DELETE, "/api/sessions/recordings/{name}", Takes::Nothing, async_handler!(recordings::remove),
        r#"["Recordings", "Removes a recording.", {"204": "", "409": "Problem"}]"#),
    api(Method::GET, "/api/sessions/recordings/{name}/verify", Takes::Nothing, async_handler!(recordings::verify),
        r#"["Recordings", "Verifies a recording.", {"200": "RecordingVerified"}]"#),
    api(Method::GET, "/api/sessions/recordings/{name}/events", Takes::Nothing, async_handler!(recordings::events),
        r#"["Recordings", "The events of a recording.", {"200": "RecordedEvents"}, {"layer": "string", "type": "string", "after": "string", "limit": "1-1000"}]"#),
    api(Method::GET, "/api/sessions/recordings/{name}/snapshots", Takes::Nothing, async_handler!(recordings::snapshots),
        r#"["Recordings", "The snapshots of a recording.", {"200": "Snapshots"}]"#),
    api(Method::GET, "/api/sessions/recordings/{name}/snapshots/{n}", Takes::Nothing, async_handler!(recordings::snapshot),
        r#"["Recordings", "The state at a snapshot.", {"200": "SnapshotState"}]"#),
    api(Method::GET, "/api/sessions/recordings/{name}/diff", Takes::Nothing, async_handler!(recordings::diff),
        r#"["Recordings", "The differences between two snapshots of a recording.", {"200": "SnapshotDifference"}, {"from": "string", "to": "string"}]"#),
    api(Method::GET, "/api/sessions/recordings/{name}/download", Takes::Nothing, async_handler!(recordings::download),
        r#"["Recordings", "The recording as a file.", {"200": "*/*"}]"#),
    api(Method::POST, "/api/sessions/recordings/{name}/replay/{n}", Takes::Nothing, async_handler!(recordings::replay),
        r#"["Recordings", "A preview of a resume from a snapshot; changes nothing.", {"200": "SnapshotState"}]"#),
    api(Method::POST, "/api/sessions/recordings/{name}/resume/{n}", Takes::Nothing, async_handler!(recordings::resume),
        r#"["Recordings", "Creates a session with the state of a snapshot.", {"201": {"SessionNamed": {"session_id": "string"}}}]"#),
    api(Method::GET, "/api/sessions/{id}", Takes::Nothing, async_handler!(sessions::show),
        r#"["Sessions", "A conversation with its newest messages, or those before, after or around one.", {"200": "Conversation", "204": ""}, {"limit": "1-1000", "before": "string", "after": "string", "around": "string", "optional": "true|false"}]"#),
    api(Method::DELETE, "/api/sessions/{id}", Takes::Nothing, async_handler!(sessions::delete),
        r#"["Sessions", "Removes a conversation.", {"200": "SessionDone", "412": "ChangedProblem"}]"#),
    api(Method::PATCH, "/api/sessions/{id}", Json, async_handler!(sessions::patch),
        r#"["Sessions", "Changes the title and the settings of a conversation. Absent fields stay unchanged, null unsets one.", {"200": "Session", "412": "ChangedProblem"}, {}, {"SessionPatch": {"title?": "string", "model?": "string?", "effort?": "string?", "instructions?": "string?", "pinned?": "boolean", "archived?": "boolean", "folder?": "string?"}}]"#),
    api(Method::GET, "/api/search", Takes::Nothing, async_handler!(search::search),
        r#"["Sessions", "Messages in all conversations that contain all the words, newest first.", {"200": "FoundMessages"}, {"q": "string", "limit": "1-100", "cursor": "string", "session": "string"}]"#),
    api(Method::PUT, "/api/uploads", Takes::File, async_handler!(uploads::keep),
        r#"["Sessions", "Keeps a file for a message, which names it as `attachments: [{upload: id}]`. Gone after a day.", {"200": {"Upload": {"id": "string", "name": "string", "mime": "string", "size": "integer"}}, "413": "Problem", "415": "Problem"}, {"name": "string"}]"#),
    api(Method::POST, "/api/transcribe", Takes::File, async_handler!(transcribe::transcribe),
        r#"["Sessions", "Transcribes recorded speech with the configured service. Nothing is kept.", {"200": {"Heard": {"text": "string"}}, "409": "Problem", "415": "Problem", "429": "Problem", "502": "Problem", "504": "Problem"}, {"name": "string"}]"#),
    api(Method::GET, "/api/models", Takes::Nothing, async_handler!(models::list),
        r#"["Sessions", "The models that a conversation or a message may choose.", {"200": "ModelList"}, {"q": "string", "limit": "1-2000"}]"#),
    api(Method::POST, "/api/models/offered", Json, async_handler!(models::offered),
        r#"["Configuration", "The models that a service offers, while no model is set up.", {"200": {"ModelsOffered": {"models": ["string"]}}, "409": "Problem"}, {}, "ModelWish"]"#),
    api(Method::POST, "/api/models/setup", Json, async_handler!(models::set_up),
        r#"["Configuration", "Tests the first model with a short question, stores its key as a credential, and applies it. Refused once a model is set up.", {"200": {"ModelSetUp": {"provider": "string", "model": "string", "first_token_ms": "integer?", "warnings": ["string"]}}, "409": "Problem"}, {}, {"ModelWish": {"provider": "string", "host?": "string", "region?": "string", "model_id?": "string", "key?": "string"}}]"#),
    api(Method::POST, "/api/sessions/{id}/reset", Takes::Nothing, async_handler!(sessions::reset),
        r#"["Sessions", "Empties a conversation.", {"200": "SessionDone"}]"#),
    api(Method::POST, "/api/sessions/{id}/switch", Json, async_handler!(sessions::switch),
        r#"["Sessions", "Chooses another version of an answer or a question, together with its continuation.", {"200": "SessionDone", "409": "Problem"}, {}, {"SwitchRequest": {"turn": "string"}}]"#),
    api(Method::POST, "/api/sessions/{id}/fork", Json, async_handler!(fork::fork),
        r#"["Sessions", "A new conversation with the history of this one up to a message, or to the end of a turn.", {"201": {"SessionForked": {"session_id": "string"}}, "409": "Problem"}, {}, {"ForkRequest": {"message_id?": "string", "turn?": "string"}}]"#),
    api(Method::POST, "/api/sessions/{id}/stop", Takes::Nothing, async_handler!(sessions::stop),
        r#"["Sessions", "Stops the turns of a conversation.", {"200": {"SessionStopped": {"status": "string", "session_id": "string", "stopped": "integer"}}}]"#),
    api(Method::GET, "/api/sessions/{id}/export", Takes::Nothing, async_handler!(export::export),
        r#"["Sessions", "A whole conversation as a file.", {"200": "*/*"}, {"format": "json|markdown"}]"#),
    api(Method::GET, "/api/config", Takes::Nothing, async_handler!(config::dump),
        r#"["Configuration", "The configuration in force, with every secret masked.", {"200": "Object"}]"#),
    api(Method::PATCH, "/api/config", Json, async_handler!(config::edit),
        r#"["Configuration", "Changes keys in the file and keeps its comments. Null removes a key; secrets are refused. A change that loosens protection needs the token once more.", {"200": "ConfigEdited", "403": "UnconfirmedProblem", "409": "Problem", "412": "ChangedProblem"}, {"dry_run": "true|false", "header X-Aethon-Confirm": "string"}, "Object"]"#),
    api(Method::GET, "/api/config/origins", Takes::Nothing, async_handler!(config::origins),
        r#"["Configuration", "Each key with its value, the source of the value, and a description.", {"200": "ConfigKeys"}]"#),
    api(Method::POST, "/api/config/reload", Takes::Nothing, async_handler!(config::reload),
        r#"["Configuration", "Reads the file again, as on SIGHUP, and applies the keys that can change at run time.", {"200": "ConfigReloaded"}]"#),
    api(Method::GET, "/api/config/schema", Takes::Nothing, sync!(config::schema),
        r#"["Configuration", "The JSON Schema of the configuration file.", {"200": "Object"}]"#),
    api(Method::GET, "/api/approvals", Takes::Nothing, sync!(approvals::list),
        r#"["Approvals", "Open approval questions, and permissions for the rest of a conversation.", {"200": "Approvals"}]"#),
    api(Method::POST, "/api/approvals/{id}", Json, async_handler!(approvals::decide),
        r#"["Approvals", "Answers an approval question, once.", {"200": {"Decided": {"status": "string", "id": "string", "decision": "approve|deny", "scope": "once|session"}}}, {}, {"Decision": {"decision": "approve|deny", "scope?": "once|session", "input?": "object"}}]"#),
    api(Method::GET, "/api/memory", Takes::Nothing, async_handler!(memory::list),
        r#"["Memory", "Memories, newest first.", {"200": "MemoryList"}, {"limit": "1-1000", "cursor": "string", "q": "string", "category": "string", "scope": "string"}]"#),
    api(Method::POST, "/api/memory", Json, async_handler!(memory::store),
        r#"["Memory", "Stores a memory. Secrets are refused; a duplicate returns the existing memory.", {"201": "MemoryEntry", "200": "MemoryEntry", "409": "Problem"}, {}, "NewMemory"]"#),
    api(Method::GET, "/api/memory/stats", Takes::Nothing, async_handler!(memory::stats),
        r#"["Memory", "The number of memories.", {"200": "MemoryStats"}]"#),
    api(Method::POST, "/api/memory/search", Json, async_handler!(memory::search),
        r#"["Memory", "Searches memories; best match first.", {"200": "MemoryResults", "409": "Problem"}, {}, "MemoryQuestion"]"#),
    api(Method::GET, "/api/memory/{id}", Takes::Nothing, async_handler!(memory::show),
        r#"["Memory", "A memory with its earlier texts.", {"200": "Object", "409": "Problem"}]"#),
    api(Method::PUT, "/api/memory/{id}", Json, async_handler!(memory::correct),
        r#"["Memory", "Corrects a memory; absent fields stay unchanged.", {"200": "MemoryEntry", "409": "Problem", "412": "ChangedProblem"}, {}, "MemoryCorrection"]"#),
    api(Method::DELETE, "/api/memory/{id}", Takes::Nothing, async_handler!(memory::forget),
        r#"["Memory", "Forgets a memory and its history.", {"204": "", "409": "Problem", "412": "ChangedProblem"}]"#),
    api(Method::DELETE, "/api/approvals/granted/{id}", Takes::Nothing, async_handler!(approvals::take_back),
        r#"["Approvals", "Withdraws a permission for the rest of a conversation.", {"204": ""}]"#),
    api(Method::GET, "/api/audit", Takes::Nothing, async_handler!(audit::newest),
        r#"["Approvals", "The audit log, newest first.", {"200": "Audit"}, {"limit": "1-1000", "action": "approval|refusal|grant|tools|sign_in|access|deletion|config|secret|pairing|backup"}]"#),
    api(Method::GET, "/api/backups", Takes::Nothing, async_handler!(backups::list),
        r#"["Service", "The backups, and when the next one is due.", {"200": "BackupList"}]"#),
    api(Method::POST, "/api/backups", Takes::Nothing, async_handler!(backups::start),
        r#"["Service", "Starts a backup, which is listed when it is done.", {"202": {"BackupStarted": {"status": "string"}}, "409": "Problem"}]"#),
    api(Method::GET, "/api/instances", Takes::Nothing, async_handler!(instances::list),
        r#"["Service", "The daemons that serve the same storage; one, unless it is on a server.", {"200": {"InstanceList": {"instances": ["Instance"]}}}]"#),
    api(Method::POST, "/api/sign-in-codes", Json, async_handler!(sign_in_codes::issue),
        r#"["Service", "Creates an address with which another device can sign in once within five minutes, and its QR code.", {"201": {"SignInCode": {"url": "string", "expires_at": "time", "qr": ["string"]}}, "409": "Problem"}, {}, {"SignInCodeWanted": {"address": "string"}}]"#),
    api(Method::GET, "/api/push/key", Takes::Nothing, sync!(push::key),
        r#"["Push", "The key that a browser needs to subscribe to notifications.", {"200": {"PushKey": {"key": "string"}}}]"#),
    api(Method::POST, "/api/push/subscriptions", Json, async_handler!(push::subscribe),
        r#"["Push", "Notifies a device while no page is in sight, as long as its sign-in lasts. The body is a `PushSubscription` as browsers give it.", {"201": {"PushSubscribed": {"status": "string"}}, "404": "Problem", "503": "Problem"}, {}, {"PushSubscription": {"endpoint": "string", "keys": "object"}}]"#),
    api(Method::DELETE, "/api/push/subscriptions", Json, async_handler!(push::unsubscribe),
        r#"["Push", "Ends the notifications of a device.", {"204": "", "404": "Problem", "503": "Problem"}, {}, {"PushEndpoint": {"endpoint": "string"}}]"#),
    api(Method::GET, "/api/features", Takes::Nothing, sync!(features::list),
        r#"["Service", "The assistant's features with their states, and the reason where one does not work.", {"200": "Features"}]"#),
    api(Method::GET, "/api/usage", Takes::Nothing, async_handler!(usage::usage),
        r#"["Usage", "Usage and cost of model calls by day, model and kind.", {"200": "UsageReport"}, {"days": "1-366"}]"#),
    api(Method::GET, "/api/ready", Takes::Nothing, sync!(ready::ready),
        r#"["Service", "Says whether the service can accept messages.", {"200": {"Ready": {"ready": "boolean"}}, "503": "Problem"}]"#),
    api(Method::GET, "/api/logs", Takes::Nothing, sync!(logs::newest),
        r#"["Logs", "The newest log records.", {"200": "Logs"}, {"limit": "1-1000", "level": "trace|debug|info|warn|error", "q": "string", "target": "string"}]"#),
    api(Method::GET, "/api/telemetry", Takes::Nothing, async_handler!(telemetry::newest),
        r#"["Telemetry", "Measurements, newest first, with a summary.", {"200": "Telemetry"}, {"limit": "1-1000", "type": "tool_call|model_call|turn|denial|approval|delivery|job|channel|error", "since": "time", "cursor": "string", "days": "0-31"}]"#),
    api(Method::GET, "/api/channels", Takes::Nothing, async_handler!(channels::list),
        r#"["Channels", "The channels with their states.", {"200": "Channels"}]"#),
    api(Method::POST, "/api/channels/{name}/test", Json, async_handler!(channel_setup::test),
        r#"["Channels", "Asks a messenger's platform whether it lets the assistant in, with these settings on top of the present ones. Nothing is changed.", {"200": "ChannelTested", "403": "Problem"}, {}, {"ChannelTrial": {"settings?": "object?"}}]"#),
    api(Method::POST, "/api/channels/{name}/setup", Json, async_handler!(channel_setup::set_up),
        r#"["Channels", "Tests a messenger, keeps its secrets as credentials, and turns it on in the configuration.", {"200": "ChannelSetUp", "403": "Problem", "409": "Problem"}, {"header X-Aethon-Confirm": "string"}, "ChannelWish"]"#),
    api(Method::GET, "/api/outbox", Takes::Nothing, async_handler!(outbox::list),
        r#"["Channels", "Waiting and failed deliveries, newest first.", {"200": "Outbox"}, {"limit": "1-1000", "state": "waiting|failed"}]"#),
    api(Method::DELETE, "/api/outbox/{id}", Takes::Nothing, async_handler!(outbox::remove),
        r#"["Channels", "Removes a delivery that has not arrived.", {"204": ""}]"#),
    api(Method::POST, "/api/outbox/{id}/retry", Takes::Nothing, async_handler!(outbox::retry),
        r#"["Channels", "Tries a delivery again, now.", {"200": "DoneWithId"}]"#),
    api(Method::GET, "/api/pairings", Takes::Nothing, async_handler!(pairings::list),
        r#"["Channels", "The senders who were paired.", {"200": "Pairings"}]"#),
    api(Method::POST, "/api/pairings", Json, async_handler!(pairings::invite),
        r#"["Channels", "Creates a pairing code.", {"200": {"PairingCode": {"code": "string", "expires_at": "time"}}, "404": "Problem"}, {}, {"PairingWanted": {"channel": "string"}}]"#),
    api(Method::POST, "/api/pairings/approve", Json, async_handler!(pairings::approve),
        r#"["Channels", "Admits the sender who received this code.", {"200": "Pairing", "404": "Problem"}, {}, {"PairingGiven": {"code": "string"}}]"#),
    api(Method::DELETE, "/api/pairings/{channel}/{sender}", Takes::Nothing, async_handler!(pairings::revoke),
        r#"["Channels", "Revokes a pairing.", {"204": ""}]"#),
    api(Method::GET, "/api/sops", Takes::Nothing, async_handler!(sops::list),
        r#"["SOPs", "The SOPs, by name.", {"200": "SopList"}]"#),
    api(Method::GET, "/api/sops/{name}", Takes::Nothing, async_handler!(sops::show),
        r#"["SOPs", "A SOP with its text. With `invalid` also a file that is not a valid SOP, with its faults.", {"200": "Sop"}, {"invalid": "true|false"}]"#),
    api(Method::GET, "/api/sops/{name}/versions", Takes::Nothing, async_handler!(sops::versions),
        r#"["SOPs", "Earlier texts of a SOP of the workspace, even if it was removed, newest first.", {"200": {"SopVersions": {"count": "integer", "versions": [{"SopVersion": {"replaced_at": "time", "content": "string"}}]}}}]"#),
    api(Method::POST, "/api/sops/check", Json, async_handler!(sops::check),
        r#"["SOPs", "The faults of a SOP text, line by line.", {"200": "SopChecked"}, {}, "SopContent"]"#),
    api(Method::POST, "/api/sops/{name}/run", Json, async_handler!(sops::run),
        r#"["SOPs", "Begins a run in a session of the web chat.", {"202": {"SopBegun": {"status": "string", "session_id": "string", "turn": "string"}}, "409": "Problem", "503": "Problem"}, {}, "SopRunRequest"]"#),
    api(Method::PUT, "/api/sops/{name}", Json, async_handler!(sops::save),
        r#"["SOPs", "Writes a SOP of the workspace. `If-None-Match: *` creates a new one and never replaces an existing one.", {"200": "Sop", "409": "Problem", "412": "ChangedProblem"}, {"header If-None-Match": "string"}, "SopContent"]"#),
    api(Method::DELETE, "/api/sops/{name}", Takes::Nothing, async_handler!(sops::remove),
        r#"["SOPs", "Removes a SOP of the workspace.", {"204": "", "409": "Problem", "412": "ChangedProblem"}]"#),
    api(Method::GET, "/api/prompts", Takes::Nothing, async_handler!(prompts::list),
        r#"["SOPs", "The saved prompts, by name.", {"200": {"PromptList": {"prompts": ["SavedPrompt"], "count": "integer"}}}]"#),
    api(Method::GET, "/api/prompts/{name}", Takes::Nothing, async_handler!(prompts::show),
        r#"["SOPs", "A saved prompt.", {"200": "SavedPrompt"}]"#),
    api(Method::PUT, "/api/prompts/{name}", Json, async_handler!(prompts::save),
        r#"["SOPs", "Saves a prompt. `If-None-Match: *` makes a new one: nothing of that name is replaced.", {"200": "SavedPrompt", "412": "ChangedProblem"}, {"header If-None-Match": "string"}, {"PromptContent": {"content": "string"}}]"#),
    api(Method::DELETE, "/api/prompts/{name}", Takes::Nothing, async_handler!(prompts::remove),
        r#"["SOPs", "Removes a saved prompt.", {"204": "", "412": "ChangedProblem"}]"#),
    api(Method::GET, "/api/sop-runs", Takes::Nothing, async_handler!(sops::runs),
        r#"["SOPs", "Runs of SOPs, newest first.", {"200": "SopRuns"}, {"limit": "1-500"}]"#),
    api(Method::POST, "/api/sop-runs/{id}/resume", Takes::Nothing, async_handler!(sops::resume),
        r#"["SOPs", "Resumes a run that was interrupted.", {"200": {"SopResumed": {"status": "string", "run_id": "string", "turn": "string"}}, "409": "Problem"}]"#),
    api(Method::GET, "/api/agents", Takes::Nothing, async_handler!(agents::all),
        r#"["Agents", "Active agents and their history.", {"200": "AgentList"}, {"limit": "1-1000"}]"#),
    api(Method::GET, "/api/agents/active", Takes::Nothing, sync!(agents::active),
        r#"["Agents", "Active agents.", {"200": "ActiveAgents"}]"#),
    api(Method::GET, "/api/agents/history", Takes::Nothing, async_handler!(agents::history),
        r#"["Agents", "The history of agents.", {"200": "AgentHistory"}, {"limit": "1-1000"}]"#),
    api(Method::GET, "/api/work", Takes::Nothing, async_handler!(work::list),
        r#"["Work", "Multi-turn work, newest first.", {"200": "WorkList"}, {"limit": "1-500"}]"#),
    api(Method::POST, "/api/work", Json, async_handler!(work::plan),
        r#"["Work", "Plans a piece of work.", {"201": "Work", "409": "Problem"}, {}, "NewWork"]"#),
    api(Method::GET, "/api/work/{id}", Takes::Nothing, async_handler!(work::show),
        r#"["Work", "A piece of work with its tasks.", {"200": "Work"}]"#),
    api(Method::POST, "/api/work/{id}/cancel", Takes::Nothing, async_handler!(work::cancel),
        r#"["Work", "Ends a piece of work.", {"200": "Work", "409": "Problem"}]"#),
    api(Method::POST, "/api/work/{id}/pause", Takes::Nothing, async_handler!(work::pause),
        r#"["Work", "Pauses a piece of work, or `all` of it.", {"200": "Object", "409": "Problem"}]"#),
    api(Method::POST, "/api/work/{id}/resume", Takes::Nothing, async_handler!(work::resume),
        r#"["Work", "Resumes a piece of work, or `all` of it.", {"200": "Object", "409": "Problem"}]"#),
    api(Method::GET, "/api/scheduler", Takes::Nothing, async_handler!(scheduler::list),
        r#"["Scheduler", "The scheduled jobs, by name.", {"200": "JobList"}, {"limit": "1-1000", "cursor": "string"}]"#),
    api(Method::GET, "/api/scheduler/jobs", Takes::Nothing, async_handler!(scheduler::list),
        r#"["Scheduler", "The scheduled jobs, by name.", {"200": "JobList"}, {"limit": "1-1000", "cursor": "string"}]"#),
    api(Method::POST, "/api/scheduler/jobs", Json, async_handler!(scheduler::add),
        r#"["Scheduler", "Adds a scheduled job.", {"201": "Job", "409": "Problem"}, {}, "NewJob"]"#),
    api(Method::GET, "/api/scheduler/jobs/{id}", Takes::Nothing, async_handler!(scheduler::show),
        r#"["Scheduler", "A scheduled job.", {"200": "Job"}]"#),
    api(Method::PUT, "/api/scheduler/jobs/{id}", Json, async_handler!(scheduler::change),
        r#"["Scheduler", "Changes a job; what is left out stays.", {"200": "Job", "409": "Problem", "412": "ChangedProblem"}, {}, "NewJob"]"#),
    api(Method::DELETE, "/api/scheduler/jobs/{id}", Takes::Nothing, async_handler!(scheduler::remove),
        r#"["Scheduler", "Removes a job.", {"204": "", "409": "Problem", "412": "ChangedProblem"}]"#),
    api(Method::PATCH, "/api/scheduler/jobs/{id}", Json, async_handler!(scheduler::pause),
        r#"["Scheduler", "Pauses or resumes a job.", {"200": "Job", "409": "Problem", "412": "ChangedProblem"}, {}, {"JobSwitch": {"enabled": "boolean"}}]"#),
    api(Method::POST, "/api/scheduler/jobs/{id}/run", Takes::Nothing, async_handler!(scheduler::run),
        r#"["Scheduler", "Runs a job now.", {"201": "JobRun", "409": "Problem"}]"#),
    api(Method::GET, "/api/scheduler/jobs/{id}/runs", Takes::Nothing, async_handler!(scheduler::runs),
        r#"["Scheduler", "The runs of a job, newest first.", {"200": "JobRuns"}, {"limit": "1-200"}]"#),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_public_rows_are_the_exceptions_of_the_specification() {
        let public: Vec<&str> =
            ROUTES.iter().filter(|row| row.access == Public).map(|row| row.pattern).collect();
        let hooks = ["/webhook/trigger", "/webhook/whatsapp", "/webhook/whatsapp", "/webhook/{channel}"];
        assert_eq!(public, [&["/health", "/", "/dashboard/static/*"][..], &hooks[..]].concat());
    }

    #[test]
    fn without_the_dashboard_only_the_chat_and_the_status_are_left() {
        let left: Vec<&str> = ROUTES
            .iter()
            .filter(|row| row.needs == Nothing && row.access == Gated)
            .map(|row| row.pattern)
            .collect();
        assert_eq!(left, ["/ws/chat", "/api/status", "/metrics"]);
    }

    #[test]
    fn get_routes_take_no_body() {
        for row in ROUTES.iter().filter(|row| row.method == Method::GET) {
            assert_eq!(row.takes, Takes::Nothing, "{}", row.pattern);
        }
    }
}
