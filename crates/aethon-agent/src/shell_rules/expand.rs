//! Word expansion: the fields that a shell would make of words, as far as they can be known in advance.
//!
//! A variable may have several values here, so words may expand to several lists of fields.

use super::arithmetic;
use super::braces::{self, Bit};
use super::judge::Judge;
use super::marks::UNKNOWN;
use super::reader::is_setting;
use super::refusal::Refusal;
use super::state::{Texts, Value};
use super::word::{Change, Parameter, Piece, Word, plain};

/// The most lists of fields that a command may expand to.
const MAX_LISTS: usize = 256;
/// Builtins whose arguments are assignments like those before a command.
pub(super) const DECLARING: &[&str] = &["export", "declare", "local", "readonly", "typeset"];

/// A part of an expanded word.
#[derive(Debug, Clone)]
pub(super) enum Part {
    /// Text that is not split.
    Text(String),
    /// Text that is split at separators.
    Split(String),
    /// The end of a field.
    Break,
}

/// What the budget can measure.
pub(super) trait Weighed {
    /// Roughly how many bytes a copy takes.
    fn weight(&self) -> usize;
}

impl Weighed for String {
    fn weight(&self) -> usize {
        self.len() + 16
    }
}

impl Weighed for Part {
    fn weight(&self) -> usize {
        match self {
            Self::Text(text) | Self::Split(text) => text.len() + 16,
            Self::Break => 16,
        }
    }
}

/// What a piece may expand to.
pub(super) type Alternatives = Vec<Vec<Part>>;

