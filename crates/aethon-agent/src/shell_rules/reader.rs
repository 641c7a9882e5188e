//! Parses a command as `bash` would, as far as the rules need it: which commands it contains, and their words.
//!
//! The reader accepts anything: what is unclosed ends with the text, and what makes no sense is skipped. In doubt it
//! takes too much for a command rather than too little. Compound commands are read in `reader/compound.rs`,
//! redirections in `reader/redirects.rs`, words in `reader/words.rs`, and `${…}` in `reader/braced.rs`.

mod braced;
mod compound;
mod redirects;
mod words;

use std::rc::Rc;

use super::word::{Body, List, Pipeline, Stage, Word};
use redirects::Pending;
pub(super) use words::is_setting;

/// How deep commands may be nested. Deeper ones are not read, and the judge refuses them.
const MAX_DEPTH: usize = 32;

/// Reads a command; `None` if it is nested too deep.
pub(super) fn read(text: &str) -> Option<List> {
    let mut reader = ShellReader::new(text, 0);
    let (list, _) = reader.list(&Ends::default());
    (!reader.is_too_deep).then_some(list)
}

/// Reads a text as if between double quotes; `None` if it is nested too deep.
pub(super) fn read_quoted(text: &str) -> Option<Word> {
    let mut reader = ShellReader::new(text, 0);
    let word = reader.quoted_text();
    (!reader.is_too_deep).then_some(word)
}

/// A position in a text.
struct ShellReader {
    chars: Vec<char>,
    at: usize,
    depth: usize,
    is_too_deep: bool,
    /// How many substitutions enclose this position.
    substitutions: usize,
    /// Whether a quote was not closed, so that the shell runs nothing of this text.
    is_unclosed: bool,
    /// Here-documents whose text begins after the next line end.
    pending: Vec<Pending>,
    documents_seen: usize,
}

/// What may end a list, besides the end of the text.
#[derive(Clone, Copy, Default)]
struct Ends {
    parenthesis: bool,
    /// `;;` and its variants.
    arm: bool,
    words: &'static [&'static str],
}

/// What ended a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Text,
    Parenthesis,
    Arm,
    Word(&'static str),
}

/// Reserved words that are skipped where nothing expects them.
const STRAY: &[&str] = &["then", "else", "elif", "fi", "do", "done", "esac", "}", "!", "in", "]]"];

impl ShellReader {
    fn new(text: &str, depth: usize) -> Self {
        let chars = text.chars().collect();
        Self {
            chars,
            at: 0,
            depth,
            is_too_deep: false,
            is_unclosed: false,
            substitutions: 0,
            pending: Vec::new(),
            documents_seen: 0,
        }
    }

    /// The next character; none once it is clear that the text will not be judged. Continuation lines are joined,
    /// except where the caller reads the characters directly.
    fn peek(&mut self) -> Option<char> {
        while self.chars.get(self.at) == Some(&'\\') && self.chars.get(self.at + 1) == Some(&'\n') {
            self.at += 2;
        }
        self.chars.get(self.at).copied().filter(|_| !self.is_too_deep)
    }

    fn peek_at(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn take(&mut self, wanted: char) -> bool {
        let is_there = self.peek() == Some(wanted);
        self.at += usize::from(is_there);
        is_there
    }

    fn starts_with(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(at, c)| self.chars.get(self.at + at) == Some(&c))
    }

    /// Reads another text that is nested in this one.
    fn inside<T: Default>(&mut self, text: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        let Some(depth) = self.deeper() else { return T::default() };
        let mut reader = Self::new(text, depth);
        let result = read(&mut reader);
        self.is_too_deep |= reader.is_too_deep;
        self.is_unclosed = reader.is_unclosed;
        self.depth -= 1;
        result
    }

    /// Enters a nested level if that is not too deep. The caller leaves it.
    fn deeper(&mut self) -> Option<usize> {
        if self.depth >= MAX_DEPTH {
            self.is_too_deep = true;
            self.at = self.chars.len();
            return None;
        }
        self.depth += 1;
        Some(self.depth)
    }

