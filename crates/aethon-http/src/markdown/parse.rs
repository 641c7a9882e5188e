//! Turns source text into rendered top-level blocks, within limits.
//!
//! The parser is linear for anything people and models write. If a hostile text finds an exception, a deadline and
//! limits on depth and output size cut it off, and the text is shown as plain text.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use comrak::Arena;
use comrak::nodes::NodeValue;

use super::inline::escape_into;
use super::page::Page;
use super::{tags, tree};

/// The longest text to be parsed, in bytes.
const MAX_SOURCE: usize = 2 << 20;
/// How long parsing may take.
const TIMEOUT: Duration = Duration::from_secs(1);
/// How much rendering may grow a text: a factor, and an allowance for short texts.
const MAX_GROWTH: (usize, usize) = (24, 64 << 10);

/// Renders the top-level blocks of a text. Their concatenation is the whole.
pub(crate) fn blocks(markdown: &str) -> Vec<String> {
    let source = normalised(markdown);
    pieces(&source).into_iter().map(|piece| piece.html).collect()
}

/// Renders a document of ours.
pub(super) fn page(markdown: &str, page: Page<'_>) -> String {
    let source = normalised(markdown);
    let arena = Arena::new();
    match aethon_markdown::parse(&arena, &source, &|| false) {
        Some(document) => {
            rendered(document, &source, Some(page)).into_iter().map(|piece| piece.html).collect()
        }
        None => plain(&source, 0).html,
    }
}

/// A rendered block and the position of its source.
#[derive(Debug)]
pub(super) struct Piece {
    /// Byte offset of the line that the block starts on.
    pub(super) offset: usize,
    /// Whether the source can be cut before the block without changing its meaning.
    pub(super) can_begin: bool,
    /// Its HTML.
    pub(super) html: String,
}

/// Normalises line ends to line feeds, removes byte order marks (so that offsets agree with the parser's), and
/// replaces NUL by the replacement character.
pub(super) fn normalised(source: &str) -> Cow<'_, str> {
    if source.contains(['\r', '\0', '\u{feff}']) {
        let source = source.replace("\r\n", "\n").replace('\r', "\n");
        Cow::Owned(source.replace('\u{feff}', "").replace('\0', "\u{fffd}"))
    } else {
        Cow::Borrowed(source)
    }
}

/// Renders the blocks of a normalised text.
pub(super) fn pieces(source: &str) -> Vec<Piece> {
    if source.len() > MAX_SOURCE {
        return vec![plain(source, 0)];
    }
    let deadline = Instant::now() + TIMEOUT;
    let arena = Arena::new();
    match aethon_markdown::parse_with_math(&arena, source, &|| Instant::now() >= deadline) {
        Some(document) => rendered(document, source, None),
        None => vec![plain(source, 0)],
    }
}

fn rendered<'a>(document: comrak::nodes::Node<'a>, source: &str, page: Option<Page<'_>>) -> Vec<Piece> {
    let mut room = source.len() * MAX_GROWTH.0 + MAX_GROWTH.1;
    let mut lines = Lines::new(source);
    let mut pieces: Vec<Piece> = Vec::new();
    let mut children = document.children().peekable();
    while let Some(node) = children.next() {
        let offset = lines.offset_of(node.data().sourcepos.start.line);
        let mut group = vec![node];
        let mut open = open_after(node, 0);
        while open > 0
            && let Some(next) = children.next()
        {
            open = open_after(next, open);
            group.push(next);
        }
        match tree::render(&group, room, page) {
            Some(html) => {
                room = room.saturating_sub(html.len());
                if !html.is_empty() {
                    let can_begin = can_begin(node, source, offset);
                    pieces.push(Piece { offset, can_begin, html });
                }
            }
            None => {
                let end = children.peek().map(|next| next.data().sourcepos.start.line);
                let end = end.map_or(source.len(), |line| lines.offset_of(line));
                pieces.push(plain(source.get(offset..end).unwrap_or_default(), offset));
            }
        }
    }
    pieces
}

/// Returns how many folds are open after a block. All blocks in a fold are one piece.
fn open_after(node: comrak::nodes::Node<'_>, open: usize) -> usize {
    match &node.data().value {
        NodeValue::HtmlBlock(block) => tags::open_after(&block.literal, open),
        _ => open,
    }
}

/// Returns the source as one block of plain text.
fn plain(source: &str, offset: usize) -> Piece {
    let mut html = String::with_capacity(source.len() + 32);
    html.push_str("<pre>");
    escape_into(&mut html, source);
    html.push_str("</pre>");
    Piece { offset, can_begin: true, html }
}

/// Returns whether parsing can restart at this block. A table may have grown out of the paragraph above it, and a
/// deeply indented line may continue one; on its own, the same source could parse differently.
fn can_begin(node: comrak::nodes::Node<'_>, source: &str, offset: usize) -> bool {
    let (before, from) = source.split_at(offset);
    let is_table = matches!(node.data().value, NodeValue::Table(_));
    let follows_blank = before.is_empty() || before.trim_end_matches([' ', '\t']).ends_with("\n\n");
    let indent = from.bytes().take_while(|byte| *byte == b' ').count();
    let is_deep = indent > 3 || from.as_bytes().get(indent) == Some(&b'\t');
    (!is_table || follows_blank) && !is_deep
}

/// Finds the byte offsets of lines, which must be requested in ascending order.
struct Lines<'s> {
    source: &'s str,
    line: usize,
    offset: usize,
}

impl<'s> Lines<'s> {
    fn new(source: &'s str) -> Self {
        Self { source, line: 1, offset: 0 }
    }

    fn offset_of(&mut self, line: usize) -> usize {
        while self.line < line {
            let Some(end) = self.source.get(self.offset..).and_then(|rest| rest.find('\n')) else { break };
            self.offset += end + 1;
            self.line += 1;
        }
        self.offset
    }
}
