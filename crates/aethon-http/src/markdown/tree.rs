//! Converts the parser's tree to HTML, without recursion.
//!
//! Every kind of node in the dialect has its own arm; any other only shows its children. So a new kind of node in the
//! parser can make a reply plainer, but never unsafe.

use comrak::nodes::{ListType, Node, NodeLink, NodeList, NodeValue, TableAlignment};

use super::inline::{Target, escape_into, language};

/// The deepest allowed nesting. Browsers flatten deeper trees anyway.
const MAX_DEPTH: usize = 120;
/// Headings in a reply rank below those of the page.
const HEADING_SHIFT: u8 = 2;

/// Renders one node and everything below it. Returns `None` if it is too deep or longer than `room`.
pub(super) fn render<'a>(root: Node<'a>, room: usize) -> Option<String> {
    let mut writer = Writer::default();
    let mut node = root;
    let mut depth = 0;
    loop {
        if writer.html.len() > room || depth > MAX_DEPTH {
            return None;
        }
        if writer.enter(node)
            && let Some(child) = node.first_child()
        {
            node = child;
            depth += 1;
            continue;
        }
        loop {
            writer.leave(node);
            if depth == 0 {
                return (writer.html.len() <= room).then_some(writer.html);
            }
            if let Some(sibling) = node.next_sibling() {
                node = sibling;
                break;
            }
            node = node.parent()?;
            depth -= 1;
        }
    }
}

#[derive(Default)]
struct Writer {
    html: String,
    /// The open links. `None` is an inner link that is shown only as its text.
    links: Vec<Option<Target>>,
    /// The column alignments of the current table, and the index of the next column. Tables do not nest.
    columns: Vec<TableAlignment>,
    column: usize,
}

impl Writer {
    /// Writes what precedes the children. Returns `false` if the children are already written or not to be shown.
    fn enter(&mut self, node: Node<'_>) -> bool {
        match &node.data().value {
            NodeValue::Text(text) => self.text(text),
            NodeValue::Code(code) => self.wrapped("<code>", &code.literal, "</code>"),
            NodeValue::HtmlInline(literal) => self.inline_html(literal),
            NodeValue::HtmlBlock(block) => self.block_html(&block.literal),
            NodeValue::CodeBlock(block) => self.code_block(&block.info, &block.literal),
            NodeValue::Raw(literal) => self.text(literal),
            NodeValue::SoftBreak => self.html.push('\n'),
            NodeValue::LineBreak => self.html.push_str("<br>"),
            NodeValue::ThematicBreak => self.html.push_str("<hr>"),
            NodeValue::Heading(heading) => {
                let (depth, level) = (heading.level, (heading.level + HEADING_SHIFT).min(6));
                self.html.push_str(&format!("<h{level} class=\"depth-{depth}\">"));
            }
            NodeValue::List(list) => self.open_list(list),
            NodeValue::TaskItem(task) => self.html.push_str(if task.symbol.is_some() {
                "<li class=\"task\"><input type=\"checkbox\" disabled checked aria-label=\"Done\">"
            } else {
                "<li class=\"task\"><input type=\"checkbox\" disabled aria-label=\"Not done\">"
            }),
            NodeValue::Table(table) => {
                self.columns.clone_from(&table.alignments);
                self.html.push_str(TABLE.0);
            }
            NodeValue::TableRow(is_header) => {
                self.column = 0;
                self.html.push_str(if *is_header { "<thead><tr>" } else { row_start(node) });
            }
            NodeValue::TableCell => self.open_cell(node),
            NodeValue::Link(link) => self.open_link(link),
            NodeValue::Image(link) => {
                self.image(link, &node.collect_text());
                return false;
            }
            NodeValue::Paragraph if is_tight(node) => {
                if node.previous_sibling().is_some_and(|before| is_paragraph(before)) {
                    self.html.push('\n');
                }
            }
            value => self.html.push_str(tags(value).0),
        }
        true
    }

    /// Writes what follows the children.
    fn leave(&mut self, node: Node<'_>) {
        match &node.data().value {
            NodeValue::Heading(heading) => {
                let level = (heading.level + HEADING_SHIFT).min(6);
                self.html.push_str(&format!("</h{level}>"));
            }
            NodeValue::List(list) => self.html.push_str(match list.list_type {
                ListType::Bullet => "</ul>",
                ListType::Ordered => "</ol>",
            }),
            NodeValue::TableRow(is_header) => {
                self.html.push_str(if *is_header { "</tr></thead>" } else { row_end(node) })
            }
            NodeValue::TableCell => self.html.push_str(if is_in_header(node) { "</th>" } else { "</td>" }),
            NodeValue::Link(_) => {
                if let Some(Some(target)) = self.links.pop() {
                    target.close(&mut self.html, &node.collect_text());
                }
            }
            NodeValue::Paragraph if is_tight(node) => {}
            value => self.html.push_str(tags(value).1),
        }
    }

