//! Expands words: variables, substitutions, braces.

use super::marks::{BLANK, BRACES, UNKNOWN};
use super::paths::base_name;
use super::refusal::Refusal;
use super::syntax::{Change, Piece, Word};
use super::variables::Arguments;
use super::walk::Walk;

/// Maximum number of words that the braces of one word make.
const MAX_ALTERNATIVES: usize = 256;

impl Walk<'_> {
    /// Expands words to the words of a command: unquoted values are split at blanks.
    pub(super) fn fields(&mut self, words: &[Word]) -> Result<Vec<String>, Refusal> {
        let mut fields = Vec::new();
        for word in words {
            let (text, is_quoted) = self.marked(word)?;
            let mut alternatives = Vec::new();
            self.braces(&text, &mut alternatives)?;
            for text in alternatives {
                let before = fields.len();
                fields.extend(text.split(BLANK).filter(|part| !part.is_empty()).map(str::to_owned));
                if is_quoted && fields.len() == before {
                    fields.push(String::new());
                }
            }
            self.meter.steps(1)?;
        }
        Ok(fields)
    }

    /// Expands a word to one text.
    pub(super) fn text(&mut self, word: &Word) -> Result<String, Refusal> {
        let (text, _) = self.marked(word)?;
        Ok(plain(&text).replace(BLANK, " "))
    }

    /// Expands a word to a text in which blanks that split it and braces are marked, and whether any of it is quoted.
    fn marked(&mut self, word: &Word) -> Result<(String, bool), Refusal> {
        let (mut made, mut has_quotes) = (String::new(), false);
        for piece in word {
            let (text, is_quoted) = match piece {
                Piece::Text { text, is_quoted: true } => {
                    has_quotes = true;
                    (text.clone(), true)
                }
                Piece::Text { text, is_quoted: false } => (
                    text.replace('{', &BRACES[0].to_string())
                        .replace(',', &BRACES[1].to_string())
                        .replace('}', &BRACES[2].to_string()),
                    true,
                ),
                Piece::Variable { name, change, is_quoted } => {
                    (self.value(name, change)?, *is_quoted && name != "@")
                }
                Piece::Output { list, is_quoted } => (self.substitution(list)?, *is_quoted),
                Piece::Process { list, is_read } => (self.process(list, *is_read)?, true),
                Piece::Computed(word) => {
                    let text = self.text(word)?;
                    self.computed(&text)?;
                    (UNKNOWN.to_string(), true)
                }
            };
            self.meter.bytes(text.len())?;
            if is_quoted {
                made.push_str(&text);
            } else {
                made.push_str(&text.replace([' ', '\t', '\n'], &BLANK.to_string()));
            }
        }
        Ok((made, has_quotes))
    }

    fn value(&mut self, name: &str, change: &Change) -> Result<String, Refusal> {
        let value = self.variable(name);
        Ok(match change {
            Change::Nothing => value,
            Change::Default(word) => {
                let text = self.text(word)?;
                if !value.is_empty() {
                    return Ok(value);
                }
                self.variables.insert(name.to_owned(), text.clone());
                text
            }
            Change::Alternative(word) => {
                let text = self.text(word)?;
                if value.is_empty() { value } else { text }
            }
            Change::Required(word) => {
                self.text(word)?;
                if value.is_empty() { UNKNOWN.to_string() } else { value }
            }
            Change::Other(word) => {
                let text = self.text(word)?;
                self.computed(&value)?;
                self.computed(&text)?;
                super::marks::made_from([value.as_str()])
            }
        })
    }

    /// The value of a variable or of a special parameter; empty if it has none.
    pub(super) fn variable(&self, name: &str) -> String {
        if let Some(value) = self.variables.get(name) {
            return value.clone();
        }
        match (name, &self.arguments) {
            ("HOME", _) => self.homes.own().to_owned(),
            // The name is never empty, so that an owner does not vanish from `chown -R $USER /`.
            ("USER" | "LOGNAME", _) => base_name(self.homes.own()).to_owned(),
            ("IFS", _) => " ".to_owned(),
            ("SHELL" | "BASH" | "0", _) => "bash".to_owned(),
            ("PWD" | "OLDPWD" | "UID" | "?" | "#" | "$" | "!" | "-", _) => UNKNOWN.to_string(),
            ("@" | "*", Arguments::Known(words)) => words.join(" "),
            (name, arguments) => match (name.parse::<usize>(), arguments) {
                (Ok(place), Arguments::Known(words)) => words.get(place - 1).cloned().unwrap_or_default(),
                (Ok(_), Arguments::Unknown) => UNKNOWN.to_string(),
                (Err(_), Arguments::Unknown) if matches!(name, "@" | "*") => UNKNOWN.to_string(),
                (Err(_), _) => String::new(),
            },
        }
    }

    /// Adds the words that the marked braces of a text make.
    fn braces(&mut self, text: &str, found: &mut Vec<String>) -> Result<(), Refusal> {
        let Some((before, alternatives, behind)) = first_braces(text) else {
            found.push(plain(text));
            return if found.len() > MAX_ALTERNATIVES { Err(Refusal::TooInvolved) } else { Ok(()) };
        };
        for alternative in alternatives {
            self.meter.steps(1)?;
            self.meter.bytes(text.len())?;
            self.meter.enter()?;
            self.braces(&format!("{before}{alternative}{behind}"), found)?;
            self.meter.leave();
        }
        Ok(())
    }
}

/// The first `{a,b}` in a text: what stands before it, the alternatives, and what stands behind it.
fn first_braces(text: &str) -> Option<(&str, Vec<&str>, &str)> {
    let [open, comma, close] = BRACES;
    for (begin, _) in text.match_indices(open).take(64) {
        let inner = &text[begin + open.len_utf8()..];
        let (mut depth, mut from, mut alternatives) = (0, 0, Vec::new());
        for (at, c) in inner.char_indices() {
            if c == open {
                depth += 1;
            } else if depth == 0 && (c == comma || c == close) {
                alternatives.push(&inner[from..at]);
                from = at + c.len_utf8();
                if c == close {
                    break;
                }
            } else if c == close {
                depth -= 1;
            }
        }
        if alternatives.len() > 1 && inner[..from].ends_with(close) {
            return Some((&text[..begin], alternatives, &inner[from..]));
        }
    }
    None
}

/// The text with its remaining braces.
fn plain(text: &str) -> String {
    let mut text = text.to_owned();
    for (mark, c) in BRACES.iter().zip(["{", ",", "}"]) {
        text = text.replace(*mark, c);
    }
    text
}
