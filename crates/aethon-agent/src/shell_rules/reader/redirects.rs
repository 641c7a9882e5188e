//! Reads redirections and here-documents.

use std::cell::OnceCell;
use std::rc::Rc;

use super::super::word::{Flow, Piece, Redirect, Word};
use super::ShellReader;

/// The most here-documents that are read.
const MAX_DOCUMENTS: usize = 64;

/// A here-document whose text is still to come.
pub(super) struct Pending {
    delimiter: String,
    is_literal: bool,
    has_tabs: bool,
    target: Rc<OnceCell<Word>>,
}

impl ShellReader {
    /// Consumes a redirection, if there is one.
    pub(super) fn redirect(&mut self, redirects: &mut Vec<Redirect>) -> bool {
        self.peek();
        let Some((prefix, number)) = self.descriptor() else { return false };
        let arrow = self.at + prefix;
        let rest: String = self.chars[arrow..].iter().take(3).collect();
        let is_both = prefix == 1 && self.chars[self.at] == '&';
        const OPERATORS: &[(&str, Flow)] = &[
            ("<<<", Flow::Text),
            ("<<", Flow::Text),
            ("<>", Flow::Append),
            ("<&", Flow::CopyInput),
            ("<", Flow::Read),
            (">>", Flow::Append),
            (">|", Flow::Write),
            (">&", Flow::CopyOutput),
            (">", Flow::Write),
        ];
        let Some((operator, flow)) = OPERATORS.iter().find(|(operator, _)| rest.starts_with(operator)) else {
            return false;
        };
        self.at = arrow + operator.len();
        if *operator == "<<" {
            self.document(number, redirects);
            return true;
        }
        self.blanks();
        let target = self.word();
        let flow = if is_both { Flow::WriteBoth } else { *flow };
        let is_string = *operator == "<<<";
        redirects.push(Redirect { number, flow, is_string, target: Rc::new(OnceCell::from(target)) });
        true
    }

    /// What precedes the arrow, if one is here: digits, `{NAME}` or `&`.
    fn descriptor(&self) -> Option<(usize, Option<u32>)> {
        let rest = &self.chars[self.at.min(self.chars.len())..];
        let digits = rest.iter().take_while(|c| c.is_ascii_digit()).count();
        let (length, number) = match rest.first()? {
            '&' if rest.get(1) == Some(&'>') => (1, None),
            '{' => {
                let name = rest[1..].iter().take_while(|c| c.is_ascii_alphanumeric() || **c == '_').count();
                if name == 0 || rest.get(name + 1) != Some(&'}') {
                    return None;
                }
                // The shell chooses the number.
                (name + 2, Some(u32::MAX))
            }
            _ => (digits, rest[..digits].iter().collect::<String>().parse().ok()),
        };
        let is_arrow = matches!(rest.get(length), Some('<' | '>')) && rest.get(length + 1) != Some(&'(');
        is_arrow.then_some((length, number))
    }

    /// Registers a here-document whose text begins after the line end.
    fn document(&mut self, number: Option<u32>, redirects: &mut Vec<Redirect>) {
        let has_tabs = self.take('-');
        self.blanks();
        let (delimiter, is_literal) = self.delimiter();
        self.documents_seen += 1;
        if self.documents_seen > MAX_DOCUMENTS {
            self.is_too_deep = true;
            return;
        }
        let target = Rc::new(OnceCell::new());
        redirects.push(Redirect { number, flow: Flow::Text, is_string: false, target: Rc::clone(&target) });
        self.pending.push(Pending { delimiter, is_literal, has_tabs, target });
    }

    /// The word that ends a here-document, and whether any of it was quoted.
    fn delimiter(&mut self) -> (String, bool) {
        let (mut text, mut is_quoted) = (String::new(), false);
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                '\\' => {
                    is_quoted = true;
                    text.extend(self.peek_at(1));
                    self.at += 2;
                }
                '$' if matches!(self.peek_at(1), Some('\'' | '"')) => self.at += 1,
                '\'' | '"' => {
                    is_quoted = true;
                    let end = self.quote_end(self.at);
                    text.extend(
                        self.chars[self.at + 1..end].iter().filter(|inner| c == '\'' || **inner != '\\'),
                    );
                    self.at = end + 1;
                }
                c => {
                    text.push(c);
                    self.at += 1;
                }
            }
        }
        self.at = self.at.min(self.chars.len());
        (text, is_quoted)
    }

    /// Consumes a line end, and the here-documents that begin there.
    pub(super) fn line_end(&mut self) {
        self.at += 1;
        for pending in std::mem::take(&mut self.pending) {
            let begin = self.at;
            let (body, is_closed) = self.body(&pending);
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

    /// The lines from here up to the delimiter, and whether the delimiter was found.
    fn body(&mut self, pending: &Pending) -> (String, bool) {
        let mut body = String::new();
        let mut line = String::new();
        while self.at < self.chars.len() {
            let rest = &self.chars[self.at..];
            let length = rest.iter().position(|c| *c == '\n').unwrap_or(rest.len());
            let skipped = if pending.has_tabs && line.is_empty() {
                rest[..length].iter().take_while(|c| **c == '\t').count()
            } else {
                0
            };
            let part = &rest[skipped..length];
            let backslashes = part.iter().rev().take_while(|c| **c == '\\').count();
            self.at = (self.at + length + 1).min(self.chars.len());
            if !pending.is_literal && backslashes % 2 == 1 && self.at < self.chars.len() {
                // Continuation lines are joined before the delimiter is looked for.
                line.extend(&part[..part.len() - 1]);
                continue;
            }
            line.extend(part);
            if line == pending.delimiter {
                return (body, true);
            }
            body.push_str(&line);
            body.push('\n');
            line.clear();
        }
        (body, false)
    }
}
