//! Markdown for platforms that show headings and tables, rewritten from the parser's tree.
//!
//! A model's text can do no more there than in styled text: text stays text, because every character that may be
//! markup is escaped. A picture, which the platform would fetch, becomes a link, and a link to anything but the web
//! or mail becomes plain text.

use comrak::nodes::{AstNode, Node, NodeLink, NodeValue};
use comrak::{Arena, format_commonmark};

use super::tree::{cleaned, document, is_break, is_open, language};

/// The limits of such a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RichFit {
    /// Length in UTF-16 units.
    pub(crate) length: usize,
    /// Blocks of every kind, including nested ones.
    pub(crate) blocks: usize,
    /// Nesting depth.
    pub(crate) depth: usize,
    /// Columns of a table.
    pub(crate) columns: usize,
}

/// The separator that the parser's writer puts between two lists. It is HTML, which must not be sent.
const END_OF_LIST: &str = "<!--";

/// Returns the Markdown, if it contains something that styled text cannot show, and if it fits.
pub(crate) fn rich(markdown: &str, fit: RichFit) -> Option<String> {
    let (source, arena) = (cleaned(markdown), Arena::new());
    let document = document(&arena, &source)?;
    let nodes: Vec<Node<'_>> = document.descendants().collect();
    let is_needed =
        |node: &&Node<'_>| matches!(node.data().value, NodeValue::Heading(_) | NodeValue::Table(_));
    if !nodes.iter().any(|node| is_needed(&node)) || !fits(&nodes, fit) {
        return None;
    }
    for node in nodes {
        sanitize_node(&arena, node);
    }
    let mut options = aethon_markdown::dialect();
    options.render.prefer_fenced = true;
    let mut out = String::with_capacity(2 * source.len());
    format_commonmark(document, &options, &mut out).ok()?;
    out.truncate(out.trim_end().len());
    (!out.contains(END_OF_LIST) && out.encode_utf16().count() <= fit.length).then_some(out)
}

fn fits(nodes: &[Node<'_>], fit: RichFit) -> bool {
    let columns = |node: &Node<'_>| match &node.data().value {
        NodeValue::Table(table) => table.num_columns,
        _ => 0,
    };
    nodes.iter().filter(|node| node.data().value.block()).count() <= fit.blocks
        && nodes.iter().all(|node| node.ancestors().count() <= fit.depth && columns(node) <= fit.columns)
}

/// Reduces a node to what may appear in the message. Its ancestors were reduced before.
fn sanitize_node<'a>(arena: &'a Arena<'a>, node: Node<'a>) {
    let raw = |text: &str| NodeValue::Raw(escaped(text, is_in_cell(node)));
    let value = node.data().value.clone();
    let tamed = match value {
        NodeValue::Text(text) => raw(&text),
        NodeValue::HtmlInline(html) if is_break(&html) => match is_in_one_line(node) {
            true => raw(" "),
            false => NodeValue::LineBreak,
        },
        NodeValue::HtmlInline(html) => raw(&html),
        NodeValue::HtmlBlock(block) => {
            // An empty line would end the paragraph, and an indented one after it would be code.
            let lines = block.literal.lines().map(str::trim).filter(|line| !line.is_empty());
            let text = lines.collect::<Vec<_>>().join("\n");
            node.append(arena.alloc(AstNode::from(raw(&text))));
            NodeValue::Paragraph
        }
        NodeValue::CodeBlock(mut block) => {
            block.info = language(&block.info);
            NodeValue::CodeBlock(block)
        }
        NodeValue::Link(link) => match opened(&link) {
            Some(link) => NodeValue::Link(link),
            None => return unlink(arena, node, &link.url),
        },
        NodeValue::Image(link) => {
            let words = node.collect_text();
            let words = if words.trim().is_empty() { "image" } else { words.trim() };
            node.children().for_each(|child| child.detach());
            match opened(&link).filter(|_| !is_in(node, |value| matches!(value, NodeValue::Link(_)))) {
                Some(link) => {
                    node.append(arena.alloc(AstNode::from(raw(words))));
                    NodeValue::Link(link)
                }
                None => raw(&format!("{words} ({})", link.url)),
            }
        }
        NodeValue::Alert(alert) => {
            let title = alert.title.as_deref().unwrap_or_else(|| alert.alert_type.default_title());
            let words = arena.alloc(AstNode::from(raw(title)));
            let strong = arena.alloc(AstNode::from(NodeValue::Strong));
            let paragraph = arena.alloc(AstNode::from(NodeValue::Paragraph));
            strong.append(words);
            paragraph.append(strong);
            node.prepend(paragraph);
            NodeValue::BlockQuote
        }
        NodeValue::FootnoteReference(footnote) => raw(&format!("[{}]", footnote.name)),
        NodeValue::FootnoteDefinition(footnote) => return unwrap_footnote(arena, node, &footnote.name),
        other => other,
    };
    node.data_mut().value = tamed;
}

