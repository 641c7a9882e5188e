//! `web_fetch`: fetches a page as text.

use std::sync::Arc;

use aethon_core::document::{DocumentKind, DocumentReader};
use aethon_core::tool::{ArgumentRole, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use aethon_core::turn::Trust;
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use ureq::http::{HeaderName, HeaderValue, header};

use super::body::Cut;
use super::client::{Fetched, WebClient};
use super::html::Readable;
use super::target::Target;
use super::{call_timeout, page};

/// Preferred media types.
const ACCEPT: &str =
    "text/html,application/xhtml+xml,application/json;q=0.9,text/*;q=0.9,application/pdf;q=0.8,*/*;q=0.5";
/// How much of an error page is shown, in characters.
const REASON: usize = 1000;

/// Fetches pages.
pub(crate) struct WebFetch {
    spec: ToolSpec,
    client: Arc<WebClient>,
    documents: Arc<dyn DocumentReader>,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The address, beginning with https:// or http://.
    url: String,
}

impl WebFetch {
    pub(super) fn new(client: Arc<WebClient>, documents: Arc<dyn DocumentReader>) -> Self {
        let spec = ToolSpec::of::<Arguments>(
            "web_fetch",
            "Fetches an address and returns its readable text: a web page as Markdown with its headings and links, a \
             document (PDF, office files, e-books) as text, plain text and JSON as they are. Scripts are not run. Hosts of this machine and of the private network \
             are closed, unless the owner has allowed them.",
        )
        .with_role("url", ArgumentRole::Url)
        .reading_only()
        .open_to(Trust::Guest)
        .with_untrusted_output()
        .with_timeout(call_timeout(&client));
        Self { spec, client, documents }
    }
}

#[async_trait]
impl Tool for WebFetch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let arguments: Arguments = self.spec.parse(input)?;
        let target =
            Target::parse(&arguments.url).map_err(|refusal| ToolError::denied(refusal.to_string()))?;
        let accept: [(HeaderName, HeaderValue); 1] = [(header::ACCEPT, HeaderValue::from_static(ACCEPT))];
        let fetched = self.client.get(target, &accept, context.trust(), page::body_limit).await?;
        let body = &fetched.response.body;
        let document = page::document_of(&fetched.response.headers, body).filter(|_| body.cut.is_none());
        if let Some(kind) = document {
            let read = self.document(kind, body.bytes.clone(), context.trust()).await;
            return page_output(&fetched, read);
        }
        let reading = tokio::task::spawn_blocking(move || {
            let Fetched { response, target, .. } = &fetched;
            let read = page::read(&response.headers, &response.body, target.url());
            page_output(&fetched, read)
        });
        reading.await.unwrap_or_else(|_| {
            Err(ToolError::failed(
                "the page could not be read because of a fault in the program; the log has more",
            ))
        })
    }
}

impl WebFetch {
    async fn document(&self, kind: DocumentKind, bytes: Vec<u8>, trust: Trust) -> Result<Readable, String> {
        let read = self.documents.read(kind, bytes, trust).await.map_err(|why| why.to_string())?;
        Ok(Readable { title: String::new(), text: read.for_model(page::MAX_LEN), is_cut: false })
    }
}

/// Formats the result for the model.
fn page_output(fetched: &Fetched, read: Result<Readable, String>) -> Result<ToolOutput, ToolError> {
    let Fetched { response, target, redirects } = fetched;
    let address = target.as_str();
    if !(200..300).contains(&response.status) {
        let said = read.map(|page| page.text).unwrap_or_default();
        let said: String = said.trim().chars().take(REASON).collect();
        let status = status(response.status);
        return Err(ToolError::failed(format!("{address} answered {status}\n{said}").trim_end()));
    }
    let page = read.map_err(|why| {
        let length = response.headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        let size = length.map(|length| format!(" ({length} bytes)")).unwrap_or_default();
        ToolError::failed(format!("{address} cannot be shown as text{size}: {why}"))
    })?;
    let mut text = String::new();
    if !page.title.is_empty() {
        text.push_str(&format!("Title: {}\n", page.title));
    }
    text.push_str(&format!("Address: {address}"));
    match redirects {
        0 => text.push('\n'),
        1 => text.push_str(" (after a redirect)\n"),
        more => text.push_str(&format!(" (after {more} redirects)\n")),
    }
    let body = page.text.trim();
    text.push('\n');
    text.push_str(if body.is_empty() {
        "[there is no text on this page; it may need scripts]"
    } else {
        body
    });
    match response.body.cut {
        Some(Cut::Long) => text.push_str("\n\n[it is longer; only its beginning was loaded]"),
        Some(Cut::Broken) => text.push_str("\n\n[it broke off here: the rest did not come in time]"),
        None if page.is_cut => text.push_str("\n\n[it is longer; only its beginning is shown]"),
        None => {}
    }
    Ok(ToolOutput::text(text))
}

/// Formats a status code with its reason phrase.
pub(super) fn status(code: u16) -> String {
    let known = ureq::http::StatusCode::from_u16(code).ok().and_then(|status| status.canonical_reason());
    known.map_or_else(|| code.to_string(), |reason| format!("{code} {reason}"))
}
