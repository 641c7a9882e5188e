//! Speech to text, for voice messages.

use async_trait::async_trait;

use crate::model::{ModelError, Readiness, Usage};

/// How many tokens a second of audio counts as for services that bill by time, so that the same ledger and the same
/// kind of price apply to them as to services that count tokens.
pub const TOKENS_A_SECOND: u64 = 10;

/// A recording of speech.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Speech {
    /// The file as it was received.
    pub bytes: Vec<u8>,
    /// Its name, if that says what it is.
    pub name: String,
    /// Its media type, such as `audio/ogg`.
    pub mime: String,
    /// Its stated length, in seconds.
    pub seconds: Option<u64>,
}

/// The transcription.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Transcript {
    /// The text; empty without speech.
    pub text: String,
    /// The usage as the service counted it; zeros if it does not report any.
    pub usage: Usage,
}

/// A transcription model.
#[async_trait]
pub trait Transcriber: Send + Sync {
    /// Returns the model, as provider and id.
    fn model(&self) -> &str;

    /// Transcribes a recording. The caller decides whether to retry a failure.
    async fn transcribe(&self, speech: Speech) -> Result<Transcript, ModelError>;

    /// Returns whether it could answer now, judging by the configuration alone.
    fn readiness(&self) -> Readiness {
        Readiness::Ready
    }
}
