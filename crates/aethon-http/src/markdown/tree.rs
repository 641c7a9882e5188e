//! Converts the parser's tree to HTML, without recursion.
//!
//! Every kind of node in the dialect has its own arm; any other only shows its children. So a new kind of node in the
//! parser can make a reply plainer, but never unsafe.

use comrak::nodes::{ListType, Node, NodeAlert, NodeLink, NodeList, NodeValue, TableAlignment};
use comrak::options::AlertStyleType;

use super::direction::Direction;
use super::inline::{Target, escape_into, language};
use super::page::{self, Page};
use super::tags::{self, Fold};

/// The deepest allowed nesting. Browsers flatten deeper trees anyway.
const MAX_DEPTH: usize = 120;
/// Headings in a reply rank below those of the page.
const HEADING_SHIFT: u8 = 2;

/// Renders neighbouring nodes and everything below them, of a document of ours if there is a `page`. Returns `None` if they
/// are too deep or longer than `room`.
pub(super) fn render<'a>(roots: &[Node<'a>], room: usize, page: Option<Page<'_>>) -> Option<String> {
    let mut writer = Writer { page, ..Writer::default() };
    for root in roots {
        render_one(&mut writer, root, room)?;
    }
    writer.close_tags(0);
    (writer.html.len() <= room).then_some(writer.html)
}

fn render_one<'a>(writer: &mut Writer<'_>, root: Node<'a>, room: usize) -> Option<()> {
    let mut node = root;
    loop {
        if writer.html.len() > room || writer.depth > MAX_DEPTH {
            return None;
        }
        if writer.enter(node)
            && let Some(child) = node.first_child()
        {
            node = child;
            writer.depth += 1;
            continue;
        }
        loop {
            writer.leave(node);
            if writer.depth == 0 {
                return Some(());
            }
            if let Some(sibling) = node.next_sibling() {
                node = sibling;
                break;
            }
            node = node.parent()?;
            writer.depth -= 1;
        }
    }
}

/// How many siblings may be searched for the end of tags.
const MAX_SEARCH: usize = 20_000;

/// A link that is open.
enum OpenLink {
    /// It is shown only as its text: it leads nowhere, or stands in another one.
    Text,
    /// It leads out of a text whose author is not trusted.
    Foreign(Target),
    /// It stands in a document of ours.
    Own,
}

#[derive(Default)]
struct Writer<'p> {
    /// Where a document of ours is shown; `None` for all other texts.
    page: Option<Page<'p>>,
    html: String,
    depth: usize,
    links: Vec<OpenLink>,
    /// The column alignments of the current table, and the index of the next column. Tables do not nest.
    columns: Vec<TableAlignment>,
    column: usize,
    /// The open elements with a direction of their own, and their depths.
    directions: Vec<(usize, Direction)>,
    /// The open elements from tags in the text.
    tags: Vec<OpenTag>,
    /// How many siblings were searched for the end of a tag.
    searched: usize,
}

/// An element from a tag in the text. It ends with its container at the latest.
struct OpenTag {
    /// The depth of its container's children.
    depth: usize,
    name: &'static str,
    element: &'static str,
    /// Where its name ends in the HTML.
    end_of_name: usize,
}

