//! The tool.

use std::fmt::Write as _;
use std::sync::Arc;

use aethon_core::secret::Secret;
use aethon_core::tool::{ArgumentRole, Effect, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use aethon_core::turn::Trust;
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::engine::{Hit, Query, SearchEngine};
use super::engines::engine;
use crate::web::client::WebClient;
use crate::web::fetch::status;
use crate::web::options::SearchOptions;
use crate::web::{call_timeout, with_query};

/// Default number of hits.
const USUAL: usize = 8;
/// Maximum number of hits.
const MAX_COUNT: usize = 20;
/// Maximum characters of a query; services accept no more.
const MAX_QUERY: usize = 400;
/// Maximum characters of a title, and of an excerpt.
const TITLE: usize = 200;
const PASSAGE: usize = 600;

/// Searches the web.
pub(crate) struct WebSearch {
    spec: ToolSpec,
    client: Arc<WebClient>,
    engine: Box<dyn SearchEngine>,
    base: String,
    key: Secret,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// What to search for, in the words that the pages would use.
    query: String,
    /// How many results are wanted. Leave it out for 8.
    #[schemars(range(min = 1, max = 20))]
    count: Option<usize>,
}

impl WebSearch {
    /// Creates the tool for this service; the error says why that is not possible.
    pub(in crate::web) fn new(client: Arc<WebClient>, options: &SearchOptions) -> Result<Self, String> {
        let engine = engine(options.service);
        let own = options.base.as_deref().map(str::trim).filter(|base| !base.is_empty());
        let base = own.or(engine.usual_base()).ok_or_else(|| {
            format!("{} has no address of its own: set `tools.web_search.host`", engine.name())
        })?;
        if options.key.is_empty() && engine.usual_base().is_some() {
            return Err(format!("{} wants a key: set `tools.web_search.api_key`", engine.name()));
        }
        let base = base.trim_end_matches('/').to_owned();
        with_query(&base, &[]).map_err(|error| format!("`tools.web_search.host`: {error}"))?;
        let spec = ToolSpec::of::<Arguments>(
            "web_search",
            "Searches the web and returns titles, addresses and passages of the pages that match best. Fetch a page to read \
             it before you rely on it.",
        )
        .with_role("query", ArgumentRole::Text)
        .reading_only()
        .open_to(Trust::Guest)
        .with_untrusted_output()
        .with_effect(Effect::Sends)
        .with_timeout(call_timeout(&client));
        Ok(Self { spec, client, engine, base, key: options.key.clone() })
    }

    fn refused(&self, code: u16, answer: &Value) -> ToolError {
        let name = self.engine.name();
        let why = match (self.engine.explain(code), code) {
            (Some(why), _) => why.to_owned(),
            (None, 401 | 403) => {
                "it does not take the key; the owner must set `tools.web_search.api_key` again".to_owned()
            }
            (None, 429) => "too many searches for now; try again later, or with fewer".to_owned(),
            (None, _) => {
                let said = ["message", "detail", "error"].iter().find_map(|field| answer.get(field));
                said.map_or_else(|| "it gave no reason".to_owned(), Value::to_string)
            }
        };
        ToolError::failed(format!("{name} answered {}: {why}", status(code)))
    }
}

#[async_trait]
impl Tool for WebSearch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let arguments: Arguments = self.spec.parse(input)?;
        let words = arguments.query.trim();
        if words.is_empty() || words.chars().count() > MAX_QUERY {
            return Err(ToolError::failed(format!(
                "`query` must be words to search for, at most {MAX_QUERY} characters"
            )));
        }
        let count = arguments.count.unwrap_or(USUAL).clamp(1, MAX_COUNT);
        let request = self.engine.ask(&self.base, &Query { words, count }, &self.key)?;
        let (code, answer) = match request.send(&self.client, context.trust()).await {
            Ok(answered) => answered,
            // Some services send an HTML page to refuse a request.
            Err(error) => match self.engine.explain(403).filter(|_| error.to_string().contains("403")) {
                Some(why) => {
                    return Err(ToolError::failed(format!("{} answered 403: {why}", self.engine.name())));
                }
                None => return Err(error),
            },
        };
        if !(200..300).contains(&code) {
            return Err(self.refused(code, &answer));
        }
        let hits = self.engine.read(answer).map_err(|error| {
            ToolError::failed(format!("{} answered in a form that is not known: {error}", self.engine.name()))
        })?;
        Ok(ToolOutput::text(format_hits(words, &hits, count)))
    }
}

fn format_hits(words: &str, hits: &[Hit], count: usize) -> String {
    let good = hits.iter().filter(|hit| hit.url.starts_with("http")).take(count);
    let mut text = String::new();
    for (place, hit) in good.enumerate() {
        let title = plain(&hit.title, TITLE);
        let title = if title.is_empty() { "(without a title)" } else { &title };
        let date = hit.date.as_deref().map(|date| plain(date, 40)).filter(|date| !date.is_empty());
        let date = date.map(|date| format!(" ({date})")).unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = write!(text, "{}. {title}{date}\n   {}\n", place + 1, plain(&hit.url, 2000));
        let passage = plain(&hit.passage, PASSAGE);
        if !passage.is_empty() {
            let _ = writeln!(text, "   {passage}");
        }
    }
    if text.is_empty() { format!("Nothing was found for {words:?}. Try other words.") } else { text }
}

/// Formats text of a result on one line, without the tags by which some services highlight the words.
fn plain(text: &str, most: usize) -> String {
    let untagged = ["<strong>", "</strong>", "<b>", "</b>", "<em>", "</em>"]
        .iter()
        .fold(text.to_owned(), |text, tag| text.replace(tag, ""));
    let entities =
        [("&quot;", "\""), ("&#x27;", "'"), ("&#39;", "'"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")];
    let read = entities.iter().fold(untagged, |text, (entity, c)| text.replace(entity, c));
    let line = read.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        None => line,
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_take_few_lines_and_leave_out_anything_but_pages() {
        let hit = |title: &str, url: &str, passage: &str, date: Option<&str>| Hit {
            title: title.into(),
            url: url.into(),
            passage: passage.into(),
            date: date.map(str::to_owned),
        };
        let hits = [
            hit("<strong>Rust</strong> &amp; you", "https://a.example/", "line\none", Some("2 days ago")),
            hit("", "javascript:alert(1)", "", None),
            hit("", "https://b.example/", "", None),
            hit("beyond", "https://c.example/", "", None),
        ];
        let expected = "1. Rust & you (2 days ago)\n   https://a.example/\n   line one\n2. (without a title)\n   https://b.example/\n";
        assert_eq!(format_hits("rust", &hits, 2), expected);
        assert!(format_hits("zebra", &[], 5).contains("zebra"));
        assert_eq!(plain(&"ä".repeat(700), 600).chars().count(), 601);
    }
}
