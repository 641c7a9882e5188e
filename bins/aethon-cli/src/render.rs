//! Renders Markdown for a terminal: comrak's tree to ANSI text.
//!
//! The reply arrives in pieces; a block is printed for good once the next one begins. Until then a terminal may show a draft.
//! Nothing in the source controls the terminal, neither characters in it nor those written as Markdown entities such as
//! `&#27;`. Without colours the structure remains readable.

mod code;
mod link;
mod style;

use std::time::{Duration, Instant};

use aethon::core::visible::readable;
use comrak::Arena;
use comrak::nodes::{AstNode, ListType, NodeValue, TableAlignment};
use unicode_width::UnicodeWidthChar;

pub(crate) use self::style::Style;
use self::style::{BOLD, CODE, ITALIC, STRIKE, UNDERLINE};

/// How long parsing may take.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Renders a reply as it arrives.
pub(crate) struct Stream {
    style: Style,
    source: String,
    printed: usize,
}

impl Stream {
    /// Creates an empty stream.
    pub(crate) fn new(style: Style) -> Self {
        Self { style, source: String::new(), printed: 0 }
    }

    /// Adds source text; returns what can be printed for good.
    pub(crate) fn push(&mut self, text: &str) -> String {
        self.source.push_str(&text.replace('\r', ""));
        let end = self.settled();
        self.emit(end)
    }

    /// Changes the line width from now on.
    pub(crate) fn set_width(&mut self, width: usize) {
        self.style.width = width;
    }

    /// Renders the unfinished block as it is so far.
    pub(crate) fn unfinished(&self) -> String {
        let text = &self.source[self.printed..];
        if text.trim().is_empty() { String::new() } else { markdown(text, self.style) }
    }

    /// Renders the rest.
    pub(crate) fn finish(&mut self) -> String {
        self.emit(self.source.len())
    }

    fn emit(&mut self, end: usize) -> String {
        let text = self.source[self.printed..end].to_owned();
        self.printed = end;
        if text.trim().is_empty() { String::new() } else { markdown(&text, self.style) }
    }

    /// Returns the start of the last block; everything before it is final. A block ends at a blank line outside of a
    /// fence that is followed by something new at the margin.
    fn settled(&self) -> usize {
        let mut fence: Option<&str> = None;
        let mut settled = self.printed;
        let mut offset = self.printed;
        let mut after_blank = false;
        for line in self.source[self.printed..].split_inclusive('\n') {
            let trimmed = line.trim_start();
            let begins_block = after_blank && !line.starts_with([' ', '\t']) && !is_list_item(trimmed);
            if fence.is_none() && begins_block && line.ends_with('\n') {
                settled = offset;
            }
            match fence {
                Some(mark) if trimmed.starts_with(mark) => fence = None,
                None if trimmed.starts_with("```") => fence = Some("```"),
                None if trimmed.starts_with("~~~") => fence = Some("~~~"),
                _ => {}
            }
            after_blank = line.trim().is_empty();
            offset += line.len();
        }
        settled
    }
}

fn is_list_item(line: &str) -> bool {
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with("- ")
        || line.starts_with("* ")
        || line.starts_with("+ ")
        || (digits.len() < line.len() && digits.starts_with(['.', ')']))
}

/// Renders a complete text. One that the parser does not finish in time is shown as it is.
pub(crate) fn markdown(source: &str, style: Style) -> String {
    let (arena, source) = (Arena::new(), source.replace('\r', ""));
    let deadline = Instant::now() + TIMEOUT;
    let mut out = String::new();
    match aethon::markdown::parse(&arena, &source, &|| Instant::now() >= deadline) {
        Some(root) => blocks(root, style, "", &mut out),
        None => out.push_str(&readable(&source)),
    }
    out
}

fn blocks<'a>(parent: &'a AstNode<'a>, style: Style, indent: &str, out: &mut String) {
    for (index, node) in parent.children().enumerate() {
        if index > 0 && !matches!(parent.data.borrow().value, NodeValue::Item(_) | NodeValue::TaskItem(_)) {
            out.push_str(indent.trim_end());
            out.push('\n');
        }
        block(node, style, indent, out);
    }
}