/// Returns a link that is safe to follow, without its title, which few clients show.
fn opened(link: &NodeLink) -> Option<Box<NodeLink>> {
    let url = link.url.trim();
    is_open(url).then(|| Box::new(NodeLink { url: url.to_owned(), title: String::new() }))
}

/// Replaces a footnote by its blocks, the first of which begins with its name.
fn unwrap_footnote<'a>(arena: &'a Arena<'a>, node: Node<'a>, name: &str) {
    let raw = |text: String| arena.alloc(AstNode::from(NodeValue::Raw(escaped(&text, false))));
    match node.first_child().filter(|first| matches!(first.data().value, NodeValue::Paragraph)) {
        Some(first) => first.prepend(raw(format!("[{name}] "))),
        None => {
            let paragraph = arena.alloc(AstNode::from(NodeValue::Paragraph));
            paragraph.append(raw(format!("[{name}]")));
            node.prepend(paragraph);
        }
    }
    for child in node.children().collect::<Vec<_>>() {
        node.insert_before(child);
    }
    node.detach();
}

/// Replaces a link by its text, followed by its address.
fn unlink<'a>(arena: &'a Arena<'a>, node: Node<'a>, url: &str) {
    for child in node.children().collect::<Vec<_>>() {
        node.insert_before(child);
    }
    if !url.trim().is_empty() {
        let place = escaped(&format!(" ({})", url.trim()), is_in_cell(node));
        node.insert_before(arena.alloc(AstNode::from(NodeValue::Raw(place))));
    }
    node.detach();
}

fn is_in(node: Node<'_>, is_it: fn(&NodeValue) -> bool) -> bool {
    node.ancestors().skip(1).any(|outer| is_it(&outer.data().value))
}

fn is_in_cell(node: Node<'_>) -> bool {
    is_in(node, |value| matches!(value, NodeValue::TableCell))
}

/// Returns whether a line break would end the node's container.
fn is_in_one_line(node: Node<'_>) -> bool {
    is_in(node, |value| matches!(value, NodeValue::TableCell | NodeValue::Heading(_)))
}

