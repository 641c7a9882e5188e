//! Reads redirections and here-documents.

use std::cell::OnceCell;
use std::rc::Rc;

use super::reader::{Pending, ShellReader};
use super::syntax::{Flow, Piece, Redirect, Word};

/// Maximum number of here-documents.
const MAX_DOCUMENTS: usize = 64;

impl ShellReader {
    /// Consumes a redirection, if there is one.
    pub(super) fn redirect(&mut self, redirects: &mut Vec<Redirect>) -> bool {
        const OPERATORS: &[(&str, Flow)] = &[
            ("<<<", Flow::Text),
            ("<<", Flow::Text),
            ("<>", Flow::Append),
            ("<&", Flow::Read),
            ("<", Flow::Read),
            (">>", Flow::Append),
            (">|", Flow::Write),
            (">&", Flow::Write),
            (">", Flow::Write),
        ];
        self.peek();
        let Some(prefix) = self.descriptor() else { return false };
        let number: String = self.chars[self.at..self.at + prefix].iter().collect();
        let arrow = self.at + prefix;
        let rest: String = self.chars[arrow..].iter().take(3).collect();
        let Some((operator, flow)) = OPERATORS.iter().find(|(operator, _)| rest.starts_with(operator)) else {
            return false;
        };
        self.at = arrow + operator.len();
        let own = if operator.starts_with('<') { "0" } else { "1" };
        let is_standard = number.is_empty() || number == own || number == "&";
        let target = Rc::new(OnceCell::new());
        if *operator == "<<" {
            self.document(&target);
        } else {
            self.blanks();
            let mut word = self.word();
            if *flow == Flow::Text {
                word.push(Piece::Text { text: "\n".into(), is_quoted: true });
            }
            // Set only here, because it is new.
            let _ = target.set(word);
        }
        redirects.push(Redirect { flow: *flow, is_standard, target });
        true
    }

    /// The length of what precedes the arrow, if one is here: digits, `{NAME}` or `&`.
    fn descriptor(&self) -> Option<usize> {
        let rest = &self.chars[self.at.min(self.chars.len())..];
        let count = |from: usize, is_part: fn(&char) -> bool| {
            rest[from.min(rest.len())..].iter().take_while(|c| is_part(c)).count()
        };
        let length = match rest.first()? {
            '&' => 1,
            '{' => count(1, |c| c.is_ascii_alphanumeric() || *c == '_') + 2,
            _ => count(0, char::is_ascii_digit),
        };
        let is_arrow = matches!(rest.get(length), Some('<' | '>')) && rest.get(length + 1) != Some(&'(');
        is_arrow.then_some(length)
    }

    /// Registers a here-document whose text begins after the line end.
    fn document(&mut self, target: &Rc<OnceCell<Word>>) {
        let has_tabs = self.take('-');
        self.blanks();
        let begin = self.at;
        let word = self.word();
        let is_literal = self.chars[begin..self.at].iter().any(|c| matches!(c, '\'' | '"' | '\\'));
        let delimiter = word.iter().map(|piece| match piece {
            Piece::Text { text, .. } => text.as_str(),
            _ => "",
        });
        let delimiter = delimiter.collect();
        self.documents_seen += 1;
        self.is_too_deep |= self.documents_seen > MAX_DOCUMENTS;
        self.pending.push(Pending { delimiter, is_literal, has_tabs, target: Rc::clone(target) });
    }

    /// Consumes a line end, and the here-documents that begin there.
    pub(super) fn line_end(&mut self) {
        self.at += 1;
        for pending in std::mem::take(&mut self.pending) {
            let begin = self.at;
            let mut body = String::new();
            let is_closed = loop {
                if self.at >= self.chars.len() {
                    break false;
                }
                let line: String = self.chars[self.at..].iter().take_while(|c| **c != '\n').collect();
                self.at = (self.at + line.chars().count() + 1).min(self.chars.len());
                let line = if pending.has_tabs { line.trim_start_matches('\t') } else { &line };
                if line == pending.delimiter {
                    break true;
                }
                body.push_str(line);
                body.push('\n');
            };
            if !is_closed {
                // It has no end. Its lines are then read as commands too, so that nothing can hide there.
                self.at = begin;
            }
            let target = if pending.is_literal {
                vec![Piece::Text { text: body, is_quoted: true }]
            } else {
                self.inside(&body, Self::quoted_text)
            };
            // Set only once, because each is removed from the list.
            let _ = pending.target.set(target);
        }
    }
}
