//! Documents that are not plain text: which files are, and who turns one into text.
//!
//! A document may be hostile, so whoever has one hands its bytes to a [`DocumentReader`]; the facade provides one that reads
//! in a child of the program, behind walls. What could not be read is part of the result, in words.

use std::fmt;

use async_trait::async_trait;

use crate::turn::Trust;

/// The most bytes of a document that are read.
pub const MAX_DOCUMENT: usize = 32 << 20;

/// The most bytes of a document that comes with a message.
pub const MAX_ATTACHED: usize = 20 << 20;

/// Number of bytes that suffice to recognise a document.
pub const HEAD: usize = 1536;

/// The kind of a document, by how it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentKind {
    /// A PDF.
    Pdf,
    /// Files in a ZIP: office documents of today, of OpenDocument, and e-books.
    Package,
    /// Office documents of the time before.
    Compound,
    /// Rich text (RTF).
    RichText,
    /// A page of HTML.
    Page,
    /// Rows of values: CSV and its relatives.
    Table,
    /// Text in an encoding other than UTF-8.
    Plain,
}

/// Extensions of files in a ZIP that are documents, and their media types.
const PACKAGES: [(&str, &str); 16] = [
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("docm", "application/vnd.ms-word.document.macroenabled.12"),
    ("dotx", "application/vnd.openxmlformats-officedocument.wordprocessingml.template"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("xlsm", "application/vnd.ms-excel.sheet.macroenabled.12"),
    ("xltx", "application/vnd.openxmlformats-officedocument.spreadsheetml.template"),
    ("xlsb", "application/vnd.ms-excel.sheet.binary.macroenabled.12"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("pptm", "application/vnd.ms-powerpoint.presentation.macroenabled.12"),
    ("ppsx", "application/vnd.openxmlformats-officedocument.presentationml.slideshow"),
    ("odt", "application/vnd.oasis.opendocument.text"),
    ("ott", "application/vnd.oasis.opendocument.text-template"),
    ("ods", "application/vnd.oasis.opendocument.spreadsheet"),
    ("ots", "application/vnd.oasis.opendocument.spreadsheet-template"),
    ("odp", "application/vnd.oasis.opendocument.presentation"),
    ("epub", "application/epub+zip"),
];
/// Words at the beginning of a ZIP that only documents have.
const IN_PACKAGES: [&[u8]; 6] = [
    b"[Content_Types].xml",
    b"mimetypeapplication/epub",
    b"mimetypeapplication/vnd.oasis",
    b"word/",
    b"xl/",
    b"ppt/",
];
const COMPOUNDS: [(&str, &str); 3] = [
    ("xls", "application/vnd.ms-excel"),
    ("doc", "application/msword"),
    ("ppt", "application/vnd.ms-powerpoint"),
];
const OTHERS: [(&str, &str, DocumentKind); 11] = [
    ("pdf", "application/pdf", DocumentKind::Pdf),
    ("pdf", "application/x-pdf", DocumentKind::Pdf),
    ("rtf", "application/rtf", DocumentKind::RichText),
    ("rtf", "text/rtf", DocumentKind::RichText),
    ("rtf", "text/richtext", DocumentKind::RichText),
    ("html", "text/html", DocumentKind::Page),
    ("htm", "application/xhtml+xml", DocumentKind::Page),
    ("xhtml", "application/xhtml+xml", DocumentKind::Page),
    ("csv", "text/csv", DocumentKind::Table),
    ("csv", "application/csv", DocumentKind::Table),
    ("tsv", "text/tab-separated-values", DocumentKind::Table),
];

impl DocumentKind {
    const ALL: [(Self, &str); 7] = [
        (Self::Pdf, "pdf"),
        (Self::Package, "package"),
        (Self::Compound, "compound"),
        (Self::RichText, "rtf"),
        (Self::Page, "html"),
        (Self::Table, "csv"),
        (Self::Plain, "plain"),
    ];

    /// Recognises a document by its first bytes ([`HEAD`]), its name and its media type; what is in it counts before how
    /// it is called. `None` means that it is no document, or text as it stands.
    pub fn of(head: &[u8], name: &str, mime: &str) -> Option<Self> {
        let called = Self::called(name, mime);
        let start = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
        // What the transport left before a PDF belongs to it, as its readers have always agreed.
        let begins_late = || head.windows(5).any(|window| window == b"%PDF-");
        if start.starts_with(b"%PDF-") || called == Some(Self::Pdf) && begins_late() {
            return Some(Self::Pdf);
        }
        if head.starts_with(b"PK\x03\x04") {
            let is_document = |mark: &&[u8]| head.windows(mark.len()).any(|window| window == *mark);
            return Some(Self::Package)
                .filter(|_| called == Some(Self::Package) || IN_PACKAGES.iter().any(is_document));
        }
        if head.starts_with(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1") {
            return Some(Self::Compound);
        }
        if start.starts_with(b"{\\rtf") {
            return Some(Self::RichText);
        }
        // Programs label a table by the program that opens it ("application/vnd.ms-excel"); its name knows better.
        let is_textual = |kind: &Self| kind.is_textual();
        called.filter(is_textual).or_else(|| Self::called(name, "").filter(is_textual))
    }

    /// Returns what a file is by its name and its media type alone.
    pub fn called(name: &str, mime: &str) -> Option<Self> {
        let mime = mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let extension = name.rsplit_once('.').map_or(String::new(), |(_, last)| last.to_ascii_lowercase());
        let is_named = |(ending, kind): &(&str, &str)| *kind == mime || *ending == extension;
        if PACKAGES.iter().any(is_named) {
            return Some(Self::Package);
        }
        if COMPOUNDS.iter().any(is_named) {
            return Some(Self::Compound);
        }
        let by_mime = OTHERS.iter().find(|(_, kind, _)| *kind == mime);
        by_mime
            .or_else(|| OTHERS.iter().find(|(ending, _, _)| *ending == extension))
            .map(|(_, _, kind)| *kind)
    }

    /// Returns whether a document of this kind is text as it stands, if that is UTF-8.
    pub fn is_textual(self) -> bool {
        matches!(self, Self::Page | Self::Table | Self::Plain)
    }

    /// Returns its name for programs.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("plain", |(_, name)| name)
    }

    /// Parses the name for programs.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }
}

/// Returns whether bytes are text as they stand: UTF-8 without zeros. ASCII in UTF-16 is valid UTF-8, too, but has zeros.
pub fn is_plain_text(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok() && !bytes.contains(&0)
}

/// Returns whether bytes may be text, in UTF-8, UTF-16 or an encoding of one byte for each character.
pub fn is_readable_text(bytes: &[u8]) -> bool {
    if std::str::from_utf8(bytes).is_ok() {
        return true;
    }
    let is_even = bytes.len().is_multiple_of(2);
    let units = |of: fn([u8; 2]) -> u16| bytes.chunks_exact(2).map(move |pair| of([pair[0], pair[1]]));
    let is_wide = |of| {
        char::decode_utf16(units(of)).all(|unit| unit.is_ok_and(|c| !c.is_control() || c.is_whitespace()))
    };
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") || bytes.contains(&0) {
        return is_even && (is_wide(u16::from_le_bytes) || is_wide(u16::from_be_bytes));
    }
    let is_odd = |byte: &u8| matches!(*byte, 1..=8 | 14..=31 | 127);
    bytes.iter().any(|byte| byte.is_ascii_alphanumeric() || *byte == b' ') && !bytes.iter().any(is_odd)
}

