//! Parses a command as far as the rules need it: which commands it contains, and their words.
//!
//! The reader accepts anything: unclosed parts end with the text, and stray characters are skipped. In doubt it
//! takes too much for a command rather than too little. Words are read in `words`, redirections in `redirects`.

use std::cell::OnceCell;
use std::rc::Rc;

use super::syntax::{Body, List, Piece, Pipeline, Stage, Word, plain};

/// How deep commands may be nested. Deeper ones are not read, and the walk refuses them.
const MAX_DEPTH: usize = 32;
/// Reserved words that separate commands, or stand before one.
const SEPARATORS: &[&str] =
    &["then", "else", "elif", "do", "fi", "done", "esac", "}", "!", "in", "]]", "time", "coproc"];

/// Reads a command; `None` if it is nested too deep.
pub(super) fn read(text: &str) -> Option<List> {
    let mut reader = ShellReader::new(text, 0);
    let list = reader.list("");
    (!reader.is_too_deep).then_some(list)
}

/// Reads a text as if between double quotes; `None` if it is nested too deep.
pub(super) fn read_quoted(text: &str) -> Option<Word> {
    let mut reader = ShellReader::new(text, 0);
    let word = reader.quoted_text();
    (!reader.is_too_deep).then_some(word)
}

/// A position in a text.
pub(super) struct ShellReader {
    pub(super) chars: Vec<char>,
    pub(super) at: usize,
    depth: usize,
    pub(super) is_too_deep: bool,
    /// Here-documents whose text begins after the next line end.
    pub(super) pending: Vec<Pending>,
    pub(super) documents_seen: usize,
}

/// A here-document whose text is still to come.
pub(super) struct Pending {
    pub(super) delimiter: String,
    pub(super) is_literal: bool,
    pub(super) has_tabs: bool,
    pub(super) target: Rc<OnceCell<Word>>,
}

impl ShellReader {
    fn new(text: &str, depth: usize) -> Self {
        let chars = text.chars().collect();
        Self { chars, at: 0, depth, is_too_deep: false, pending: Vec::new(), documents_seen: 0 }
    }

