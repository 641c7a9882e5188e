//! Spoken words within the budget: a transcriber between the messengers and the service that writes them down.
//!
//! What a recording costs follows from how long it is, so all of it is reserved before it is sent. The length is what the
//! platform says, unless the file is too large for that, or is guessed from the size; both on the high side. Afterwards what
//! the service counted is written down.

use std::sync::Arc;

use aethon_agent::{Ending, Meter, Work};
use aethon_core::ledger::{Price, WorkKind};
use aethon_core::model::{Capabilities, ModelError, ModelErrorKind, Readiness, Usage};
use aethon_core::transcribe::{Speech, TOKENS_A_SECOND, Transcriber, Transcript};
use async_trait::async_trait;

/// The most tokens of text that a second of speech becomes, and what there is beside them.
const WORDS_A_SECOND: u64 = 10;
const BESIDE: u64 = 32;

/// How many bytes a second of voice takes at least as messengers record it, of other audio at least, and of any at most.
const VOICE_BYTES: u64 = 1_000;
const AUDIO_BYTES: u64 = 4_000;
const MOST_BYTES: u64 = 200_000;

/// The fewest bytes of text that a token stands for on average, in most languages.
const TOKEN_BYTES: usize = 3;

/// The transcriber. Its model is the service's.
pub(crate) struct MeteredTranscriber {
    pub(crate) service: Arc<dyn Transcriber>,
    pub(crate) meter: Meter,
    /// What the service costs at its address, where that is known.
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
    /// The service's model, as the meter knows it, with the longest answer that is to be paid for.
    fn capabilities(&self, max_output: u64) -> Capabilities {
        let name = self.service.model();
        let (provider, model) = name.split_once('/').unwrap_or(("", name));
        let mut capabilities = Capabilities::new(provider, model).with_sizes(u64::MAX, max_output);
        capabilities.price = self.price;
        capabilities
    }
}

/// How long a recording lasts at most, as far as that can be known.
fn seconds(speech: &Speech) -> u64 {
    let size = speech.bytes.len() as u64;
    let is_voice = ["ogg", "opus", "webm", "amr"].iter().any(|kind| speech.mime.ends_with(kind));
    let guessed = size.div_ceil(if is_voice { VOICE_BYTES } else { AUDIO_BYTES });
    speech.seconds.map_or(guessed, |said| said.max(size / MOST_BYTES)).max(1)
}

/// What the service counted. One that counts nothing has at least written the words.
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
    fn what_nobody_counted_is_what_was_written() {
        let check = |text: &str, told: u64, expected: (u64, u64)| {
            let usage = Usage { input_tokens: told, ..Usage::default() };
            let usage = counted(&Transcript { text: text.into(), usage });
            assert_eq!((usage.input_tokens, usage.output_tokens), expected);
        };
        check("seven bytes", 0, (0, 4));
        check("seven bytes", 30, (30, 0));
    }
}