fn block<'a>(node: &'a AstNode<'a>, style: Style, indent: &str, out: &mut String) {
    let value = node.data.borrow().value.clone();
    match value {
        NodeValue::Heading(heading) => {
            let text = inline(node, style);
            let mark =
                if style.colour { String::new() } else { format!("{} ", "#".repeat(heading.level.into())) };
            wrapped(&style.paint(BOLD, &format!("{mark}{text}")), style, indent, out);
        }
        NodeValue::CodeBlock(code) => {
            for line in code::lines(&code.literal, &code.info, style) {
                out.push_str(&format!("{indent}    {line}\n"));
            }
        }
        NodeValue::List(list) => {
            for (index, item) in node.children().enumerate() {
                let mark = match list.list_type {
                    ListType::Bullet => "•".to_owned(),
                    ListType::Ordered => format!("{}.", list.start + index),
                };
                self::item(item, &mark, style, indent, out);
            }
        }
        NodeValue::BlockQuote => blocks(node, style, &format!("{indent}{} ", style.dim("│")), out),
        NodeValue::ThematicBreak => {
            out.push_str(&format!("{indent}{}\n", style.dim(&"─".repeat(style.width.min(40)))))
        }
        NodeValue::Table(table) => self::table(node, &table.alignments, style, indent, out),
        NodeValue::HtmlBlock(html) => wrapped(&readable(html.literal.trim_end()), style, indent, out),
        _ => wrapped(&inline(node, style), style, indent, out),
    }
}

fn item<'a>(node: &'a AstNode<'a>, mark: &str, style: Style, indent: &str, out: &mut String) {
    let mark = match node.data.borrow().value {
        NodeValue::TaskItem(ref task) => if task.symbol.is_some() { "[x]" } else { "[ ]" }.to_owned(),
        _ => mark.to_owned(),
    };
    let hanging = " ".repeat(mark.chars().count() + 1);
    let mut body = String::new();
    blocks(node, style, &format!("{indent}{hanging}"), &mut body);
    // The first line has the bullet where the others are indented.
    let first = format!("{indent}{hanging}");
    out.push_str(&format!("{indent}{mark} {}", body.strip_prefix(&first).unwrap_or(&body)));
    if body.is_empty() {
        out.push('\n');
    }
}

fn table<'a>(
    node: &'a AstNode<'a>,
    alignments: &[TableAlignment],
    style: Style,
    indent: &str,
    out: &mut String,
) {
    let bare = Style { colour: false, ..style };
    let rows: Vec<Vec<String>> = node
        .children()
        .map(|row| row.children().map(|cell| bare_cell(cell, bare, style)).collect())
        .collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| columns_of(cell)).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let whole = widths.iter().sum::<usize>() + columns.saturating_sub(1) * 3 + columns_of(indent);
    if whole > style.width {
        return records(&rows, style, indent, out);
    }
    for (index, row) in rows.iter().enumerate() {
        let cells: Vec<String> = widths
            .iter()
            .enumerate()
            .map(|(column, &width)| {
                let cell = row.get(column).map_or("", String::as_str);
                let room = " ".repeat(width.saturating_sub(columns_of(cell)));
                match alignments.get(column) {
                    Some(TableAlignment::Right) => format!("{room}{cell}"),
                    _ => format!("{cell}{room}"),
                }
            })
            .collect();
        let line = cells.join(" │ ");
        out.push_str(&format!(
            "{indent}{}\n",
            if index == 0 { style.bold(line.trim_end()) } else { line.trim_end().to_owned() }
        ));
        if index == 0 {
            let rule: Vec<String> = widths.iter().map(|&width| "─".repeat(width)).collect();
            out.push_str(&format!("{indent}{}\n", style.dim(&rule.join("─┼─"))));
        }
    }
}

/// Renders a cell without colours, which its width does not count. Where colours mark code elsewhere, code has no backticks.
fn bare_cell<'a>(cell: &'a AstNode<'a>, bare: Style, style: Style) -> String {
    let has_marks = !style.colour;
    let code = |child: &'a AstNode<'a>| match &child.data.borrow().value {
        NodeValue::Code(code) if !has_marks => readable(&code.literal),
        _ => span(child, bare),
    };
    cell.children().map(code).collect()
}

/// Renders a table wider than the window: each row as a paragraph, each cell under its column's name.
fn records(rows: &[Vec<String>], style: Style, indent: &str, out: &mut String) {
    let Some((names, rows)) = rows.split_first() else { return };
    for (index, row) in rows.iter().enumerate() {
        if index > 0 {
            out.push_str(indent.trim_end());
            out.push('\n');
        }
        for (name, cell) in names.iter().zip(row).filter(|(_, cell)| !cell.is_empty()) {
            wrapped(&format!("{}: {cell}", style.bold(name)), style, indent, out);
        }
    }
}

fn inline<'a>(node: &'a AstNode<'a>, style: Style) -> String {
    node.children().map(|child| span(child, style)).collect()
}