    fn text(&mut self, text: &str) {
        escape_into(&mut self.html, text);
    }

    fn wrapped(&mut self, before: &str, text: &str, after: &str) {
        self.html.push_str(before);
        self.text(text);
        self.html.push_str(after);
    }

    /// Renders inline HTML: a line break, which models put in table cells, is kept; everything else is shown as text.
    fn inline_html(&mut self, literal: &str) {
        let inner = literal.trim_start_matches('<').trim_end_matches('>').trim_end_matches('/').trim_end();
        if inner.eq_ignore_ascii_case("br") { self.html.push_str("<br>") } else { self.text(literal) }
    }

    fn block_html(&mut self, literal: &str) {
        self.html.push_str("<p>");
        for (index, line) in literal.trim_end().split('\n').enumerate() {
            if index > 0 {
                self.html.push_str("<br>");
            }
            self.text(line);
        }
        self.html.push_str("</p>");
    }

    fn code_block(&mut self, info: &str, literal: &str) {
        let language = language(info);
        if language.is_empty() {
            self.wrapped("<pre><code>", literal, "</code></pre>");
        } else {
            self.wrapped(&format!("<pre><code class=\"language-{language}\">"), literal, "</code></pre>");
        }
    }

    fn open_list(&mut self, list: &NodeList) {
        match list.list_type {
            ListType::Bullet => self.html.push_str("<ul>"),
            ListType::Ordered if list.start == 1 => self.html.push_str("<ol>"),
            ListType::Ordered => self.html.push_str(&format!("<ol start=\"{}\">", list.start)),
        }
    }

    fn open_cell(&mut self, cell: Node<'_>) {
        let alignment = self.columns.get(self.column).copied();
        self.column += 1;
        self.html.push_str(if is_in_header(cell) { "<th scope=\"col\"" } else { "<td" });
        self.html.push_str(match alignment {
            Some(TableAlignment::Left) => " align=\"left\">",
            Some(TableAlignment::Center) => " align=\"center\">",
            Some(TableAlignment::Right) => " align=\"right\">",
            Some(TableAlignment::None) | None => ">",
        });
    }

    fn open_link(&mut self, link: &NodeLink) {
        let is_inner = !self.links.is_empty();
        let target = if is_inner { None } else { Target::parse(&link.url) };
        if let Some(target) = &target {
            target.open(&mut self.html, &link.title);
        }
        self.links.push(target);
    }

    /// Renders a picture as a link to it, or as its description inside another link. Pictures are never loaded.
    fn image(&mut self, link: &NodeLink, description: &str) {
        let description = if description.trim().is_empty() { "image" } else { description };
        match Target::parse(&link.url) {
            Some(target) if self.links.is_empty() => {
                target.open(&mut self.html, &link.title);
                self.text(description);
                target.close(&mut self.html, description);
            }
            _ => self.text(description),
        }
    }
}

/// A table scrolls in its own box, which is reachable by keyboard.
const TABLE: (&str, &str) = (
    "<div class=\"table-scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table>",
    "</table></div>",
);

/// Returns the tags of nodes that need no special handling.
fn tags(value: &NodeValue) -> (&'static str, &'static str) {
    match value {
        NodeValue::Paragraph => ("<p>", "</p>"),
        NodeValue::BlockQuote => ("<blockquote>", "</blockquote>"),
        NodeValue::Item(_) => ("<li>", "</li>"),
        NodeValue::TaskItem(_) => ("", "</li>"),
        NodeValue::Emph => ("<em>", "</em>"),
        NodeValue::Strong => ("<strong>", "</strong>"),
        NodeValue::Strikethrough => ("<del>", "</del>"),
        NodeValue::Table(_) => TABLE,
        _ => ("", ""),
    }
}

/// Returns whether a paragraph is in a tight list, where it gets no tag of its own.
fn is_tight(paragraph: Node<'_>) -> bool {
    let list = paragraph.parent().and_then(|item| item.parent());
    list.is_some_and(|list| matches!(&list.data().value, NodeValue::List(list) if list.tight))
}

fn is_paragraph(node: Node<'_>) -> bool {
    matches!(node.data().value, NodeValue::Paragraph)
}

fn is_in_header(cell: Node<'_>) -> bool {
    cell.parent().is_some_and(|row| matches!(row.data().value, NodeValue::TableRow(true)))
}

fn row_start(row: Node<'_>) -> &'static str {
    let is_first =
        row.previous_sibling().is_none_or(|before| matches!(before.data().value, NodeValue::TableRow(true)));
    if is_first { "<tbody><tr>" } else { "<tr>" }
}

fn row_end(row: Node<'_>) -> &'static str {
    if row.next_sibling().is_none() { "</tr></tbody>" } else { "</tr>" }
}
