//! Where a bare address ends.

use crate::scripts::{ends_address, is_unspaced, never_ends_address};

/// Particles that Korean attaches to an address; what stands alone behind a slash is one of them and no path.
const PARTICLES: [&str; 15] =
    ["을", "를", "은", "는", "이", "가", "에", "에서", "에는", "으로", "로", "와", "과", "의", "도"];

/// An address that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Address {
    /// It ends here, although the parser would read on.
    Ends(usize),
    /// The parser finds its end itself, here at the latest.
    Whole(usize),
}

impl Address {
    /// Reads the address that a text begins with. It ends before punctuation of full width, and before words of a script
    /// without blanks that follow an address in ASCII. An address that goes on in such a script after a slash stays whole:
    /// `https://ja.wikipedia.org/wiki/東京`.
    pub(crate) fn read(text: &str) -> Self {
        let scheme = text.len() - text.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
        let host = if text[scheme..].starts_with("://") { scheme + 3 } else { 0 };
        let mut scan = Scan { text, host, is_in_host: true, is_foreign: false };
        let mut end = None;
        let mut length = text.len();
        for (at, c) in text[host..].char_indices().map(|(at, c)| (at + host, c)) {
            if c.is_ascii_whitespace() || c == '<' {
                length = at;
                break;
            }
            if ends_address(c) || c.is_whitespace() {
                end = Some(at);
                break;
            }
            if c.is_ascii() {
                scan.is_in_host &= !matches!(c, '/' | '?' | '#');
            } else if let Some(before) = scan.cut(at, c) {
                end = Some(before);
                break;
            }
        }
        let last = end.unwrap_or(length);
        let kept = text[..last].trim_end_matches(never_ends_address).len();
        if end.is_none() && kept == last {
            return Self::Whole(length);
        }
        // Marks of emphasis belong to what surrounds the address.
        let end = text[..kept].trim_end_matches(['*', '_', '~']).len();
        if end > host { Self::Ends(end) } else { Self::Whole(host) }
    }
}

/// The address as it was read so far.
struct Scan<'t> {
    text: &'t str,
    /// Where its host begins.
    host: usize,
    is_in_host: bool,
    /// Whether letters outside of ASCII belong to it.
    is_foreign: bool,
}

impl Scan<'_> {
    /// Returns where the address ends, if this character beyond ASCII is no part of it.
    fn cut(&mut self, at: usize, c: char) -> Option<usize> {
        let is_word = is_unspaced(c);
        // Letters of scripts with blanks go on as those of ASCII do; signs such as emoji do not.
        if !is_word && c.is_alphanumeric() {
            self.is_foreign = true;
        }
        if self.is_foreign || never_ends_address(c) || is_mark(c) {
            return None;
        }
        let end = if self.is_in_host { self.cut_host(at) } else { self.cut_path(at) };
        self.is_foreign = end.is_none();
        end
    }

    fn cut_host(&self, at: usize) -> Option<usize> {
        let before = &self.text[self.host..at];
        // Of a host, whole labels may be in any script, and the first label may be mixed.
        let is_label = before.is_empty() || before.ends_with('.');
        let is_mixed =
            !before.contains(['.', ':']) && before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '-');
        let goes_on = || {
            let rest =
                self.text[at..].trim_start_matches(|c: char| c.is_alphanumeric() || c == '-' || is_mark(c));
            rest.strip_prefix('.').is_some_and(|rest| rest.starts_with(char::is_alphanumeric))
        };
        let is_part = is_label || (is_mixed && goes_on());
        (!is_part).then_some(at)
    }

    fn cut_path(&self, at: usize) -> Option<usize> {
        let before = &self.text[..at];
        let previous = before.chars().next_back()?;
        match previous {
            // A remark right behind a word: `docs(说明)`; but `Tokyo_(曖昧さ回避)` is a title.
            '(' | '[' | '{' => {
                let outer = before.trim_end_matches(previous);
                outer.ends_with(|c: char| c.is_ascii_alphanumeric()).then_some(outer.len())
            }
            '~' if !before.ends_with("~~") => None,
            '_' if !before.ends_with("__") => None,
            '/' | '=' | '-' | '?' | '&' | '#' | '%' | '+' | ':' | '@' | '$' | '|' => {
                self.begins_with_particle(at).then_some(at)
            }
            _ => Some(at),
        }
    }

    /// Returns whether what follows is grammar and no name.
    fn begins_with_particle(&self, at: usize) -> bool {
        let rest = &self.text[at..];
        let end = rest.find(|c: char| !is_unspaced(c)).unwrap_or(rest.len());
        rest.starts_with('を') || PARTICLES.contains(&&rest[..end])
    }
}

/// Returns whether a character only changes the one before it.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{0300}'..='\u{036f}' | '\u{200c}' | '\u{200d}' | '\u{3099}' | '\u{309a}' | '\u{fe00}'..='\u{fe0f}')
}
