//! `/api/transcribe`: speech to text for what a person dictates.

use aethon_core::model::{ModelError, ModelErrorKind};
use aethon_core::transcribe::Speech;
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::deps::Chat;
use crate::error::Problem;
use crate::request::Request;
use crate::response::{self, HandlerResult};
use crate::ws::attachments;

/// What was said.
#[derive(Serialize, JsonSchema)]
pub(super) struct Heard {
    text: String,
}

/// What a file is called.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Named {
    /// Its name.
    name: Option<String>,
}

/// `POST /api/transcribe?name`: the words of a recording, whose type is that of the request. It is sent to the configured
/// service within the budget, and not kept.
pub(super) async fn transcribe(chat: Chat, mut request: Request) -> HandlerResult {
    let Some(transcriber) = chat.transcriber else {
        let why = "no service for speech is set up: set transcription.provider in the configuration";
        return Err(Problem::new(StatusCode::CONFLICT, "transcription_off", why));
    };
    let mime = match request.media_type().unwrap_or_default() {
        // The container of films, into which browsers may record speech; the services know it by the name for sound.
        mime if ["video/webm", "video/mp4", "application/ogg"].contains(&mime.as_str()) => {
            mime.replace("video", "audio").replace("application", "audio")
        }
        mime => mime,
    };
    if !mime.starts_with("audio/") {
        let why = "the body must be a recording of speech, with its type, such as audio/webm";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", why));
    }
    let Named { name } = request.queried()?;
    let name = attachments::plain_name(&name.unwrap_or_default());
    let bytes = request.read_raw().await?;
    if bytes.is_empty() {
        return Err(Problem::invalid("body", "is empty, so there is nothing to hear"));
    }
    let speech = Speech { bytes: bytes.into(), name, mime, seconds: None };
    match transcriber.transcribe(speech).await {
        Ok(transcript) => response::json(&Heard { text: transcript.text }),
        Err(error) => Err(failed(&error)),
    }
}

fn failed(error: &ModelError) -> Problem {
    let (status, code) = match error.kind() {
        ModelErrorKind::Quota => (StatusCode::TOO_MANY_REQUESTS, "budget_exceeded"),
        ModelErrorKind::Timeout => (StatusCode::GATEWAY_TIMEOUT, "model_error"),
        _ => (StatusCode::BAD_GATEWAY, "model_error"),
    };
    Problem::new(status, code, error.to_string())
}