fn span<'a>(node: &'a AstNode<'a>, style: Style) -> String {
    let value = node.data.borrow().value.clone();
    match value {
        NodeValue::Text(text) => readable(&text),
        NodeValue::Code(code) => {
            let code = readable(&code.literal);
            if style.colour { style.paint(CODE, &code) } else { format!("`{code}`") }
        }
        NodeValue::SoftBreak => " ".into(),
        NodeValue::LineBreak => "\n".into(),
        NodeValue::HtmlInline(html) => readable(&html),
        NodeValue::Emph => style.paint(ITALIC, &inline(node, style)),
        NodeValue::Strong => style.paint(BOLD, &inline(node, style)),
        NodeValue::Strikethrough => style.paint(STRIKE, &inline(node, style)),
        NodeValue::Link(link) | NodeValue::Image(link) => {
            let text = inline(node, style);
            let url = readable(&link.url);
            let (shown, behind) = link::shown(&text, &link.url, style);
            let painted = if text.is_empty() { &url } else { &text };
            let linked = shown.unwrap_or_else(|| style.paint(UNDERLINE, painted));
            if behind { format!("{linked} ({url})") } else { linked }
        }
        _ => inline(node, style),
    }
}

/// Wraps lines between words. Escape codes take no width.
fn wrapped(text: &str, style: Style, indent: &str, out: &mut String) {
    let room = style.width.saturating_sub(columns_of(indent)).max(20);
    for line in text.split('\n') {
        let mut used = 0;
        out.push_str(indent);
        for word in line.split(' ') {
            let width = columns_of(word);
            if used > 0 && used + 1 + width > room {
                out.push('\n');
                out.push_str(indent);
                used = 0;
            } else if used > 0 {
                out.push(' ');
                used += 1;
            }
            out.push_str(word);
            used += width;
        }
        out.push('\n');
    }
}

/// Returns the width of a text on one line, in columns. Escape codes take none.
pub(crate) fn columns_of(text: &str) -> usize {
    widths(text).sum()
}

/// Returns the number of rows that a line occupies in a window of this width. It wraps where it does not fit, and a
/// wide character is never split.
pub(crate) fn rows_of(line: &str, columns: usize) -> usize {
    let (rows, _) = widths(line).fold((1, 0), |(rows, used), width| {
        if used + width > columns { (rows + 1, width) } else { (rows, used + width) }
    });
    rows
}

/// Where a character stands: in the text, at the start of an escape code, in a style, or in the address of a link.
#[derive(Clone, Copy, PartialEq)]
enum Position {
    Text,
    Start,
    Style,
    Address,
}

