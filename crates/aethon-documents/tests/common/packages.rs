//! Writes small packages: office documents, OpenDocument, e-books.

use std::io::{Cursor, Write as _};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Packs files into a ZIP. The first one is not compressed, as e-books and OpenDocument ask.
pub fn package(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (number, (name, bytes)) in files.iter().enumerate() {
        let method = if number == 0 { CompressionMethod::Stored } else { CompressionMethod::Deflated };
        writer.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

const TYPES: (&str, &[u8]) = ("[Content_Types].xml", b"<Types/>");

const RELATIONS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

fn relations(rows: &[(&str, &str, &str)]) -> Vec<u8> {
    let row = |(id, kind, target): &(&str, &str, &str)| {
        let outside = if target.contains("://") { " TargetMode=\"External\"" } else { "" };
        format!("<Relationship Id=\"{id}\" Type=\"{RELATIONS}/{kind}\" Target=\"{target}\"{outside}/>")
    };
    format!("<Relationships>{}</Relationships>", rows.iter().map(row).collect::<String>()).into_bytes()
}

/// A Word document with this body, and with these other parts: the kind, the name and the content of each.
pub fn word_with(body: &str, parts: &[(&str, &str, &str)]) -> Vec<u8> {
    let document =
        format!("<?xml version=\"1.0\"?><w:document xmlns:w=\"w\"><w:body>{body}</w:body></w:document>");
    let mut rows: Vec<(String, &str, &str)> =
        parts.iter().enumerate().map(|(at, (kind, name, _))| (format!("p{at}"), *kind, *name)).collect();
    rows.push(("link".into(), "hyperlink", "https://example.com/a"));
    let rows: Vec<(&str, &str, &str)> =
        rows.iter().map(|(id, kind, name)| (id.as_str(), *kind, *name)).collect();
    let relations_ = relations(&rows);
    let names: Vec<String> = parts.iter().map(|(_, name, _)| format!("word/{name}")).collect();
    let mut files: Vec<(&str, &[u8])> = vec![
        TYPES,
        ("word/document.xml", document.as_bytes()),
        ("word/_rels/document.xml.rels", &relations_),
    ];
    files.extend(names.iter().zip(parts).map(|(name, (_, _, text))| (name.as_str(), text.as_bytes())));
    package(&files)
}

/// A Word document with this body.
pub fn word(body: &str) -> Vec<u8> {
    word_with(body, &[])
}

/// A paragraph of a Word document.
pub fn paragraph(text: &str) -> String {
    format!("<w:p><w:r><w:t xml:space=\"preserve\">{text}</w:t></w:r></w:p>")
}

/// A presentation: the content of each slide, with its notes.
pub fn slides(slides: &[(&str, &str)]) -> Vec<u8> {
    let mut files: Vec<(String, Vec<u8>)> = vec![(TYPES.0.into(), TYPES.1.to_vec())];
    let mut list = String::new();
    let mut rows = Vec::new();
    for (at, (content, notes)) in slides.iter().enumerate() {
        // The files are numbered against the order in which they are shown.
        let number = slides.len() - at;
        list.push_str(&format!("<p:sldId id=\"{at}\" r:id=\"r{number}\"/>"));
        rows.push((format!("r{number}"), format!("slides/slide{number}.xml")));
        let text = format!("<p:sld xmlns:a=\"a\"><p:cSld>{content}</p:cSld></p:sld>");
        files.push((format!("ppt/slides/slide{number}.xml"), text.into_bytes()));
        if !notes.is_empty() {
            let name = format!("../notesSlides/notesSlide{number}.xml");
            let own = relations(&[("n", "notesSlide", &name)]);
            files.push((format!("ppt/slides/_rels/slide{number}.xml.rels"), own));
            let text = format!("<p:notes><p:sp>{}</p:sp></p:notes>", line(notes));
            files.push((format!("ppt/notesSlides/notesSlide{number}.xml"), text.into_bytes()));
        }
    }
    let rows: Vec<(&str, &str, &str)> =
        rows.iter().map(|(id, name)| (id.as_str(), "slide", name.as_str())).collect();
    files.push(("ppt/_rels/presentation.xml.rels".into(), relations(&rows)));
    let main = format!("<p:presentation xmlns:r=\"r\"><p:sldIdLst>{list}</p:sldIdLst></p:presentation>");
    files.push(("ppt/presentation.xml".into(), main.into_bytes()));
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    package(&files)
}

/// A line of a slide.
pub fn line(text: &str) -> String {
    format!("<a:p><a:r><a:t>{text}</a:t></a:r></a:p>")
}

/// A spreadsheet: the name and the rows of each sheet, in XML, and the shared texts.
pub fn sheets(sheets: &[(&str, &str)], shared: &[&str]) -> Vec<u8> {
    let mut files: Vec<(String, Vec<u8>)> = vec![(TYPES.0.into(), TYPES.1.to_vec())];
    let (mut list, mut rows) = (String::new(), Vec::new());
    for (at, (name, content)) in sheets.iter().enumerate() {
        let number = at + 1;
        list.push_str(&format!("<sheet name=\"{name}\" sheetId=\"{number}\" r:id=\"r{number}\"/>"));
        rows.push((format!("r{number}"), format!("worksheets/sheet{number}.xml")));
        let text = format!("<worksheet><sheetData>{content}</sheetData></worksheet>");
        files.push((format!("xl/worksheets/sheet{number}.xml"), text.into_bytes()));
    }
    let relations_: Vec<(&str, &str, &str)> =
        rows.iter().map(|(id, name)| (id.as_str(), "worksheet", name.as_str())).collect();
    files.push(("_rels/.rels".into(), relations(&[("b", "officeDocument", "xl/workbook.xml")])));
    files.push(("xl/_rels/workbook.xml.rels".into(), relations(&relations_)));
    let book = format!(
        "<workbook xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\"><sheets>{list}</sheets></workbook>"
    );
    files.push(("xl/workbook.xml".into(), book.into_bytes()));
    let texts: String = shared.iter().map(|text| format!("<si><t>{text}</t></si>")).collect();
    files.push(("xl/sharedStrings.xml".into(), format!("<sst>{texts}</sst>").into_bytes()));
    let styles = "<styleSheet><cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"14\"/></cellXfs></styleSheet>";
    files.push(("xl/styles.xml".into(), styles.as_bytes().to_vec()));
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    package(&files)
}

/// An OpenDocument file of a kind with this body.
pub fn open_document(kind: &str, body: &str) -> Vec<u8> {
    let mimetype = format!("application/vnd.oasis.opendocument.{kind}");
    let body = format!(
        "<office:document-content xmlns:office=\"o\" xmlns:text=\"t\" xmlns:table=\"urn:oasis:names:tc:opendocument:xmlns:table:1.0\" xmlns:draw=\"d\">\
         <office:body>{body}</office:body></office:document-content>"
    );
    package(&[
        ("mimetype", mimetype.as_bytes()),
        ("META-INF/manifest.xml", b"<manifest:manifest/>"),
        ("content.xml", body.as_bytes()),
    ])
}

/// A book: the name and the page of each chapter.
pub fn book(chapters: &[(&str, &str)]) -> Vec<u8> {
    let items: String = chapters
        .iter()
        .enumerate()
        .map(|(at, (name, _))| {
            format!("<item id=\"c{at}\" href=\"{name}\" media-type=\"application/xhtml+xml\"/>")
        })
        .collect();
    let order: String = (0..chapters.len()).map(|at| format!("<itemref idref=\"c{at}\"/>")).collect();
    let root = format!(
        "<package><metadata><dc:title>A Book</dc:title><dc:creator>Ada</dc:creator></metadata><manifest>{items}</manifest>\
         <spine>{order}</spine></package>"
    );
    let container = b"<container><rootfiles><rootfile full-path=\"OEBPS/book.opf\"/></rootfiles></container>";
    let names: Vec<String> =
        chapters.iter().map(|(name, _)| format!("OEBPS/{}", name.replace("%20", " "))).collect();
    let mut files: Vec<(&str, &[u8])> = vec![
        ("mimetype", b"application/epub+zip"),
        ("META-INF/container.xml", container),
        ("OEBPS/book.opf", root.as_bytes()),
    ];
    files.extend(names.iter().zip(chapters).map(|(name, (_, page))| (name.as_str(), page.as_bytes())));
    package(&files)
}
