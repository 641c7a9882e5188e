//! What is a formula, and what only looks like one.
//!
//! The parser takes everything between two dollars for a formula unless blanks stand inside them, and everything between
//! escaped brackets. Prices (`$5, or 6$`) and brackets of prose (`\[see above\]`) become text again, with the Markdown in
//! it.

use comrak::nodes::{Ast, LineColumn, Node, NodeValue};
use comrak::{Arena, Options, parse_document};

/// The longest formula, in bytes.
const MAX_FORMULA: usize = 8 << 10;

/// What stands around a formula.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Delimiter {
    Dollar,
    Dollars,
    Parenthesis,
    Bracket,
}

impl Delimiter {
    /// What it was written as.
    fn written(self) -> (&'static str, &'static str) {
        match self {
            Self::Dollar => ("$", "$"),
            Self::Dollars => ("$$", "$$"),
            // As the escapes that they are.
            Self::Parenthesis => ("(", ")"),
            Self::Bracket => ("[", "]"),
        }
    }
}

/// Turns what is no formula into text, whose Markdown is parsed with these options. `source` is what was parsed.
pub(crate) fn settle<'a>(arena: &'a Arena<'a>, document: Node<'a>, source: &str, options: &Options<'_>) {
    let is_math = |node: &Node<'a>| matches!(node.data().value, NodeValue::Math(_));
    let found: Vec<Node<'a>> = document.descendants().filter(is_math).collect();
    if found.is_empty() {
        return;
    }
    let starts: Vec<usize> =
        std::iter::once(0).chain(source.match_indices('\n').map(|(at, _)| at + 1)).collect();
    for node in found {
        let (literal, is_display, start) = {
            let data = node.data();
            let NodeValue::Math(math) = &data.value else { continue };
            (math.literal.clone(), math.display_math, data.sourcepos.start)
        };
        let at = offset(&starts, start);
        let is_escape = source.as_bytes().get(at) == Some(&b'\\');
        let delimiter = match (is_escape, is_display) {
            (true, true) => Delimiter::Bracket,
            (true, false) => Delimiter::Parenthesis,
            (false, true) => Delimiter::Dollars,
            (false, false) => Delimiter::Dollar,
        };
        let before = source.get(..at).and_then(|before| before.chars().next_back());
        // Behind the variable of a shell, as in `$HOME/$USER`, a name follows.
        let rest =
            source.get(at + 1..).and_then(|rest| rest.strip_prefix(literal.as_str())?.strip_prefix('$'));
        let is_variable = delimiter == Delimiter::Dollar
            && rest
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '{'));
        if is_variable || !is_formula(&literal, delimiter, before) {
            let (open, close) = delimiter.written();
            node.insert_before(text(arena, open));
            insert_inlines(arena, node, &literal, options);
            node.insert_before(text(arena, close));
            node.detach();
        }
    }
}

fn offset(starts: &[usize], place: LineColumn) -> usize {
    let line = starts.get(place.line.saturating_sub(1)).copied().unwrap_or_default();
    line + place.column.saturating_sub(1)
}

fn text<'a>(arena: &'a Arena<'a>, text: &str) -> Node<'a> {
    let ast = Ast::new(NodeValue::Text(text.to_owned().into()), LineColumn { line: 1, column: 1 });
    arena.alloc(ast.into())
}

/// Inserts the text with its own Markdown before a node.
fn insert_inlines<'a>(arena: &'a Arena<'a>, node: Node<'a>, literal: &str, options: &Options<'_>) {
    let parsed = parse_document(arena, literal, options);
    let only = parsed.first_child().filter(|first| first.next_sibling().is_none());
    let paragraph = only.filter(|only| matches!(only.data().value, NodeValue::Paragraph));
    match paragraph {
        Some(paragraph) => {
            for child in paragraph.children().collect::<Vec<_>>() {
                node.insert_before(child);
            }
        }
        None => node.insert_before(text(arena, literal)),
    }
}

/// Returns whether this is a formula; `before` is the character in front of it.
fn is_formula(tex: &str, delimiter: Delimiter, before: Option<char>) -> bool {
    let tex = tex.trim();
    if tex.is_empty() || tex.len() > MAX_FORMULA {
        return false;
    }
    let has_sign = tex.contains(['\\', '^', '_', '=', '+', '<', '>', '{', '*', '/']);
    let words = words(tex);
    let of_length = |least: usize| words.iter().filter(|length| **length >= least).count();
    match delimiter {
        Delimiter::Dollars => true,
        Delimiter::Bracket => has_sign && (of_length(3) < 3 || tex.contains('\\')),
        Delimiter::Parenthesis => has_sign && of_length(3) < 3 || words.iter().all(|length| *length < 3),
        Delimiter::Dollar => {
            let is_price = tex.starts_with(|first: char| first.is_ascii_digit()) && of_length(2) > 0;
            let is_prose = of_length(3) > 1 && !tex.contains(['\\', '^', '_', '=']);
            !is_price && !is_prose && !before.is_some_and(char::is_alphanumeric)
        }
    }
}

/// Returns the lengths of the words that are neither a command nor in braces.
fn words(tex: &str) -> Vec<usize> {
    let (mut words, mut length, mut depth, mut is_command) = (Vec::new(), 0_usize, 0_usize, false);
    for character in tex.chars() {
        if character.is_alphabetic() {
            length += 1;
            continue;
        }
        if length > 0 && depth == 0 && !is_command {
            words.push(length);
        }
        length = 0;
        is_command = character == '\\';
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    if length > 0 && depth == 0 && !is_command {
        words.push(length);
    }
    words
}
