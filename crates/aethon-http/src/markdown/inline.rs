//! Text inside tags: escaping, links, language names.

use url::Url;

/// The longest link target in bytes. Longer ones are shown as text.
const MAX_TARGET: usize = 4096;
/// The longest language name.
const MAX_LANGUAGE: usize = 32;

/// Appends text, escaped for use inside an element or a quoted attribute.
pub(super) fn escape_into(html: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.find(['&', '<', '>', '"', '\'']) {
        let (before, from) = rest.split_at(at);
        html.push_str(before);
        html.push_str(match from.as_bytes().first() {
            Some(b'&') => "&amp;",
            Some(b'<') => "&lt;",
            Some(b'>') => "&gt;",
            Some(b'"') => "&quot;",
            _ => "&#39;",
        });
        rest = from.get(1..).unwrap_or_default();
    }
    html.push_str(rest);
}

/// A link target that is safe to follow.
#[derive(Debug)]
pub(super) struct Target {
    url: Url,
}

impl Target {
    /// Checks a target from the parser, with entities and escapes resolved. The scheme must be explicit. Targets that
    /// a browser would clean up first (whitespace, control characters, backslashes before the path) are refused.
    pub(super) fn parse(target: &str) -> Option<Self> {
        let is_odd = |character: char| {
            character.is_control()
                || character.is_whitespace()
                || is_invisible(character)
                || character == '\\'
        };
        if target.len() > MAX_TARGET || target.contains(is_odd) {
            return None;
        }
        let has =
            |scheme: &str| target.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
        if !(has("http://") || has("https://") || has("mailto:")) {
            return None;
        }
        let url = Url::parse(target).ok()?;
        let is_whole = match url.scheme() {
            "http" | "https" => url.host_str().is_some_and(|host| !host.is_empty()),
            "mailto" => url.path().contains('@'),
            _ => false,
        };
        is_whole.then_some(Self { url })
    }

    /// Opens the link.
    pub(super) fn open(&self, html: &mut String, title: &str) {
        html.push_str("<a href=\"");
        escape_into(html, self.url.as_str());
        if !title.is_empty() {
            html.push_str("\" title=\"");
            escape_into(html, title);
        }
        html.push_str("\" rel=\"noopener noreferrer\" target=\"_blank\">");
    }

    /// Closes the link. If its text is not the address itself, the host follows, so that the text cannot fake another
    /// destination.
    pub(super) fn close(&self, html: &mut String, text: &str) {
        html.push_str("</a>");
        let Some(host) = self.url.host_str() else { return };
        if !self.is_spelled_out_by(text) {
            html.push_str("<span class=\"host\">");
            escape_into(html, host);
            html.push_str("</span>");
        }
    }

    fn is_spelled_out_by(&self, text: &str) -> bool {
        let text = text.trim();
        let is_same = |address: &str| Url::parse(address).is_ok_and(|url| url == self.url);
        is_same(text) || (text.starts_with("www.") && is_same(&format!("{}://{text}", self.url.scheme())))
    }
}

/// Returns whether a character is invisible and so could disguise an address.
fn is_invisible(character: char) -> bool {
    matches!(character, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Returns the language of a code block: the first word of its info string, in lower case, restricted to
/// `[a-z0-9+#-]`.
pub(super) fn language(info: &str) -> String {
    let word = info.split([' ', '\t', ',', ';', ':']).find(|word| !word.is_empty()).unwrap_or_default();
    word.chars()
        .map(|character| character.to_ascii_lowercase())
        .filter(|character| character.is_ascii_alphanumeric() || matches!(character, '+' | '#' | '-'))
        .take(MAX_LANGUAGE)
        .collect()
}