/// Escapes every character that could be markup. In a table cell, the writer itself escapes what would end the cell.
fn escaped(text: &str, is_in_cell: bool) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut before = '\n';
    for (at, c) in text.char_indices() {
        let is_plain = match c {
            ' ' | ',' | ';' | '\'' | '"' | '?' | '/' | '%' | '(' => true,
            // A linked address is already inside a link.
            ':' => !text[at..].starts_with("://"),
            '.' if text[..at].ends_with("www") => false,
            // After a digit, it may begin a list.
            '.' | ')' => !before.is_ascii_digit(),
            '-' => before.is_alphanumeric(),
            '|' => is_in_cell,
            _ => !c.is_ascii_punctuation(),
        };
        if !is_plain {
            out.push('\\');
        }
        out.push(c);
        before = c;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIT: RichFit = RichFit { length: 32_768, blocks: 500, depth: 16, columns: 20 };

    const ROUNDS: usize = 3000;

    fn check(markdown: &str, expected: Option<&str>) {
        assert_eq!(rich(markdown, FIT).as_deref(), expected, "{markdown:?}");
    }

    #[test]
    fn headings_and_tables_become_rich_and_other_texts_do_not() {
        check("plain **bold**\n\n- a\n- b", None);
        check("# Head\n\nA **b** `c|d`.", Some("# Head\n\nA **b** `c|d`."));
        check("Head\n====\n\n1. a\n   - b", Some("# Head\n\n1. a\n   - b"));
        check("| a | b |\n|:--|--:|\n| 1 | `x\\|y` |", Some("| a | b |\n| :-- | --: |\n| 1 | `x\\|y` |"));
        check("# a\n\n```rust ignore\n# b\n```", Some("# a\n\n```rust\n# b\n```"));
        check("# a\n\n    code", Some("# a\n\n```\ncode\n```"));
    }

    #[test]
    fn rich_text_escapes_literal_text() {
        check("# a\n\n$x$ ==y== ||z|| 1\\. b", Some("# a\n\n\\$x\\$ \\=\\=y\\=\\= \\|\\|z\\|\\| 1\\. b"));
        check("# a\n\n\\* b @user #tag", Some("# a\n\n\\* b \\@user \\#tag"));
        check("# a\n\nb <tg-map> c", Some("# a\n\nb \\<tg-map\\> c"));
        check("# a\n\n<div>\n\n    b\n\n</div>", Some("# a\n\n\\<div\\>\n\n```\nb\n```\n\n\\</div\\>"));
        check("# a\n\n<pre>\n\n    # b\n</pre>", Some("# a\n\n\\<pre\\>\n\\# b\n\\</pre\\>"));
        check("| a |\n|---|\n| x \\| $y<br>z |", Some("| a |\n| --- |\n| x \\| \\$y z |"));
    }

    #[test]
    fn alerts_become_titled_quotations_and_footnotes_keep_their_name() {
        check("# a\n\n> [!TIP]\n> b", Some("# a\n\n> **Tip**\n> \n> b"));
        check("# a\n\n> [!NOTE] c*d\n> b", Some("# a\n\n> **c\\*d**\n> \n> b"));
        check("# a\n\nb[^1]\n\n[^1]: c *d*", Some("# a\n\nb\\[1\\]\n\n\\[1\\] c *d*"));
        check("# a\n\nb[^1]\n\n[^1]:\n    - c", Some("# a\n\nb\\[1\\]\n\n\\[1\\]\n\n- c"));
    }

    #[test]
    fn pictures_are_links_and_links_lead_to_the_web_or_to_mail() {
        check("# a\n\n![cat](https://a.b/c.png \"t\")", Some("# a\n\n[cat](https://a.b/c.png)"));
        check("# a\n\n[![cat](https://a.b)](https://c.d)", Some("# a\n\n[cat (https\\://a.b)](https://c.d)"));
        check("# a\n\n[b *c*](tg://user?id=7)", Some("# a\n\nb *c* (tg\\://user?id\\=7\\)"));
        check("# [a](javascript:x)", Some("# a (javascript:x)"));
        check("# a\n\nhttps://a.b/c_d", Some("# a\n\n[https\\://a.b/c\\_d](https://a.b/c_d)"));
    }

    /// Returns the letters of a text, and whether all its Markdown leads only to the web or mail.
    fn read(markdown: &str) -> (String, bool) {
        let arena = Arena::new();
        let (mut words, mut is_tame) = (String::new(), true);
        for node in document(&arena, markdown).unwrap().descendants() {
            match &node.data().value {
                NodeValue::HtmlInline(html) if is_break(html) => is_tame = false,
                NodeValue::HtmlInline(text) => (is_tame, words) = (false, words + text),
                NodeValue::HtmlBlock(block) => (is_tame, words) = (false, words + &block.literal),
                NodeValue::Image(_) => is_tame = false,
                NodeValue::Link(link) => is_tame &= is_open(&link.url) && link.title.is_empty(),
                NodeValue::Text(text) => words.push_str(text),
                NodeValue::Code(code) => words.push_str(&code.literal),
                NodeValue::CodeBlock(block) => words.push_str(&block.literal),
                _ => {}
            }
        }
        // Signs and numbers may be markup in one text and not in the other, such as a mark at the edge of a word.
        words.retain(char::is_alphabetic);
        (words, is_tame)
    }

    #[test]
    fn whatever_it_is_written_from_it_reads_the_same_and_is_tame() {
        let pieces = "# a,\n,\n\n,|a|b|\n|---|---|\n|,|,- ,1. ,> ,    ,```\n,`,*,**,_,~~,<b>,<div>\n,<br>,&amp;,&,\\,[x](,\
                      http://a.b/c_d,) ,![y](,tg://u,$,==,||,x, 7,.,- [x] z\n,---\n,@,:,é,<!-- -->,  \n, \"t\")";
        let pieces: Vec<&str> = pieces.split(',').collect();
        let mut seed = 7_u32;
        let mut draw = |most: usize| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as usize % most
        };
        let mut written = 0;
        for _ in 0..ROUNDS {
            let text: String = (0..draw(30)).map(|_| pieces[draw(pieces.len())]).collect();
            let text = format!("# h\n\n{text}");
            let Some(rich) = rich(&text, FIT) else { continue };
            written += 1;
            let (words, is_tame) = read(&rich);
            assert!(is_tame, "{text:?}\n{rich:?}");
            // Links and pictures that become plain text state their address.
            if !text.contains("](") {
                assert_eq!(words, read(&text).0, "{text:?}\n{rich:?}");
            }
        }
        assert!(written > ROUNDS / 2, "{written}");
    }

    #[test]
    fn oversized_rich_text_falls_back_to_styled_text() {
        check(&format!("# a\n\n{}", "x".repeat(32_768)), None);
        check(&format!("# a\n\n{}", "b\n\n".repeat(500)), None);
        check(&format!("# a\n\n{} b", "> ".repeat(20)), None);
        check(&format!("|{}\n|{}\n", " a |".repeat(21), "---|".repeat(21)), None);
        // Separating these two lists would require something that is not Markdown.
        check("# a\n\n- b\n\n1. c", None);
    }
}
