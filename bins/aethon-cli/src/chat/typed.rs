//! Text typed while a reply arrives: shown below the reply, queued by Enter, and kept whatever happens to the turn.
//!
//! The line editor does not run meanwhile, so only the keys that matter for a next message are understood. A message that was
//! queued is sent when the turn is over; after Ctrl-C everything goes back into the line, where it can be edited.

use std::collections::VecDeque;
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, poll, read};

use super::paste::Pastes;
use super::words::{is_continued, is_incomplete, pasted};

/// How many events are taken at once, so that a flood of keys cannot hold up the reply.
const MAX_EVENTS: usize = 4096;

/// The maximum size of all typed text, in bytes. Any excess is dropped, as a terminal does when its buffer is full.
const MAX_BYTES: usize = 1 << 20;

/// Messages typed ahead.
#[derive(Debug, Default)]
pub(super) struct Typed {
    /// Messages that were completed with Enter, the oldest first.
    queue: VecDeque<String>,
    /// The line that is being typed.
    line: String,
    /// The pastes of this chat.
    pastes: Pastes,
}

impl Typed {
    /// Creates it for a chat with these pastes.
    pub(super) fn new(pastes: Pastes) -> Self {
        Self { pastes, ..Self::default() }
    }

    /// Takes the keys that were pressed since the last call. Returns whether the display changed.
    pub(super) fn take_keys(&mut self) -> bool {
        let mut has_changed = false;
        for _ in 0..MAX_EVENTS {
            match poll(Duration::ZERO).and_then(|ready| ready.then(read).transpose()) {
                Ok(Some(event)) => has_changed |= self.offer(event),
                // Nothing is waiting, or the keyboard cannot be read now; the line editor reports that when it matters.
                Ok(None) | Err(_) => break,
            }
        }
        has_changed
    }

    /// Handles one event. Returns whether the display changed.
    pub(super) fn offer(&mut self, event: Event) -> bool {
        match event {
            Event::Paste(text) => {
                let text = pasted(&text);
                self.pastes.note(&text);
                self.push(&text)
            }
            Event::Key(key) if key.kind != KeyEventKind::Release => self.press(key),
            _ => false,
        }
    }

    fn press(&mut self, key: KeyEvent) -> bool {
        let has = |modifier| key.modifiers.contains(modifier);
        match key.code {
            KeyCode::Enter if has(KeyModifiers::ALT) => self.push("\n"),
            KeyCode::Enter if is_continued(&self.line) => {
                self.line.pop();
                self.push("\n")
            }
            KeyCode::Enter if is_incomplete(&self.line) => self.push("\n"),
            KeyCode::Enter => self.submit(),
            KeyCode::Backspace if has(KeyModifiers::ALT) => self.remove_word(),
            KeyCode::Backspace => self.line.pop().is_some(),
            KeyCode::Char('h') if has(KeyModifiers::CONTROL) => self.line.pop().is_some(),
            KeyCode::Char('w') if has(KeyModifiers::CONTROL) => self.remove_word(),
            KeyCode::Char('u') if has(KeyModifiers::CONTROL) => !std::mem::take(&mut self.line).is_empty(),
            // Takes the last queued message back to change it.
            KeyCode::Up if self.line.is_empty() => match self.queue.pop_back() {
                Some(last) => {
                    self.line = last;
                    true
                }
                None => false,
            },
            KeyCode::Char(c) if !has(KeyModifiers::CONTROL) && !has(KeyModifiers::ALT) => {
                self.push(c.encode_utf8(&mut [0; 4]))
            }
            KeyCode::Tab => self.push("\t"),
            _ => false,
        }
    }

    fn push(&mut self, text: &str) -> bool {
        let used: usize = self.queue.iter().map(String::len).sum::<usize>() + self.line.len();
        if used + text.len() > MAX_BYTES {
            return false;
        }
        self.line.push_str(text);
        true
    }

    fn submit(&mut self) -> bool {
        if self.line.trim().is_empty() {
            return false;
        }
        self.queue.push_back(std::mem::take(&mut self.line));
        true
    }

    fn remove_word(&mut self) -> bool {
        let kept = self.line.trim_end().rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let has_changed = kept < self.line.len();
        self.line.truncate(self.line.char_indices().map(|(at, _)| at).rfind(|at| *at <= kept).unwrap_or(0));
        has_changed
    }

