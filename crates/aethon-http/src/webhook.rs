//! Inbound webhooks: other programs send text and wait for the reply.
//!
//! The checks follow the order of `docs/contract/http.md`: presence of a signature, content type and length (by the
//! service), the signature over the raw bytes, the form, the fields, and only then a turn. The message enters through
//! the same interface as all others. That interface recognises a repeated `Idempotency-Key`, so the repeated response
//! is made from the stored reply and equals the first one. A key belongs to the resolved address, however that is
//! spelled, and a captured signed request runs only once (`replay`).
//!
//! A caller waits at most `server.webhook_timeout_seconds` and then gets 504. The turn continues: its reply is stored
//! and delivered where requested, and repeating the request with the same key returns it. A caller that hangs up
//! loses nothing either.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::assistant::Submitted;
use aethon_core::clock::Clock;
use aethon_core::error::Error;
use aethon_core::ids::{SessionId, unique};
use aethon_core::message::{Dedupe, Destination, EndReason, Handling, Inbound, Reply, TurnEnd};
use aethon_core::model::ModelErrorKind;
use aethon_core::sop::SopName;
use aethon_core::surface::Unattended;
use bytes::Bytes;
use http::StatusCode;
use http::header::HeaderMap;
use ring::digest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::{App, FromApp};
use crate::body_text::in_utf8;
use crate::deps::{Chat, Runtime, Setup, Workflows};
use crate::error::Problem;
use crate::hex::hex;
use crate::intake::Room;
use crate::replay::UsedSignatures;
use crate::request::Request;
use crate::response::{self, HandlerResult};
use crate::rules::WebhookRules;
use crate::signature::{IDEMPOTENCY_KEY, Refusal, Signed};
use crate::typed;

/// The channel that webhook sessions belong to.
const CHANNEL: &str = "webhook";
const MAX_KEY: usize = 255;
/// How long a key is remembered: one day.
const KEY_SECONDS: u64 = 24 * 60 * 60;
const INTERRUPTED: &str = "the assistant stopped while it worked on this and did not finish; send it again under a new Idempotency-Key";

/// The context of the webhook handlers: the webhook rules, the clock for judging signatures, and the used signatures.
#[derive(Clone)]
pub(crate) struct WebhookContext {
    rules: Arc<WebhookRules>,
    clock: Arc<dyn Clock>,
    used_signatures: Arc<UsedSignatures>,
}

impl FromApp for WebhookContext {
    fn from_app(app: &App) -> Self {
        let (rules, used_signatures) = FromApp::from_app(app);
        Self { rules, clock: Runtime::from_app(app).clock, used_signatures }
    }
}

/// What proved a request, and the room that its body takes until a turn has it.
struct Proof {
    /// A version 2 signature, which may be used only once.
    signed: Option<Signed>,
    room: Option<Room>,
}

/// What the assistant answered.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Answer")]
pub(crate) struct Answered<'a> {
    status: &'static str,
    response: Option<&'a str>,
}

/// What another program asks for.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Trigger {
    /// The text of the message.
    #[schemars(length(min = 1))]
    text: String,
    /// The SOP that handles it.
    #[schemars(length(max = 64), regex(pattern = "^[a-z0-9-]*$"))]
    sop_name: Option<String>,
    /// The channel that gets the answer as well.
    channel: Option<String>,
    /// The recipient there.
    recipient: Option<String>,
    /// The name of a session that persists; a new one for each call unless it says otherwise.
    session: Option<String>,
}

/// What another program says.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "WebhookText")]
pub(crate) struct Text {
    /// The text of the message.
    #[schemars(length(min = 1))]
    text: String,
}

