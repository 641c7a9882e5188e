//! Extracts the text of the pages in the order in which they draw it. The movement of the pen tells where lines begin
//! and where words are separate.

use std::collections::{HashMap, HashSet};

use super::document::Document;
use super::effort::Effort;
use super::fonts::Font;
use super::syntax::{Dictionary, Object, Reader};
use crate::cancel::Cancelled;

/// Maximum size of the text.
const MAX_TEXT: usize = 8 << 20;
/// Maximum number of pages.
const MAX_PAGES: usize = 5_000;
/// Maximum number of operators on all pages.
const MAX_OPERATORS: usize = 5_000_000;
/// Maximum nesting of the page tree, and of form objects.
const MAX_DEPTH: usize = 24;
/// How far the pen moves within a word, in thousandths of the font size.
const APART: f64 = 180.0;

/// Returns the text of a document, or why there is none. Ends early when it is cancelled.
pub(crate) fn text(bytes: &[u8], cancelled: &Cancelled) -> Result<String, String> {
    read(bytes, Effort::new(cancelled)).0
}

/// Reads a document. Also returns how many steps that took.
pub(super) fn read(bytes: &[u8], effort: Effort) -> (Result<String, String>, u64) {
    let mut document = Document::new(bytes, effort);
    let text = text_of(&mut document);
    (text, document.effort.steps())
}

fn text_of(document: &mut Document<'_>) -> Result<String, String> {
    if document.is_encrypted() {
        return Err("the PDF is encrypted".into());
    }
    let pages = pages(document);
    if pages.is_empty() {
        return Err("no page of the PDF can be found".into());
    }
    let mut writer = Writer { text: String::new(), operators: 0, fonts: HashMap::new(), pen: None };
    let several = pages.len() > 1;
    for (number, page) in pages.iter().enumerate() {
        if several {
            writer.text.push_str(&format!(
                "{}--- page {} ---\n",
                if number == 0 { "" } else { "\n" },
                number + 1
            ));
        }
        writer.pen = None;
        let (content, resources) = page.open(document);
        writer.draw(document, &content, &resources, 0);
        writer.end_line();
        if writer.is_full() || document.effort.is_over() {
            writer.text.push_str("[the rest of the PDF is too long]\n");
            break;
        }
    }
    let is_marker = |line: &str| line.trim().is_empty() || line.starts_with("--- page ");
    if writer.text.lines().all(is_marker) {
        return Err("the PDF has no text in it; its pages may be pictures".into());
    }
    Ok(writer.text)
}

/// A page, by the number of its object. It is read when it is drawn: what all pages refer to would take too much memory.
struct Page {
    number: u32,
    /// The object that has its resources, which may be one above it.
    resources: u32,
}

impl Page {
    /// Returns the drawing operators of a page, and its resources.
    fn open(&self, document: &mut Document<'_>) -> (Vec<u8>, Dictionary) {
        let content = match document.get(self.number) {
            Object::Dictionary(page) => content(document, &page),
            _ => Vec::new(),
        };
        let resources = match document.get(self.resources) {
            Object::Dictionary(node) => document.entry(&node, b"Resources"),
            _ => Object::Null,
        };
        (content, if let Object::Dictionary(resources) = resources { resources } else { Dictionary::new() })
    }
}

/// Returns the pages in order.
fn pages(document: &Document<'_>) -> Vec<Page> {
    let of_type = |number: u32, name: &[u8]| {
        let object = document.get(number);
        let entries = object.as_dictionary();
        entries.is_some_and(|entries| document.entry(entries, b"Type").as_name() == Some(name))
    };
    let mut tree = PageTree { document, seen: HashSet::new(), found: Vec::new() };
    let numbers = document.numbers();
    let catalog = numbers.iter().rev().find(|number| of_type(**number, b"Catalog"));
    if let Some(Object::Dictionary(catalog)) = catalog.map(|number| document.get(*number))
        && let Some(Object::Reference(root)) = catalog.get(b"Pages".as_slice())
    {
        tree.collect(*root, *root, 0);
    }
    let mut found = tree.found;
    if found.is_empty() {
        let pages = numbers.into_iter().filter(|number| of_type(*number, b"Page")).take(MAX_PAGES);
        found.extend(pages.map(|number| Page { number, resources: number }));
    }
    found
}

/// A walk through the tree of pages.
struct PageTree<'d, 'b> {
    document: &'d Document<'b>,
    seen: HashSet<u32>,
    found: Vec<Page>,
}

impl PageTree<'_, '_> {
    /// Collects the pages below a node. `inherited`: the node whose resources it has unless it has its own.
    fn collect(&mut self, node: u32, inherited: u32, depth: usize) {
        if !self.seen.insert(node) || depth > MAX_DEPTH || self.found.len() >= MAX_PAGES {
            return;
        }
        let Object::Dictionary(entries) = self.document.get(node) else { return };
        let resources = if entries.contains_key(b"Resources".as_slice()) { node } else { inherited };
        match self.document.entry(&entries, b"Kids") {
            Object::Array(kids) => {
                for kid in &kids {
                    if let Object::Reference(kid) = kid {
                        self.collect(*kid, resources, depth + 1);
                    }
                }
            }
            _ => self.found.push(Page { number: node, resources }),
        }
    }
}

/// Returns the content stream of a page.
fn content(document: &mut Document<'_>, page: &Dictionary) -> Vec<u8> {
    let parts = match page.get(b"Contents".as_slice()) {
        Some(Object::Reference(number)) => match document.get(*number) {
            Object::Array(parts) => parts,
            _ => vec![Object::Reference(*number)],
        },
        Some(Object::Array(parts)) => parts.clone(),
        _ => Vec::new(),
    };
    let mut content = Vec::new();
    for part in parts {
        if let Object::Reference(number) = part
            && let Some(data) = document.stream(number)
        {
            content.extend(data);
            content.push(b'\n');
        }
    }
    content
}

