//! Thoughts that a model writes into its text, at the beginning and between tags, because the server in front of it does
//! not take them out: `<think>…</think>`.
//!
//! The opening tag is often part of the prompt, so that only the closing one arrives, behind text that was shown as an
//! answer already. Then [`Piece::WasThought`] turns that text into a thought, and the next responses of the model are
//! expected to begin with one: their text counts as a thought until the tag comes, and as an answer if none comes.
//! An answer about such tags has them in the middle, in code or in quotation marks, and stays as it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::family::{Beginning, begins_with};
use super::prose::Prose;

/// What begins and ends thoughts.
const TAGS: [(&str, &str); 5] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
];
const BEGINNINGS: [&str; 5] = [TAGS[0].0, TAGS[1].0, TAGS[2].0, TAGS[3].0, TAGS[4].0];
const ENDS: [&str; 5] = [TAGS[0].1, TAGS[1].1, TAGS[2].1, TAGS[3].1, TAGS[4].1];

/// More whitespace than an answer begins with.
const BLANKS: usize = 64;

/// Words in the names of models whose templates open the thought in the prompt.
const THINKERS: [&str; 5] = ["qwq", "-r1", "thinking", "reasoner", "magistral"];

/// Whether a model's responses begin with a thought that has no opening tag.
#[derive(Debug, Default)]
pub(crate) struct ThoughtHabit(AtomicBool);

impl ThoughtHabit {
    /// Returns the expectation for a model about which only its name is known.
    pub(crate) fn of(model: &str) -> Self {
        let name = model.to_ascii_lowercase();
        Self(AtomicBool::new(THINKERS.iter().any(|word| name.contains(word))))
    }

    fn is_expected(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn learn(&self, begins_with_thought: bool) {
        self.0.store(begins_with_thought, Ordering::Relaxed);
    }
}

/// A part of a response, once its kind is clear.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    Thought(String),
    /// The thought is complete; this is all of it.
    ThoughtDone(String),
    /// The text so far was a thought.
    WasThought,
}

/// How a response ends, as far as it matters for an open thought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Complete,
    /// It was cut off, by a limit or a failure.
    Cut,
}

/// The reading position in one response.
#[derive(Debug)]
pub(super) struct Thoughts {
    habit: Arc<ThoughtHabit>,
    /// Whether a closing tag alone ends a thought.
    watches_end: bool,
    held: String,
    state: State,
}

#[derive(Debug)]
enum State {
    /// At the beginning, or behind a thought.
    Start {
        is_first: bool,
    },
    /// In a thought that this tag ends.
    Thought {
        begin: &'static str,
        end: &'static str,
        text: String,
    },
    /// In what is a thought if a tag ends it.
    Supposed {
        text: String,
    },
    /// In an answer that a tag may still turn into a thought.
    Watched(Watch),
    Answer,
}

#[derive(Debug, Default)]
struct Watch {
    prose: Prose,
    previous: Option<char>,
    /// Whether any of the text was passed on.
    is_shown: bool,
}

impl Thoughts {
    /// Creates the position at the beginning. `watches_end` says whether a closing tag alone ends a thought.
    pub(super) fn new(habit: Arc<ThoughtHabit>, watches_end: bool) -> Self {
        Self { habit, watches_end, held: String::new(), state: State::Start { is_first: true } }
    }

    /// Processes more of the text.
    pub(super) fn push(&mut self, text: &str, pieces: &mut Vec<Piece>) {
        if matches!(self.state, State::Answer) {
            return emit(text.to_owned(), pieces);
        }
        self.held.push_str(text);
        while self.advance(pieces) {}
    }

    /// The service sends thoughts separately, or a call follows: the text is what it seems.
    pub(super) fn interrupt(&mut self, pieces: &mut Vec<Piece>) {
        self.finish(End::Cut, pieces);
    }

