//! The table of all routes: method, pattern, access, condition, body and handler.
//!
//! The handlers of the JSON API are in the files below, one per resource; those of the pages, files, webhooks and
//! sockets have modules of their own. A route is a row here and a function there, and nothing else. What follows the
//! handler is the row's part of the OpenAPI document: what it does, and the types of its answers, its query and its body.
//!
//! Access is a column, and whatever is not in the table is gated, so a forgotten row yields 401.

use aethon_core::backup::BackupList;
use aethon_core::event::ConfigNews;
use aethon_core::memory::{MemoryEntry, MemoryRecord};
use aethon_core::pairing::{PairedSender, PairingCode};
use aethon_core::prompts::SavedPrompt;
use aethon_core::schedule::{JobRequest, RunRecord};
use aethon_core::service::ConfigEdited;
use aethon_core::session::SessionPatch;
use aethon_core::upload::Upload;
use aethon_core::usage::UsageReport;
use aethon_core::work::Work;
use http::Method;
use serde_json::{Map, Value};

mod agents;
mod approvals;
mod audit;
mod backups;
mod begin;
mod bin;
mod channel_setup;
mod channels;
mod commands;
mod config;
mod export;
mod features;
mod file_changes;
mod fork;
mod instances;
mod logs;
mod memory;
mod metrics;
mod models;
mod monitor;
mod outbox;
mod pairings;
mod prompts;
mod push;
mod ready;
mod recordings;
mod row;
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

pub(crate) use self::row::{Access, Handler, HandlerFuture, Needs, Route, Takes};
use self::row::{api, async_handler, called, get, hook, sync};
use crate::app::About;
use crate::base_path::BasePath;
use crate::json;
use crate::openapi::{self, told};
use crate::request::Request;
use crate::response::{self, HandlerResult};
use crate::ws::SocketKind;
use crate::{assets, handbook, pages, platform_calls, webhook, ws};

/// A JSON object of which no more is known here.
type Object = Map<String, Value>;

/// `GET /openapi.json`: this table in machine-readable form.
fn openapi_document((about, base): (About, BasePath), _request: &Request) -> HandlerResult {
    response::json(&openapi::document(about.version, &base.address(""), ROUTES.iter().map(Route::described)))
}

use Access::{Gated, Public};
use Needs::{Dashboard, Nothing};
use Takes::Json;