    /// Removes a queued `/stop`, which is meant for the reply that runs now.
    pub(super) fn take_stop(&mut self) -> bool {
        let before = self.queue.len();
        self.queue.retain(|message| message.trim() != "/stop");
        self.queue.len() < before
    }

    /// Returns the next queued message.
    pub(super) fn next(&mut self) -> Option<String> {
        self.queue.pop_front()
    }

    /// Returns the queued messages.
    pub(super) fn queued(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.queue.iter().map(String::as_str)
    }

    /// Returns the line that is being typed.
    pub(super) fn line(&self) -> &str {
        &self.line
    }

    /// Puts the queued messages back into the line, to be edited.
    pub(super) fn gather(&mut self) {
        self.line = self.take_all();
    }

    /// Takes everything, as one text.
    pub(super) fn take_all(&mut self) -> String {
        let mut parts: Vec<String> = self.queue.drain(..).collect();
        parts.push(std::mem::take(&mut self.line));
        parts.retain(|part| !part.is_empty());
        parts.join("\n")
    }

    /// Puts a message that could not be sent back into the line, and those that were queued after it.
    pub(super) fn give_back(&mut self, message: &str) {
        self.queue.push_front(message.to_owned());
        self.gather();
    }

    /// Puts a text into the line, before what stands there.
    pub(super) fn prefill(&mut self, text: &str) {
        self.line.insert_str(0, text);
    }

    /// Takes the unfinished line.
    pub(super) fn take_line(&mut self) -> String {
        std::mem::take(&mut self.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(typed: &mut Typed, keys: &str) {
        for c in keys.chars() {
            let code = if c == '\n' { KeyCode::Enter } else { KeyCode::Char(c) };
            typed.offer(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
        }
    }

    fn with(typed: &mut Typed, code: KeyCode, modifiers: KeyModifiers) {
        typed.offer(Event::Key(KeyEvent::new(code, modifiers)));
    }

    #[test]
    fn enter_queues_a_message_and_the_rest_is_kept() {
        let mut typed = Typed::default();
        press(&mut typed, "one\n\n\ntwo");
        with(&mut typed, KeyCode::Enter, KeyModifiers::ALT);
        press(&mut typed, "lines\nthre");
        assert_eq!(typed.queued().collect::<Vec<_>>(), ["one", "two\nlines"]);
        assert_eq!(typed.next().as_deref(), Some("one"));
        assert_eq!(typed.line(), "thre");
    }

    #[test]
    fn keys_edit_the_line() {
        let mut typed = Typed::default();
        press(&mut typed, "some wörds");
        with(&mut typed, KeyCode::Char('w'), KeyModifiers::CONTROL);
        assert_eq!(typed.line(), "some ");
        with(&mut typed, KeyCode::Backspace, KeyModifiers::NONE);
        assert_eq!(typed.line(), "some");
        typed.offer(Event::Paste("a\r\nb\u{1b}".into()));
        assert_eq!(typed.line(), "somea\nb␛");
        with(&mut typed, KeyCode::Char('u'), KeyModifiers::CONTROL);
        assert_eq!(typed.line(), "");
        press(&mut typed, "``` open\nstill\n```\n");
        assert_eq!(typed.queued().count(), 1, "an open fence goes on");
        with(&mut typed, KeyCode::Up, KeyModifiers::NONE);
        assert_eq!((typed.queued().count(), typed.line()), (0, "``` open\nstill\n```"));
    }

    #[test]
    fn everything_goes_back_into_one_line() {
        let mut typed = Typed::default();
        press(&mut typed, "one\n/stop\ntwo\nrest");
        assert!(typed.take_stop() && !typed.take_stop());
        assert_eq!(typed.take_all(), "one\ntwo\nrest");
        assert_eq!(typed.take_all(), "");
        press(&mut typed, "two\nrest");
        typed.give_back("one");
        assert_eq!((typed.next(), typed.line()), (None, "one\ntwo\nrest"));
    }

    #[test]
    fn a_paste_is_remembered_as_one() {
        let pastes = Pastes::default();
        let mut typed = Typed::new(pastes.clone());
        press(&mut typed, "@mine ");
        typed.offer(Event::Paste("a @theirs, b".into()));
        assert!(pastes.have_named("@theirs") && !pastes.have_named("@mine"));
    }
}
