//! The lines below an unfinished reply: the state of the turn, and the text that is typed meanwhile.

use std::time::{Duration, Instant};

use aethon::core::visible::readable;

use super::event::ChatEvent;
use super::progress::Progress;
use super::typed::Typed;
use super::words::shortened;
use crate::render::{Style, columns_of};

/// How many queued messages are shown.
const MAX_QUEUED: usize = 3;

/// How many lines of the one that is being typed are shown.
const MAX_LINES: usize = 5;

/// The lines below a reply.
#[derive(Debug)]
pub(super) struct Footer {
    progress: Progress,
    begun: Instant,
    /// The queued messages, in a line each.
    queued: Vec<String>,
    /// The line that is being typed, with its prompt; empty if nothing is typed.
    typed: Vec<String>,
}

impl Footer {
    /// Begins with a message that is being sent.
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self { progress: Progress::new(now), begun: now, queued: Vec::new(), typed: Vec::new() }
    }

    /// Notes an event of the turn.
    pub(super) fn note(&mut self, event: &ChatEvent) {
        self.progress.note(event, Instant::now());
    }

    /// Notes that the turn is being stopped.
    pub(super) fn stop(&mut self) {
        self.progress.stop(Instant::now());
    }

    /// Returns how long the turn has taken.
    pub(super) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Takes over the typed text, at this prompt.
    pub(super) fn set_typed(&mut self, typed: &Typed, prompt: &str) {
        self.queued = typed.queued().map(str::to_owned).collect();
        let marks = std::iter::once(prompt).chain(std::iter::repeat(". "));
        let text = readable(typed.line());
        let lines =
            marks.zip(text.split('\n')).map(|(mark, line)| format!("{mark}{}", line.replace('\t', "    ")));
        self.typed = if text.is_empty() { Vec::new() } else { lines.collect() };
    }

    /// Returns the lines, in a window of this width.
    pub(super) fn lines(&self, style: Style, width: usize) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let mut dimmed =
            |text: String| lines.push(style.dim(&shortened(&text, width.saturating_sub(1).max(1))));
        self.progress.line(Instant::now()).into_iter().for_each(&mut dimmed);
        for message in self.queued.iter().take(MAX_QUEUED) {
            dimmed(format!("  queued: {}", readable(message)));
        }
        if let Some(more @ 1..) = self.queued.len().checked_sub(MAX_QUEUED) {
            dimmed(format!("  and {more} more"));
        }
        let hidden = self.typed.len().saturating_sub(MAX_LINES);
        lines.extend(self.typed.iter().skip(hidden).map(|line| end_of(line, width.saturating_sub(1).max(1))));
        lines
    }
}

/// Returns a line, or its end if it is wider than this.
fn end_of(line: &str, columns: usize) -> String {
    if columns_of(line) <= columns {
        return line.to_owned();
    }
    let mut used = 1;
    let fits = |c: &char| {
        used += columns_of(c.encode_utf8(&mut [0; 4]));
        used <= columns
    };
    let kept: Vec<char> = line.chars().rev().take_while(fits).collect();
    std::iter::once('…').chain(kept.into_iter().rev()).collect()
}

#[cfg(test)]
mod tests {
    use crossterm::event::Event;

    use super::*;

    #[test]
    fn typed_text_is_shown_by_its_end() {
        assert_eq!(end_of("> short", 10), "> short");
        assert_eq!(end_of("> a longer line", 10), "…nger line");
        assert_eq!(end_of("> 日本語日本語", 8), "…日本語");
    }

    #[test]
    fn typed_text_appears_below_queued_messages() {
        let (mut typed, mut footer) = (Typed::default(), Footer::new());
        let style = Style { colour: false, links: false, width: 40 };
        assert!(footer.lines(style, 40).is_empty(), "a quick reply needs no line");
        for text in ["one", "two", "three", "four"] {
            typed.offer(Event::Paste(text.into()));
            typed.offer(Event::Key(crossterm::event::KeyCode::Enter.into()));
        }
        typed.offer(Event::Paste("a\u{202e}b\nc".into()));
        footer.set_typed(&typed, "> ");
        let expected =
            ["  queued: one", "  queued: two", "  queued: three", "  and 1 more", "> a‹U+202E›b", ". c"];
        assert_eq!(footer.lines(style, 40), expected);
    }
}