/// `POST /webhook/trigger`: uses a new session for each call, or a named one that persists.
pub(crate) async fn trigger(
    (chat, setup, workflows, context): (Chat, Setup, Workflows, WebhookContext),
    mut request: Request,
) -> HandlerResult {
    let (body, proof) = context.signed_body(&mut request).await?;
    let asked: Trigger = typed::body_as(&in_utf8(&request.head.headers, body.clone()))?;
    let filled = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    let (text, sop_name) = (asked.text, asked.sop_name.filter(|name| !name.is_empty()));
    let sop_name = sop_name.as_deref().map(SopName::parse).transpose().map_err(|_| {
        Problem::invalid("sop_name", "must be 1 to 64 lower-case letters, digits and hyphens")
    })?;
    let destination = destination(&setup, filled(asked.channel), filled(asked.recipient))?;
    let name = filled(asked.session);
    let session = match &name {
        Some(name) => SessionId::of(CHANNEL, &format!("trigger:{name}"))
            .map_err(|_| Problem::invalid("session", "must be a short name without control characters"))?,
        None => session(&format!("trigger:{}", unique()))?,
    };
    if let Some(name) = &sop_name
        && workflows.sops.sop(name).await?.is_none()
    {
        let detail = format!("there is no SOP named {name}");
        return Err(Problem::not_found(detail).with_code("unknown_sop"));
    }
    let inbound = Inbound::say(session, text)
        .from_sender(CHANNEL)
        .with_dedupe(dedupe("/webhook/trigger", &request.head.headers, &body)?)
        .with_untrusted(context.rules.mark_untrusted)
        .with_oneshot(name.is_none())
        .delivered_to(destination)
        .handled_by(sop_name.map_or(Handling::Model, Handling::sop));
    // The caller may wait for long, and its text is in the message now.
    drop(body);
    context.turn(&chat, proof, inbound).await
}

/// `POST /webhook/{channel}`: continues the session of that channel.
pub(crate) async fn channel((chat, context): (Chat, WebhookContext), mut request: Request) -> HandlerResult {
    let (body, proof) = context.signed_body(&mut request).await?;
    let channel = request.params.get::<String>("channel").unwrap_or_default();
    // However it is spelled, `trigger` belongs to the other route, whose sessions are not a channel's.
    if !is_source_name(&channel) || channel == "trigger" {
        let detail = "a channel's name is 1 to 64 letters, digits, `-`, `_`, `.` and `~`, and not `trigger`";
        return Err(Problem::not_found(detail).with_code("unknown_channel"));
    }
    let Text { text } = typed::body_as(&in_utf8(&request.head.headers, body.clone()))?;
    let dedupe = dedupe(&format!("/webhook/{channel}"), &request.head.headers, &body)?;
    let inbound = Inbound::say(session(&channel)?, text)
        .from_sender(channel)
        .with_dedupe(dedupe)
        .with_untrusted(context.rules.mark_untrusted);
    drop(body);
    context.turn(&chat, proof, inbound).await
}

impl WebhookContext {
    /// Reads the body and checks its signature.
    async fn signed_body(&self, request: &mut Request) -> Result<(Bytes, Proof), Problem> {
        let room = request.reserve().await?;
        let body = request.read_raw().await?;
        match self.rules.signatures.judge(&request.head.headers, &body, self.clock.now()) {
            Ok(signed) => Ok((body, Proof { signed, room })),
            Err(refusal) => {
                if let Some(room) = room {
                    room.penalise();
                }
                Err(refusal.problem())
            }
        }
    }

    /// Runs the turn of a request that passed all other checks.
    async fn turn(&self, chat: &Chat, Proof { signed, room }: Proof, inbound: Inbound) -> HandlerResult {
        let place = inbound.dedupe.as_ref().map(|dedupe| {
            let mut place = [0; 32];
            place.copy_from_slice(digest::digest(&digest::SHA256, dedupe.id.as_bytes()).as_ref());
            place
        });
        let taken =
            signed.map(|signed| self.used_signatures.take(signed, place, self.clock.now())).transpose();
        let is_new = taken.map_err(Refusal::problem)?.unwrap_or(false);
        let submitted = chat.assistant.submit(inbound, Arc::new(Unattended)).await;
        if let (Some(signed), Err(_), true) = (&signed, &submitted, is_new) {
            self.used_signatures.give_back(signed);
        }
        // From here on the turn accounts for the memory of the text.
        drop(room);
        reply(submitted.map_err(refused)?, self.rules.timeout).await
    }
}

fn session(name: &str) -> Result<SessionId, Problem> {
    SessionId::of(CHANNEL, name).map_err(|error| Problem::invalid("session", error.to_string()))
}

/// Returns whether a name needs no encoding in a path. It names a session, so any program's own name will do.
fn is_source_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    (1..=64).contains(&name.len()) && name.bytes().all(plain) && name.bytes().any(|byte| byte != b'.')
}

