//! Parses a text in the dialect: with marks in its source, and without them in its tree.

use std::borrow::Cow;

use comrak::nodes::{Node, NodeValue};
use comrak::{Arena, Options, try_parse_document};

use crate::{marks, math};

/// Returns the dialect.
pub fn dialect() -> Options<'static> {
    let mut options = Options::default();
    options.extension.strikethrough = true;
    options.extension.table = true;
    options.extension.autolink = true;
    options.extension.tasklist = true;
    options.extension.cjk_friendly_emphasis = true;
    options.extension.footnotes = true;
    options.extension.alerts = true;
    // Where they stand, so that a text that is still growing keeps its blocks in order.
    options.parse.leave_footnote_definitions = true;
    options
}

/// Parses a text; `None` once `is_late` says that it takes too long. The lines of the nodes are those of the text; columns
/// are not.
pub fn parse<'a>(arena: &'a Arena<'a>, source: &str, is_late: &dyn Fn() -> bool) -> Option<Node<'a>> {
    let marked = marks::marked(source);
    let document = try_parse_document(arena, &marked, &dialect(), is_late).ok()?;
    Some(unmarked(document, marked))
}

/// As [`parse`], with formulas: `$..$`, `$$..$$`, `\(..\)` and `\[..\]`. Those who cannot show them leave the source as it is.
pub fn parse_with_math<'a>(
    arena: &'a Arena<'a>,
    source: &str,
    is_late: &dyn Fn() -> bool,
) -> Option<Node<'a>> {
    let mut options = dialect();
    options.extension.math_dollars = true;
    options.extension.math_latex = true;
    let marked = marks::marked(source);
    let document = try_parse_document(arena, &marked, &options, is_late).ok()?;
    math::settle(arena, document, &marked, &dialect());
    Some(unmarked(document, marked))
}

fn unmarked<'a>(document: Node<'a>, marked: Cow<'_, str>) -> Node<'a> {
    if let Cow::Owned(_) = marked {
        document.descendants().for_each(unmark);
    }
    document
}

/// Takes the marks out of a node.
fn unmark(node: Node<'_>) {
    match &mut node.data_mut().value {
        NodeValue::Text(text) => {
            if let Cow::Owned(plain) = marks::unmarked(text) {
                *text = Cow::Owned(plain);
            }
        }
        NodeValue::Code(code) => clean(&mut code.literal),
        NodeValue::Math(math) => clean(&mut math.literal),
        NodeValue::CodeBlock(block) => {
            clean(&mut block.info);
            clean(&mut block.literal);
        }
        NodeValue::HtmlBlock(block) => clean(&mut block.literal),
        NodeValue::HtmlInline(literal) | NodeValue::Raw(literal) => clean(literal),
        NodeValue::Link(link) | NodeValue::Image(link) => {
            clean(&mut link.url);
            clean(&mut link.title);
        }
        NodeValue::Alert(alert) => alert.title.iter_mut().for_each(clean),
        NodeValue::FootnoteDefinition(footnote) => clean(&mut footnote.name),
        NodeValue::FootnoteReference(footnote) => clean(&mut footnote.name),
        _ => {}
    }
}

fn clean(text: &mut String) {
    if let Cow::Owned(plain) = marks::unmarked(text) {
        *text = plain;
    }
}
