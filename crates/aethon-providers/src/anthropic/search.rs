//! Web searches that the service ran for a message: what the person sees of them, and the blocks that go back unchanged.

use aethon_core::message::Opaque;
use aethon_core::model::ModelEvent;
use aethon_core::web_search::{Source, WebSearch};
use serde_json::Value;

use super::DIALECT;

/// Returns the event of a search, given its call and its result as far as they came.
pub(super) fn found(call: Option<Value>, result: Option<Value>) -> ModelEvent {
    let query = call.as_ref().and_then(|call| call.pointer("/input/query")?.as_str()).unwrap_or_default();
    let pages = result.as_ref().and_then(|result| result.get("content")?.as_array());
    let sources = pages.into_iter().flatten().filter_map(source).collect();
    let query = query.to_owned();
    let data: Vec<Value> = call.into_iter().chain(result).collect();
    let opaque = Some(Opaque { dialect: DIALECT.into(), data: data.into() });
    ModelEvent::Search(WebSearch { query, sources, opaque })
}

/// Returns the page of a result or a citation.
pub(super) fn source(page: &Value) -> Option<Source> {
    let field = |name: &str| page.get(name).and_then(Value::as_str).unwrap_or_default();
    Source::new(field("url"), field("title"))
}