impl Judge<'_> {
    /// Returns the lists of fields that these words may expand to.
    pub(super) fn fields(&mut self, words: &[Word]) -> Result<Vec<Vec<String>>, Refusal> {
        let program = words.iter().find(|word| !is_setting(word)).and_then(plain);
        let is_declaration = program.is_some_and(|program| DECLARING.contains(&program));
        let mut lists = vec![Vec::new()];
        for word in words {
            let each = if is_declaration && is_setting(word) {
                self.texts(word)?.into_iter().map(|text| vec![text]).collect()
            } else {
                self.word_fields(word)?
            };
            lists = self.crossed(lists, &each)?;
        }
        Ok(lists)
    }

    /// Returns the lists of fields that a word may expand to.
    fn word_fields(&mut self, word: &[Piece]) -> Result<Vec<Vec<String>>, Refusal> {
        let mut lists = vec![Vec::new()];
        for bits in braces::words(word, &mut self.meter)? {
            let mut alternatives: Alternatives = vec![Vec::new()];
            let bits = with_longer_names(bits);
            for (at, bit) in bits.iter().enumerate() {
                let parts = match bit {
                    Bit::Text { text, is_quoted } => vec![self.plain_text(text, *is_quoted, at == 0)],
                    Bit::Made(text) => vec![vec![Part::Text(text.to_string())]],
                    Bit::Variable(name) => {
                        let index = None;
                        let change = Change::Nothing;
                        let name = name.clone();
                        let parameter = Parameter { name, is_bare: true, is_indirect: false, index, change };
                        self.parameter(&parameter, false)?
                    }
                    Bit::Piece(piece) => self.piece(piece)?,
                };
                alternatives = self.crossed(alternatives, &parts)?;
            }
            let separators = self.state.get("IFS", "");
            let separator =
                if self.state.is_set("IFS") { separators[0].get("0").to_owned() } else { " \t\n".into() };
            let mut each = Vec::with_capacity(alternatives.len());
            for parts in alternatives {
                let fields = split(parts, &separator);
                self.meter.steps(fields.len())?;
                self.meter.bytes(fields.iter().map(|field| field.len() + 8).sum())?;
                each.push(fields);
            }
            lists = self.crossed(lists, &each)?;
        }
        Ok(lists)
    }

    /// Expands a word to a single text, as in an assignment or a redirection.
    pub(super) fn texts(&mut self, word: &[Piece]) -> Result<Texts, Refusal> {
        let mut alternatives: Alternatives = vec![Vec::new()];
        for (at, piece) in word.iter().enumerate() {
            let parts = match piece {
                Piece::Text { text, is_quoted } => vec![self.setting_text(text, *is_quoted, at == 0)],
                piece => self.piece(piece)?,
            };
            alternatives = self.crossed(alternatives, &parts)?;
        }
        let mut texts: Texts = alternatives.into_iter().map(joined).collect();
        self.meter.bytes(texts.iter().map(String::len).sum())?;
        texts.sort();
        texts.dedup();
        Ok(texts)
    }

    /// The cross product: each of these followed by each of those.
    pub(super) fn crossed<T: Clone + Weighed>(
        &mut self,
        mut lists: Vec<Vec<T>>,
        each: &[Vec<T>],
    ) -> Result<Vec<Vec<T>>, Refusal> {
        if let [only] = each {
            if lists.len() > 1 {
                self.meter.bytes(lists.len() * only.iter().map(Weighed::weight).sum::<usize>())?;
            }
            self.meter.steps(lists.len() - 1)?;
            for list in &mut lists {
                list.extend(only.iter().cloned());
            }
            return Ok(lists);
        }
        if lists.len() * each.len() > MAX_LISTS {
            return Err(Refusal::TooInvolved);
        }
        self.meter.steps(lists.len() * each.len())?;
        let mut crossed = Vec::with_capacity(lists.len() * each.len());
        for list in &lists {
            for follower in each {
                self.meter.bytes(list.iter().chain(follower).map(Weighed::weight).sum())?;
                crossed.push([list.as_slice(), follower].concat());
            }
        }
        Ok(crossed)
    }

    /// Expands a leading `~` in a word's text.
    fn plain_text(&self, text: &str, is_quoted: bool, is_first: bool) -> Vec<Part> {
        let text = if is_first && !is_quoted { self.with_home(text) } else { text.to_owned() };
        vec![Part::Text(text)]
    }

    /// Expands `~` in an assignment, where it is also special after `=` and `:`.
    fn setting_text(&self, text: &str, is_quoted: bool, is_first: bool) -> Vec<Part> {
        if is_quoted || !text.contains('~') {
            return vec![Part::Text(text.to_owned())];
        }
        let mut made = String::new();
        for (at, piece) in text.split_inclusive(['=', ':']).enumerate() {
            made.push_str(&if at > 0 || is_first { self.with_home(piece) } else { piece.to_owned() });
        }
        vec![Part::Text(made)]
    }

    fn with_home(&self, text: &str) -> String {
        let Some(rest) = text.strip_prefix('~') else { return text.to_owned() };
        match rest.chars().next() {
            None | Some('/' | ':') => format!("{}{rest}", self.state.get("HOME", self.home())[0].get("0")),
            Some('+' | '-') if rest[1..].is_empty() || rest[1..].starts_with('/') => {
                format!("{UNKNOWN}{}", &rest[1..])
            }
            _ => text.to_owned(),
        }
    }

    /// What a piece other than text may expand to.
    pub(super) fn piece(&mut self, piece: &Piece) -> Result<Alternatives, Refusal> {
        let of_value = |text: String, is_quoted: bool| {
            vec![if is_quoted { Part::Text(text) } else { Part::Split(text) }]
        };
        Ok(match piece {
            Piece::Text { text, is_quoted } => vec![of_value(text.clone(), *is_quoted)],
            Piece::Variable { parameter, is_quoted } => self.parameter(parameter, *is_quoted)?,
            Piece::Output { list, is_quoted } => {
                let texts = self.substitution(list)?;
                texts.into_iter().map(|text| of_value(text, *is_quoted)).collect()
            }
            Piece::Process { list, is_read } => vec![vec![Part::Text(self.process(list, *is_read)?)]],
            Piece::Arithmetic(word) => {
                let texts = self.computed(word)?;
                texts.into_iter().map(|text| of_value(text, false)).collect()
            }
            Piece::Array(words) => {
                let mut lists = Vec::new();
                for fields in self.fields(words)? {
                    lists.push(vec![Part::Text(fields.join(" "))]);
                }
                lists
            }
        })
    }

    /// Returns the values of an arithmetic expression. The variables that it sets are unknown from here on.
    pub(super) fn computed(&mut self, word: &Word) -> Result<Texts, Refusal> {
        let mut values = Vec::new();
        for text in self.texts(word)? {
            self.computed_text(&text)?;
            let mut known = text.clone();
            for name in names(&text) {
                let value = self
                    .state
                    .get(&name, "")
                    .first()
                    .map(|value| value.get("0").to_owned())
                    .unwrap_or_default();
                self.computed_text(&value)?;
                known = UNKNOWN.to_string();
            }
            values.push(arithmetic::value(&known).map_or(UNKNOWN.to_string(), |value| value.to_string()));
            for name in arithmetic::changed(&text) {
                self.state.set(&name, vec![Value::text(UNKNOWN)], &mut self.meter)?;
            }
        }
        values.sort();
        values.dedup();
        Ok(values)
    }

    /// Runs the substitutions in a text that the shell evaluates a second time: an index such as `a[$(…)]`.
    pub(super) fn computed_text(&mut self, text: &str) -> Result<(), Refusal> {
        if text.contains("$(") || text.contains('`') {
            self.meter.bytes(text.len() * 4)?;
            let word = super::reader::read_quoted(text).ok_or(Refusal::TooInvolved)?;
            self.meter.enter()?;
            self.texts(&word)?;
            self.meter.leave();
        }
        Ok(())
    }
}

