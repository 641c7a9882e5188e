//! What a word stands for: the fields that a shell would make of it, as far as they can be known beforehand.
//!
//! Variables that were set in the same command are put in, so are the outputs of `echo`, `printf` and `which`. What is not
//! known stays as it is written (`$NAME`), or becomes [`UNKNOWN`].

use std::collections::HashMap;

use super::reader::unescape;
use super::word::{Body, List, Piece, Pipeline};

/// Variables that were set before, by name.
pub(super) type Variables = HashMap<String, String>;

/// Stands for output that is not known beforehand.
pub(super) const UNKNOWN: &str = "$()";

/// The most fields that braces may make of a word.
const MOST_FIELDS: usize = 64;
/// How deep outputs may stand in outputs to be known.
const DEEPEST_OUTPUT: usize = 4;
/// The longest value that is put in.
const LONGEST_VALUE: usize = 4096;

// Braces and commas that were not quoted, until they are resolved.
const OPEN: char = '\u{e000}';
const COMMA: char = '\u{e001}';
const CLOSE: char = '\u{e002}';

/// The fields of words, in order.
pub(super) fn fields(words: &[Vec<Piece>], variables: &Variables) -> Vec<String> {
    words.iter().flat_map(|word| fields_of(word, variables, 0)).collect()
}

/// A word as one text, as in an assignment or a redirection.
pub(super) fn text_of(word: &[Piece], variables: &Variables) -> String {
    fields_of(word, variables, 0).join(" ")
}

fn fields_of(word: &[Piece], variables: &Variables, depth: usize) -> Vec<String> {
    let mut building = Building::default();
    for piece in word {
        match piece {
            Piece::Text { text, is_quoted: true } => building.add(text),
            Piece::Text { text, is_quoted: false } => {
                let marked: String = text
                    .chars()
                    .map(|c| match c {
                        '{' => OPEN,
                        ',' => COMMA,
                        '}' => CLOSE,
                        c => c,
                    })
                    .collect();
                building.add(&marked);
            }
            Piece::Variable { name, is_quoted: false, .. } if name == "IFS" => building.split(),
            Piece::Variable { name, fallback, is_quoted } => {
                let known = variables.get(name).or(fallback.as_ref());
                match known {
                    Some(value) => building.value(value, *is_quoted),
                    None => building.add(&format!("${name}")),
                }
            }
            Piece::Output { list, is_quoted } => match output(list, variables, depth) {
                Some(value) => building.value(&value, *is_quoted),
                None => building.add(UNKNOWN),
            },
            Piece::Process(_) => building.add(UNKNOWN),
        }
    }
    building.split();
    building.fields.iter().flat_map(|field| braces(field)).collect()
}

/// Fields while pieces are put together.
#[derive(Default)]
struct Building {
    fields: Vec<String>,
    current: Option<String>,
}

impl Building {
    fn add(&mut self, text: &str) {
        self.current.get_or_insert_default().push_str(text);
    }

    fn split(&mut self) {
        self.fields.extend(self.current.take());
    }

    fn value(&mut self, value: &str, is_quoted: bool) {
        if is_quoted {
            return self.add(value);
        }
        if value.starts_with(char::is_whitespace) {
            self.split();
        }
        for (number, part) in value.split_whitespace().enumerate() {
            if number > 0 {
                self.split();
            }
            self.add(part);
        }
        if value.ends_with(char::is_whitespace) {
            self.split();
        }
    }
}

/// `{a,b}` as the fields that it makes, in order.
fn braces(field: &str) -> Vec<String> {
    let (mut fields, mut rest) = (Vec::new(), vec![field.to_owned()]);
    while let Some(field) = rest.pop() {
        match alternatives(&field).filter(|_| fields.len() + rest.len() < MOST_FIELDS) {
            Some(each) => rest.extend(each.into_iter().rev()),
            None => fields.push(field.replace(OPEN, "{").replace(COMMA, ",").replace(CLOSE, "}")),
        }
    }
    fields
}

/// The field with each alternative of its first brace; `None` when it has none.
fn alternatives(field: &str) -> Option<Vec<String>> {
    let mut open: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut first: Option<(usize, Vec<usize>, usize)> = None;
    for (at, c) in field.char_indices() {
        match c {
            OPEN => open.push((at, Vec::new())),
            COMMA => {
                if let Some((_, commas)) = open.last_mut() {
                    commas.push(at);
                }
            }
            CLOSE => {
                let closed = open.pop().filter(|(_, commas)| !commas.is_empty());
                // The outermost counts, which closes last.
                if let Some((start, commas)) = closed
                    && first.as_ref().is_none_or(|(known, ..)| start < *known)
                {
                    first = Some((start, commas, at));
                }
            }
            _ => {}
        }
    }
    let (start, commas, end) = first?;
    let width = OPEN.len_utf8();
    let begins = std::iter::once(start).chain(commas.iter().copied()).map(|at| at + width);
    let ends = commas.iter().copied().chain([end]);
    let (before, after) = (&field[..start], &field[end + width..]);
    Some(begins.zip(ends).map(|(begin, end)| format!("{before}{}{after}", &field[begin..end])).collect())
}

/// What commands write, when that can be known.
pub(super) fn output(list: &List, variables: &Variables, depth: usize) -> Option<String> {
    let [Pipeline { stages, .. }] = list.as_slice() else { return None };
    let [stage] = stages.as_slice() else { return None };
    let Body::Simple(words) = &stage.body else { return None };
    if depth > DEEPEST_OUTPUT {
        return None;
    }
    let argv: Vec<String> = words.iter().flat_map(|word| fields_of(word, variables, depth + 1)).collect();
    let said = says(&argv)?;
    (said.len() <= LONGEST_VALUE).then_some(said)
}

/// What a command writes that only writes its arguments.
pub(super) fn says(argv: &[String]) -> Option<String> {
    let (program, arguments) = argv.split_first()?;
    match program.rsplit('/').next().unwrap_or_default() {
        "echo" => {
            let is_option = |word: &&String| {
                word.len() > 1 && word.starts_with('-') && word[1..].chars().all(|c| "neE".contains(c))
            };
            let options = arguments.iter().take_while(is_option).count();
            let escapes = arguments[..options].iter().any(|word| word.contains('e'));
            let text = arguments[options..].join(" ");
            Some(if escapes { unescape(&text) } else { text })
        }
        "printf" => {
            let (format, values) = arguments.split_first()?;
            let mut text = unescape(format);
            let mut values = values.iter();
            while let Some(at) = ["%s", "%b", "%q"].iter().filter_map(|mark| text.find(mark)).min() {
                let Some(value) = values.next().filter(|value| !value.contains('%')) else { break };
                text.replace_range(at..at + 2, value);
            }
            let rest: Vec<&str> = values.map(String::as_str).collect();
            Some(if rest.is_empty() { text } else { format!("{text} {}", rest.join(" ")) })
        }
        "which" | "type" | "command" => arguments.last().filter(|word| !word.starts_with('-')).cloned(),
        _ => None,
    }
}
