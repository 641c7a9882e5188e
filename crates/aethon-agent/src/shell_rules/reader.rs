//! Reads a command as `bash` would, as far as the rules need it: which commands there are and what their words are.
//!
//! It reads anything: what is not closed ends with the text, what makes no sense is skipped. In doubt more is taken for a
//! command than is one. Words are read in `reader/words.rs`.

mod words;

pub(super) use words::unescape;

use super::word::{Body, Flow, List, Piece, Pipeline, Redirect, Stage, Word, plain};

/// How deep commands may be nested; deeper ones are not read, and the judge refuses them.
const DEEPEST: usize = 32;
/// The most here-documents that are looked for.
const MOST_DOCUMENTS: usize = 64;

/// Reads a command; `None` when it is nested too deep.
pub(super) fn read(text: &str) -> Option<List> {
    let mut reader = ShellReader::new(text, 0);
    let list = reader.list(Closer::End);
    (!reader.is_too_deep).then_some(list)
}

/// A place in a text.
struct ShellReader {
    chars: Vec<char>,
    at: usize,
    depth: usize,
    is_too_deep: bool,
    /// The line end behind which here-documents begin, and where they end.
    documents: Option<(usize, usize)>,
    documents_seen: usize,
}

/// What ends a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Closer {
    End,
    Paren,
    /// A reserved word.
    Word(&'static str),
}

/// What was found where a command may begin.
enum Step {
    Stage(Stage),
    /// The list is closed.
    Closed,
    /// A word that only structures.
    Nothing,
}

impl ShellReader {
    fn new(text: &str, depth: usize) -> Self {
        let chars = text.chars().collect();
        Self { chars, at: 0, depth, is_too_deep: false, documents: None, documents_seen: 0 }
    }

