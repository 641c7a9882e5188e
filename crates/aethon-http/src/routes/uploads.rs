//! `/api/uploads`: files for a message that is not sent yet.
use schemars::JsonSchema;
use serde::Deserialize;

use crate::deps::Chat;
use crate::error::Problem;
use crate::request::Request;
use crate::response::{self, HandlerResult};
use crate::ws::attachments;

/// What a file is called.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Named {
    /// Its name.
    name: Option<String>,
}

/// `PUT /api/uploads?name`: keeps a file, whose type is that of the request.
pub(super) async fn keep(chat: Chat, mut request: Request) -> HandlerResult {
    let Named { name } = request.queried()?;
    let name = attachments::plain_name(&name.unwrap_or_default());
    let mime = request.media_type().unwrap_or_default();
    let bytes = request.read_raw().await?;
    attachments::check(&name, &mime, &bytes)
        .map_err(|why| Problem::new(http::StatusCode::UNPROCESSABLE_ENTITY, "bad_attachment", why))?;
    response::json(&chat.uploads.keep(&name, &mime, bytes.into()).await?)
}