    /// The next character; none once it is clear that the text will not be judged. Continuation lines are joined,
    /// except where the caller reads the characters directly.
    pub(super) fn peek(&mut self) -> Option<char> {
        while self.chars.get(self.at) == Some(&'\\') && self.chars.get(self.at + 1) == Some(&'\n') {
            self.at += 2;
        }
        self.chars.get(self.at).copied().filter(|_| !self.is_too_deep)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    pub(super) fn take(&mut self, wanted: char) -> bool {
        let is_there = self.peek() == Some(wanted);
        self.at += usize::from(is_there);
        is_there
    }

    /// Reads another text that is nested in this one.
    pub(super) fn inside<T: Default>(&mut self, text: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        if !self.deeper() {
            return T::default();
        }
        let mut reader = Self::new(text, self.depth);
        let result = read(&mut reader);
        self.is_too_deep |= reader.is_too_deep;
        self.depth -= 1;
        result
    }

    /// Enters a nested level if that is not too deep. The caller leaves it by [`Self::leave`].
    pub(super) fn deeper(&mut self) -> bool {
        self.depth += 1;
        self.is_too_deep |= self.depth > MAX_DEPTH;
        if self.is_too_deep {
            self.at = self.chars.len();
        }
        !self.is_too_deep
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Skips blanks and comments.
    pub(super) fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(' ' | '\t') => self.at += 1,
                Some('#') => self.at += self.chars[self.at..].iter().take_while(|c| **c != '\n').count(),
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
        self.at += if is_there { wanted.len() } else { 0 };
        is_there
    }

    /// Reads commands up to a closer, which is consumed: `)`, a reserved word, or nothing for the end of the text.
    pub(super) fn list(&mut self, closer: &str) -> List {
        let mut list = List::new();
        if !self.deeper() {
            return list;
        }
        loop {
            self.blanks();
            let Some(next) = self.peek() else { break };
            match (next, self.peek_at(1)) {
                ('\n', _) => self.line_end(),
                (')', _) => {
                    self.at += 1;
                    if closer == ")" {
                        break;
                    }
                    if closer == "esac" {
                        // Only a pattern stands before it.
                        list.pop();
                    }
                }
                ('&', follower) if follower != Some('>') => {
                    self.at += 1;
                    if let Some(last) = list.last_mut().filter(|_| follower != Some('&')) {
                        last.is_background = true;
                    }
                    self.at += usize::from(follower == Some('&'));
                }
                (';' | '|', _) => self.at += 1,
                _ if !closer.is_empty() && self.take_token(closer) => break,
                _ => {
                    let pipeline = self.pipeline();
                    if !pipeline.stages.is_empty() {
                        list.push(pipeline);
                    }
                }
            }
        }
        self.leave();
        list
    }

    fn pipeline(&mut self) -> Pipeline {
        let mut pipeline = Pipeline::default();
        loop {
            pipeline.stages.extend(self.stage());
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

    /// Reads the stage at a position where a command may begin. Always makes progress.
    fn stage(&mut self) -> Option<Stage> {
        loop {
            self.blanks();
            if matches!(self.peek(), None | Some('\n' | ';' | '&' | '|' | ')'))
                && self.peek_at(1) != Some('>')
            {
                return None;
            }
            let token = self.token();
            if !SEPARATORS.contains(&token.as_str()) {
                return self.compound(&token);
            }
            self.at += token.len();
            if token == "time" {
                self.blanks();
                self.take_token("-p");
            }
        }
    }

    fn compound(&mut self, token: &str) -> Option<Stage> {
        if self.peek() == Some('(') {
            return Some(self.parenthesis());
        }
        let begin = self.at;
        self.at += token.len();
        let body = match token {
            "{" => Body::Group(self.list("}")),
            "if" => Body::Group(self.list("fi")),
            "while" | "until" => Body::Group(self.list("done")),
            "for" | "select" => self.repetition(),
            "case" => {
                self.blanks();
                let word = self.word();
                let mut list = vec![simple(vec![computed(word)])];
                self.lines();
                self.take_token("in");
                list.extend(self.list("esac"));
                Body::Group(list)
            }
            "[[" => Body::Simple(vec![self.test()]),
            "function" => {
                self.blanks();
                let name = self.word();
                self.blanks();
                if self.take('(') {
                    self.blanks();
                    self.take(')');
                }
                return self.function(&name);
            }
            _ => {
                self.at = begin;
                return self.simple();
            }
        };
        Some(self.with_redirects(body))
    }

    /// `for NAME in …; do …; done`, and the arithmetic `for`.
    fn repetition(&mut self) -> Body {
        self.blanks();
        let (mut name, mut words) = (String::new(), Vec::new());
        if self.peek() == Some('(') {
            if let Some(word) = self.arithmetic_command() {
                words.push(computed(word));
            }
        } else {
            name = plain(&self.word()).unwrap_or_default().to_owned();
            self.lines();
            if self.take_token("in") {
                words = self.words_of_line();
            }
        }
        self.lines();
        while self.take(';') {
            self.lines();
        }
        let closer = if self.take_token("{") { "}" } else { "done" };
        Body::For { name, words, body: self.list(closer) }
    }

    fn words_of_line(&mut self) -> Vec<Word> {
        let mut words = Vec::new();
        loop {
            self.blanks();
            if matches!(self.peek(), None | Some('\n' | ';' | '&' | '|' | ')' | '(')) {
                return words;
            }
            let before = self.at;
            words.push(self.word());
            self.at = self.at.max(before + 1);
        }
    }

    /// `[[ … ]]`, in which parentheses and arrows are not the shell's.
    fn test(&mut self) -> Word {
        let end = self.test_end();
        let text: String = self.chars[self.at..end].iter().collect();
        self.at = end;
        computed(self.inside(&text.replace('\'', " "), Self::quoted_text))
    }

    fn function(&mut self, name: &Word) -> Option<Stage> {
        self.lines();
        if !self.deeper() {
            return None;
        }
        let body = self.stage();
        self.leave();
        let name = plain(name).unwrap_or_default().to_owned();
        body.map(|body| Stage { body: Body::Function(name, Rc::new(body)), redirects: Vec::new() })
    }

    /// Reads a subshell or an arithmetic command.
    fn parenthesis(&mut self) -> Stage {
        let body = match self.arithmetic_command() {
            Some(word) => Body::Simple(vec![computed(word)]),
            None => {
                self.at += 1;
                Body::Subshell(self.list(")"))
            }
        };
        self.with_redirects(body)
    }

    /// Reads `((…))`, if one begins here.
    pub(super) fn arithmetic_command(&mut self) -> Option<Word> {
        let end = self.arithmetic_end(self.at + 2).filter(|_| self.peek_at(1) == Some('('))?;
        let text: String = self.chars[self.at + 2..end - 2].iter().collect();
        self.at = end;
        Some(self.inside(&text, Self::quoted_text))
    }

    fn with_redirects(&mut self, body: Body) -> Stage {
        let mut redirects = Vec::new();
        self.blanks();
        while self.redirect(&mut redirects) {
            self.blanks();
        }
        Stage { body, redirects }
    }

    fn simple(&mut self) -> Option<Stage> {
        let begin = self.at;
        let (mut words, mut redirects) = (Vec::new(), Vec::new());
        loop {
            self.blanks();
            match self.peek() {
                None | Some('\n' | ';' | '|' | ')' | '(') => break,
                Some('&') if self.peek_at(1) != Some('>') => break,
                _ => {}
            }
            let before = self.at;
            if !self.redirect(&mut redirects) {
                let word = self.word();
                if words.is_empty() && plain(&word).is_some() && self.take_empty_parentheses() {
                    return self.function(&word);
                }
                words.push(word);
            }
            // Skips a character that nothing consumed.
            self.at = self.at.max(before + 1);
        }
        words.retain(|word| !word.is_empty());
        self.at = self.at.max(begin + 1);
        (!words.is_empty() || !redirects.is_empty()).then_some(Stage { body: Body::Simple(words), redirects })
    }

    fn take_empty_parentheses(&mut self) -> bool {
        let begin = self.at;
        self.blanks();
        let is_open = self.take('(');
        self.blanks();
        if is_open && self.take(')') {
            return true;
        }
        self.at = begin;
        false
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
            if open == 1 {
                return (self.chars.get(at + 1) == Some(&')')).then_some(at + 2);
            }
            at += 1;
        }
        None
    }

    /// The position after the `]]` of the test that is read here, or the end of the text. Brackets in quotes do not end it.
    fn test_end(&self) -> usize {
        let mut at = self.at;
        while let Some(c) = self.chars.get(at) {
            match c {
                '\\' => at += 1,
                '\'' | '"' => at = self.quote_end(at),
                ']' if self.chars.get(at + 1) == Some(&']') => return at + 2,
                _ => {}
            }
            at += 1;
        }
        self.chars.len()
    }

    /// The position of the quote that closes the one here, or the end of the text if none does.
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

fn computed(word: Word) -> Word {
    vec![Piece::Computed(word)]
}

fn simple(words: Vec<Word>) -> Pipeline {
    let stage = Stage { body: Body::Simple(words), redirects: Vec::new() };
    Pipeline { stages: vec![stage], is_background: false }
}