    /// The next character; none once it is clear that the text will not be judged.
    fn peek(&self) -> Option<char> {
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

    /// Another text that stands inside of this one.
    fn inside<T: Default>(&mut self, text: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        if self.depth >= DEEPEST {
            self.is_too_deep = true;
            return T::default();
        }
        let mut reader = Self::new(text, self.depth + 1);
        let result = read(&mut reader);
        self.is_too_deep |= reader.is_too_deep;
        result
    }

    /// Skips blanks, joined lines and comments.
    fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(' ' | '\t' | '\r') => self.at += 1,
                Some('\\') if self.peek_at(1) == Some('\n') => self.at += 2,
                Some('#') => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    /// Goes over a line end, and over the here-documents that begin there.
    fn line_end(&mut self) {
        self.at = match self.documents.take() {
            Some((start, end)) if start == self.at => end,
            _ => self.at + 1,
        };
    }

    fn list(&mut self, closer: Closer) -> List {
        let mut list = List::new();
        if self.depth >= DEEPEST {
            self.is_too_deep = true;
            self.at = self.chars.len();
            return list;
        }
        self.depth += 1;
        let mut pipeline = Pipeline::default();
        let mut is_after_pipe = false;
        loop {
            self.blanks();
            let Some(next) = self.peek() else { break };
            let ends = match (next, self.peek_at(1)) {
                ('\n', _) => {
                    self.line_end();
                    !is_after_pipe
                }
                (')', _) => {
                    self.at += 1;
                    if closer == Closer::Paren {
                        break;
                    }
                    // The pattern of a `case`, or a stray one.
                    true
                }
                (';', _) | ('|', Some('|')) | ('&', Some('&')) => {
                    self.at += if next == ';' { 1 } else { 2 };
                    true
                }
                ('&', follower) if follower != Some('>') => {
                    self.at += 1;
                    pipeline.is_background = true;
                    true
                }
                ('|', follower) => {
                    self.at += if follower == Some('&') { 2 } else { 1 };
                    is_after_pipe = true;
                    continue;
                }
                _ => {
                    if !is_after_pipe {
                        flush(&mut list, &mut pipeline);
                    }
                    match self.step(closer) {
                        Step::Closed => break,
                        Step::Nothing => {}
                        Step::Stage(stage) => {
                            pipeline.stages.push(stage);
                            is_after_pipe = false;
                        }
                    }
                    continue;
                }
            };
            if ends {
                flush(&mut list, &mut pipeline);
                is_after_pipe = false;
            }
        }
        flush(&mut list, &mut pipeline);
        self.depth -= 1;
        list
    }

    /// Reads what stands where a command may begin. Always goes on in the text.
    fn step(&mut self, closer: Closer) -> Step {
        let begin = self.at;
        if self.take('(') {
            if self.peek() == Some('(')
                && let Some(end) = self.arithmetic_end(self.at + 1)
            {
                self.at = end;
                return Step::Nothing;
            }
            let list = self.list(Closer::Paren);
            return self.group(list);
        }
        let (mut words, mut redirects) = (Vec::new(), Vec::new());
        if !self.redirect(&mut redirects) {
            let word = self.word();
            if let Some(reserved) = plain(&word).map(str::to_owned)
                && let Some(step) = self.reserved(&reserved, closer)
            {
                return step;
            }
            if !word.is_empty() && self.peek() == Some('(') {
                return self.with_parentheses(&word);
            }
            words.push(word);
        }
        loop {
            self.blanks();
            match self.peek() {
                None | Some('\n' | ';' | '|' | ')' | '(') => break,
                Some('&') if self.peek_at(1) != Some('>') => break,
                _ => {}
            }
            let before = self.at;
            if !self.redirect(&mut redirects) {
                words.push(self.word());
            }
            // A character that nobody took.
            self.at = self.at.max(before + 1);
        }
        words.retain(|word| !word.is_empty());
        self.at = self.at.max(begin + 1);
        Step::Stage(Stage { body: Body::Simple(words), redirects })
    }

    /// What a reserved word means here; `None` when it is none.
    fn reserved(&mut self, word: &str, closer: Closer) -> Option<Step> {
        let inner = match word {
            "{" => Closer::Word("}"),
            "if" => Closer::Word("fi"),
            "while" | "until" | "for" | "select" => Closer::Word("done"),
            "case" => Closer::Word("esac"),
            "}" | "fi" | "done" | "esac" => {
                let closes = matches!(closer, Closer::Word(wanted) if wanted == word);
                return Some(if closes { Step::Closed } else { Step::Nothing });
            }
            "then" | "else" | "elif" | "do" | "!" | "time" | "coproc" => return Some(Step::Nothing),
            "function" => {
                self.blanks();
                let name = self.word();
                let name = plain(&name).unwrap_or_default().to_owned();
                self.blanks();
                if self.take('(') {
                    self.blanks();
                    self.take(')');
                }
                return Some(self.function(name));
            }
            _ => return None,
        };
        let list = self.list(inner);
        Some(self.group(list))
    }

    /// A word with `(` right behind it: a function, or an array, whose words are judged like a command's.
    fn with_parentheses(&mut self, word: &Word) -> Step {
        self.at += 1;
        self.blanks();
        if self.take(')') {
            let name = plain(word).unwrap_or_default().to_owned();
            return self.function(name);
        }
        let list = self.list(Closer::Paren);
        self.group(list)
    }

    fn function(&mut self, name: String) -> Step {
        self.blanks();
        while self.peek() == Some('\n') {
            self.line_end();
            self.blanks();
        }
        if self.depth >= DEEPEST {
            self.is_too_deep = true;
            self.at = self.chars.len();
            return Step::Nothing;
        }
        self.depth += 1;
        let body = match self.peek() {
            None => Step::Nothing,
            Some(_) => self.step(Closer::End),
        };
        self.depth -= 1;
        let list = match body {
            Step::Stage(stage) => vec![Pipeline { stages: vec![stage], is_background: false }],
            Step::Closed | Step::Nothing => List::new(),
        };
        Step::Stage(Stage { body: Body::Function(name, list), redirects: Vec::new() })
    }

    /// The group of this list, with the redirections behind it.
    fn group(&mut self, list: List) -> Step {
        let mut redirects = Vec::new();
        loop {
            self.blanks();
            if !self.redirect(&mut redirects) {
                return Step::Stage(Stage { body: Body::Group(list), redirects });
            }
        }
    }

    /// Takes a redirection, if there is one.
    fn redirect(&mut self, redirects: &mut Vec<Redirect>) -> bool {
        let digits = self.chars[self.at..].iter().take_while(|c| c.is_ascii_digit()).count();
        let operator = self.at + digits + usize::from(digits == 0 && self.peek() == Some('&'));
        let Some(arrow @ ('<' | '>')) = self.chars.get(operator).copied() else { return false };
        let rest = &self.chars[operator + 1..];
        if rest.first() == Some(&'(') {
            return false;
        }
        let starts = |with: &str| with.chars().zip(rest).filter(|(a, b)| a == *b).count() == with.len();
        let (flow, length) = match arrow {
            '<' if starts("<<") => (Flow::Text, 2),
            '<' if starts("<-") => return self.document(operator + 3, true, redirects),
            '<' if starts("<") => return self.document(operator + 2, false, redirects),
            '<' if starts(">") => (Flow::Write, 1),
            '<' => (Flow::Read, usize::from(starts("&"))),
            _ => (Flow::Write, usize::from(starts(">") || starts("|") || starts("&"))),
        };
        self.at = operator + 1 + length;
        self.blanks();
        let target = self.word();
        redirects.push(Redirect { flow, target });
        true
    }

    /// A here-document. Its text begins behind the line end, or behind the document before it.
    fn document(&mut self, at: usize, has_tabs: bool, redirects: &mut Vec<Redirect>) -> bool {
        self.at = at;
        self.blanks();
        let word = self.word();
        let is_literal = word.iter().any(|piece| matches!(piece, Piece::Text { is_quoted: true, .. }));
        let delimiter: String = word
            .iter()
            .filter_map(|piece| match piece {
                Piece::Text { text, .. } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        self.documents_seen += 1;
        if self.documents_seen > MOST_DOCUMENTS {
            return true;
        }
        let line_end = self.chars[self.at..].iter().position(|c| *c == '\n').map(|end| self.at + end);
        let known = self.documents.filter(|(start, _)| *start >= self.at);
        let Some((line_end, begin)) = known.or(line_end.map(|end| (end, end + 1))) else { return true };
        let Some((body, end)) = self.body(begin, &delimiter, has_tabs) else {
            // It has no end: then its lines are read as commands, so that nothing hides there.
            return true;
        };
        self.documents = Some((line_end, end));
        let target = if is_literal {
            vec![Piece::Text { text: body, is_quoted: true }]
        } else {
            self.inside(&body, Self::quoted_text)
        };
        redirects.push(Redirect { flow: Flow::Text, target });
        true
    }

    /// The lines from here up to the delimiter, and the place behind it.
    fn body(&self, begin: usize, delimiter: &str, has_tabs: bool) -> Option<(String, usize)> {
        let mut body = String::new();
        let mut at = begin;
        while at < self.chars.len() {
            let length = self.chars[at..].iter().position(|c| *c == '\n').unwrap_or(self.chars.len() - at);
            let line: String = self.chars[at..at + length].iter().collect();
            let line = if has_tabs { line.trim_start_matches('\t') } else { &line };
            at = (at + length + 1).min(self.chars.len());
            if line == delimiter {
                return Some((body, at));
            }
            body.push_str(line);
            body.push('\n');
        }
        None
    }

    /// Where an arithmetic expression ends whose inside begins here; `None` when it is none.
    fn arithmetic_end(&self, from: usize) -> Option<usize> {
        let mut open = 2;
        for (at, c) in self.chars.iter().enumerate().skip(from) {
            match c {
                '(' => open += 1,
                ')' => open -= 1,
                _ => {}
            }
            if open == 1 && self.chars.get(at + 1) != Some(&')') {
                return None;
            }
            if open == 0 {
                return Some(at + 1);
            }
        }
        None
    }
}

fn flush(list: &mut List, pipeline: &mut Pipeline) {
    let done = std::mem::take(pipeline);
    if !done.stages.is_empty() {
        list.push(done);
    }
}