    /// Handles the end of the response.
    pub(super) fn finish(&mut self, end: End, pieces: &mut Vec<Piece>) {
        let held = std::mem::take(&mut self.held);
        match std::mem::replace(&mut self.state, State::Answer) {
            State::Thought { begin, text, .. } => {
                let whole = text + &held;
                // An answer that begins with the tag it explains never closes it. A model in thought begins a line.
                let is_thought =
                    end == End::Cut || whole.starts_with(['\n', '\r']) || whole.trim().is_empty();
                if is_thought {
                    return end_thought(&whole, held, pieces);
                }
                pieces.push(Piece::ThoughtDone(String::new()));
                emit(format!("{begin}{whole}"), pieces);
            }
            State::Supposed { text } => {
                let whole = text + &held;
                // A closing tag at the very end: the answer is missing.
                if let Some(thought) = ENDS.iter().find_map(|end| whole.trim_end().strip_suffix(end)) {
                    return end_thought(thought, String::new(), pieces);
                }
                if end == End::Complete {
                    self.habit.learn(false);
                }
                pieces.push(Piece::ThoughtDone(String::new()));
                emit(whole, pieces);
            }
            State::Start { .. } | State::Watched(_) | State::Answer => emit(held, pieces),
        }
    }

    /// Returns whether there is more to process.
    fn advance(&mut self, pieces: &mut Vec<Piece>) -> bool {
        match std::mem::replace(&mut self.state, State::Answer) {
            State::Start { is_first } => self.start(is_first),
            State::Thought { begin, end, text } => self.thought((begin, end), text, pieces),
            State::Supposed { text } => self.supposed(text, pieces),
            State::Watched(watch) => self.watch(watch, pieces),
            State::Answer => {
                emit(std::mem::take(&mut self.held), pieces);
                false
            }
        }
    }

    fn start(&mut self, is_first: bool) -> bool {
        let text = self.held.trim_start();
        let blanks = self.held.len() - text.len();
        let beginning = begins_with(text, &BEGINNINGS);
        if blanks <= BLANKS && (text.is_empty() || beginning == Beginning::Partly) {
            self.state = State::Start { is_first };
            return false;
        }
        if let (Beginning::With(length), Some((begin, end))) =
            (beginning, TAGS.iter().find(|(begin, _)| text.starts_with(begin)))
        {
            self.held.drain(..blanks + length);
            self.state = State::Thought { begin, end, text: String::new() };
            return true;
        }
        if !is_first {
            // Blank lines behind a thought belong to it.
            self.held.drain(..blanks);
        }
        self.state = match is_first && self.watches_end {
            false => State::Answer,
            true if self.habit.is_expected() => State::Supposed { text: String::new() },
            true => State::Watched(Watch::default()),
        };
        true
    }

    fn thought(
        &mut self,
        tags: (&'static str, &'static str),
        mut text: String,
        pieces: &mut Vec<Piece>,
    ) -> bool {
        let (begin, end) = tags;
        if let Some(at) = self.held.find(end) {
            let last = self.held[..at].to_owned();
            let whole = format!("{text}{last}");
            self.held.drain(..at + end.len());
            // Tags around dots are written about.
            if !whole.trim().is_empty() && whole.trim().chars().all(|c| matches!(c, '.' | '…')) {
                pieces.push(Piece::ThoughtDone(String::new()));
                emit(format!("{begin}{whole}{end}"), pieces);
                return true;
            }
            end_thought(&whole, last, pieces);
            self.state = State::Start { is_first: false };
            return true;
        }
        text.push_str(&self.think_on(&[end], pieces));
        self.state = State::Thought { begin, end, text };
        false
    }

    fn supposed(&mut self, mut text: String, pieces: &mut Vec<Piece>) -> bool {
        let found = ENDS.iter().filter_map(|end| Some((self.held.find(end)?, end.len()))).min();
        match found {
            Some((at, length)) if !self.held[at + length..].trim().is_empty() => {
                let last = self.held[..at].to_owned();
                let whole = format!("{text}{last}");
                self.held.drain(..at + length);
                end_thought(&whole, last, pieces);
                self.state = State::Start { is_first: false };
                return true;
            }
            // What follows the tag decides.
            Some(_) => {}
            None => text.push_str(&self.think_on(&ENDS, pieces)),
        }
        self.state = State::Supposed { text };
        false
    }

