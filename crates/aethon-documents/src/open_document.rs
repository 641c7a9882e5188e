//! OpenDocument texts and presentations (ODT, ODP).

use crate::error::Error;
use crate::flow::Flow;
use crate::output::Output;
use crate::package::Package;
use crate::xml::{self, Node, Tag};

/// How often a cell or a space may repeat.
const MAX_REPEATED: usize = 64;

pub(crate) fn read(package: &mut Package<'_>, out: &mut Output<'_>) -> Result<(), Error> {
    if package.text("META-INF/manifest.xml")?.is_some_and(|text| text.contains("encryption-data")) {
        return Err(Error::needs_password());
    }
    let text = package.text("content.xml")?.ok_or_else(|| Error::new("its text is missing"))?;
    let mut reader =
        OpenDocument { flow: Flow::new(out), paragraphs: 0, skipped: 0, slides: 0, items: 0, repeated: 1 };
    let read = xml::walk(&text, &mut |node| {
        match node {
            Node::Start(tag) => reader.start(&tag),
            Node::End(name) => reader.end(name),
            Node::Text(text) => reader.text(text),
        }
        !reader.flow.is_full()
    });
    if let Err(fault) = read {
        reader.flow.note(format!("The document breaks off: {fault}."));
    }
    reader.flow.finish();
    Ok(())
}

struct OpenDocument<'o, 's> {
    flow: Flow<'o, 's>,
    /// How many paragraphs are open; a note stands inside another one.
    paragraphs: usize,
    skipped: usize,
    slides: usize,
    /// How many items of lists are open.
    items: usize,
    /// How often the open cell repeats.
    repeated: usize,
}

impl OpenDocument<'_, '_> {
    fn start(&mut self, tag: &Tag<'_>) {
        if self.skipped > 0 || is_left_out(tag.name()) {
            self.skipped += 1;
            return;
        }
        match tag.name() {
            "p" => self.paragraphs += 1,
            "h" => {
                self.paragraphs += 1;
                let level = tag.attribute("outline-level").and_then(|level| level.parse().ok());
                let level: usize = level.unwrap_or(1);
                self.flow.text(&("#".repeat(level.clamp(1, 6)) + " "));
            }
            "s" => self.flow.text(&" ".repeat(number(tag, "c"))),
            "tab" => self.flow.text("\t"),
            "line-break" => self.flow.break_line(),
            "list-item" | "list-header" => {
                self.items += 1;
                self.flow.text(&("  ".repeat(self.items - 1) + "- "));
            }
            "page" if tag.prefix() == "draw" => {
                self.slides += 1;
                self.flow.mark(&format!("## Slide {}", self.slides));
            }
            "notes" if tag.prefix() == "presentation" => self.flow.text("Notes: "),
            "annotation" | "note-body" => self.flow.text(" [note: "),
            "table" if tag.prefix() == "table" => self.flow.begin_table(),
            "table-cell" => {
                self.repeated = number(tag, "number-columns-repeated");
                self.flow.begin_cell();
            }
            "covered-table-cell" => self.flow.empty_cell(),
            "image" => self.flow.note("Pictures in the document are not shown."),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        if self.skipped > 0 {
            self.skipped -= 1;
            return;
        }
        match name {
            "p" | "h" => {
                self.paragraphs = self.paragraphs.saturating_sub(1);
                match (self.paragraphs, self.items) {
                    (0, 0) => self.flow.end_paragraph(),
                    (0, _) => self.flow.end_line(),
                    _ => self.flow.text(" "),
                }
            }
            "list-item" | "list-header" => self.items = self.items.saturating_sub(1),
            "annotation" | "note-body" => self.flow.text("] "),
            "table-cell" => {
                self.flow.end_cell();
                for _ in 1..std::mem::replace(&mut self.repeated, 1) {
                    self.flow.empty_cell();
                }
            }
            "table-row" => self.flow.end_row(),
            "table" => self.flow.end_table(),
            "page" => self.flow.end_paragraph(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.paragraphs == 0 || self.skipped > 0 {
            return;
        }
        self.flow.prose(text);
    }
}

fn number(tag: &Tag<'_>, name: &str) -> usize {
    tag.attribute(name).and_then(|count| count.parse().ok()).unwrap_or(1_usize).clamp(1, MAX_REPEATED)
}

fn is_left_out(name: &str) -> bool {
    matches!(
        name,
        "tracked-changes"
            | "creator"
            | "date"
            | "note-citation"
            | "forms"
            | "font-face-decls"
            | "automatic-styles"
            | "scripts"
    )
}
