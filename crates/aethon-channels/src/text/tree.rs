//! Converts Markdown to styled text, from the parser's tree.
//!
//! Every kind of node in the dialect has its own arm; any other only shows its children. If a hostile text finds a
//! weakness in the parser, limits on time, size and depth cut it off, and the text is shown as plain text.

use std::time::{Duration, Instant};

use comrak::Arena;
use comrak::nodes::{ListType, Node, NodeLink, NodeValue};

use super::styled::{Span, Style, Styled};
use super::table;

/// The longest text to be parsed, in bytes.
const MAX_SOURCE: usize = 512 << 10;
/// How long parsing may take.
const TIMEOUT: Duration = Duration::from_millis(500);
/// The deepest allowed nesting.
const MAX_DEPTH: usize = 40;

/// Converts Markdown to styled text.
pub(crate) fn styled(markdown: &str) -> Styled {
    let (source, arena) = (cleaned(markdown), Arena::new());
    let Some(document) = document(&arena, &source) else { return Styled::plain(source) };
    let mut writer = Writer::default();
    writer.blocks(document, 0);
    let mut out = writer.out;
    let end = out.text.trim_end().len();
    out.text.truncate(end);
    for span in &mut out.spans {
        span.end = span.end.min(end);
    }
    out.spans.retain(|span| span.start < span.end);
    out
}

/// Removes characters that no messenger shows.
pub(super) fn cleaned(markdown: &str) -> String {
    markdown.replace("\r\n", "\n").replace(['\r', '\0', '\u{feff}'], "")
}

/// Parses a text, unless it is too long or takes too long.
pub(super) fn document<'a>(arena: &'a Arena<'a>, source: &str) -> Option<Node<'a>> {
    if source.len() > MAX_SOURCE {
        return None;
    }
    let deadline = Instant::now() + TIMEOUT;
    aethon_markdown::parse(arena, source, &|| Instant::now() >= deadline)
}

/// Returns whether an address leads to the web or to mail. Other links are shown but cannot be followed.
pub(super) fn is_open(url: &str) -> bool {
    let scheme = url.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    scheme.is_some_and(|scheme| matches!(scheme.as_str(), "http" | "https" | "mailto"))
        && !url.contains(|c: char| c.is_whitespace() || c.is_control())
}

/// Returns the language of a code block from its info string.
pub(super) fn language(info: &str) -> String {
    let language = info.split([' ', ',', '{']).next().unwrap_or_default();
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '#' | '_');
    language.chars().filter(|c| is_word(*c)).take(32).collect()
}

/// Returns whether inline HTML is a line break.
pub(super) fn is_break(html: &str) -> bool {
    let tag = html.trim_start_matches('<').trim_end_matches('>').trim_end_matches('/').trim_end();
    tag.eq_ignore_ascii_case("br")
}

#[derive(Default)]
struct Writer {
    out: Styled,
    /// The prefix of every line in a nested block.
    indent: String,
    /// The number of open links. A link inside another is shown as its text.
    links: usize,
}