    /// Passes on the held text as a thought, up to what may be the beginning of a token. Returns the text.
    fn think_on(&mut self, tokens: &[&str], pieces: &mut Vec<Piece>) -> String {
        let rest = self.held.split_off(without_partial(&self.held, tokens));
        let more = std::mem::replace(&mut self.held, rest);
        think(more.clone(), pieces);
        more
    }

    /// Passes text on until a closing tag shows that it was a thought.
    fn watch(&mut self, mut watch: Watch, pieces: &mut Vec<Piece>) -> bool {
        let mut at = 0;
        while let Some(c) = self.held[at..].chars().next() {
            let may_be_tag = matches!(c, '<' | '[') && watch.prose.is_open(c);
            let rest = &self.held[at..];
            let token = if may_be_tag { begins_with(rest, &ENDS) } else { Beginning::Not };
            if let Beginning::With(length) = token
                && rest[length..].chars().next().is_some_and(|next| ends_thought(watch.previous, next))
            {
                return self.was_thought(at, length, watch.is_shown, pieces);
            }
            let is_undecided = match token {
                Beginning::Partly => true,
                Beginning::With(length) => length == rest.len(),
                Beginning::Not => false,
            };
            if is_undecided {
                break;
            }
            if may_be_tag && matches!(begins_with(rest, &BEGINNINGS), Beginning::With(_)) {
                // It speaks of such tags.
                return true;
            }
            watch.prose.pass(c);
            watch.previous = Some(c);
            at += c.len_utf8();
        }
        watch.is_shown |= at > 0;
        let rest = self.held.split_off(at);
        emit(std::mem::replace(&mut self.held, rest), pieces);
        self.state = State::Watched(watch);
        false
    }

    fn was_thought(&mut self, at: usize, length: usize, is_shown: bool, pieces: &mut Vec<Piece>) -> bool {
        let last = self.held[..at].to_owned();
        self.held.drain(..at + length);
        self.habit.learn(true);
        if is_shown {
            emit(last, pieces);
            pieces.push(Piece::WasThought);
        } else {
            end_thought(&last, last.clone(), pieces);
        }
        self.state = State::Start { is_first: false };
        true
    }
}

/// Returns whether a closing tag between these characters ends a thought. One that is written about stands in a
/// sentence, between blanks or before punctuation.
fn ends_thought(previous: Option<char>, next: char) -> bool {
    let begins_answer =
        next.is_whitespace() || next.is_alphanumeric() || "#*<¿¡".contains(next) || !next.is_ascii();
    match previous {
        None | Some('\n' | '.' | '!' | '?' | '…' | '。' | '！' | '？') => begins_answer,
        Some(c) if c.is_alphanumeric() || matches!(c, ')' | ':') => next == '\n',
        Some(_) => false,
    }
}

/// Returns the length of a text without the beginning of a token at its end.
fn without_partial(text: &str, tokens: &[&str]) -> usize {
    let starts = text.char_indices().rev().take(24).filter(|(_, c)| matches!(c, '<' | '['));
    let partial =
        starts.map(|(at, _)| at).filter(|at| begins_with(&text[*at..], tokens) == Beginning::Partly);
    partial.last().unwrap_or(text.len())
}

fn end_thought(whole: &str, last: String, pieces: &mut Vec<Piece>) {
    think(last, pieces);
    pieces.push(Piece::ThoughtDone(whole.trim().to_owned()));
}

fn think(text: String, pieces: &mut Vec<Piece>) {
    if !text.is_empty() {
        pieces.push(Piece::Thought(text));
    }
}

