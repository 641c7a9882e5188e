//! The client of a transcription service, and reports the reason if there is none.

use std::sync::Arc;

use aethon_core::model::{ModelError, ModelErrorKind, Readiness};
use aethon_core::transcribe::{Speech, Transcriber, Transcript};
use async_trait::async_trait;

use super::form;
use crate::classify;
use crate::options::Options;
use crate::registry::{self, Obstacle};
use crate::remote::exchange;
use crate::request_id;
use crate::section::{TRANSCRIPTION, in_section};
use crate::service::Service;
use crate::transport::Client;

/// The most that is read of a response: the words of many hours.
const MAX_LEN: usize = 4 * 1024 * 1024;

/// Creates the transcriber. An empty model id selects the default model; `language` is the main spoken language, if
/// known. Never fails: errors in the options are reported on first use.
pub fn transcriber(mut options: Options, language: &str) -> Arc<dyn Transcriber> {
    if options.model_id.trim().is_empty() {
        options.provider.transcription_model().unwrap_or("none").clone_into(&mut options.model_id);
    }
    let name = format!("{}/{}", options.provider.name(), options.model_id);
    let language = Some(language.trim().to_owned()).filter(|language| !language.is_empty());
    let reached = if options.provider.transcription_model().is_some() {
        registry::reach(&options)
    } else {
        let title = options.provider.title();
        let reason = format!("{title} writes down nothing; set transcription.provider.");
        Err(Obstacle { kind: ModelErrorKind::InvalidRequest, reason })
    };
    match reached {
        Ok((_, service)) => {
            let client = Client::new(service.timeout, service.endpoint.is_loopback);
            Arc::new(Remote { name, service, client, language })
        }
        Err(Obstacle { kind, reason }) => {
            Arc::new(Unavailable { name, error: in_section(ModelError::new(kind, reason), TRANSCRIPTION) })
        }
    }
}

/// A service over HTTP.
struct Remote {
    name: String,
    service: Arc<Service>,
    client: Client,
    language: Option<String>,
}

impl Remote {
    async fn ask(&self, speech: &Speech) -> Result<Transcript, ModelError> {
        let outgoing = form::build_request(&self.service, speech, self.language.as_deref());
        let mut incoming = exchange(&self.client, &self.service, outgoing).await?;
        let mut body = Vec::new();
        while let Some(piece) = incoming.body.next().await {
            let piece = piece.map_err(|failure| classify::failure(&self.service, &failure))?;
            if body.len() + piece.len() > MAX_LEN {
                return Err(self.malformed("a transcript that is too long"));
            }
            body.extend_from_slice(&piece);
        }
        let answer = serde_json::from_slice(&body)
            .map_err(|error| self.malformed(&format!("an answer with a transcript: {error}")))?;
        form::read(&answer).ok_or_else(|| self.malformed("an answer without a transcript"))
    }

    fn malformed(&self, why: &str) -> ModelError {
        classify::malformed(&self.service, why)
    }
}

#[async_trait]
impl Transcriber for Remote {
    fn model(&self) -> &str {
        &self.name
    }

    async fn transcribe(&self, speech: Speech) -> Result<Transcript, ModelError> {
        let asked = self.ask(&speech).await;
        asked
            .inspect_err(|error| request_id::log_failure(&self.service, error))
            .map_err(|error| in_section(error, TRANSCRIPTION))
    }
}

/// A transcriber whose configuration cannot work.
struct Unavailable {
    name: String,
    error: ModelError,
}

#[async_trait]
impl Transcriber for Unavailable {
    fn model(&self) -> &str {
        &self.name
    }

    async fn transcribe(&self, _speech: Speech) -> Result<Transcript, ModelError> {
        Err(self.error.clone())
    }

    fn readiness(&self) -> Readiness {
        Readiness::NotConfigured(self.error.to_string())
    }
}
