//! Metered transcription: stands between the messengers and the transcription service.
//!
//! The cost of a recording follows from its length, so all of it is reserved before it is sent. The length is the one that the
//! platform reports, raised if the file is too large for it; without a report it is estimated from the size, on the high side.
//! Afterwards the usage reported by the service is booked.

use std::sync::Arc;

use aethon_agent::{Ending, Meter, Work};
use aethon_core::ledger::{Price, WorkKind};
use aethon_core::model::{Capabilities, ModelError, ModelErrorKind, Readiness, Usage};
use aethon_core::transcribe::{Speech, TOKENS_A_SECOND, Transcriber, Transcript};
use async_trait::async_trait;

/// The maximum number of text tokens per second of speech, and the overhead per recording.
const WORDS_A_SECOND: u64 = 10;
const BESIDE: u64 = 32;

/// The lowest bit rates assumed for voice messages and other audio, and the highest for any audio, in bytes per second.
const VOICE_BYTES: u64 = 1_000;
const AUDIO_BYTES: u64 = 4_000;
const MAX_BYTES: u64 = 200_000;

/// The lowest average number of bytes per token, in most languages.
const TOKEN_BYTES: usize = 3;

/// The metered transcriber. It reports the service's model.
pub(crate) struct MeteredTranscriber {
    pub(crate) service: Arc<dyn Transcriber>,
    pub(crate) meter: Meter,
    /// The service's price at its address, if known.
    pub(crate) price: Option<Price>,
}

#[async_trait]
impl Transcriber for MeteredTranscriber {
    fn model(&self) -> &str {
        self.service.model()
    }

    fn readiness(&self) -> Readiness {
        self.service.readiness()
    }

    async fn transcribe(&self, speech: Speech) -> Result<Transcript, ModelError> {
        let seconds = seconds(&speech);
        let sent = seconds.saturating_mul(TOKENS_A_SECOND);
        let model = self.capabilities(seconds.saturating_mul(WORDS_A_SECOND).saturating_add(BESIDE));
        let grant = self.meter.reserve(Work::new(WorkKind::Transcription, sent), &model).await;
        let grant = grant.map_err(|failure| ModelError::new(ModelErrorKind::Quota, failure.message))?;
        let made = self.service.transcribe(speech).await;
        let ending = match &made {
            Ok(transcript) => Ending::Whole { usage: counted(transcript), named: None },
            Err(error) if error.kind() == ModelErrorKind::Timeout => Ending::Silent,
            Err(error) if error.kind() == ModelErrorKind::Malformed => Ending::Broken,
            Err(_) => Ending::Refused,
        };
        grant.settle(ending).await;
        made
    }
}

impl MeteredTranscriber {
    /// The service's model as the meter sees it, with the longest answer to pay for.
    fn capabilities(&self, max_output: u64) -> Capabilities {
        let name = self.service.model();
        let (provider, model) = name.split_once('/').unwrap_or(("", name));
        let mut capabilities = Capabilities::new(provider, model).with_sizes(u64::MAX, max_output);
        capabilities.price = self.price;
        capabilities
    }
}

/// The upper bound of a recording's length in seconds, as far as it can be known.
fn seconds(speech: &Speech) -> u64 {
    let size = speech.bytes.len() as u64;
    let is_voice = ["ogg", "opus", "webm", "amr"].iter().any(|kind| speech.mime.ends_with(kind));
    let guessed = size.div_ceil(if is_voice { VOICE_BYTES } else { AUDIO_BYTES });
    speech.seconds.map_or(guessed, |said| said.max(size / MAX_BYTES)).max(1)
}

/// The usage that the service reported; if it reports none, an estimate from the text it wrote.
fn counted(transcript: &Transcript) -> Usage {
    let mut usage = transcript.usage;
    if usage == Usage::default() {
        usage.output_tokens = transcript.text.len().div_ceil(TOKEN_BYTES) as u64;
    }
    usage
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_never_taken_for_shorter_than_it_can_be() {
        let check = |mime: &str, size: usize, said: Option<u64>, expected: u64| {
            let speech =
                Speech { bytes: vec![0; size], name: String::new(), mime: mime.into(), seconds: said };
            assert_eq!(seconds(&speech), expected, "{mime} {size} {said:?}");
        };
        check("audio/ogg", 60_000, None, 60);
        check("audio/mpeg", 60_000, None, 15);
        check("audio/ogg", 60_000, Some(20), 20);
        check("audio/ogg", 2_000_000, Some(1), 10);
        check("audio/ogg", 0, None, 1);
        check("audio/ogg", 10, Some(0), 1);
    }

    #[test]
    fn uncounted_usage_is_estimated_from_the_text() {
        let check = |text: &str, told: u64, expected: (u64, u64)| {
            let usage = Usage { input_tokens: told, ..Usage::default() };
            let usage = counted(&Transcript { text: text.into(), usage });
            assert_eq!((usage.input_tokens, usage.output_tokens), expected);
        };
        check("seven bytes", 0, (0, 4));
        check("seven bytes", 30, (30, 0));
    }
}
