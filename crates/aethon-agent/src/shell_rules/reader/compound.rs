//! Reads compound commands: conditions, loops, `case`, functions.

use std::rc::Rc;

use super::super::word::{Body, List, Pipeline, Redirect, Stage, Word, plain};
use super::{Ended, Ends, ShellReader};

const fn until(words: &'static [&'static str]) -> Ends {
    Ends { parenthesis: false, arm: false, words }
}

impl ShellReader {
    /// The command that this reserved word begins; `None` if it begins none.
    pub(super) fn compound(&mut self, word: &str) -> Option<Stage> {
        let length = word.len();
        if !matches!(word, "{" | "if" | "while" | "until" | "for" | "select" | "case" | "function" | "[[") {
            return None;
        }
        self.at += length;
        let body = match word {
            "{" => Body::Group(self.list(&until(&["}"])).0),
            "if" => self.condition(),
            "while" | "until" => {
                let (test, _) = self.list(&until(&["do"]));
                let (body, _) = self.list(&until(&["done"]));
                Body::While { test, body }
            }
            "for" | "select" => self.repetition(),
            "case" => self.choice(),
            "[[" => Body::Test(self.double_brackets()),
            _ => {
                self.blanks();
                let name = self.word();
                self.blanks();
                if self.peek() == Some('(') {
                    self.at += 1;
                    self.blanks();
                    self.take(')');
                }
                return self.function(&name);
            }
        };
        Some(self.with_redirects(body))
    }

    /// The command with the redirections after it.
    pub(super) fn with_redirects(&mut self, body: Body) -> Stage {
        let mut redirects: Vec<Redirect> = Vec::new();
        loop {
            self.blanks();
            if !self.redirect(&mut redirects) {
                return Stage { body, redirects };
            }
        }
    }

    fn condition(&mut self) -> Body {
        let mut parts = vec![self.list(&until(&["then"])).0];
        loop {
            let (part, ended) = self.list(&until(&["elif", "else", "fi"]));
            parts.push(part);
            match ended {
                Ended::Word("elif") => parts.push(self.list(&until(&["then"])).0),
                Ended::Word("else") => {
                    parts.push(self.list(&until(&["fi"])).0);
                    return Body::If { parts, has_else: true };
                }
                _ => return Body::If { parts, has_else: false },
            }
        }
    }

    fn repetition(&mut self) -> Body {
        self.blanks();
        if self.starts_with("((")
            && let Some(end) = self.arithmetic_end(self.at + 2)
        {
            let text: String = self.chars[self.at + 2..end - 2].iter().collect();
            self.at = end;
            let word = self.inside(&text, Self::quoted_text);
            let test = vec![pipeline_of(Stage { body: Body::Test(vec![word]), redirects: Vec::new() })];
            return Body::While { test, body: self.loop_body() };
        }
        let name = self.word();
        let name = plain(&name).unwrap_or_default().to_owned();
        self.lines();
        let mut words = None;
        if self.take_token("in") {
            let mut found = Vec::new();
            loop {
                self.blanks();
                let before = self.at;
                match self.peek() {
                    None | Some('\n' | ';' | '&' | '|' | ')' | '(') => break,
                    _ => found.push(self.word()),
                }
                self.at = self.at.max(before + 1);
            }
            words = Some(found);
        }
        Body::For { name, words, body: self.loop_body() }
    }

    /// `do … done`, or `{ … }`, which bash accepts too.
    fn loop_body(&mut self) -> List {
        self.lines();
        while self.take(';') {
            self.lines();
        }
        if self.take_token("{") {
            return self.list(&until(&["}"])).0;
        }
        self.take_token("do");
        self.list(&until(&["done"])).0
    }

    fn choice(&mut self) -> Body {
        self.blanks();
        let word = self.word();
        self.lines();
        self.take_token("in");
        let mut arms = Vec::new();
        loop {
            self.lines();
            if self.peek().is_none() || self.take_token("esac") {
                break;
            }
            self.take('(');
            let mut patterns = Vec::new();
            loop {
                self.blanks();
                let before = self.at;
                match self.peek() {
                    None | Some('\n' | ';') => break,
                    Some(')') => {
                        self.at += 1;
                        break;
                    }
                    _ => patterns.push(self.word()),
                }
                self.at = self.at.max(before + 1);
            }
            let (list, ended) = self.list(&Ends { arm: true, parenthesis: false, words: &["esac"] });
            arms.push((patterns, list));
            if ended != Ended::Arm {
                break;
            }
        }
        Body::Case { word, arms }
    }

    fn double_brackets(&mut self) -> Vec<Word> {
        let mut words = Vec::new();
        loop {
            self.lines();
            if self.peek().is_none() || self.take_token("]]") {
                return words;
            }
            let before = self.at;
            match self.peek() {
                Some('<' | '>') if self.peek_at(1) == Some('(') => words.push(self.word()),
                Some('(' | ')' | '<' | '>' | '&' | '|' | ';') => {}
                _ => words.push(self.word()),
            }
            self.at = self.at.max(before + 1);
        }
    }

    /// Skips the name of a coprocess.
    pub(super) fn coprocess_name(&mut self) {
        self.blanks();
        let token = self.token();
        let is_name = token.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let before = self.at;
        self.at += token.len();
        self.blanks();
        let begins = matches!(
            self.token().as_str(),
            "{" | "[[" | "if" | "for" | "while" | "until" | "case" | "select"
        );
        if !is_name || !(begins || self.peek() == Some('(')) {
            self.at = before;
        }
    }

    /// Whether `()` follows this word.
    pub(super) fn is_function(&mut self, word: &Word) -> bool {
        if word.is_empty() || !matches!(self.peek(), Some('(' | ' ' | '\t')) {
            return false;
        }
        let before = self.at;
        self.blanks();
        let is_open = self.take('(');
        self.blanks();
        if is_open && self.take(')') {
            return true;
        }
        self.at = before;
        false
    }

    /// Reads the function with this name, whose `()` has been consumed.
    pub(super) fn function(&mut self, word: &Word) -> Option<Stage> {
        let name = plain(word).unwrap_or_default().to_owned();
        self.lines();
        self.deeper()?;
        let body = self.stage();
        self.depth -= 1;
        let body = Rc::new(body.unwrap_or(Stage { body: Body::Group(List::new()), redirects: Vec::new() }));
        Some(Stage { body: Body::Function(name, body), redirects: Vec::new() })
    }
}

fn pipeline_of(stage: Stage) -> Pipeline {
    Pipeline { stages: vec![Rc::new(stage)], ..Pipeline::default() }
}