    /// Skips blanks and comments.
    fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(' ' | '\t') => self.at += 1,
                Some('#') => {
                    while self.chars.get(self.at).is_some_and(|c| *c != '\n') {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    /// Skips blanks, comments and line ends.
    fn lines(&mut self) {
        self.blanks();
        while self.peek() == Some('\n') {
            self.line_end();
            self.blanks();
        }
    }

    /// The unquoted word that begins here, without consuming it.
    fn token(&mut self) -> String {
        self.peek();
        let rest = &self.chars[self.at.min(self.chars.len())..];
        rest.iter().take_while(|c| !" \t\n;&|()<>".contains(**c)).take(10).collect()
    }

    fn take_token(&mut self, wanted: &str) -> bool {
        let is_there = self.token() == wanted;
        if is_there {
            self.at += wanted.len();
        }
        is_there
    }

    /// Reads the commands of a substitution up to its `)`. Here-documents of the enclosing line follow that line.
    fn substituted(&mut self) -> List {
        let around = std::mem::take(&mut self.pending);
        self.substitutions += 1;
        let (list, _) = self.list(&Ends { parenthesis: true, ..Ends::default() });
        let own = std::mem::replace(&mut self.pending, around);
        self.pending.extend(own);
        self.substitutions -= 1;
        list
    }

    fn list(&mut self, ends: &Ends) -> (List, Ended) {
        let mut list = List::new();
        if self.deeper().is_none() {
            return (list, Ended::Text);
        }
        let ended = self.pipelines(ends, &mut list);
        self.depth -= 1;
        (list, ended)
    }

    fn pipelines(&mut self, ends: &Ends, list: &mut List) -> Ended {
        let mut is_conditional = false;
        loop {
            self.blanks();
            let Some(next) = self.peek() else { return Ended::Text };
            match (next, self.peek_at(1)) {
                ('\n', _) => self.line_end(),
                (')', _) => {
                    self.at += 1;
                    if ends.parenthesis {
                        return Ended::Parenthesis;
                    }
                }
                (';', Some(';' | '&')) => {
                    self.at += 2;
                    self.at += usize::from(self.peek() == Some('&'));
                    if ends.arm {
                        return Ended::Arm;
                    }
                }
                (';', _) => self.at += 1,
                ('|', Some('|')) | ('&', Some('&')) => {
                    self.at += 2;
                    is_conditional = true;
                }
                ('&', follower) if follower != Some('>') => {
                    self.at += 1;
                    if let Some(last) = list.last_mut() {
                        last.is_background = true;
                    }
                }
                ('|', _) => self.at += 1,
                _ => {
                    let token = self.token();
                    if let Some(word) = ends.words.iter().find(|word| **word == token) {
                        self.at += word.len();
                        return Ended::Word(word);
                    }
                    let mut pipeline = self.pipeline();
                    pipeline.is_conditional = std::mem::take(&mut is_conditional);
                    if !pipeline.stages.is_empty() {
                        list.push(pipeline);
                    }
                }
            }
        }
    }

    fn pipeline(&mut self) -> Pipeline {
        let mut pipeline = Pipeline::default();
        loop {
            if let Some(stage) = self.stage() {
                pipeline.stages.push(Rc::new(stage));
            }
            self.blanks();
            if self.peek() != Some('|') || self.peek_at(1) == Some('|') {
                return pipeline;
            }
            self.at += 1;
            self.take('&');
            self.lines();
            if matches!(self.peek(), None | Some(')' | ';' | '|' | '&')) {
                return pipeline;
            }
        }
    }

    /// Reads what is at a position where a command may begin. Always makes progress.
    fn stage(&mut self) -> Option<Stage> {
        loop {
            self.blanks();
            if self.peek() == Some('(') {
                return Some(self.parenthesis());
            }
            let token = self.token();
            match token.as_str() {
                "time" => {
                    self.at += token.len();
                    self.blanks();
                    self.take_token("-p");
                }
                "coproc" => {
                    self.at += token.len();
                    self.coprocess_name();
                }
                word if STRAY.contains(&word) => self.at += token.len(),
                word => return self.compound(word).or_else(|| self.simple()),
            }
            // The command may end after the word.
            self.blanks();
            if matches!(self.peek(), None | Some('\n' | ';' | '&' | '|' | ')')) {
                return None;
            }
        }
    }

    /// Reads a subshell or an arithmetic command.
    fn parenthesis(&mut self) -> Stage {
        if self.peek_at(1) == Some('(')
            && let Some(end) = self.arithmetic_end(self.at + 2)
        {
            let text: String = self.chars[self.at + 2..end - 2].iter().collect();
            self.at = end;
            let word = self.inside(&text, Self::quoted_text);
            return self.with_redirects(Body::Test(vec![word]));
        }
        self.at += 1;
        let (list, _) = self.list(&Ends { parenthesis: true, ..Ends::default() });
        self.with_redirects(Body::Subshell(list))
    }

    fn simple(&mut self) -> Option<Stage> {
        let begin = self.at;
        let (mut words, mut redirects) = (Vec::new(), Vec::new());
        loop {
            self.blanks();
            let next = self.peek();
            match next {
                None | Some('\n' | ';' | '|' | ')' | '(') => break,
                Some('&') if self.peek_at(1) != Some('>') => break,
                _ => {}
            }
            let before = self.at;
            if !self.redirect(&mut redirects) {
                let word = self.word();
                if words.is_empty() && self.is_function(&word) {
                    return self.function(&word);
                }
                words.push(word);
            }
            // Skips a character that nothing consumed.
            self.at = self.at.max(before + 1);
        }
        words.retain(|word| !word.is_empty());
        self.at = self.at.max(begin + 1);
        if words.is_empty() && redirects.is_empty() {
            return None;
        }
        Some(Stage { body: Body::Simple(words), redirects })
    }

    /// The position after the `))` of an arithmetic expression whose content begins here; `None` if it is not one.
    fn arithmetic_end(&self, from: usize) -> Option<usize> {
        let (mut open, mut at) = (2, from);
        while let Some(c) = self.chars.get(at) {
            match c {
                '\\' => at += 1,
                '\'' | '"' | '`' => at = self.quote_end(at),
                '(' => open += 1,
                ')' => open -= 1,
                _ => {}
            }
            if open == 1 && self.chars.get(at + 1) != Some(&')') {
                return None;
            }
            if open == 1 {
                return Some(at + 2);
            }
            at += 1;
        }
        None
    }

    /// The position of the quote that closes the one here, or the last position if none does.
    fn quote_end(&self, from: usize) -> usize {
        let quote = self.chars[from];
        let mut at = from + 1;
        while let Some(c) = self.chars.get(at) {
            match c {
                '\\' if quote != '\'' => at += 1,
                c if *c == quote => return at,
                _ => {}
            }
            at += 1;
        }
        self.chars.len()
    }
}
