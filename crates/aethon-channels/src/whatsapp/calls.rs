//! Meta's calls: verifies that they are Meta's, and stores their content before it is processed.
//!
//! Meta expects an immediate response and repeats an unanswered call for days. So a call is verified over its raw
//! bytes, its messages are stored one by one, and then it is answered; `inbox` continues from there, even after a
//! crash.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use aethon_core::channel::{CallTerms, CallbackOutcome, ChannelRecords, PlatformCalls};
use aethon_core::clock::Clock;
use aethon_core::error::Result;
use aethon_core::secret::Secret;
use async_trait::async_trait;
use jiff::SignedDuration;
use ring::hmac;
use serde_json::Value;
use tokio::sync::Notify;

use super::Options;
use super::inbound;
use crate::options::ChannelServices;

/// How Meta calls.
const TERMS: CallTerms = CallTerms {
    path: "/webhook/whatsapp",
    signature_header: "x-hub-signature-256",
    bad_signature: "X-Hub-Signature-256 is missing or wrong; it must be that of the raw body under `channels.whatsapp.secret`",
    bad_challenge: "hub.verify_token is not `channels.whatsapp.verify_token`",
};
/// Where incoming messages are stored until they are processed.
pub(super) const WAITING: &str = "inbox:";
/// How many may wait.
const MAX_WAITING: usize = 1000;
/// How long they are kept. Older messages are not answered anyway.
const KEPT: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Receives Meta's calls.
pub(super) struct Calls {
    secret: Secret,
    verify_token: Secret,
    number: String,
    records: Arc<dyn ChannelRecords>,
    clock: Arc<dyn Clock>,
    counter: AtomicU32,
    /// Whether the last call was forged, which is logged once.
    was_forged: AtomicBool,
    /// Notified when something was stored.
    pub(super) rung: Notify,
}

impl Calls {
    pub(super) fn new(options: &Options, services: &ChannelServices) -> Self {
        Self {
            secret: options.secret.clone(),
            verify_token: options.verify_token.clone(),
            number: options.phone_number_id.clone(),
            records: services.records.clone(),
            clock: services.clock.clone(),
            counter: AtomicU32::new(0),
            was_forged: AtomicBool::new(false),
            rung: Notify::new(),
        }
    }

    fn has_valid_signature(&self, signature: &str, body: &[u8]) -> bool {
        if self.secret.is_empty() {
            return false;
        }
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.secret.expose().as_bytes());
        let claimed = signature.trim().strip_prefix("sha256=").and_then(unhex);
        // Compared in constant time.
        claimed.is_some_and(|claimed| hmac::verify(&key, body, &claimed).is_ok())
    }

    /// Returns a name that sorts after all earlier ones: the time, and a counter for several at once.
    fn name(&self) -> String {
        let number = self.counter.fetch_add(1, Ordering::Relaxed);
        format!("{WAITING}{:015}{number:010}", self.clock.now().as_millisecond().max(0))
    }
}

#[async_trait]
impl PlatformCalls for Calls {
    fn terms(&self) -> CallTerms {
        TERMS
    }

    fn challenge(&self, parameters: &[(String, String)]) -> Option<String> {
        let value =
            |name: &str| parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        let word = self.verify_token.expose();
        let is_own_token = !self.verify_token.is_empty()
            && value("hub.mode") == Some("subscribe")
            && value("hub.verify_token").is_some_and(|claimed| is_same(claimed, word));
        value("hub.challenge").filter(|_| is_own_token).map(str::to_owned)
    }

    async fn take(&self, signature: &str, body: &[u8]) -> Result<CallbackOutcome> {
        if !self.has_valid_signature(signature, body) {
            // Anyone can call, so only the first of a series is logged.
            if !self.was_forged.swap(true, Ordering::Relaxed) {
                tracing::warn!(
                    channel = "whatsapp",
                    "a call does not bear Meta's signature; if it was Meta's, channels.whatsapp.secret is not the app's secret"
                );
            }
            return Ok(CallbackOutcome::Forged);
        }
        self.was_forged.store(false, Ordering::Relaxed);
        let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
        let Ok(body) = serde_json::from_slice::<Value>(body) else { return Ok(CallbackOutcome::Malformed) };
        let parts = inbound::parts(&body, &self.number);
        if parts.is_empty() {
            return Ok(CallbackOutcome::Stored);
        }
        let waiting = self.records.list("whatsapp", WAITING, MAX_WAITING).await?.len();
        if waiting + parts.len() > MAX_WAITING {
            return Ok(CallbackOutcome::Busy);
        }
        let until = Some(self.clock.now() + KEPT);
        for part in parts {
            self.records.put("whatsapp", &self.name(), &part.to_string(), until).await?;
        }
        self.rung.notify_one();
        Ok(CallbackOutcome::Stored)
    }
}

/// Compares two words in constant time.
fn is_same(claimed: &str, word: &str) -> bool {
    let key = hmac::Key::new(hmac::HMAC_SHA256, b"a word of the owner");
    let tag = hmac::sign(&key, word.as_bytes());
    hmac::verify(&key, claimed.as_bytes(), tag.as_ref()).is_ok()
}

fn unhex(hex: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    };
    hex.as_bytes().chunks(2).map(pair).collect()
}