/// Returns the width of each character that is not part of an escape code: of a style, which ends in `m`, or of a link, which
/// ends in an escape and a backslash.
fn widths(text: &str) -> impl Iterator<Item = usize> {
    let mut position = Position::Text;
    text.chars().map(move |c| {
        let is_text = position == Position::Text && c != '\u{1b}';
        position = match (position, c) {
            (_, '\u{1b}') => Position::Start,
            (Position::Start, ']') => Position::Address,
            (Position::Start, '\\') | (Position::Style, 'm') => Position::Text,
            (Position::Start, _) => Position::Style,
            (position, _) => position,
        };
        if is_text { c.width().unwrap_or(0) } else { 0 }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BARE: Style = Style { colour: false, links: false, width: 30 };

    #[test]
    fn emphasis_and_addresses_of_all_scripts_are_recognised() {
        let style = Style { colour: true, links: false, width: 80 };
        let painted = |source: &str, code: &str, words: &str| {
            let (found, expected) = (markdown(source, style), style.paint(code, words));
            assert!(found.contains(&expected) && !found.contains("**"), "{source:?}: {found:?}");
        };
        painted("这是**我想做的事。**所以", BOLD, "我想做的事。");
        painted("これは**「重要」**です", BOLD, "「重要」");
        painted("**마크다운(Markdown)**을", BOLD, "마크다운(Markdown)");
        painted("~~删除（了）。~~这个", STRIKE, "删除（了）。");
        painted("นี่คือ**คำ (ใหม่)**ครับ", BOLD, "คำ (ใหม่)");
        painted("见 https://example.com/x，谢谢", UNDERLINE, "https://example.com/x");
        painted("**https://example.com/x**。做", UNDERLINE, "https://example.com/x");
        painted("見る https://ja.wikipedia.org/wiki/東京。", UNDERLINE, "https://ja.wikipedia.org/wiki/東京");
    }

    #[test]
    fn the_structure_stays_readable_without_colours() {
        let check = |source: &str, expected: &str| assert_eq!(markdown(source, BARE), expected, "{source:?}");
        check("# Title\n\nsome *text*", "# Title\n\nsome text\n");
        check("- one\n- two\n  - deep", "• one\n• two\n  • deep\n");
        check("3. three\n4. four", "3. three\n4. four\n");
        check("- [x] done\n- [ ] open", "[x] done\n[ ] open\n");
        check("```rust\nfn a() {}\n```", "    fn a() {}\n");
        check("| a | b |\n|---|--:|\n| 1 | 22 |", "a │  b\n──┼───\n1 │ 22\n");
        let wide = "| name | what it is for |\n|---|---|\n| one | a first thing |\n| two | a second |";
        check(wide, "name │ what it is for\n─────┼───────────────\none  │ a first thing\ntwo  │ a second\n");
        let wider = "| name | what it is for, at length |\n|---|---|\n| one | first |\n| two | second |";
        check(
            wider,
            "name: one\nwhat it is for, at length:\nfirst\n\nname: two\nwhat it is for, at length:\nsecond\n",
        );
        check("> said", "│ said\n");
        check("[here](https://example.org)", "here (https://example.org)\n");
        check(
            "a word that is long enough to be broken twice",
            "a word that is long enough to\nbe broken twice\n",
        );
    }

    #[test]
    fn code_has_backticks_only_where_no_colour_marks_it() {
        let colour = Style { colour: true, links: false, width: 80 };
        for source in ["use `ls` here", "| a | b |\n|---|---|\n| `ls` | x |"] {
            let (plain, painted) = (markdown(source, BARE), markdown(source, colour));
            assert!(plain.contains("`ls`"), "{plain}");
            assert!(painted.contains("ls") && !painted.contains('`'), "{painted}");
        }
    }

    #[test]
    fn nothing_of_the_source_drives_the_terminal() {
        for source in [
            "a\u{1b}]0;title\u{7}b `\u{1b}[2J`",
            "&#27;]0;title&#7; &#x9b;2J &#x202e;",
            "[x](http://a/&#27;[2J) <b>\u{1b}[2J</b>",
            "    \u{1b}[2J\n\n```\n\u{9b}2J\n```\n\n<div>\n\u{1b}[2J\n</div>",
            "| \u{1b}[2J |\n|---|\n| &#27;[2J |",
            "# \u{1b}[2J\n\n- \u{202e}x\n\n> &#8238;",
        ] {
            for style in [BARE, Style { colour: true, links: false, width: 80 }] {
                let out = markdown(source, style);
                let text: String = out
                    .split('\u{1b}')
                    .enumerate()
                    .map(|(index, part)| {
                        // Only our own codes: a bracket, a number, an m.
                        let code = part.split_once('m').filter(|(code, _)| code.starts_with('['));
                        match code {
                            _ if index == 0 => part,
                            Some((code, rest))
                                if code[1..].chars().all(|c| c.is_ascii_digit() || c == ';') =>
                            {
                                rest
                            }
                            _ => panic!("{source:?} drives the terminal: {out:?}"),
                        }
                    })
                    .collect();
                let is_odd = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
                assert!(!text.contains(is_odd), "{source:?}: {out:?}");
                assert!(text.contains("‹U+"), "{source:?} is marked: {out:?}");
            }
        }
    }

    #[test]
    fn rows_are_counted_as_a_terminal_wraps_them() {
        let check = |line: &str, columns: usize, expected: usize| {
            assert_eq!(rows_of(line, columns), expected, "{line:?} in {columns}");
        };
        check("", 10, 1);
        check("0123456789", 10, 1);
        check("0123456789a", 10, 2);
        check("\u{1b}[1m0123456789\u{1b}[0m", 10, 1);
        check("日本語日本", 10, 1);
        // A wide character does not fit into the last column.
        check("a日本語日本", 10, 2);
        check("日本語", 3, 3);
        check("e\u{301}e\u{301}", 2, 1);
    }

    #[test]
    fn a_stream_prints_each_block_once_and_all_of_it() {
        let source = "# A\n\ntext one\n\n```\ncode\n\nmore\n```\n\n- x\n\n- y\n\nend";
        for step in 1..10 {
            let mut stream = Stream::new(BARE);
            let mut out = String::new();
            let characters: Vec<char> = source.chars().collect();
            for piece in characters.chunks(step) {
                out.push_str(&stream.push(&piece.iter().collect::<String>()));
            }
            out.push_str(&stream.finish());
            for part in ["# A", "text one", "    code", "    more", "• x", "• y", "end"] {
                assert_eq!(out.matches(part).count(), 1, "{part} in {out}");
            }
        }
    }
}