fn emit(text: String, pieces: &mut Vec<Piece>) {
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a response in pieces of this many characters. Returns the thoughts and the answer as the engine keeps them.
    fn read(habit: &Arc<ThoughtHabit>, text: &str, size: usize, end: End) -> (String, String) {
        let (mut thoughts, mut pieces) = (Thoughts::new(habit.clone(), true), Vec::new());
        let characters: Vec<char> = text.chars().collect();
        for piece in characters.chunks(size) {
            thoughts.push(&piece.iter().collect::<String>(), &mut pieces);
        }
        thoughts.finish(end, &mut pieces);
        let (mut kept, mut answer) = (String::new(), String::new());
        for piece in pieces {
            match piece {
                Piece::Text(text) => answer += &text,
                Piece::Thought(_) => {}
                Piece::ThoughtDone(text) => kept += &text,
                Piece::WasThought => kept += std::mem::take(&mut answer).trim(),
            }
        }
        (kept, answer)
    }

    fn check(text: &str, end: End, thought: &str, answer: &str) {
        for size in [1, 2, 3, 7, 1000] {
            for expected in [false, true] {
                let habit = Arc::new(ThoughtHabit::default());
                habit.learn(expected);
                let found = read(&habit, text, size, end);
                let wanted = (thought.to_owned(), answer.to_owned());
                assert_eq!(found, wanted, "{text:?} by {size}, expected: {expected}");
            }
        }
    }

    #[test]
    fn thoughts_at_the_beginning_are_no_answer() {
        let whole = |text, thought, answer| check(text, End::Complete, thought, answer);
        whole("<think>hm</think>Hello!", "hm", "Hello!");
        whole("\n<think>\nhm\n</think>\n\nHello!", "hm", "Hello!");
        whole("<thinking>a < b</thinking> Yes", "a < b", "Yes");
        whole("[THINK]hm[/THINK]Hello!", "hm", "Hello!");
        whole("<seed:think>hm</seed:think>Hello!", "hm", "Hello!");
        whole("<think></think>Hello!", "", "Hello!");
        whole("<think>a</think>\n<think>b</think>Hello!", "ab", "Hello!");
        whole("<think>hm</think>The tag is </think>, really.", "hm", "The tag is </think>, really.");
        whole("The user greets me. Short.</think>\n\nHello!", "The user greets me. Short.", "Hello!");
        whole("They greet.</think>Hello!", "They greet.", "Hello!");
        whole("hm\n[/THINK]\nHello!", "hm", "Hello!");
        whole("</think>Hello!", "", "Hello!");
        whole("<think>\nOnly a thought", "Only a thought", "");
        check("<think>cut o", End::Cut, "cut o", "");
    }

    #[test]
    fn answers_about_such_tags_stay_whole() {
        for text in [
            "Use <think> and </think> around it.",
            "`<think>` begins it.\n\nThe other tag is `</think>`\nHello",
            "```\n<think>hm.\n</think>\n```\nThat is the form.",
            "\"</think>\" is the tag.",
            "Hello! 1 < 2 and [1] is a list.",
            "<think> is the tag that begins a thought.",
            "<think>...</think> is how models mark it.",
            "Hello <thin",
            "",
        ] {
            let habit = Arc::new(ThoughtHabit::default());
            for size in [1, 3, 1000] {
                let (thought, answer) = read(&habit, text, size, End::Complete);
                assert_eq!((thought.as_str(), answer.as_str()), ("", text), "by {size}");
            }
        }
    }

    #[test]
    fn a_habit_is_learnt_and_unlearnt() {
        let habit = Arc::new(ThoughtHabit::of("homegrown"));
        let shown = |text: &str| {
            let (mut thoughts, mut pieces) = (Thoughts::new(habit.clone(), true), Vec::new());
            thoughts.push(text, &mut pieces);
            pieces
        };
        assert_eq!(shown("Hm, "), [Piece::Text("Hm, ".into())]);
        read(&habit, "They greet me.\n</think>\nHello!", 4, End::Complete);
        assert_eq!(shown("Hm, "), [Piece::Thought("Hm, ".into())], "nothing of it is shown as the answer");
        assert_eq!(read(&habit, "Hello!", 4, End::Complete), (String::new(), "Hello!".into()));
        assert_eq!(shown("Hm, "), [Piece::Text("Hm, ".into())]);
        assert!(
            ThoughtHabit::of("QwQ-32B").is_expected() && ThoughtHabit::of("deepseek-r1:7b").is_expected()
        );
    }
}