/// A document that was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocumentText {
    /// Its text, with marks of pages, sheets and slides, and tables in rows of Markdown.
    pub text: String,
    /// What could not be read of it, in sentences.
    pub notes: Vec<String>,
}

impl DocumentText {
    /// Returns the text for a model, at most this many bytes of it; what is missing comes first.
    pub fn for_model(&self, most: usize) -> String {
        let end = self.text.floor_char_boundary(most);
        let cut = (end < self.text.len())
            .then(|| format!("It is long: {} of its {} bytes of text are here.", end, self.text.len()));
        let notes: Vec<String> = self.notes.iter().chain(&cut).map(|note| format!("[{note}]\n")).collect();
        let gap = if notes.is_empty() { "" } else { "\n" };
        format!("{}{gap}{}", notes.concat(), &self.text[..end])
    }
}

/// Why a document could not be read: words that follow "because", such as "it needs a password".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreadable {
    /// The document is the reason, or the program has no reader: another attempt ends the same way.
    Refused(String),
    /// The reader could not be started, so the document was not looked at: another attempt may succeed.
    NotStarted(String),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Refused(why) | Self::NotStarted(why)) = self;
        formatter.write_str(why)
    }
}

/// Turns documents into text.
#[async_trait]
pub trait DocumentReader: Send + Sync {
    /// Reads a document for a turn of this trust. If the future is dropped, the reading ends.
    async fn read(
        &self,
        kind: DocumentKind,
        bytes: Vec<u8>,
        trust: Trust,
    ) -> Result<DocumentText, Unreadable>;
}

