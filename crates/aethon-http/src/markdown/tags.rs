//! The few HTML tags that Markdown of a model may contain: raised and lowered text, keys, and blocks that fold.
//!
//! Only bare tags count, without attributes (`<details open>` excepted); anything else stays text.

/// How deep tags may be nested.
pub(super) const MAX_NESTED: usize = 8;

/// Inline tags of all texts.
const INLINE: [(&str, &str); 3] = [("sub", "sub"), ("sup", "sup"), ("kbd", "kbd")];

/// Tags that only a summary may contain besides, where emphasis cannot be Markdown; and the elements they become.
const IN_SUMMARY: [(&str, &str); 4] = [("b", "strong"), ("strong", "strong"), ("i", "em"), ("em", "em")];

/// An inline tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Inline {
    /// The tag as written, in lower case.
    pub(super) name: &'static str,
    /// The element.
    pub(super) element: &'static str,
    /// Whether it ends the element.
    pub(super) is_end: bool,
}

/// Reads an inline tag.
pub(super) fn inline(literal: &str) -> Option<Inline> {
    read(literal, INLINE.iter())
}

/// Reads an inline tag in a summary.
pub(super) fn in_summary(literal: &str) -> Option<Inline> {
    read(literal, INLINE.iter().chain(&IN_SUMMARY))
}

fn read(
    literal: &str,
    mut known: impl Iterator<Item = &'static (&'static str, &'static str)>,
) -> Option<Inline> {
    let inner = literal.strip_prefix('<')?.strip_suffix('>')?;
    let (inner, is_end) = match inner.strip_prefix('/') {
        Some(inner) => (inner, true),
        None => (inner, false),
    };
    let word = inner.trim_end();
    let (name, element) = known.find(|(name, _)| word.eq_ignore_ascii_case(name))?;
    Some(Inline { name, element, is_end })
}

/// A part of an HTML block that belongs to a block that folds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fold<'s> {
    /// `<details>`, and whether it is open at first.
    Begin { is_open: bool },
    /// `</details>`
    End,
    /// `<summary>`
    Summary,
    /// `</summary>`
    SummaryEnd,
    /// Anything else.
    Text(&'s str),
}

/// Reads an HTML block that begins or ends a fold; `open` counts the folds around it. `None` if it is about something
/// else: it must begin with such a tag.
pub(super) fn folds(literal: &str, open: usize) -> Option<Vec<Fold<'_>>> {
    let mut rest = literal.trim();
    match fold(rest)? {
        (Fold::Begin { .. }, _) => {}
        _ if open > 0 => {}
        _ => return None,
    }
    let (mut parts, mut depth) = (Vec::new(), open);
    let mut text = rest;
    while let Some(at) = rest.find('<') {
        let from = &rest[at..];
        let Some((part, length)) = fold(from) else {
            rest = &from[1..];
            continue;
        };
        let is_meant = match part {
            Fold::Begin { .. } => depth < MAX_NESTED,
            _ => depth > 0,
        };
        rest = &from[length..];
        if is_meant {
            push_text(&mut parts, &text[..text.len() - from.len()]);
            parts.push(part);
            text = rest;
            match part {
                Fold::Begin { .. } => depth += 1,
                Fold::End => depth -= 1,
                _ => {}
            }
        }
    }
    push_text(&mut parts, text);
    Some(parts)
}

/// Returns how many folds are open after an HTML block.
pub(super) fn open_after(literal: &str, open: usize) -> usize {
    let parts = folds(literal, open).unwrap_or_default();
    parts.iter().fold(open, |open, part| match part {
        Fold::Begin { .. } => open + 1,
        Fold::End => open.saturating_sub(1),
        _ => open,
    })
}

fn push_text<'s>(parts: &mut Vec<Fold<'s>>, text: &'s str) {
    if !text.trim().is_empty() {
        parts.push(Fold::Text(text.trim()));
    }
}

/// The longest tag of a fold.
const MAX_TAG: usize = 24;

/// Reads the tag at the beginning of a text, and its length.
fn fold(text: &str) -> Option<(Fold<'static>, usize)> {
    let end = text.bytes().take(MAX_TAG).position(|byte| byte == b'>')?;
    let word = text.get(1..end)?.trim_end();
    let is = |name: &str| text.starts_with('<') && word.eq_ignore_ascii_case(name);
    let part = match () {
        () if is("details") => Fold::Begin { is_open: false },
        () if is("details open") || is("details open=\"\"") => Fold::Begin { is_open: true },
        () if is("/details") => Fold::End,
        () if is("summary") => Fold::Summary,
        () if is("/summary") => Fold::SummaryEnd,
        () => return None,
    };
    Some((part, end + 1))
}