impl Writer {
    /// Renders the children of a block, each as its own paragraph.
    fn blocks<'a>(&mut self, parent: Node<'a>, depth: usize) {
        for child in parent.children() {
            self.block(child, depth + 1);
        }
    }

    fn block<'a>(&mut self, node: Node<'a>, depth: usize) {
        if depth > MAX_DEPTH {
            self.text(&node.collect_text());
            return;
        }
        match &node.data().value {
            NodeValue::Paragraph => {
                self.part(node);
                self.inlines(node, depth);
            }
            NodeValue::Heading(_) => {
                self.part(node);
                self.spanned(Style::Bold, |writer| writer.inlines(node, depth));
            }
            NodeValue::CodeBlock(block) => {
                self.part(node);
                self.code(block.literal.trim_end_matches('\n'), language(&block.info));
            }
            NodeValue::HtmlBlock(block) => {
                self.part(node);
                self.text(block.literal.trim_end());
            }
            NodeValue::ThematicBreak => {
                self.part(node);
                self.text("———");
            }
            NodeValue::BlockQuote => {
                self.part(node);
                self.spanned(Style::Quote, |writer| writer.blocks(node, depth));
            }
            NodeValue::Alert(alert) => {
                self.part(node);
                let title = alert.title.as_deref().unwrap_or_else(|| alert.alert_type.default_title());
                self.spanned(Style::Quote, |writer| {
                    writer.out.push(title, Style::Bold);
                    writer.line();
                    writer.blocks(node, depth);
                });
            }
            NodeValue::FootnoteDefinition(footnote) => {
                self.part(node);
                self.text(&format!("[{}] ", footnote.name));
                self.blocks(node, depth);
            }
            NodeValue::List(list) => {
                self.part(node);
                self.list(node, (list.list_type, list.start), depth);
            }
            NodeValue::Table(_) => {
                self.part(node);
                self.table(node);
            }
            _ => self.blocks(node, depth),
        }
    }

    /// Begins a block: after an empty line, or on the next line in a tight list.
    fn part<'a>(&mut self, node: Node<'a>) {
        if node.previous_sibling().is_none() {
            return;
        }
        let is_in_item = node
            .parent()
            .is_some_and(|parent| matches!(parent.data().value, NodeValue::Item(_) | NodeValue::TaskItem(_)));
        self.line();
        if !is_in_item {
            // An empty line has no indentation.
            let end = self.out.text.trim_end_matches(' ').len();
            let indent = self.out.text.split_off(end);
            self.out.text.push('\n');
            self.out.text.push_str(&indent);
        }
    }

    fn line(&mut self) {
        self.out.text.push('\n');
        self.out.text.push_str(&self.indent);
    }

    fn list<'a>(&mut self, list: Node<'a>, (kind, start): (ListType, usize), depth: usize) {
        for (number, item) in list.children().enumerate() {
            if number > 0 {
                self.line();
            }
            let bullet = match (&item.data().value, kind) {
                (NodeValue::TaskItem(task), _) if task.symbol.is_some() => "☑ ".to_owned(),
                (NodeValue::TaskItem(_), _) => "☐ ".to_owned(),
                (_, ListType::Ordered) => format!("{}. ", start + number),
                (_, ListType::Bullet) => "• ".to_owned(),
            };
            self.out.text.push_str(&bullet);
            let before = self.indent.len();
            self.indent.push_str(&" ".repeat(bullet.chars().count()));
            self.blocks(item, depth + 1);
            self.indent.truncate(before);
        }
    }

    fn table<'a>(&mut self, table: Node<'a>) {
        let cells =
            |row: Node<'a>| row.children().map(|cell| cell.collect_text().trim().to_owned()).collect();
        let rows: Vec<Vec<String>> = table.children().map(cells).collect();
        match table::lines(&rows) {
            Some(lines) => self.code(lines.trim_end(), String::new()),
            None => self.text(table::list(&rows).trim_end()),
        }
    }

    fn inlines<'a>(&mut self, parent: Node<'a>, depth: usize) {
        for child in parent.children() {
            self.inline(child, depth + 1);
        }
    }

    fn inline<'a>(&mut self, node: Node<'a>, depth: usize) {
        if depth > MAX_DEPTH {
            self.text(&node.collect_text());
            return;
        }
        match &node.data().value {
            NodeValue::Text(text) => self.text(text),
            NodeValue::Code(code) => self.out.push(&code.literal, Style::Code),
            NodeValue::HtmlInline(html) if is_break(html) => self.line(),
            NodeValue::HtmlInline(html) => self.text(html),
            NodeValue::Raw(text) => self.text(text),
            NodeValue::FootnoteReference(footnote) => self.text(&format!("[{}]", footnote.name)),
            NodeValue::SoftBreak | NodeValue::LineBreak => self.line(),
            NodeValue::Emph => self.spanned(Style::Italic, |writer| writer.inlines(node, depth)),
            NodeValue::Strong => self.spanned(Style::Bold, |writer| writer.inlines(node, depth)),
            NodeValue::Strikethrough => self.spanned(Style::Strike, |writer| writer.inlines(node, depth)),
            NodeValue::Link(link) => self.link(link, |writer| writer.inlines(node, depth)),
            NodeValue::Image(link) => {
                let words = node.collect_text();
                let words = if words.trim().is_empty() { "image".to_owned() } else { words };
                self.link(link, |writer| writer.text(&words));
            }
            _ => self.inlines(node, depth),
        }
    }

    /// Renders a link to the web or to mail. Any other is shown as plain text.
    fn link(&mut self, link: &NodeLink, words: impl FnOnce(&mut Self)) {
        let url = link.url.trim();
        let is_open = is_open(url);
        self.links += 1;
        if is_open && self.links == 1 {
            self.spanned(Style::Link(url.to_owned()), words);
        } else {
            words(self);
            if !is_open && !url.is_empty() {
                self.text(&format!(" ({url})"));
            }
        }
        self.links -= 1;
    }

    fn code(&mut self, text: &str, language: String) {
        // An empty block could not be sent.
        let text = if text.trim().is_empty() { "(empty)" } else { text };
        self.out.push(text, Style::Block(language));
    }

    /// Appends text, indenting each of its lines like the block.
    fn text(&mut self, text: &str) {
        if self.indent.is_empty() || !text.contains('\n') {
            self.out.text.push_str(text);
        } else {
            self.out.text.push_str(&text.replace('\n', &format!("\n{}", self.indent)));
        }
    }

    /// Applies this style to everything that `write` appends.
    fn spanned(&mut self, style: Style, write: impl FnOnce(&mut Self)) {
        let (at, start) = (self.out.spans.len(), self.out.text.len());
        self.out.spans.push(Span { start, end: start, style });
        write(self);
        self.out.spans[at].end = self.out.text.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(markdown: &str, text: &str, spans: &[(&str, Style)]) {
        let found = styled(markdown);
        assert_eq!(found.text, text, "{markdown:?}");
        let shown: Vec<(&str, Style)> =
            found.spans.iter().map(|span| (&found.text[span.start..span.end], span.style.clone())).collect();
        assert_eq!(shown, spans, "{markdown:?}");
    }

    #[test]
    fn markdown_becomes_text_with_spans() {
        check("plain", "plain", &[]);
        check("a **b *c*** d", "a b c d", &[("b c", Style::Bold), ("c", Style::Italic)]);
        check("# Head\n\nbody", "Head\n\nbody", &[("Head", Style::Bold)]);
        check("`x` ~~y~~", "x y", &[("x", Style::Code), ("y", Style::Strike)]);
        check("```rust\nfn a() {}\n```", "fn a() {}", &[("fn a() {}", Style::Block("rust".into()))]);
        check("[t](https://a.b/c)", "t", &[("t", Style::Link("https://a.b/c".into()))]);
        check("[t](javascript:x)", "t (javascript:x)", &[]);
        check("> said\n> so", "said\nso", &[("said\nso", Style::Quote)]);
        check("- a\n- b\n  - c\n", "• a\n• b\n  • c", &[]);
        check("3. a\n4. b", "3. a\n4. b", &[]);
        check("- [x] done\n- [ ] open", "☑ done\n☐ open", &[]);
        check("a\n\n---\n\nb", "a\n\n———\n\nb", &[]);
        check("a<br>b <b>c</b>", "a\nb <b>c</b>", &[]);
        check("> [!TIP]\n> b", "Tip\nb", &[("Tip\nb", Style::Quote), ("Tip", Style::Bold)]);
        check("a[^1]\n\n[^1]: b", "a[1]\n\n[1] b", &[]);
        check("![cat](https://a.b/c.png)", "cat", &[("cat", Style::Link("https://a.b/c.png".into()))]);
    }

    #[test]
    fn all_scripts_have_emphasis_and_addresses() {
        let link = |address: &str| Style::Link(address.into());
        let x = "https://example.com/x";
        check("这是**我想做的事。**所以", "这是我想做的事。所以", &[("我想做的事。", Style::Bold)]);
        check("**마크다운(Markdown)**을", "마크다운(Markdown)을", &[("마크다운(Markdown)", Style::Bold)]);
        check("นี่คือ**คำ (ใหม่)**ครับ", "นี่คือคำ (ใหม่)ครับ", &[("คำ (ใหม่)", Style::Bold)]);
        check("~~删除（了）。~~这个", "删除（了）。这个", &[("删除（了）。", Style::Strike)]);
        check("见 https://example.com/x，谢谢", "见 https://example.com/x，谢谢", &[(x, link(x))]);
        check(
            "**https://example.com/x**。做",
            "https://example.com/x。做",
            &[(x, Style::Bold), (x, link(x))],
        );
        check("看https://example.com/x（说明）", "看https://example.com/x（说明）", &[(x, link(x))]);
        let tokyo = "https://ja.wikipedia.org/wiki/東京";
        check(
            "見る https://ja.wikipedia.org/wiki/東京。次",
            &format!("見る {tokyo}。次"),
            &[(tokyo, link(tokyo))],
        );
    }

    #[test]
    fn a_table_is_a_block_of_even_lines() {
        let table = "a | b\n--+--\n1 | 2";
        check("| a | b |\n|---|---|\n| 1 | 2 |", table, &[(table, Style::Block(String::new()))]);
    }

    #[test]
    fn a_hostile_text_is_shown_in_time() {
        for hostile in [">".repeat(20_000), "*".repeat(50_000), "[".repeat(50_000), "- ".repeat(5_000)] {
            let started = Instant::now();
            let _ = styled(&hostile);
            assert!(started.elapsed() < Duration::from_secs(20));
        }
    }
}
