//! Words and breaks, put on lines; and which part of the page each line is from.

use super::elements::Region;

/// The most bytes of text that a page comes to.
const LONGEST: usize = 2 << 20;
/// Content counts as found from so many characters on; less is a fragment of a page that is built otherwise.
const LEAST_MAIN: usize = 200;

/// Puts a page together.
#[derive(Debug)]
pub(super) struct Writer {
    text: String,
    /// Where which region begins.
    regions: Vec<(usize, Region)>,
    region: Region,
    /// The line ends that come before the next word.
    breaks: usize,
    has_space: bool,
    /// What the next line begins with, once.
    bullet: Option<String>,
    /// Whether the next word is the first of a link.
    begins_link: bool,
    /// How deep lists and quotes are.
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
    /// What comes is in this part of the page.
    pub(super) fn enter(&mut self, region: Region) {
        if self.region != region {
            self.region = region;
            self.break_line(2);
        }
    }

    /// The next word stands on another line, behind so many line ends.
    pub(super) fn break_line(&mut self, breaks: usize) {
        self.breaks = self.breaks.max(breaks);
        self.has_space = false;
    }

    /// The next line begins with this.
    pub(super) fn begin_line_with(&mut self, bullet: String) {
        self.bullet = Some(bullet);
    }

    /// Text of the page, whose blanks mean a blank each unless it is preformatted.
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

    /// A mark that belongs to what is beside it: no blank comes before it that was not there.
    pub(super) fn mark(&mut self, mark: &str) {
        self.word(mark);
    }

    /// Closes what was opened behind the last word; a blank that was to come stays to come.
    pub(super) fn close(&mut self, mark: &str) {
        let (breaks, has_space) = (std::mem::take(&mut self.breaks), std::mem::take(&mut self.has_space));
        self.push(mark);
        (self.breaks, self.has_space) = (breaks, has_space);
    }

    /// What comes is the text of a link, if it leads anywhere.
    pub(super) fn begin_link(&mut self, leads: bool) {
        self.begins_link = leads;
    }

    /// The link that was begun ends, and leads there. One without a word is none.
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
                // Empty lines count here, but not without end.
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
        if self.text.len() + text.len() > LONGEST {
            self.is_cut = true;
        } else {
            self.text.push_str(text);
        }
    }

    /// The page: its content if that can be told from the frame, else all but the frame, else all.
    pub(super) fn finish(self) -> String {
        let with = |wanted: &[Region]| {
            let ends = self.regions.iter().skip(1).map(|(start, _)| *start).chain([self.text.len()]);
            let parts = self.regions.iter().zip(ends).filter(|((_, region), _)| wanted.contains(region));
            let parts = parts.map(|((start, _), end)| self.text[*start..end].trim_matches('\n'));
            parts.filter(|part| !part.trim().is_empty()).collect::<Vec<_>>().join("\n\n")
        };
        let main = with(&[Region::Main]);
        if main.len() >= LEAST_MAIN {
            return main;
        }
        let content = with(&[Region::Main, Region::Other]);
        if content.is_empty() { self.text } else { content }
    }
}
