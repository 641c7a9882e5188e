//! Voice messages: their transcript becomes the text of the message.
//!
//! It is marked as spoken, so that the model knows why a word may be wrong, and so that nothing spoken can be a
//! command or the name of an SOP.

use std::time::Duration;

use aethon_core::model::{ModelError, ModelErrorKind};
use aethon_core::transcribe::{Speech, Transcriber};
use tokio::time::sleep;

use super::outlet::RateLimitedSender;
use super::platform::RemoteFile;

/// How often a service is tried that may succeed the next time, and how often if a failed attempt may have cost
/// something.
const MAX_ATTEMPTS: u32 = 4;
const MAX_COSTLY: u32 = 2;
/// The first pause before a retry, which then doubles, and the longest that a service may ask for.
const PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// The prefix of spoken words.
const MARK: &str = "[voice message]";

/// Returns the transcriber for this file, if it is a recording and there is one.
pub(super) fn transcriber<'o>(
    outlet: &'o RateLimitedSender,
    offer: &RemoteFile,
) -> Option<&'o dyn Transcriber> {
    outlet.services.transcriber.as_deref().filter(|_| is_audio(&offer.mime))
}

/// Returns whether a file is a recording.
pub(super) fn is_audio(mime: &str) -> bool {
    mime.get(..6).is_some_and(|kind| kind.eq_ignore_ascii_case("audio/"))
}

/// Returns the marked transcript of a recording, or why there is none, as the end of a sentence. Stops retrying when
/// the words are no longer wanted.
pub(super) async fn words(
    outlet: &RateLimitedSender,
    transcriber: &dyn Transcriber,
    (offer, bytes): (&RemoteFile, Vec<u8>),
    is_wanted: &(dyn Fn() -> bool + Sync),
) -> Result<String, String> {
    let mime = offer.mime.split(';').next().unwrap_or_default().trim().to_owned();
    let speech = Speech { bytes, name: offer.name.clone(), mime, seconds: offer.seconds };
    let (mut attempt, mut pause) = (1, PAUSE);
    loop {
        let error = match transcriber.transcribe(speech.clone()).await {
            Ok(transcript) if transcript.text.trim().is_empty() => {
                return Err("I heard no words in it.".to_owned());
            }
            Ok(transcript) => return Ok(format!("{MARK} {}", transcript.text.trim())),
            Err(error) => error,
        };
        tracing::warn!(channel = outlet.channel(), %error, attempt, "a voice message could not be written down");
        if attempt >= most_attempts(&error) || !is_wanted() {
            return Err(error.to_string());
        }
        sleep(error.retry_after().unwrap_or(pause).min(MAX_PAUSE)).await;
        (attempt, pause) = (attempt + 1, pause * 2);
    }
}

fn most_attempts(error: &ModelError) -> u32 {
    match error.kind() {
        _ if !error.is_retryable() => 1,
        ModelErrorKind::Timeout | ModelErrorKind::Malformed => MAX_COSTLY,
        _ => MAX_ATTEMPTS,
    }
}