struct Writer {
    text: String,
    operators: usize,
    /// Fonts seen so far, by object number.
    fonts: HashMap<u32, Font>,
    /// Vertical position of the last text.
    pen: Option<f64>,
}

/// The text state.
#[derive(Default)]
struct Pen {
    font: Option<u32>,
    height: f64,
    leading: f64,
}

impl Writer {
    fn is_full(&self) -> bool {
        self.text.len() > MAX_TEXT || self.operators > MAX_OPERATORS
    }

    fn draw(&mut self, document: &mut Document<'_>, content: &[u8], resources: &Dictionary, depth: usize) {
        let mut reader = Reader::new(content, 0);
        let (mut before, mut pen, mut read) = (Vec::new(), Pen::default(), 0);
        while let Some(object) = reader.next() {
            let Object::Word(word) = object else {
                if !document.effort.charge(1) {
                    return;
                }
                if before.len() < 64 {
                    before.push(object);
                }
                continue;
            };
            self.operators += 1;
            let steps = reader.at - std::mem::replace(&mut read, reader.at);
            if self.is_full() || !document.effort.charge(steps) {
                return;
            }
            match word.as_slice() {
                b"BI" => skip_picture(content, &mut reader),
                b"Do" if depth < 4 => self.inner(document, &before, resources, depth),
                word => self.operate(document, word, &before, resources, &mut pen),
            }
            before.clear();
        }
    }

    fn operate(
        &mut self,
        document: &mut Document<'_>,
        word: &[u8],
        operands: &[Object],
        resources: &Dictionary,
        pen: &mut Pen,
    ) {
        let number = |at: usize| operands.get(at).and_then(Object::as_number).unwrap_or_default();
        match word {
            b"BT" => pen.height = 0.0,
            b"Tf" => pen.font = self.font(document, operands.first(), resources),
            b"TL" => pen.leading = number(0),
            b"Td" => pen.height += number(1),
            b"TD" => {
                pen.leading = -number(1);
                pen.height += number(1);
            }
            b"Tm" => pen.height = number(5),
            b"T*" => pen.height -= if pen.leading == 0.0 { 1.0 } else { pen.leading },
            b"Tj" => self.show(operands.first(), pen),
            b"'" | b"\"" => {
                pen.height -= if pen.leading == 0.0 { 1.0 } else { pen.leading };
                self.show(operands.last(), pen);
            }
            b"TJ" => {
                for piece in operands.first().and_then(Object::as_array).unwrap_or_default() {
                    match piece {
                        Object::Number(back) if *back < -APART => self.part(),
                        piece => self.show(Some(piece), pen),
                    }
                }
                return;
            }
            _ => return,
        }
        // Moving the pen within a line starts another word.
        if matches!(word, b"Td" | b"TD" | b"Tm") {
            self.part();
        }
    }

    fn show(&mut self, codes: Option<&Object>, pen: &Pen) {
        let Some(Object::Text(codes)) = codes else { return };
        if self.pen.is_some_and(|height| (height - pen.height).abs() > 0.5) {
            self.end_line();
        }
        self.pen = Some(pen.height);
        match pen.font.and_then(|font| self.fonts.get(&font)) {
            Some(font) => font.read(codes, &mut self.text, MAX_TEXT),
            None => Font::default().read(codes, &mut self.text, MAX_TEXT),
        }
    }

    /// Separates two words.
    fn part(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with(char::is_whitespace) {
            self.text.push(' ');
        }
    }

    fn end_line(&mut self) {
        let end = self.text.trim_end_matches(' ').len();
        self.text.truncate(end);
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    /// Returns the object number of the font with this name.
    fn font(
        &mut self,
        document: &mut Document<'_>,
        name: Option<&Object>,
        resources: &Dictionary,
    ) -> Option<u32> {
        let fonts = document.entry(resources, b"Font");
        let Some(Object::Reference(number)) = fonts.as_dictionary()?.get(name?.as_name()?) else {
            return None;
        };
        if !self.fonts.contains_key(number) {
            let Object::Dictionary(font) = document.get(*number) else { return None };
            let font = Font::of(document, &font);
            self.fonts.insert(*number, font);
        }
        Some(*number)
    }

    /// Draws a form object inside the drawing.
    fn inner(
        &mut self,
        document: &mut Document<'_>,
        operands: &[Object],
        resources: &Dictionary,
        depth: usize,
    ) {
        let drawings = document.entry(resources, b"XObject");
        let name = operands.first().and_then(Object::as_name);
        let found = name.and_then(|name| drawings.as_dictionary()?.get(name).cloned());
        let Some(Object::Reference(number)) = found else { return };
        let Object::Dictionary(drawing) = document.get(number) else { return };
        if document.entry(&drawing, b"Subtype").as_name() != Some(b"Form") {
            return;
        }
        let own = document.entry(&drawing, b"Resources").as_dictionary().cloned();
        if let Some(content) = document.stream(number) {
            self.draw(document, &content, own.as_ref().unwrap_or(resources), depth + 1);
        }
    }
}

/// Skips an inline image, which is raw bytes and not operators.
fn skip_picture(content: &[u8], reader: &mut Reader<'_>) {
    let rest = content.get(reader.at..).unwrap_or_default();
    let end = rest.windows(4).position(|window| {
        window[0].is_ascii_whitespace() && &window[1..3] == b"EI" && window[3].is_ascii_whitespace()
    });
    reader.at += end.map_or(rest.len(), |end| end + 3);
}