/// A reader that reads nothing, and says why.
#[derive(Debug, Clone, Copy)]
pub struct NoDocuments(pub &'static str);

impl Default for NoDocuments {
    fn default() -> Self {
        Self("this program has no reader of documents")
    }
}

#[async_trait]
impl DocumentReader for NoDocuments {
    async fn read(&self, _: DocumentKind, _: Vec<u8>, _: Trust) -> Result<DocumentText, Unreadable> {
        Err(Unreadable::Refused(self.0.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_recognised_by_their_content_before_their_name() {
        let check = |head: &[u8], name: &str, mime: &str, expected: Option<DocumentKind>| {
            assert_eq!(DocumentKind::of(head, name, mime), expected, "{name} {mime}");
        };
        check(b"%PDF-1.7", "a", "", Some(DocumentKind::Pdf));
        check(b"%PDF-1.7", "a.docx", "text/plain", Some(DocumentKind::Pdf));
        check(
            b"PK\x03\x04....word/document.xml",
            "a",
            "application/octet-stream",
            Some(DocumentKind::Package),
        );
        check(b"PK\x03\x04", "A.XLSX", "", Some(DocumentKind::Package));
        check(b"PK\x03\x04", "a.zip", "application/zip", None);
        check(b"{\\rtf1", "a.doc", "application/msword", Some(DocumentKind::RichText));
        check(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a", "", Some(DocumentKind::Compound));
        check(b"<p>", "a", "text/html; charset=utf-8", Some(DocumentKind::Page));
        check(b"a;b", "a.csv", "application/octet-stream", Some(DocumentKind::Table));
        check(b"a;b", "a.csv", "text/csv", Some(DocumentKind::Table));
        check(b"a;b", "a.csv", "application/vnd.ms-excel", Some(DocumentKind::Table));
        check(b"a;b", "a.csv", "application/csv", Some(DocumentKind::Table));
        check(b"a;b", "a.xls", "application/vnd.ms-excel", None);
        check(b"hello", "a.txt", "text/plain", None);
        check(b"\x7fELF", "a", "", None);
        check(b"hi", "a.pdf", "application/pdf", None);
        check(b"\0\x01%PDF-1.4", "a.pdf", "", Some(DocumentKind::Pdf));
        check(b"how to write %PDF-1.4", "a.md", "text/markdown", None);
    }

    #[test]
    fn text_in_other_encodings_is_text() {
        for bytes in [b"hi".as_slice(), b"Gr\xf6\xdfe", b"\xff\xfeh\0i\0", b"h\0i\0", b"\xfe\xff\0h", b""] {
            assert!(is_readable_text(bytes), "{bytes:?}");
        }
        for bytes in [b"\xff".as_slice(), b"\xff\xfe\0", b"\xff\xff\xff\xff", b"\x7fELF\x02\xff", b"a\0\xff"]
        {
            assert!(!is_readable_text(bytes), "{bytes:?}");
        }
    }

    #[test]
    fn text_with_zeros_is_not_plain() {
        for (bytes, expected) in
            [(b"hi".as_slice(), true), (b"", true), (b"h\0i\0", false), (b"Gr\xf6\xdfe", false)]
        {
            assert_eq!(is_plain_text(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn kinds_survive_their_way_through_arguments() {
        for (kind, name) in DocumentKind::ALL {
            assert_eq!((DocumentKind::parse(name), kind.as_str()), (Some(kind), name));
        }
        assert_eq!(DocumentKind::parse("exe"), None);
    }

    #[test]
    fn notes_about_missing_parts_precede_the_text() {
        let text = DocumentText { text: "äb".into(), notes: vec!["1 page is a picture.".into()] };
        assert_eq!(text.for_model(100), "[1 page is a picture.]\n\näb");
        let cut = DocumentText { text: "äb".into(), notes: Vec::new() }.for_model(2);
        assert_eq!(cut, "[It is long: 2 of its 3 bytes of text are here.]\n\nä");
    }
}
