//! Extracts the text of the pages in the order in which they draw it. The movement of the pen tells where lines begin
//! and where words are separate.

use std::collections::{HashMap, HashSet};

use super::document::Document;
use super::fonts::Font;
use super::syntax::{Dictionary, Object, Reader};

/// Maximum size of the text.
const MOST_TEXT: usize = 8 << 20;
/// Maximum number of pages.
const MOST_PAGES: usize = 5_000;
/// Maximum number of operators on all pages.
const MOST_OPERATORS: usize = 5_000_000;
/// Maximum nesting of the page tree, and of form objects.
const DEEPEST: usize = 24;
/// How far the pen moves within a word, in thousandths of the font size.
const APART: f64 = 180.0;

/// Returns the text of a document, or why there is none.
pub(crate) fn text(bytes: &[u8]) -> Result<String, String> {
    let mut document = Document::new(bytes);
    if document.is_encrypted() {
        return Err("the PDF is encrypted".into());
    }
    let pages = pages(&document);
    if pages.is_empty() {
        return Err("no page of the PDF can be found".into());
    }
    let mut writer = Writer { text: String::new(), operators: 0, fonts: HashMap::new(), pen: None };
    let several = pages.len() > 1;
    for (number, (page, resources)) in pages.iter().enumerate() {
        if several {
            writer.text.push_str(&format!(
                "{}--- page {} ---\n",
                if number == 0 { "" } else { "\n" },
                number + 1
            ));
        }
        writer.pen = None;
        let content = content(&mut document, page);
        writer.draw(&mut document, &content, resources, 0);
        writer.end_line();
        if writer.is_full() {
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

/// Returns the pages in order, each with its resources.
fn pages(document: &Document<'_>) -> Vec<(Dictionary, Dictionary)> {
    let of_type = |object: &Object, name: &[u8]| {
        object.as_dictionary().is_some_and(|entries| document.entry(entries, b"Type").as_name() == Some(name))
    };
    let mut found = Vec::new();
    let numbers = document.numbers();
    let catalog =
        numbers.iter().rev().map(|number| document.get(*number)).find(|object| of_type(object, b"Catalog"));
    if let Some(Object::Dictionary(catalog)) = catalog
        && let Some(root) = catalog.get(b"Pages".as_slice())
    {
        collect(document, root, &Dictionary::new(), (0, &mut HashSet::new()), &mut found);
    }
    if found.is_empty() {
        let pages =
            numbers.iter().map(|number| document.get(*number)).filter(|object| of_type(object, b"Page"));
        found.extend(pages.take(MOST_PAGES).filter_map(|page| {
            let page = page.as_dictionary()?.clone();
            let resources = document.entry(&page, b"Resources").as_dictionary().cloned().unwrap_or_default();
            Some((page, resources))
        }));
    }
    found
}

fn collect(
    document: &Document<'_>,
    node: &Object,
    inherited: &Dictionary,
    (depth, seen): (usize, &mut HashSet<u32>),
    found: &mut Vec<(Dictionary, Dictionary)>,
) {
    if let Object::Reference(number) = node
        && !seen.insert(*number)
    {
        return;
    }
    let Object::Dictionary(entries) = document.resolve(node) else { return };
    if depth > DEEPEST || found.len() >= MOST_PAGES {
        return;
    }
    let own = document.entry(&entries, b"Resources").as_dictionary().cloned();
    let resources = own.unwrap_or_else(|| inherited.clone());
    match document.entry(&entries, b"Kids") {
        Object::Array(kids) => {
            for kid in &kids {
                collect(document, kid, &resources, (depth + 1, seen), found);
            }
        }
        _ => found.push((entries, resources)),
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
        self.text.len() > MOST_TEXT || self.operators > MOST_OPERATORS
    }

    fn draw(&mut self, document: &mut Document<'_>, content: &[u8], resources: &Dictionary, depth: usize) {
        let mut reader = Reader::new(content, 0);
        let (mut before, mut pen) = (Vec::new(), Pen::default());
        while let Some(object) = reader.next() {
            let Object::Word(word) = object else {
                if before.len() < 64 {
                    before.push(object);
                }
                continue;
            };
            self.operators += 1;
            if self.is_full() {
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
            Some(font) => font.read(codes, &mut self.text),
            None => Font::default().read(codes, &mut self.text),
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

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::*;

    fn packed(data: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    fn stream(number: u32, data: &[u8]) -> Vec<u8> {
        let data = packed(data);
        let mut object =
            format!("{number} 0 obj\n<< /Filter /FlateDecode /Length {} >>\nstream\n", data.len())
                .into_bytes();
        object.extend(data);
        object.extend(b"\nendstream\nendobj\n");
        object
    }

    fn document(content: &[u8], map: &[u8]) -> Vec<u8> {
        let mut bytes = b"%PDF-1.7\n\
            1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n\
            2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 /Resources << /Font << /F1 5 0 R /F2 6 0 R >> >> >> endobj\n\
            3 0 obj << /Type /Page /Parent 2 0 R /Contents [4 0 R] >> endobj\n\
            5 0 obj << /Type /Font /Subtype /Type1 /Encoding << /Differences [65 /fi /germandbls] >> >> endobj\n\
            6 0 obj << /Type /Font /Subtype /Type0 /ToUnicode 7 0 R >> endobj\n"
            .to_vec();
        bytes.extend(stream(4, content));
        bytes.extend(stream(7, map));
        bytes.extend(b"trailer << /Root 1 0 R >>\n%%EOF");
        bytes
    }

    #[test]
    fn what_pages_draw_becomes_lines() {
        let map = b"1 begincodespacerange <0000> <ffff> endcodespacerange\n\
            1 beginbfchar <0003> <0020> endbfchar\n2 beginbfrange <0010> <0012> <0061> <0020> <0021> [<00e4> <d83ddc1d>] endbfrange";
        let content = b"BT /F1 12 Tf 72 700 Td (Invoice \\(March\\)) Tj 0 -14 Td [(To)-300(tal: ) 20 (12)] TJ T* (A and B) Tj ET\n\
            BI /W 1 ID \x00(no text) Tj\xff EI\nBT /F2 12 Tf 1 0 0 1 72 500 Tm <001000110012000300200021> Tj ET";
        let text = text(&document(content, map)).unwrap();
        assert_eq!(text, "Invoice (March)\nTo tal: 12\nfi and ß\nabc ä\u{1f41d}\n");
    }

    #[test]
    fn hostile_documents_come_to_an_end() {
        let bomb = vec![b' '; 20 << 20];
        assert!(text(&document(&bomb, b"")).is_err());
        let circles = b"%PDF-1.7 1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj 2 0 obj << /Kids [2 0 R 1 0 R 3 0 R] >> endobj 3 0 obj 3 0 R endobj";
        assert!(text(circles).is_err());
        let nested =
            [b"%PDF-1.7 1 0 obj ".as_slice(), &b"[".repeat(100_000), &b"<<".repeat(100_000)].concat();
        assert!(text(&nested).is_err());
        let encrypted = [document(b"BT (x) Tj ET", b""), b"trailer << /Encrypt 9 0 R >>".to_vec()].concat();
        assert!(text(&encrypted).unwrap_err().contains("encrypted"));
        assert!(text(b"%PDF-").is_err());
    }

    proptest::proptest! {
        #[test]
        fn any_content_is_read_to_its_end(content in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..400)) {
            let _ = text(&document(&content, &content));
            let _ = text(&content);
        }
    }
}