impl Writer<'_> {
    /// Writes what precedes the children. Returns `false` if the children are already written or not to be shown.
    fn enter(&mut self, node: Node<'_>) -> bool {
        match &node.data().value {
            NodeValue::Text(text) => self.text(text),
            NodeValue::Code(code) => self.wrapped("<code>", &code.literal, "</code>"),
            NodeValue::Math(math) => self.math(&math.literal, math.display_math),
            NodeValue::HtmlInline(literal) => self.inline_html(node, literal),
            NodeValue::HtmlBlock(block) => self.block_html(&block.literal),
            NodeValue::CodeBlock(block) => self.code_block(&block.info, &block.literal),
            NodeValue::Raw(literal) => self.text(literal),
            NodeValue::SoftBreak => self.html.push('\n'),
            NodeValue::LineBreak => self.html.push_str("<br>"),
            NodeValue::ThematicBreak => self.html.push_str("<hr>"),
            NodeValue::Heading(heading) if self.page.is_some() => {
                let anchor = page::anchor(&node.collect_text());
                self.open(node, &format!("h{} id=\"{anchor}\"", heading.level));
            }
            NodeValue::Heading(heading) => {
                let (depth, level) = (heading.level, self.rank(heading.level));
                self.open(node, &format!("h{level} class=\"depth-{depth}\""));
            }
            NodeValue::List(list) => self.open_list(node, list),
            NodeValue::TaskItem(task) => {
                self.open(node, "li class=\"task\"");
                self.html.push_str(if task.symbol.is_some() {
                    "<input type=\"checkbox\" disabled checked aria-label=\"Done\">"
                } else {
                    "<input type=\"checkbox\" disabled aria-label=\"Not done\">"
                });
            }
            NodeValue::Table(table) => {
                self.columns.clone_from(&table.alignments);
                self.html.push_str(if self.page.is_some() { page::TABLE_BOX } else { TABLE_BOX });
                self.open(node, "table");
            }
            NodeValue::TableRow(is_header) => {
                self.column = 0;
                self.html.push_str(if *is_header { "<thead><tr>" } else { row_start(node) });
            }
            NodeValue::TableCell => self.open_cell(node),
            NodeValue::Alert(alert) => self.open_alert(node, alert),
            NodeValue::FootnoteDefinition(footnote) => {
                self.open(node, "div class=\"footnote\"");
                self.wrapped("<span class=\"footnote-name\">", &footnote.name, "</span>");
            }
            NodeValue::FootnoteReference(footnote) => {
                self.wrapped("<sup class=\"footnote-reference\">", &footnote.name, "</sup>");
            }
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
            NodeValue::Paragraph => self.open(node, "p"),
            NodeValue::BlockQuote => self.open(node, "blockquote"),
            NodeValue::Item(_) => self.open(node, "li"),
            value => self.html.push_str(plain_tags(value).0),
        }
        true
    }

    /// Writes what follows the children.
    fn leave(&mut self, node: Node<'_>) {
        self.close_tags(self.depth + 1);
        if self.directions.last().is_some_and(|(depth, _)| *depth == self.depth) {
            self.directions.pop();
        }
        match &node.data().value {
            NodeValue::Heading(heading) => self.html.push_str(&format!("</h{}>", self.rank(heading.level))),
            NodeValue::List(list) => self.html.push_str(match list.list_type {
                ListType::Bullet => "</ul>",
                ListType::Ordered => "</ol>",
            }),
            NodeValue::TableRow(is_header) => {
                self.html.push_str(if *is_header { "</tr></thead>" } else { row_end(node) })
            }
            NodeValue::TableCell => self.html.push_str(if is_in_header(node) { "</th>" } else { "</td>" }),
            NodeValue::Link(_) => match self.links.pop() {
                Some(OpenLink::Foreign(target)) => target.close(&mut self.html, &node.collect_text()),
                Some(OpenLink::Own) => self.html.push_str("</a>"),
                Some(OpenLink::Text) | None => {}
            },
            NodeValue::Paragraph if is_tight(node) => {}
            value => self.html.push_str(plain_tags(value).1),
        }
    }

    /// Returns the rank at which a heading of this level is shown.
    fn rank(&self, level: u8) -> u8 {
        if self.page.is_some() { level } else { (level + HEADING_SHIFT).min(6) }
    }

    /// Opens a block, with its direction if that is not its container's. `tag` is its name and attributes.
    fn open(&mut self, node: Node<'_>, tag: &str) {
        self.open_in(Direction::of(node), tag);
    }

    fn open_in(&mut self, direction: Option<Direction>, tag: &str) {
        let around = self.directions.last().map_or_else(Direction::default, |(_, direction)| *direction);
        self.html.push('<');
        self.html.push_str(tag);
        if let Some(direction) = direction.filter(|direction| *direction != around) {
            self.html.push_str(direction.attribute());
            self.directions.push((self.depth, direction));
        }
        self.html.push('>');
    }

    fn text(&mut self, text: &str) {
        escape_into(&mut self.html, text);
    }

    fn wrapped(&mut self, before: &str, text: &str, after: &str) {
        self.html.push_str(before);
        self.text(text);
        self.html.push_str(after);
    }

    /// Renders inline HTML: a line break, which models put in table cells, and the tags of [`tags::inline`] if they end
    /// in the same container. Everything else is shown as text.
    fn inline_html(&mut self, node: Node<'_>, literal: &str) {
        let inner = literal.trim_start_matches('<').trim_end_matches('>').trim_end_matches('/').trim_end();
        if inner.eq_ignore_ascii_case("br") {
            return self.html.push_str("<br>");
        }
        match tags::inline(literal) {
            Some(tag) if tag.is_end && self.has_open(tag.name) => self.close_last_tag(),
            Some(tag) if !tag.is_end && self.tags.len() < tags::MAX_NESTED && self.ends(node, tag.name) => {
                self.open_tag(tag.name, tag.element);
            }
            _ => self.text(literal),
        }
    }

    /// Returns whether the innermost open tag is this one, and in this container.
    fn has_open(&self, name: &str) -> bool {
        self.tags.last().is_some_and(|tag| tag.depth == self.depth && tag.name == name)
    }

    /// Returns whether a tag ends in its container, and before those around it do.
    fn ends(&mut self, node: Node<'_>, name: &str) -> bool {
        for sibling in node.following_siblings().skip(1) {
            self.searched += 1;
            if self.searched > MAX_SEARCH {
                return false;
            }
            let NodeValue::HtmlInline(literal) = &sibling.data().value else { continue };
            let Some(end) = tags::inline(literal).filter(|tag| tag.is_end) else { continue };
            if end.name == name {
                return true;
            }
            if self.tags.iter().any(|tag| tag.depth == self.depth && tag.name == end.name) {
                return false;
            }
        }
        false
    }

    fn open_tag(&mut self, name: &'static str, element: &'static str) {
        self.html.push('<');
        self.html.push_str(element);
        self.tags.push(OpenTag { depth: self.depth, name, element, end_of_name: self.html.len() });
        self.html.push('>');
    }

    fn close_last_tag(&mut self) {
        if let Some(tag) = self.tags.pop() {
            self.html.push_str(&format!("</{}>", tag.element));
        }
    }

    /// Closes the tags of a container whose children have this depth. A fold that never ends is shown open.
    fn close_tags(&mut self, depth: usize) {
        while let Some(tag) = self.tags.last().filter(|tag| tag.depth >= depth) {
            if tag.name == DETAILS && !self.html[tag.end_of_name..].starts_with(OPEN) {
                self.html.insert_str(tag.end_of_name, OPEN);
            }
            self.close_last_tag();
        }
    }

    fn block_html(&mut self, literal: &str) {
        if self.page.is_some() && page::is_comment(literal) {
            return;
        }
        let open = self.tags.iter().filter(|tag| tag.depth == self.depth && tag.name == DETAILS).count();
        match tags::folds(literal, open) {
            Some(parts) => parts.into_iter().for_each(|part| self.fold(part)),
            None => self.lines(literal.trim_end()),
        }
        if self.has_open(SUMMARY) {
            self.close_last_tag();
        }
    }

    fn fold(&mut self, part: Fold<'_>) {
        match part {
            Fold::Begin { is_open } => {
                self.open_tag(DETAILS, DETAILS);
                if is_open {
                    self.html.insert_str(self.html.len() - 1, OPEN);
                }
            }
            Fold::Summary => {
                if !self.has_open(SUMMARY) {
                    self.open_tag(SUMMARY, SUMMARY);
                }
            }
            Fold::SummaryEnd => {
                if self.has_open(SUMMARY) {
                    self.close_last_tag();
                }
            }
            Fold::End => {
                if self.has_open(SUMMARY) {
                    self.close_last_tag();
                }
                if self.has_open(DETAILS) {
                    self.close_last_tag();
                }
            }
            Fold::Text(text) if self.has_open(SUMMARY) => self.tagged(text),
            Fold::Text(text) => self.lines(text),
        }
    }

    /// Writes the text of an HTML block as it stands.
    fn lines(&mut self, text: &str) {
        self.open_in(Direction::of_text(text), "p");
        if self.directions.last().is_some_and(|(depth, _)| *depth == self.depth) {
            self.directions.pop();
        }
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                self.html.push_str("<br>");
            }
            self.text(line);
        }
        self.html.push_str("</p>");
    }

    /// Writes the text of a summary, in which emphasis is a tag.
    fn tagged(&mut self, text: &str) {
        let around = self.tags.len();
        let mut rest = text;
        while let Some(at) = rest.find('<') {
            let (before, from) = rest.split_at(at);
            self.text(before);
            let length = from.find('>').map_or(1, |end| end + 1);
            let (literal, after) = from.split_at(length);
            match tags::in_summary(literal) {
                Some(tag) if tag.is_end && self.tags.len() > around && self.has_open(tag.name) => {
                    self.close_last_tag();
                }
                Some(tag) if !tag.is_end && self.tags.len() < around + tags::MAX_NESTED => {
                    self.open_tag(tag.name, tag.element);
                }
                _ => self.text(literal),
            }
            rest = after;
        }
        self.text(rest);
        while self.tags.len() > around {
            self.close_last_tag();
        }
    }

    /// Writes a formula as its source, which those who can show it replace.
    fn math(&mut self, tex: &str, is_display: bool) {
        let class = if is_display { "math math-display" } else { "math" };
        self.wrapped(&format!("<code class=\"{class}\">"), tex.trim(), "</code>");
    }

    fn code_block(&mut self, info: &str, literal: &str) {
        let language = language(info);
        if language == "math" {
            self.html.push_str("<p>");
            self.math(literal, true);
            self.html.push_str("</p>");
            return;
        }
        // In a reply the page makes a box of it, which scrolls.
        self.html.push_str(if self.page.is_some() { "<pre tabindex=\"0\">" } else { "<pre>" });
        if language.is_empty() {
            self.wrapped("<code>", literal, "</code></pre>");
        } else {
            self.wrapped(&format!("<code class=\"language-{language}\">"), literal, "</code></pre>");
        }
    }

    fn open_list(&mut self, node: Node<'_>, list: &NodeList) {
        match list.list_type {
            ListType::Bullet => self.open(node, "ul"),
            ListType::Ordered if list.start == 1 => self.open(node, "ol"),
            ListType::Ordered => self.open(node, &format!("ol start=\"{}\"", list.start)),
        }
    }

    fn open_cell(&mut self, cell: Node<'_>) {
        let alignment = self.columns.get(self.column).copied();
        self.column += 1;
        let name = if is_in_header(cell) { "th scope=\"col\"" } else { "td" };
        let align = match alignment {
            Some(TableAlignment::Left) => " align=\"left\"",
            Some(TableAlignment::Center) => " align=\"center\"",
            Some(TableAlignment::Right) => " align=\"right\"",
            Some(TableAlignment::None) | None => "",
        };
        self.open(cell, &format!("{name}{align}"));
    }

    fn open_alert(&mut self, node: Node<'_>, alert: &NodeAlert) {
        let title = alert.title.as_deref().unwrap_or_else(|| alert.alert_type.default_title());
        let kind = alert.alert_type.css_class(AlertStyleType::Semantic);
        self.open(node, &format!("div class=\"alert alert-{kind}\""));
        self.wrapped("<p class=\"alert-title\">", title, "</p>");
    }

    fn open_link(&mut self, link: &NodeLink) {
        let is_inner = !self.links.is_empty();
        let opened = match (self.page, Target::parse(&link.url)) {
            _ if is_inner => OpenLink::Text,
            (Some(page), _) if page.open_link(&mut self.html, &link.url) => OpenLink::Own,
            (None, Some(target)) => {
                target.open(&mut self.html, &link.title);
                OpenLink::Foreign(target)
            }
            (Some(_), _) | (None, None) => OpenLink::Text,
        };
        self.links.push(opened);
    }

    /// Renders a picture as a link to it, or as its description inside another link. Only those of our own documents are loaded.
    fn image(&mut self, link: &NodeLink, description: &str) {
        let description = if description.trim().is_empty() { "image" } else { description };
        if self.page.is_some_and(|page| page.show_picture(&mut self.html, &link.url, description)) {
            return;
        }
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

/// The names of tags that fold.
const DETAILS: &str = "details";
const SUMMARY: &str = "summary";
const OPEN: &str = " open";

/// A table scrolls in its own box, which is reachable by keyboard.
const TABLE_BOX: &str = "<div class=\"table-scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table\">";

/// Returns the tags of nodes that need no special handling.
fn plain_tags(value: &NodeValue) -> (&'static str, &'static str) {
    match value {
        NodeValue::Paragraph => ("", "</p>"),
        NodeValue::BlockQuote => ("", "</blockquote>"),
        NodeValue::Item(_) | NodeValue::TaskItem(_) => ("", "</li>"),
        NodeValue::Alert(_) | NodeValue::FootnoteDefinition(_) => ("", "</div>"),
        NodeValue::Emph => ("<em>", "</em>"),
        NodeValue::Strong => ("<strong>", "</strong>"),
        NodeValue::Strikethrough => ("<del>", "</del>"),
        NodeValue::Table(_) => ("", "</table></div>"),
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
