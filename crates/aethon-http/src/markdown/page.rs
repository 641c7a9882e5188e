//! Documents of our own, shown as pages: headings keep their rank and can be linked to, links may lead to other documents,
//! and comments are not shown.

use comrak::Arena;
use comrak::nodes::{Node, NodeValue};

use super::inline::{Target, escape_into};

/// A table scrolls in its own box. It is no region, because a page may have many.
pub(super) const TABLE_BOX: &str =
    "<div class=\"table-scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\">";

/// The place where a document is shown.
#[derive(Clone, Copy)]
pub(crate) struct Page<'a> {
    /// Returns the address of a document that a link names; `None` if it is not shown here.
    pub(crate) address: &'a dyn Fn(&str) -> Option<String>,
    /// Returns a picture of ours that a document shows; `None` if it has no such picture.
    pub(crate) picture: &'a dyn Fn(&str) -> Option<Picture>,
}

/// A picture of ours.
#[derive(Debug)]
pub(crate) struct Picture {
    /// Its address.
    pub(crate) address: String,
    /// Its width and height in pixels, so that the text below it does not jump when it has loaded.
    pub(crate) size: (u32, u32),
}

/// The links below a heading of the second rank.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Section {
    /// The words of the heading.
    pub(crate) title: String,
    /// Words and target of each link.
    pub(crate) links: Vec<(String, String)>,
}

/// Lists the first link of each item, by heading.
pub(crate) fn sections(markdown: &str) -> Vec<Section> {
    let arena = Arena::new();
    let Some(document) = aethon_markdown::parse(&arena, markdown, &|| false) else { return Vec::new() };
    let mut sections: Vec<Section> = Vec::new();
    for node in document.children() {
        match (&node.data().value, sections.last_mut()) {
            (NodeValue::Heading(heading), _) if heading.level == 2 => {
                sections.push(Section { title: node.collect_text(), links: Vec::new() });
            }
            (NodeValue::List(_), Some(section)) => {
                section.links.extend(node.children().filter_map(first_link));
            }
            _ => {}
        }
    }
    sections
}

fn first_link(item: Node<'_>) -> Option<(String, String)> {
    item.descendants().find_map(|node| match &node.data().value {
        NodeValue::Link(link) => Some((node.collect_text(), link.url.clone())),
        _ => None,
    })
}

impl Page<'_> {
    /// Opens a link. Returns whether it leads anywhere.
    pub(super) fn open_link(&self, html: &mut String, url: &str) -> bool {
        if let Some(target) = Target::parse(url) {
            target.open(html, "");
            return true;
        }
        let Some(address) = (self.address)(url) else { return false };
        html.push_str("<a href=\"");
        escape_into(html, &address);
        html.push_str("\">");
        true
    }

    /// Shows a picture of ours. Returns whether there is such a picture; others are never loaded.
    pub(super) fn show_picture(&self, html: &mut String, url: &str, description: &str) -> bool {
        let Some(Picture { address, size: (width, height) }) = (self.picture)(url) else { return false };
        html.push_str("<img src=\"");
        escape_into(html, &address);
        html.push_str("\" alt=\"");
        escape_into(html, description);
        html.push_str(&format!("\" width=\"{width}\" height=\"{height}\" loading=\"lazy\">"));
        true
    }
}

/// Returns the name of a heading in addresses, as GitHub makes it.
pub(super) fn anchor(words: &str) -> String {
    let kept = |letter: &char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | ' ');
    words
        .trim()
        .to_lowercase()
        .chars()
        .filter(kept)
        .map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}

/// Returns whether a block is nothing but a comment.
pub(super) fn is_comment(literal: &str) -> bool {
    let literal = literal.trim();
    literal.starts_with("<!--") && literal.ends_with("-->")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markdown::render_page;

    fn shown(markdown: &str) -> String {
        let address = |target: &str| target.strip_suffix(".md").map(|name| format!("/docs/{name}"));
        let picture = |target: &str| {
            let address = target.strip_suffix(".png").map(|name| format!("/static/{name}"))?;
            Some(Picture { address, size: (760, 520) })
        };
        render_page(markdown, Page { address: &address, picture: &picture })
    }

    #[test]
    fn own_pictures_are_shown_and_others_are_never_loaded() {
        assert_eq!(
            shown("![A \"start\"](start.png)"),
            "<p><img src=\"/static/start\" alt=\"A &quot;start&quot;\" width=\"760\" height=\"520\" loading=\"lazy\"></p>"
        );
        let foreign = shown("![a](https://example.com/a.jpg)");
        assert!(!foreign.contains("<img"), "{foreign}");
    }

    #[test]
    fn headings_keep_their_rank_and_have_the_names_of_github() {
        assert_eq!(
            shown("# The `ask` level, in short"),
            "<h1 id=\"the-ask-level-in-short\">The <code>ask</code> level, in short</h1>"
        );
        assert_eq!(shown("### 6. Close the door"), "<h3 id=\"6-close-the-door\">6. Close the door</h3>");
    }

    #[test]
    fn links_lead_to_documents_and_elsewhere_and_what_is_not_shown_is_text() {
        assert_eq!(shown("[a](x.md)"), "<p><a href=\"/docs/x\">a</a></p>");
        assert_eq!(shown("[a](x.rs) [b](javascript:x)"), "<p>a b</p>");
        let foreign = shown("[a](https://example.com/)");
        assert!(foreign.contains("target=\"_blank\">a</a></p>"), "{foreign}");
    }

    #[test]
    fn comments_are_not_shown_and_money_is_no_formula() {
        assert_eq!(
            shown("<!-- not run: needs a key -->\n\nIt costs $5, not $7."),
            "<p>It costs $5, not $7.</p>"
        );
        assert_eq!(shown("<b>x</b>"), "<p>&lt;b&gt;x&lt;/b&gt;</p>");
    }

    #[test]
    fn code_can_be_scrolled_by_keyboard() {
        let code = shown("```sh\nls\n```");
        assert_eq!(code, "<pre tabindex=\"0\"><code class=\"language-sh\">ls\n</code></pre>");
    }

    #[test]
    fn tables_are_groups_and_not_regions() {
        let table = shown("| a |\n|---|\n| b |");
        assert!(table.starts_with(TABLE_BOX) && !table.contains("region"), "{table}");
    }

    #[test]
    fn sections_list_the_first_link_of_each_item() {
        let found = sections(
            "# A\n\n- [no](no.md)\n\n## B *c*\n\n- [x](x.md) and [y](y.md)\n- none\n- [z](z.md#a)\n",
        );
        let links = vec![("x".to_owned(), "x.md".to_owned()), ("z".to_owned(), "z.md#a".to_owned())];
        assert_eq!(found, [Section { title: "B c".to_owned(), links }]);
    }
}
