//! `GET /api/sessions/{id}/export?format=json|markdown&versions=live|all`: a whole conversation as a file.

use bytes::Bytes;
use http::StatusCode;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, HeaderValue};

use super::sessions::{no_such_session, session_id};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::body::{Body, BodyWriter, ClientGone};
use crate::deps::Chat;
use crate::json::{Export, Format};
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// How many bytes are sent at a time.
const PART: usize = 256 << 10;

/// How a conversation is written.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Writing {
    /// As data, or as a text to read.
    format: Format,
    /// Which versions of answers and questions are in it.
    versions: Versions,
}

/// Which versions are exported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Versions {
    /// Those of the conversation as it is.
    #[default]
    Live,
    /// Those that were put aside, too.
    All,
}

/// Streams the conversation as it is read.
pub(super) async fn export(chat: Chat, request: Request) -> HandlerResult {
    let id = session_id(&request)?;
    let Writing { format, versions } = request.queried()?;
    let export = Export::open(chat.transcripts, &id, format).await?.ok_or_else(no_such_session)?;
    let export = if versions == Versions::All { export.with_versions(chat.history) } else { export };
    let (content_type, extension) = match format {
        Format::Json => ("application/json", "json"),
        Format::Markdown => ("text/markdown; charset=utf-8", "md"),
    };
    let (writer, body) = Body::stream();
    // Ends with the file, or when the connection closes and writing fails.
    tokio::spawn(send(export, writer));
    let disposition = format!("attachment; filename=\"{}.{extension}\"", file_name(id.as_str()));
    let disposition = HeaderValue::try_from(disposition).unwrap_or(HeaderValue::from_static("attachment"));
    let mut answer = response::with_body(StatusCode::OK, body);
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer.headers_mut().insert(CONTENT_DISPOSITION, disposition);
    Ok(answer)
}

async fn send(mut export: Export, writer: BodyWriter) {
    loop {
        let written = match export.next().await {
            Ok(Some(piece)) => send_piece(piece, &writer).await,
            Ok(None) => {
                // If the client leaves at the very end, nothing is lost.
                let _ = writer.finish().await;
                return;
            }
            Err(error) => {
                // The status is already sent, so the file can only be cut off.
                tracing::error!(error = &error as &dyn std::error::Error, "an export was cut off");
                return;
            }
        };
        if written.is_err() {
            tracing::debug!("a client left during an export");
            return;
        }
    }
}

/// Sends a piece in parts, so that large pieces do not pile up before a slow reader.
async fn send_piece(piece: String, writer: &BodyWriter) -> Result<(), ClientGone> {
    let mut rest = Bytes::from(piece);
    while !rest.is_empty() {
        writer.write(rest.split_to(rest.len().min(PART))).await?;
    }
    Ok(())
}

/// Derives a file name of plain characters from a session id.
fn file_name(id: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    id.chars().map(plain).take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_is_plain_whatever_the_session_is_called() {
        assert_eq!(file_name("webchat:default"), "webchat-default");
        assert_eq!(file_name("webchat:a\"b/../c\u{e9}"), "webchat-a-b----c-");
        assert!(file_name(&"x".repeat(500)).len() <= 80);
    }
}
