//! Assembles words and line breaks, and tracks which part of the page each line comes from.

use super::elements::Region;

/// Maximum size of a page's text in bytes.
const MAX_LEN: usize = 2 << 20;
/// Minimum characters of a main region that counts as the content; less is a fragment of a page that is built
/// differently.
const MIN_MAIN: usize = 200;

/// Assembles the text of a page.
#[derive(Debug)]
pub(super) struct Writer {
    text: String,
    /// The offset at which each region begins.
    regions: Vec<(usize, Region)>,
    region: Region,
    /// Line ends to insert before the next word.
    breaks: usize,
    has_space: bool,
    /// Prefix of the next line, used once.
    bullet: Option<String>,
    /// Whether the next word is the first of a link.
    begins_link: bool,
    /// Nesting depth of lists and quotes.
    pub(super) indent: usize,
    pub(super) quotes: usize,
    pub(super) is_preformatted: bool,
    pub(super) is_cut: bool,
}

impl Default for Writer {
    fn default() -> Self {
        Self {
            text: String::new(),
            regions: Vec::new(),
            region: Region::Other,
            breaks: 0,
            has_space: false,
            bullet: None,
            begins_link: false,
            indent: 0,
            quotes: 0,
            is_preformatted: false,
            is_cut: false,
        }
    }
}

impl Writer {
    /// Assigns the following text to a region.
    pub(super) fn enter(&mut self, region: Region) {
        if self.region != region {
            self.region = region;
            self.break_line(2);
        }
    }

    /// Puts the next word on a new line, after this many line ends.
    pub(super) fn break_line(&mut self, breaks: usize) {
        self.breaks = self.breaks.max(breaks);
        self.has_space = false;
    }

    /// Starts the next line with this prefix.
    pub(super) fn begin_line_with(&mut self, bullet: String) {
        self.bullet = Some(bullet);
    }

    /// Adds text; runs of whitespace collapse to a space unless preformatted.
    pub(super) fn text(&mut self, text: &str) {
        if self.is_preformatted {
            return self.lines(text);
        }
        for piece in text.split_inclusive(|c: char| c.is_ascii_whitespace()) {
            let word = piece.trim_end_matches(|c: char| c.is_ascii_whitespace());
            if !word.is_empty() {
                self.word(word);
            }
            self.has_space |= word.len() < piece.len();
        }
    }

    /// Adds markup that attaches to the neighbouring text: inserts no space that was not there.
    pub(super) fn mark(&mut self, mark: &str) {
        self.word(mark);
    }

    /// Adds closing markup right after the last word; a pending space stays pending.
    pub(super) fn close(&mut self, mark: &str) {
        let (breaks, has_space) = (std::mem::take(&mut self.breaks), std::mem::take(&mut self.has_space));
        self.push(mark);
        (self.breaks, self.has_space) = (breaks, has_space);
    }

    /// Starts the text of a link, if it has a target.
    pub(super) fn begin_link(&mut self, leads: bool) {
        self.begins_link = leads;
    }

    /// Ends the current link with its target. A link without text is dropped.
    pub(super) fn end_link(&mut self, leads: &str) {
        if !std::mem::take(&mut self.begins_link) {
            self.close(&format!("]({leads})"));
        }
    }

    fn lines(&mut self, text: &str) {
        for line in text.split_inclusive('\n') {
            let words = line.trim_end_matches(['\n', '\r']);
            if !words.is_empty() {
                self.word(words);
            }
            if words.len() < line.len() {
                // Empty lines count here, but only up to a limit.
                self.breaks = (self.breaks + 1).min(3);
            }
        }
    }

    fn word(&mut self, word: &str) {
        let is_new_line = self.breaks > 0 || self.text.is_empty();
        if self.regions.last().is_none_or(|(_, last)| *last != self.region) {
            self.regions.push((self.text.len(), self.region));
        }
        if is_new_line {
            for _ in 0..if self.text.is_empty() { 0 } else { self.breaks } {
                self.push("\n");
            }
            let quotes = "> ".repeat(self.quotes.min(8));
            let bullet = self.bullet.take();
            let indent = self.indent.saturating_sub(usize::from(bullet.is_some())).min(16);
            let start = quotes + &"  ".repeat(indent) + bullet.as_deref().unwrap_or_default();
            self.push(&start);
        } else if self.has_space {
            self.push(" ");
        }
        (self.breaks, self.has_space) = (0, false);
        if std::mem::take(&mut self.begins_link) {
            self.push("[");
        }
        self.push(word);
    }

    fn push(&mut self, text: &str) {
        if self.text.len() + text.len() > MAX_LEN {
            self.is_cut = true;
        } else {
            self.text.push_str(text);
        }
    }

    /// Returns the page: its content if that differs from the frame, otherwise all but the frame, otherwise
    /// everything.
    pub(super) fn finish(self) -> String {
        let with = |wanted: &[Region]| {
            let ends = self.regions.iter().skip(1).map(|(start, _)| *start).chain([self.text.len()]);
            let parts = self.regions.iter().zip(ends).filter(|((_, region), _)| wanted.contains(region));
            let parts = parts.map(|((start, _), end)| self.text[*start..end].trim_matches('\n'));
            parts.filter(|part| !part.trim().is_empty()).collect::<Vec<_>>().join("\n\n")
        };
        let main = with(&[Region::Main]);
        if main.len() >= MIN_MAIN {
            return main;
        }
        let content = with(&[Region::Main, Region::Other]);
        if content.is_empty() { self.text } else { content }
    }
}
