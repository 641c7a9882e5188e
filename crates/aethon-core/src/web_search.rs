//! A web search that a model's provider ran while the model answered.
//!
//! The program sees which pages were found, and some providers want the rest back unchanged. What was found is text from
//! outside, as if one of the assistant's own tools had returned it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::message::Opaque;

/// The name under which such searches are shown, and of the assistant's own tool that does the same.
pub const WEB_SEARCH: &str = "web_search";

/// The longest address of a source, in bytes.
const MAX_URL: usize = 2_000;

/// The longest title of a source, in characters.
const MAX_TITLE: usize = 150;

/// A search, as one block of the model's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WebSearch {
    /// What was searched for; empty if the provider does not say.
    pub query: String,
    /// The pages that were found, as far as the provider names them.
    pub sources: Vec<Source>,
    /// What the provider wants back in the next request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Opaque>,
}

/// A page on the web.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    /// Its address, http or https.
    pub url: String,
    /// Its title; its address if it has none.
    pub title: String,
}

impl Source {
    /// A page, if its address is one that a person can open. A page may have any title, so it is reduced to one line.
    pub fn new(url: &str, title: &str) -> Option<Self> {
        let is_web = ["http://", "https://"]
            .iter()
            .any(|scheme| url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
        let is_plain = url.len() <= MAX_URL && !url.contains(|c: char| c.is_whitespace() || c.is_control());
        let words: Vec<&str> = title.split_whitespace().collect();
        let title: String = words.join(" ").chars().filter(|c| !c.is_control()).take(MAX_TITLE).collect();
        let title = if title.is_empty() { url.to_owned() } else { title };
        (is_web && is_plain).then(|| Self { url: url.to_owned(), title })
    }

    /// Returns it as a link in Markdown. Its title can neither end the link nor add another one.
    pub fn link(&self) -> String {
        let mut title = String::with_capacity(self.title.len());
        for c in self.title.chars() {
            if c.is_ascii_punctuation() {
                title.push('\\');
            }
            title.push(c);
        }
        format!("[{title}](<{}>)", self.url.replace('<', "%3C").replace('>', "%3E").replace('\\', "%5C"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_web_pages_with_harmless_titles() {
        let check = |url: &str, title: &str, expected: Option<&str>| {
            assert_eq!(
                Source::new(url, title).map(|source| source.link()).as_deref(),
                expected,
                "{url} {title}"
            );
        };
        check("https://a.example/x", "A page", Some("[A page](<https://a.example/x>)"));
        check("HTTPS://a.example", "", Some("[HTTPS\\:\\/\\/a\\.example](<HTTPS://a.example>)"));
        check(
            "https://a.example/<b>",
            "x](https://evil)\n![y",
            Some("[x\\]\\(https\\:\\/\\/evil\\) \\!\\[y](<https://a.example/%3Cb%3E>)"),
        );
        for url in ["javascript:alert(1)", "data:text/html,x", "ftp://a.example", "https://a.example/ x", ""]
        {
            check(url, "A page", None);
        }
    }
}
