//! Spoken words into text, for messages that were spoken and not written.

use async_trait::async_trait;

use crate::model::{ModelError, Readiness, Usage};

/// How many tokens a second of audio counts as, where a service counts tokens; where one bills by time, a second is written
/// down as so many, so that one ledger and one kind of price hold for both.
pub const TOKENS_A_SECOND: u64 = 10;

/// A recording of somebody who speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Speech {
    /// The file as it came.
    pub bytes: Vec<u8>,
    /// Its name, if it has one that says what it is.
    pub name: String,
    /// Its media type, such as `audio/ogg`.
    pub mime: String,
    /// How long it is said to last, in seconds.
    pub seconds: Option<u64>,
}

/// What was said.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Transcript {
    /// The words; empty where nobody spoke.
    pub text: String,
    /// What the service counted; zeros where it does not say.
    pub usage: Usage,
}

/// A model that writes down what is said.
#[async_trait]
pub trait Transcriber: Send + Sync {
    /// The model, as provider and id.
    fn model(&self) -> &str;

    /// Writes down a recording. Whoever calls decides whether a failure is tried again.
    async fn transcribe(&self, speech: Speech) -> Result<Transcript, ModelError>;

    /// Whether it could answer now as far as the configuration goes; asks nobody.
    fn readiness(&self) -> Readiness {
        Readiness::Ready
    }
}