/// Returns where the reply is also delivered. Refuses a channel that does not run, before the turn.
fn destination(
    setup: &Setup,
    channel: Option<String>,
    recipient: Option<String>,
) -> Result<Option<Destination>, Problem> {
    let Some(channel) = channel else { return Ok(None) };
    let way = setup
        .channels
        .get(&channel)
        .map_err(|error| Problem::invalid("channel", error.to_string()).with_code("channel_not_running"))?;
    way.check_recipient(recipient.as_deref())
        .map_err(|error| Problem::invalid("recipient", error.to_string()))?;
    Ok(Some(Destination { channel, recipient }))
}

/// Identifies a repetition: the caller's key, scoped to the normalised path. The body must be identical.
fn dedupe(path: &str, headers: &HeaderMap, body: &[u8]) -> Result<Option<Dedupe>, Problem> {
    let Some(key) = idempotency_key(headers)? else { return Ok(None) };
    Ok(Some(Dedupe {
        id: format!("{path} {key}"),
        fingerprint: Some(hex(digest::digest(&digest::SHA256, body).as_ref())),
        valid_for: Some(KEY_SECONDS),
    }))
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut keys = headers.get_all(IDEMPOTENCY_KEY).iter();
    let (key, second) = (keys.next(), keys.next());
    let Some(key) = key else { return Ok(None) };
    match key.to_str().map(str::trim) {
        Ok("") if second.is_none() => Ok(None),
        Ok(key) if second.is_none() && key.len() <= MAX_KEY => Ok(Some(key)),
        _ => Err(Problem::invalid(
            "Idempotency-Key",
            "must be one value of at most 255 visible ASCII characters",
        )),
    }
}

/// Returns the response when nothing was submitted.
fn refused(error: Error) -> Problem {
    if error.is_mismatch() {
        let message = "was used with another body; use a new key for a new request";
        return Problem::invalid("Idempotency-Key", message).with_code("idempotency_mismatch");
    }
    // A SOP needs more than the text provides.
    if error.is_invalid() {
        return Problem::invalid("text", error.to_string());
    }
    Problem::from(error)
}

async fn reply(submitted: Submitted, limit: Duration) -> HandlerResult {
    let reply = tokio::time::timeout(limit, submitted.reply.wait()).await.map_err(|_| {
        let detail = format!(
            "no reply within {} seconds; the turn goes on, and the same Idempotency-Key fetches its reply",
            limit.as_secs_f32()
        );
        Problem::new(StatusCode::GATEWAY_TIMEOUT, "webhook_timeout", detail)
    })??;
    answer(&reply)
}

fn answer(reply: &Reply) -> HandlerResult {
    match reply.end {
        TurnEnd::End | TurnEnd::Stopped | TurnEnd::Limit => {
            let text = Some(reply.text.as_str()).filter(|text| !text.is_empty());
            response::json(&Answered { status: "ok", response: text })
        }
        TurnEnd::Budget => Err(failed(reply, StatusCode::TOO_MANY_REQUESTS, "budget_exceeded")),
        TurnEnd::Error => Err(match reply.failure.as_ref().map(|failure| &failure.code) {
            Some(EndReason::Model(ModelErrorKind::Timeout)) => {
                failed(reply, StatusCode::GATEWAY_TIMEOUT, "model_error")
            }
            // Refused before any model was called.
            Some(EndReason::InputTooLong | EndReason::InputNotText) => {
                Problem::invalid("text", sentence(reply))
            }
            // Only a caller with a key can see this, and that key will never get another response.
            Some(EndReason::Interrupted) => {
                Problem::new(StatusCode::SERVICE_UNAVAILABLE, "interrupted", INTERRUPTED)
            }
            Some(EndReason::Internal | EndReason::Storage) => {
                failed(reply, StatusCode::INTERNAL_SERVER_ERROR, "internal_error")
            }
            _ => failed(reply, StatusCode::BAD_GATEWAY, "model_error"),
        }),
    }
}

/// Returns the failure with the sentence that the chat would show.
fn failed(reply: &Reply, status: StatusCode, code: &'static str) -> Problem {
    let problem = Problem::new(status, code, sentence(reply));
    match reply.failure.as_ref().and_then(|failure| failure.retry_after) {
        Some(seconds) => problem.retry_after(seconds),
        None => problem,
    }
}

fn sentence(reply: &Reply) -> String {
    reply.failure.as_ref().map_or_else(|| reply.text.clone(), |failure| failure.message.clone())
}