/// `{$a,b}c` is `$ac bc`: a variable name extends over the letters that follow the brace.
fn with_longer_names(bits: Vec<Bit<'_>>) -> Vec<Bit<'_>> {
    let mut made: Vec<Bit> = Vec::with_capacity(bits.len());
    for bit in bits {
        let name = match made.last() {
            Some(Bit::Piece(Piece::Variable { parameter, is_quoted: false })) if parameter.is_bare => {
                Some(parameter.name.clone())
            }
            Some(Bit::Variable(name)) => Some(name.clone()),
            _ => None,
        };
        let is_name = |name: &String| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let behind = match &bit {
            Bit::Text { text, is_quoted: false } => *text,
            Bit::Made(text) => text,
            _ => "",
        };
        let length = behind.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').count();
        if let Some(name) = name.filter(is_name).filter(|_| length > 0) {
            made.pop();
            made.push(Bit::Variable(format!("{name}{}", &behind[..length])));
            if length < behind.len() {
                made.push(Bit::Made(behind[length..].into()));
            }
            continue;
        }
        made.push(bit);
    }
    made
}

/// The names in an expression.
fn names(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let mut names: Vec<String> = words
        .filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
        .map(str::to_owned)
        .collect();
    names.dedup();
    names.truncate(32);
    names
}

/// Joins parts into one text.
fn joined(parts: Vec<Part>) -> String {
    let mut text = String::new();
    for part in parts {
        match part {
            Part::Text(part) | Part::Split(part) => text.push_str(&part),
            Part::Break => text.push(' '),
        }
    }
    text
}

/// Splits parts into fields. A run of blank separators counts as one, every other separator by itself.
fn split(parts: Vec<Part>, separators: &str) -> Vec<String> {
    let mut fields = Vec::new();
    let mut current: Option<String> = None;
    for part in parts {
        match part {
            Part::Text(text) => current.get_or_insert_default().push_str(&text),
            Part::Break => fields.extend(current.take()),
            Part::Split(text) => {
                let mut is_behind_blank = false;
                for c in text.chars() {
                    if !separators.contains(c) {
                        current.get_or_insert_default().push(c);
                        is_behind_blank = false;
                    } else if matches!(c, ' ' | '\t' | '\n') {
                        is_behind_blank |= current.is_some();
                        fields.extend(current.take());
                    } else if !std::mem::take(&mut is_behind_blank) {
                        fields.push(current.take().unwrap_or_default());
                    }
                }
            }
        }
    }
    fields.extend(current);
    fields
}
