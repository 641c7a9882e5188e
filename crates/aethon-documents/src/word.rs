//! Word documents (DOCX): paragraphs, headings, lists, tables, notes and links.

use std::collections::BTreeMap;

use crate::error::Error;
use crate::flow::Flow;
use crate::output::Output;
use crate::package::{Package, Relation};
use crate::xml::{self, Node, Tag};

const MAIN: &str = "word/document.xml";
/// The parts that follow the main text, each with its heading.
const BESIDE: [(&str, &str); 3] =
    [("footnotes", "Footnotes"), ("endnotes", "Endnotes"), ("comments", "Comments")];

pub(crate) fn read(package: &mut Package<'_>, out: &mut Output<'_>) -> Result<(), Error> {
    let root = package.relations("").into_values().find(|relation| relation.is("officeDocument"));
    let main = root.map_or_else(|| MAIN.to_owned(), |relation| relation.target);
    let text = package.text(&main)?.ok_or_else(|| Error::new("its text is missing"))?;
    let relations = package.relations(&main);
    let headers = parts(package, &relations, "header");
    for header in &headers {
        part(header, &BTreeMap::new(), out)?;
    }
    part(&text, &relations, out)?;
    for (kind, title) in BESIDE {
        for beside in parts(package, &relations, kind) {
            let mut flow = Flow::new(out);
            flow.mark(&format!("## {title}"));
            flow.finish();
            part(&beside, &BTreeMap::new(), out)?;
        }
    }
    for footer in parts(package, &relations, "footer") {
        if !headers.contains(&footer) {
            part(&footer, &BTreeMap::new(), out)?;
        }
    }
    Ok(())
}

/// Reads the parts of a kind that have text, each once.
fn parts(package: &mut Package<'_>, relations: &BTreeMap<String, Relation>, kind: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for relation in relations.values().filter(|relation| relation.is(kind)) {
        // A damaged side part must not spoil the document.
        if let Ok(Some(text)) = package.text(&relation.target)
            && text.contains("<w:t")
            && !found.contains(&text)
        {
            found.push(text);
        }
    }
    found
}

fn part(text: &str, relations: &BTreeMap<String, Relation>, out: &mut Output<'_>) -> Result<(), Error> {
    let mut reader = Word { flow: Flow::new(out), relations, is_text: false, skipped: 0, links: Vec::new() };
    let read = xml::walk(text, &mut |node| {
        match node {
            Node::Start(tag) => reader.start(&tag),
            Node::End(name) => reader.end(name),
            Node::Text(text) => reader.text(text),
        }
        !reader.flow.is_full()
    });
    let is_empty = reader.flow.is_at_start();
    if let Err(fault) = read {
        reader.flow.note(format!("The document breaks off: {fault}."));
        let _ = is_empty;
    }
    reader.flow.finish();
    Ok(())
}

struct Word<'f, 'o, 's> {
    flow: Flow<'o, 's>,
    relations: &'f BTreeMap<String, Relation>,
    /// Whether text is between the tags of text.
    is_text: bool,
    /// How many open elements are left out.
    skipped: usize,
    /// The targets of the open links.
    links: Vec<Option<String>>,
}

impl Word<'_, '_, '_> {
    fn start(&mut self, tag: &Tag<'_>) {
        if self.skipped > 0 || is_left_out(tag.name()) {
            self.skipped += 1;
            return;
        }
        match tag.name() {
            "t" | "delText" => self.is_text = true,
            "tab" if tag.attribute("val").is_none() => self.flow.text("\t"),
            "br" | "cr" => self.flow.break_line(),
            "noBreakHyphen" => self.flow.text("\u{2011}"),
            "pStyle" => self.style(&tag.attribute("val").unwrap_or_default()),
            "numPr" if self.flow.is_at_start() => self.flow.text("- "),
            "hyperlink" => {
                let id = tag.prefixed("r:id").unwrap_or_default();
                let link = self.relations.get(&id).filter(|relation| relation.is_outside);
                self.links.push(link.map(|relation| relation.target.clone()));
            }
            "tbl" => self.flow.begin_table(),
            "tc" => self.flow.begin_cell(),
            "gridSpan" => {}
            "footnoteReference" | "endnoteReference" => {
                let id = tag.attribute("id").unwrap_or_default();
                self.flow.text(&format!("[note {id}]"));
            }
            "footnote" | "endnote" if tag.attribute("type").is_none() => {
                let id = tag.attribute("id").unwrap_or_default();
                self.flow.text(&format!("[note {id}] "));
            }
            "comment" => {
                let author = tag.attribute("author").unwrap_or_default();
                self.flow.text(&format!("{author}: "));
            }
            "checked" => {
                let is_set = tag.attribute("val").is_none_or(|value| value != "0" && value != "false");
                self.flow.text(if is_set { "[x] " } else { "[ ] " });
            }
            "blip" | "imagedata" => self.flow.note("Pictures in the document are not shown."),
            "altChunk" => self.flow.note("A part of another document inside this one is not shown."),
            _ => {}
        }
    }

    fn style(&mut self, name: &str) {
        let lower = name.to_ascii_lowercase();
        let level = lower.strip_prefix("heading").or_else(|| lower.strip_prefix("berschrift"));
        let level = level.and_then(|level| level.trim().parse::<usize>().ok());
        match level {
            Some(level @ 1..=6) => self.flow.text(&("#".repeat(level) + " ")),
            _ if lower == "title" => self.flow.text("# "),
            _ if lower.starts_with("list") && self.flow.is_at_start() => self.flow.text("- "),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        if self.skipped > 0 {
            self.skipped -= 1;
            return;
        }
        match name {
            "t" | "delText" => self.is_text = false,
            "p" => self.flow.end_paragraph(),
            "hyperlink" => {
                if let Some(Some(target)) = self.links.pop() {
                    self.flow.text(&format!(" <{target}>"));
                }
            }
            "tc" => self.flow.end_cell(),
            "tr" => self.flow.end_row(),
            "tbl" => self.flow.end_table(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.is_text && self.skipped == 0 {
            self.flow.text(text);
        }
    }
}

/// Whether an element is left out: deleted or moved text, fallbacks for older programs, field instructions, and layout.
fn is_left_out(name: &str) -> bool {
    matches!(
        name,
        "del" | "moveFrom" | "Fallback" | "instrText" | "delInstrText" | "tabs" | "separator" | "rubyPr"
    )
}