/// The table. `/health` comes first because it is requested most often.
#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    get("/health", Public, Nothing, sync!(status::health),
        told("Service", "Says that the process answers. Always open.").ok::<status::Health>()),
    get("/", Public, Nothing, sync!(pages::chat),
        told("Pages", "The chat page.").media(200, &["text/html"])),
    get("/dashboard/static/*", Public, Nothing, sync!(assets::serve),
        told("Pages", "Scripts, styles, fonts and pictures of the pages.").media(200, &["*/*"]).empty(304)),
    get("/favicon.ico", Gated, Dashboard, sync!(assets::favicon),
        told("Pages", "The icon, for browsers that show a response without a page.").media(200, &["*/*"])
            .empty(304)),
    hook("/webhook/trigger", async_handler!(webhook::trigger),
        told("Webhooks", "Runs a turn, or a SOP, and waits for the reply.").ok::<webhook::Answered<'static>>()
            .fails(&[404, 429, 502, 503, 504]).headers::<openapi::Signed>().body::<webhook::Trigger>()),
    called(Method::GET, "/webhook/whatsapp", Takes::Nothing, sync!(platform_calls::challenge),
        told("Webhooks", "Meta's verification of the address, while the WhatsApp channel is on.")
            .media(200, &["text/plain"]).fails(&[403]).query::<platform_calls::Verification>()),
    called(Method::POST, "/webhook/whatsapp", Json, async_handler!(platform_calls::take),
        told("Webhooks", "Meta's events for the WhatsApp channel, under their own signature. While the channel is off, the next route answers.")
            .media(200, &["text/plain"]).fails(&[403, 503]).headers::<platform_calls::Signature>()
            .body::<Object>()),
    hook("/webhook/{channel}", async_handler!(webhook::channel),
        told("Webhooks", "Continues the session of that channel.").ok::<webhook::Answered<'static>>()
            .fails(&[429, 502, 503, 504]).headers::<openapi::Signed>().body::<webhook::Text>()),
    get("/ws/chat", Gated, Nothing, Handler::Socket(SocketKind::Chat),
        told("Sockets", "The chat socket: a WebSocket upgrade; see docs/contract/sockets.md for the frames.")
            .empty(101).fails(&[426]).query::<ws::Asked>()),
    get("/ws/dashboard", Gated, Dashboard, Handler::Socket(SocketKind::Dashboard),
        told("Sockets", "The dashboard socket with live events: a WebSocket upgrade; see docs/contract/sockets.md for the frames.")
            .empty(101).fails(&[426])),
    get("/dashboard", Gated, Dashboard, async_handler!(pages::dashboard),
        told("Pages", "The dashboard; with 401, the page that asks for the token.").media(200, &["text/html"])
            .empty(303).media(401, &["text/html"])),
    get("/api/status", Gated, Nothing, async_handler!(status::status),
        told("Service", "The state of the service: version, model, channels.").ok::<status::Status<'static>>()),
    get("/docs", Gated, Dashboard, sync!(pages::docs),
        told("Pages", "This documentation.").media(200, &["text/html"])),
    get("/docs/handbook", Gated, Dashboard, sync!(handbook::index),
        told("Pages", "The index of the handbook.").media(200, &["text/html"]).empty(304)),
    get("/docs/handbook/{page}", Gated, Dashboard, sync!(handbook::page),
        told("Pages", "A page of the handbook.").media(200, &["text/html"]).empty(304).fails(&[404])),
    get("/docs/reference/{page}", Gated, Dashboard, sync!(handbook::reference),
        told("Pages", "A document that the handbook links to.").media(200, &["text/html"]).empty(304)
            .fails(&[404])),
    get("/openapi.json", Gated, Dashboard, sync!(openapi_document),
        told("Service", "This document.").ok::<Object>()),
    get("/metrics", Gated, Nothing, async_handler!(metrics::show),
        told("Service", "Counters and histograms for Prometheus.").media(200, &["text/plain"])),
    api(Method::POST, "/api/sign-out", Takes::Nothing, async_handler!(sign_out::sign_out),
        told("Service", "Revokes the session cookie and closes its sockets.").ok::<sign_out::Done>().empty(204)),
    api(Method::GET, "/api/sign-ins", Takes::Nothing, sync!(sign_ins::list),
        told("Service", "The browsers that are signed in.").ok::<sign_ins::List>()),
    api(Method::DELETE, "/api/sign-ins/{id}", Takes::Nothing, async_handler!(sign_ins::end),
        told("Service", "Ends a sign-in remotely.").empty(204)),
    api(Method::GET, "/api/sessions", Takes::Nothing, async_handler!(sessions::list),
        told("Sessions", "Conversations, newest first unless another order is wanted.").ok::<json::Page>().query::<sessions::Listing>()),
    api(Method::POST, "/api/sessions/new", Json, async_handler!(begin::begin),
        told("Sessions", "Begins a conversation without a message, with a title and settings.")
            .json::<json::Listed>(201).fails(&[409]).body::<begin::New>()),
    api(Method::GET, "/api/sessions/recordings", Takes::Nothing, async_handler!(recordings::list),
        told("Recordings", "The recordings of sessions, newest first unless another order is wanted.").ok::<json::RecordingList>()
            .query::<recordings::Listing>()),
    api(Method::GET, "/api/sessions/recordings/{name}", Takes::Nothing, async_handler!(recordings::show),
        told("Recordings", "A summary of a recording.").ok::<json::ShownRecording>()),
    api(Method::DELETE, "/api/sessions/recordings/{name}", Takes::Nothing, async_handler!(recordings::remove),
        told("Recordings", "Removes a recording.").empty(204).fails(&[409])),
    api(Method::GET, "/api/sessions/recordings/{name}/verify", Takes::Nothing, async_handler!(recordings::verify),
        told("Recordings", "Verifies a recording.").ok::<json::VerifiedRecording>()),
    api(Method::GET, "/api/sessions/recordings/{name}/events", Takes::Nothing, async_handler!(recordings::events),
        told("Recordings", "The events of a recording.").ok::<json::RecordedEvents<'static>>()
            .query::<recordings::Events>()),
    api(Method::GET, "/api/sessions/recordings/{name}/snapshots", Takes::Nothing, async_handler!(recordings::snapshots),
        told("Recordings", "The snapshots of a recording.").ok::<json::Snapshots>()),
    api(Method::GET, "/api/sessions/recordings/{name}/snapshots/{n}", Takes::Nothing, async_handler!(recordings::snapshot),
        told("Recordings", "The state at a snapshot.").ok::<json::SnapshotState>()),
    api(Method::GET, "/api/sessions/recordings/{name}/diff", Takes::Nothing, async_handler!(recordings::diff),
        told("Recordings", "The differences between two snapshots of a recording.")
            .ok::<json::SnapshotDifference>().query::<recordings::Between>()),
    api(Method::GET, "/api/sessions/recordings/{name}/download", Takes::Nothing, async_handler!(recordings::download),
        told("Recordings", "The recording as a file, or a part of it.").media(200, &["application/zip"])
            .media(206, &["application/zip"]).fails(&[416]).headers::<openapi::Range>()),
    api(Method::POST, "/api/sessions/recordings/{name}/replay/{n}", Takes::Nothing, async_handler!(recordings::replay),
        told("Recordings", "A preview of a resume from a snapshot; changes nothing.")
            .ok::<json::SnapshotState>()),
    api(Method::POST, "/api/sessions/recordings/{name}/resume/{n}", Takes::Nothing, async_handler!(recordings::resume),
        told("Recordings", "Creates a session with the state of a snapshot.").json::<recordings::Resumed>(201)),
    api(Method::GET, "/api/sessions/bin", Takes::Nothing, async_handler!(bin::list),
        told("Sessions", "Deleted conversations that can still be restored, last deleted first.").ok::<json::Bin>()
            .query::<bin::Listing>()),
    api(Method::DELETE, "/api/sessions/bin", Takes::Nothing, async_handler!(bin::empty),
        told("Sessions", "Deletes everything in the bin for good.").ok::<bin::Emptied>()),
    api(Method::DELETE, "/api/sessions/bin/{bin_id}", Takes::Nothing, async_handler!(bin::remove),
        told("Sessions", "Deletes a conversation of the bin for good.").empty(204)),
    api(Method::POST, "/api/sessions/bin/{bin_id}/restore", Takes::Nothing, async_handler!(bin::restore),
        told("Sessions", "Takes a conversation out of the bin.").ok::<sessions::Done<'static>>()),
    api(Method::GET, "/api/sessions/{id}/file-changes", Takes::Nothing, async_handler!(file_changes::list),
        told("Sessions", "The files that tools have changed in a conversation, oldest change first, or since the beginning of a turn.")
            .ok::<json::FileChangeList>().query::<file_changes::Listing>()),
    api(Method::POST, "/api/sessions/{id}/file-changes/undo", Json, async_handler!(file_changes::undo),
        told("Sessions", "Puts the files back that tools have changed since the beginning of a turn, as far as nobody has changed them since.")
            .ok::<json::FilesPutBack>().fails(&[409]).body::<file_changes::From>()),
    api(Method::POST, "/api/sessions/{id}/file-changes/redo", Takes::Nothing, async_handler!(file_changes::redo),
        told("Sessions", "Undoes the last of these.").ok::<json::FilesPutBack>().fails(&[409])),
    api(Method::GET, "/api/sessions/{id}", Takes::Nothing, async_handler!(sessions::show),
        told("Sessions", "A conversation with its newest messages, or those before, after or around one.")
            .ok::<json::Conversation>().empty(204).query::<sessions::Window>()),
    api(Method::DELETE, "/api/sessions/{id}", Takes::Nothing, async_handler!(sessions::delete),
        told("Sessions", "Moves a conversation to the bin; with `now=true`, or if `session.bin_days` is 0, deletes it for good.")
            .ok::<sessions::Done<'static>>().versioned().query::<sessions::Deleting>()),
    api(Method::POST, "/api/sessions/{id}/restore", Takes::Nothing, async_handler!(bin::restore_last),
        told("Sessions", "Takes the last deleted conversation of this id out of the bin. If another has the id by now, it gets a number behind it.")
            .ok::<sessions::Done<'static>>()),
    api(Method::PATCH, "/api/sessions/{id}", Json, async_handler!(sessions::patch),
        told("Sessions", "Changes the title and the settings of a conversation. Absent fields stay unchanged, null unsets one.")
            .ok::<json::Listed>().versioned().body::<SessionPatch>()),
    api(Method::GET, "/api/search", Takes::Nothing, async_handler!(search::search),
        told("Sessions", "Messages in all conversations that contain all the words, newest first.")
            .ok::<json::FoundMessages>().query::<search::Search>()),
    api(Method::PUT, "/api/uploads", Takes::File, async_handler!(uploads::keep),
        told("Sessions", "Keeps a file for a message, which names it as `attachments: [{upload: id}]`. Gone after a day.")
            .ok::<Upload>().fails(&[413, 415]).query::<uploads::Named>()),
    api(Method::POST, "/api/transcribe", Takes::File, async_handler!(transcribe::transcribe),
        told("Sessions", "Transcribes recorded speech with the configured service. Nothing is kept.")
            .ok::<transcribe::Heard>().fails(&[409, 415, 429, 502, 504]).query::<transcribe::Named>()),
    api(Method::GET, "/api/models", Takes::Nothing, async_handler!(models::list),
        told("Sessions", "The models that a conversation or a message may choose.").ok::<models::Offer>()
            .query::<models::Listing>()),
    api(Method::POST, "/api/models/offered", Json, async_handler!(models::offered),
        told("Configuration", "The models that a service offers, while no model is set up.")
            .ok::<models::Listed>().fails(&[409]).body::<models::Wish>()),
    api(Method::POST, "/api/models/setup", Json, async_handler!(models::set_up),
        told("Configuration", "Tests the first model with a short question, stores its key as a credential, and applies it. Refused once a model is set up.")
            .ok::<models::SetUp>().fails(&[409]).body::<models::Wish>()),
    api(Method::POST, "/api/sessions/{id}/reset", Takes::Nothing, async_handler!(sessions::reset),
        told("Sessions", "Empties a conversation.").ok::<sessions::Done<'static>>()),
    api(Method::POST, "/api/sessions/{id}/switch", Json, async_handler!(sessions::switch),
        told("Sessions", "Chooses another version of an answer or a question, together with its continuation.")
            .ok::<sessions::Done<'static>>().fails(&[409]).body::<sessions::Version>()),
    api(Method::POST, "/api/sessions/{id}/fork", Json, async_handler!(fork::fork),
        told("Sessions", "A new conversation with the history of this one up to a message, or to the end of a turn.")
            .json::<fork::Forked>(201).fails(&[409]).body::<fork::Wanted>()),
    api(Method::POST, "/api/sessions/{id}/stop", Takes::Nothing, async_handler!(sessions::stop),
        told("Sessions", "Stops the turns of a conversation.").ok::<sessions::Stopped<'static>>()),
    api(Method::GET, "/api/sessions/{id}/commands", Takes::Nothing, async_handler!(commands::list),
        told("Sessions", "The commands in the background of a conversation: those that run, and the last that have ended.")
            .ok::<json::CommandList>()),
    api(Method::POST, "/api/sessions/{id}/commands/{n}/stop", Takes::Nothing, async_handler!(commands::stop),
        told("Sessions", "Stops a command in the background, with everything that it has started.")
            .ok::<commands::Stopped<'static>>()),
    api(Method::GET, "/api/sessions/{id}/export", Takes::Nothing, async_handler!(export::export),
        told("Sessions", "A whole conversation as a file.").media(200, &["application/json", "text/markdown"])
            .query::<export::Writing>()),
    api(Method::GET, "/api/config", Takes::Nothing, async_handler!(config::dump),
        told("Configuration", "The configuration in force, with every secret masked.").ok::<Object>()),
    api(Method::PATCH, "/api/config", Json, async_handler!(config::edit),
        told("Configuration", "Changes keys in the file and keeps its comments. Null removes a key; secrets are refused. A change that loosens protection needs the token once more.")
            .ok::<ConfigEdited>().confirmed().versioned().fails(&[409]).query::<config::Editing>()
            .headers::<config::Confirm>().body::<Object>()),
    api(Method::GET, "/api/config/origins", Takes::Nothing, async_handler!(config::origins),
        told("Configuration", "Each key with its value, the source of the value, and a description.")
            .ok::<config::Keys>()),
    api(Method::POST, "/api/config/reload", Takes::Nothing, async_handler!(config::reload),
        told("Configuration", "Reads the file again, as on SIGHUP, and applies the keys that can change at run time.")
            .ok::<ConfigNews>()),
    api(Method::GET, "/api/config/schema", Takes::Nothing, sync!(config::schema),
        told("Configuration", "The JSON Schema of the configuration file.").ok::<Object>()),
    api(Method::GET, "/api/approvals", Takes::Nothing, sync!(approvals::list),
        told("Approvals", "Open approval questions, and permissions for the rest of a conversation.")
            .ok::<approvals::Pending>()),
    api(Method::POST, "/api/approvals/{id}", Json, async_handler!(approvals::decide),
        told("Approvals", "Answers an approval question, once.").ok::<approvals::Decided<'static>>()
            .body::<approvals::Wanted>()),
    api(Method::GET, "/api/memory", Takes::Nothing, async_handler!(memory::list),
        told("Memory", "Memories, newest first unless another order is wanted.").ok::<json::MemoryList>().query::<memory::Listing>()),
    api(Method::POST, "/api/memory", Json, async_handler!(memory::store),
        told("Memory", "Stores a memory. Secrets are refused; a duplicate returns the existing memory.")
            .json::<MemoryEntry>(201).ok::<MemoryEntry>().fails(&[409]).body::<memory::Fact>()),
    api(Method::GET, "/api/memory/stats", Takes::Nothing, async_handler!(memory::stats),
        told("Memory", "The number of memories.").ok::<json::MemoryNumbers>()),
    api(Method::POST, "/api/memory/search", Json, async_handler!(memory::search),
        told("Memory", "Searches memories; best match first.").ok::<json::MemoryResults>().fails(&[409])
            .body::<memory::Question>()),
    api(Method::GET, "/api/memory/{id}", Takes::Nothing, async_handler!(memory::show),
        told("Memory", "A memory with its earlier texts.").ok::<MemoryRecord>().fails(&[409])),
    api(Method::PUT, "/api/memory/{id}", Json, async_handler!(memory::correct),
        told("Memory", "Corrects a memory; absent fields stay unchanged.").ok::<MemoryEntry>().versioned()
            .fails(&[409]).body::<memory::Corrected>()),
    api(Method::DELETE, "/api/memory/{id}", Takes::Nothing, async_handler!(memory::forget),
        told("Memory", "Forgets a memory and its history.").empty(204).versioned().fails(&[409])),
    api(Method::DELETE, "/api/approvals/granted/{id}", Takes::Nothing, async_handler!(approvals::take_back),
        told("Approvals", "Withdraws a permission for the rest of a conversation.").empty(204)),
    api(Method::GET, "/api/audit", Takes::Nothing, async_handler!(audit::newest),
        told("Approvals", "The audit log, newest first.").ok::<audit::Audit>().query::<audit::Listing>()),
    api(Method::GET, "/api/backups", Takes::Nothing, async_handler!(backups::list),
        told("Service", "The backups, and when the next one is due.").ok::<BackupList>()),
    api(Method::POST, "/api/backups", Takes::Nothing, async_handler!(backups::start),
        told("Service", "Starts a backup, which is listed when it is done.").json::<backups::Started>(202)
            .fails(&[409])),
    api(Method::GET, "/api/instances", Takes::Nothing, async_handler!(instances::list),
        told("Service", "The daemons that serve the same storage; one, unless it is on a server.")
            .ok::<instances::Instances>()),
    api(Method::POST, "/api/sign-in-codes", Json, async_handler!(sign_in_codes::issue),
        told("Service", "Creates an address with which another device can sign in once within five minutes, and its QR code.")
            .json::<sign_in_codes::Issued>(201).fails(&[409]).body::<sign_in_codes::Wanted>()),
    api(Method::GET, "/api/push/key", Takes::Nothing, sync!(push::key),
        told("Push", "The key that a browser needs to subscribe to notifications.").ok::<push::Key>()),
    api(Method::POST, "/api/push/subscriptions", Json, async_handler!(push::subscribe),
        told("Push", "Notifies a device while no page is in sight, as long as its sign-in lasts. The body is a `PushSubscription` as browsers give it.")
            .json::<push::Subscribed>(201).fails(&[404, 503]).body::<push::Subscription>()),
    api(Method::DELETE, "/api/push/subscriptions", Json, async_handler!(push::unsubscribe),
        told("Push", "Ends the notifications of a device.").empty(204).fails(&[404, 503])
            .body::<push::Endpoint>()),
    api(Method::GET, "/api/features", Takes::Nothing, sync!(features::list),
        told("Service", "The assistant's features with their states, and the reason where one does not work.")
            .ok::<features::Told>()),
    api(Method::GET, "/api/usage", Takes::Nothing, async_handler!(usage::usage),
        told("Usage", "Usage and cost of model calls by day, model and kind.").ok::<UsageReport>()
            .query::<usage::Listing>()),
    api(Method::GET, "/api/ready", Takes::Nothing, sync!(ready::ready),
        told("Service", "Says whether the service can accept messages.").ok::<ready::Ready>().fails(&[503])),
    api(Method::GET, "/api/logs", Takes::Nothing, sync!(logs::newest),
        told("Logs", "The newest log records.").ok::<logs::Records>().query::<logs::Listing>()),
    api(Method::GET, "/api/telemetry", Takes::Nothing, async_handler!(telemetry::newest),
        told("Telemetry", "Measurements, newest first, with a summary.").ok::<telemetry::Told>()
            .query::<telemetry::Listing>()),
    api(Method::GET, "/api/monitor", Takes::Nothing, async_handler!(monitor::show),
        told("Telemetry", "What happened lately in all conversations: their newest messages with long texts cut, open approval questions, and measurements.")
            .ok::<monitor::Monitor>().query::<monitor::Wanted>()),
    api(Method::GET, "/api/channels", Takes::Nothing, async_handler!(channels::list),
        told("Channels", "The channels with their states.").ok::<channels::Told>()),
    api(Method::POST, "/api/channels/{name}/test", Json, async_handler!(channel_setup::test),
        told("Channels", "Asks a messenger's platform whether it lets the assistant in, with these settings on top of the present ones. Nothing is changed.")
            .ok::<channel_setup::Tested<'static>>().fails(&[403]).body::<channel_setup::Wish>()),
    api(Method::POST, "/api/channels/{name}/setup", Json, async_handler!(channel_setup::set_up),
        told("Channels", "Tests a messenger, keeps its secrets as credentials, and turns it on in the configuration. It needs the token once more.")
            .ok::<channel_setup::Done<'static>>().confirmed().fails(&[409]).headers::<config::Confirm>()
            .body::<channel_setup::Wish>()),
    api(Method::GET, "/api/outbox", Takes::Nothing, async_handler!(outbox::list),
        told("Channels", "Waiting and failed deliveries, newest first.").ok::<json::Deliveries>()
            .query::<outbox::Listing>()),
    api(Method::DELETE, "/api/outbox/{id}", Takes::Nothing, async_handler!(outbox::remove),
        told("Channels", "Removes a delivery that has not arrived.").empty(204)),
    api(Method::POST, "/api/outbox/{id}/retry", Takes::Nothing, async_handler!(outbox::retry),
        told("Channels", "Tries a delivery again, now.").ok::<outbox::Retried>()),
    api(Method::GET, "/api/pairings", Takes::Nothing, async_handler!(pairings::list),
        told("Channels", "The senders who were paired.").ok::<pairings::List>()),
    api(Method::POST, "/api/pairings", Json, async_handler!(pairings::invite),
        told("Channels", "Creates a pairing code.").ok::<PairingCode>().fails(&[404])
            .body::<pairings::Invitation>()),
    api(Method::POST, "/api/pairings/approve", Json, async_handler!(pairings::approve),
        told("Channels", "Admits the sender who received this code.").ok::<PairedSender>().fails(&[404])
            .body::<pairings::Given>()),
    api(Method::DELETE, "/api/pairings/{channel}/{sender}", Takes::Nothing, async_handler!(pairings::revoke),
        told("Channels", "Revokes a pairing.").empty(204)),
    api(Method::GET, "/api/sops", Takes::Nothing, async_handler!(sops::list),
        told("SOPs", "The SOPs, by name.").ok::<json::Sops<'static>>()),
    api(Method::GET, "/api/sops/{name}", Takes::Nothing, async_handler!(sops::show),
        told("SOPs", "A SOP with its text. With `invalid` also a file that is not a valid SOP, with its faults.")
            .ok::<json::ListedSop<'static>>().query::<sops::Showing>()),
    api(Method::GET, "/api/sops/{name}/versions", Takes::Nothing, async_handler!(sops::versions),
        told("SOPs", "Earlier texts of a SOP of the workspace, even if it was removed, newest first.")
            .ok::<sops::Versions>()),
    api(Method::POST, "/api/sops/check", Json, async_handler!(sops::check),
        told("SOPs", "The faults of a SOP text, line by line.").ok::<sops::Checked>().body::<sops::Text>()),
    api(Method::POST, "/api/sops/{name}/run", Json, async_handler!(sops::run),
        told("SOPs", "Begins a run in a session of the web chat.").json::<sops::Begun<'static>>(202)
            .fails(&[409, 503]).body::<sops::Beginning>()),
    api(Method::PUT, "/api/sops/{name}", Json, async_handler!(sops::save),
        told("SOPs", "Writes a SOP of the workspace. `If-None-Match: *` creates a new one and never replaces an existing one.")
            .ok::<json::ListedSop<'static>>().versioned().fails(&[409]).headers::<openapi::IfNoneMatch>()
            .body::<sops::Text>()),
    api(Method::DELETE, "/api/sops/{name}", Takes::Nothing, async_handler!(sops::remove),
        told("SOPs", "Removes a SOP of the workspace.").empty(204).versioned().fails(&[409])),
    api(Method::GET, "/api/prompts", Takes::Nothing, async_handler!(prompts::list),
        told("SOPs", "The saved prompts, by name.").ok::<prompts::Prompts>()),
    api(Method::GET, "/api/prompts/{name}", Takes::Nothing, async_handler!(prompts::show),
        told("SOPs", "A saved prompt.").ok::<SavedPrompt>()),
    api(Method::PUT, "/api/prompts/{name}", Json, async_handler!(prompts::save),
        told("SOPs", "Saves a prompt. `If-None-Match: *` makes a new one: nothing of that name is replaced.")
            .ok::<SavedPrompt>().versioned().headers::<openapi::IfNoneMatch>().body::<prompts::Text>()),
    api(Method::DELETE, "/api/prompts/{name}", Takes::Nothing, async_handler!(prompts::remove),
        told("SOPs", "Removes a saved prompt.").empty(204).versioned()),
    api(Method::GET, "/api/sop-runs", Takes::Nothing, async_handler!(sops::runs),
        told("SOPs", "Runs of SOPs, newest first unless another order is wanted.").ok::<sops::Runs>().query::<sops::RunListing>()),
    api(Method::POST, "/api/sop-runs/{id}/resume", Takes::Nothing, async_handler!(sops::resume),
        told("SOPs", "Resumes a run that was interrupted.").ok::<sops::Resumed<'static>>().fails(&[409])),
    api(Method::GET, "/api/agents", Takes::Nothing, async_handler!(agents::all),
        told("Agents", "Active agents and their history.").ok::<agents::Agents>().query::<agents::Listing>()),
    api(Method::GET, "/api/agents/active", Takes::Nothing, sync!(agents::active),
        told("Agents", "Active agents.").ok::<agents::Active>()),
    api(Method::GET, "/api/agents/history", Takes::Nothing, async_handler!(agents::history),
        told("Agents", "The history of agents.").ok::<agents::History>().query::<agents::PastListing>()),
    api(Method::GET, "/api/work", Takes::Nothing, async_handler!(work::list),
        told("Work", "Multi-turn work, newest first.").ok::<work::Listed>().query::<work::Listing>()),
    api(Method::POST, "/api/work", Json, async_handler!(work::plan),
        told("Work", "Plans a piece of work.").json::<Work>(201).fails(&[409]).body::<work::NewWork>()),
    api(Method::GET, "/api/work/{id}", Takes::Nothing, async_handler!(work::show),
        told("Work", "A piece of work with its tasks.").ok::<Work>()),
    api(Method::POST, "/api/work/{id}/cancel", Takes::Nothing, async_handler!(work::cancel),
        told("Work", "Ends a piece of work.").ok::<Work>().fails(&[409])),
    api(Method::POST, "/api/work/{id}/pause", Takes::Nothing, async_handler!(work::pause),
        told("Work", "Pauses a piece of work, or `all` of it.").ok::<work::Commanded>().fails(&[409])),
    api(Method::POST, "/api/work/{id}/resume", Takes::Nothing, async_handler!(work::resume),
        told("Work", "Resumes a piece of work, or `all` of it.").ok::<work::Commanded>().fails(&[409])),
    api(Method::GET, "/api/scheduler", Takes::Nothing, async_handler!(scheduler::list),
        told("Scheduler", "The scheduled jobs, by name unless another order is wanted.").ok::<json::Jobs<'static>>()
            .query::<scheduler::Listing>()),
    api(Method::GET, "/api/scheduler/jobs", Takes::Nothing, async_handler!(scheduler::list),
        told("Scheduler", "The scheduled jobs, by name unless another order is wanted.").ok::<json::Jobs<'static>>()
            .query::<scheduler::Listing>()),
    api(Method::POST, "/api/scheduler/jobs", Json, async_handler!(scheduler::add),
        told("Scheduler", "Adds a scheduled job.").json::<json::ListedJob<'static>>(201).fails(&[409])
            .body::<JobRequest>()),
    api(Method::GET, "/api/scheduler/jobs/{id}", Takes::Nothing, async_handler!(scheduler::show),
        told("Scheduler", "A scheduled job.").ok::<json::ListedJob<'static>>()),
    api(Method::PUT, "/api/scheduler/jobs/{id}", Json, async_handler!(scheduler::change),
        told("Scheduler", "Changes a job; what is left out stays.").ok::<json::ListedJob<'static>>().versioned()
            .fails(&[409]).body::<JobRequest>()),
    api(Method::DELETE, "/api/scheduler/jobs/{id}", Takes::Nothing, async_handler!(scheduler::remove),
        told("Scheduler", "Removes a job.").empty(204).versioned().fails(&[409])),
    api(Method::PATCH, "/api/scheduler/jobs/{id}", Json, async_handler!(scheduler::pause),
        told("Scheduler", "Pauses or resumes a job.").ok::<json::ListedJob<'static>>().versioned().fails(&[409])
            .body::<scheduler::Switch>()),
    api(Method::POST, "/api/scheduler/jobs/{id}/run", Takes::Nothing, async_handler!(scheduler::run),
        told("Scheduler", "Runs a job now.").json::<RunRecord>(201).fails(&[409])),
    api(Method::GET, "/api/scheduler/jobs/{id}/runs", Takes::Nothing, async_handler!(scheduler::runs),
        told("Scheduler", "The runs of a job, newest first.").ok::<scheduler::Runs>()
            .query::<scheduler::RunListing>()),
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
