//! Takes the parts of a mail apart (RFC 2045 and its kin), as far as they go: with a missing boundary, a wrong one, or none.

use std::borrow::Cow;
use std::cell::Cell;

use mail_parser::{ContentType, MessageParser, MimeHeaders as _};

use super::{charset, encoded_words, transfer};

/// How deep parts may be nested; deeper ones are read as text.
const MAX_DEPTH: usize = 20;
/// How many parts are read.
const MAX_PARTS: usize = 500;
/// The longest boundary that is found without being named, in bytes.
const MAX_BOUNDARY: usize = 200;

/// A part of a mail, or a whole one.
#[derive(Debug, Default)]
pub(super) struct Part<'m> {
    /// Its type in lower case, such as `text/plain`.
    pub(super) kind: String,
    /// The parts of a multipart.
    pub(super) children: Vec<Part<'m>>,
    /// The name of its file.
    pub(super) name: Option<String>,
    /// Whether it says that it is an attachment.
    pub(super) is_attachment: bool,
    /// Whether other parts can refer to it.
    pub(super) has_id: bool,
    /// Whether its lines flow (RFC 3676).
    pub(super) flow: Option<Flow>,
    charset: Option<String>,
    encoding: Encoding,
    raw: &'m [u8],
}

/// How flowed lines are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// The blank at the end of a line stays.
    KeepBlank,
    /// The blank at the end of a line is deleted (`DelSp=yes`).
    DeleteBlank,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Encoding {
    #[default]
    Identity,
    Base64,
    QuotedPrintable,
}

impl<'m> Part<'m> {
    /// Reads a whole mail.
    pub(super) fn of_mail(mail: &'m [u8]) -> Self {
        Reading { parts: Cell::new(0) }.part(mail, "text/plain", 0)
    }

    /// Returns its content, decoded.
    pub(super) fn bytes(&self) -> Cow<'m, [u8]> {
        match self.encoding {
            Encoding::Identity => Cow::Borrowed(self.raw),
            Encoding::Base64 => Cow::Owned(transfer::base64(self.raw)),
            Encoding::QuotedPrintable => Cow::Owned(transfer::quoted_printable(self.raw)),
        }
    }

    /// Returns its content as text.
    pub(super) fn text(&self) -> String {
        charset::text(&self.bytes(), self.charset.as_deref())
    }

    fn headed(header: &[u8], default_kind: &str) -> (Self, Option<String>) {
        let mut part = Self { kind: default_kind.to_owned(), ..Self::default() };
        let Some(message) = MessageParser::default().parse_headers(header) else { return (part, None) };
        let attribute = |kind: &ContentType<'_>, name: &str| kind.attribute(name).map(str::to_owned);
        let mut boundary = None;
        if let Some(kind) = message.content_type() {
            let subtype =
                kind.subtype().unwrap_or(if kind.ctype() == "text" { "plain" } else { "octet-stream" });
            part.kind = format!("{}/{}", kind.ctype(), subtype).to_ascii_lowercase();
            part.charset = attribute(kind, "charset");
            boundary = attribute(kind, "boundary").filter(|boundary| !boundary.trim().is_empty());
            let says = |name: &str, value: &str| {
                kind.attribute(name).is_some_and(|found| found.eq_ignore_ascii_case(value))
            };
            part.flow = says("format", "flowed").then(|| match says("delsp", "yes") {
                true => Flow::DeleteBlank,
                false => Flow::KeepBlank,
            });
        }
        part.is_attachment = message.content_disposition().is_some_and(ContentType::is_attachment);
        part.has_id = message.content_id().is_some();
        let name = message.attachment_name().map(|name| encoded_words::decoded(name.as_bytes()));
        part.name = name.filter(|name| !name.trim().is_empty());
        part.encoding = match message.content_transfer_encoding().map(|name| name.trim().to_ascii_lowercase())
        {
            Some(name) if name.starts_with("base64") => Encoding::Base64,
            Some(name) if name.starts_with("quoted") => Encoding::QuotedPrintable,
            _ => Encoding::Identity,
        };
        (part, boundary)
    }
}

struct Reading {
    parts: Cell<usize>,
}

impl Reading {
    fn part<'m>(&self, bytes: &'m [u8], default_kind: &str, depth: usize) -> Part<'m> {
        self.parts.set(self.parts.get() + 1);
        let (header, body) = head_and_body(bytes);
        let (mut part, boundary) = Part::headed(header, default_kind);
        part.raw = body;
        if !part.kind.starts_with("multipart/") {
            return part;
        }
        let kind_of_children = if part.kind == "multipart/digest" { "message/rfc822" } else { "text/plain" };
        let named =
            boundary.map(|boundary| pieces(body, boundary.as_bytes())).filter(|pieces| !pieces.is_empty());
        let found = named.or_else(|| boundary_within(body).map(|boundary| pieces(body, boundary)));
        let pieces = found.filter(|_| depth < MAX_DEPTH).unwrap_or_default();
        for piece in pieces {
            if self.parts.get() < MAX_PARTS {
                part.children.push(self.part(piece, kind_of_children, depth + 1));
            }
        }
        if part.children.is_empty() {
            // There is nothing but the text, if it is any.
            "text/plain".clone_into(&mut part.kind);
        }
        part
    }
}

/// Splits a mail or a part at its first empty line. What does not begin with a header has none.
fn head_and_body(bytes: &[u8]) -> (&[u8], &[u8]) {
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii_end();
    let is_field = |line: &[u8]| {
        let name = line.iter().take_while(|byte| byte.is_ascii_graphic() && **byte != b':').count();
        name > 0 && line[name..].trim_ascii_start().starts_with(b":") || line.starts_with(b"From ")
    };
    if !first.is_empty() && !is_field(first) {
        return (&[], bytes);
    }
    let mut at = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let end = at + line.len();
        if line.trim_ascii_end().is_empty() && !line.starts_with(b" ") && !line.starts_with(b"\t") {
            return (&bytes[..end], &bytes[end..]);
        }
        at = end;
    }
    (bytes, &[])
}

/// Returns what stands between lines with this boundary.
fn pieces<'m>(body: &'m [u8], boundary: &[u8]) -> Vec<&'m [u8]> {
    let mut pieces = Vec::new();
    let (mut begun, mut at) = (None, 0);
    for line in body.split_inclusive(|byte| *byte == b'\n') {
        let end = at + line.len();
        let behind =
            line.strip_prefix(b"--").and_then(|rest| rest.strip_prefix(boundary)).map(<[u8]>::trim_ascii_end);
        if let Some(behind) = behind.filter(|behind| behind.is_empty() || *behind == b"--") {
            if let Some(begun) = begun {
                pieces.push(without_last_end(&body[begun..at]));
            }
            begun = Some(end).filter(|_| behind.is_empty());
        }
        at = end;
    }
    // The end is missing.
    if let Some(begun) = begun {
        pieces.push(&body[begun..]);
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// The line end before a boundary belongs to it.
fn without_last_end(piece: &[u8]) -> &[u8] {
    let piece = piece.strip_suffix(b"\n").unwrap_or(piece);
    piece.strip_suffix(b"\r").unwrap_or(piece)
}

/// Finds a boundary that was not named: a line of two dashes and more, above a header of a part.
fn boundary_within(body: &[u8]) -> Option<&[u8]> {
    let mut lines = body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end).peekable();
    while let Some(line) = lines.next() {
        let boundary = line.strip_prefix(b"--").filter(|rest| (1..=MAX_BOUNDARY).contains(&rest.len()));
        let next = lines.peek().map(|line| line.to_ascii_lowercase());
        let is_above_header = next.is_some_and(|next| next.starts_with(b"content-"));
        if let Some(boundary) = boundary.filter(|_| is_above_header) {
            return Some(boundary);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Describes the parts: their types, and the text of those that have any.
    fn shape(mail: &str) -> String {
        let mail = mail.replace('\n', "\r\n");
        shape_of(&Part::of_mail(mail.as_bytes()))
    }

    fn shape_of(part: &Part<'_>) -> String {
        let children: Vec<String> = part.children.iter().map(shape_of).collect();
        match children.is_empty() {
            true => format!("{}={}", part.kind, part.text().trim()),
            false => format!("{}({})", part.kind, children.join(" ")),
        }
    }

    #[test]
    fn parts_are_read_with_or_without_a_proper_boundary() {
        for (mail, expected) in [
            ("Subject: a\n\nhello", "text/plain=hello"),
            ("Content-Type: text/html\n\n<p>a", "text/html=<p>a"),
            (
                "Content-Type: multipart/mixed; boundary=\"b c\"\n\nold\n--b c\n\none\n--b c\nContent-Type: text/html\n\ntwo\n--b c--\nend",
                "multipart/mixed(text/plain=one text/html=two)",
            ),
            (
                "Content-Type: multipart/mixed\n\n--x1\nContent-Type: text/plain\n\none\n--x1--\n",
                "multipart/mixed(text/plain=one)",
            ),
            (
                "Content-Type: multipart/alternative; boundary=other\n\n--x1\nContent-Type: text/plain\n\none\n--x1\nContent-Type: text/html\n\ntwo\n",
                "multipart/alternative(text/plain=one text/html=two)",
            ),
            ("Content-Type: multipart/mixed\n\njust words\n", "text/plain=just words"),
            ("Content-Type: multipart/mixed; boundary=b\n\njust words\n", "text/plain=just words"),
            (
                "Content-Type: multipart/mixed; boundary=b\n\n--b\nno header here\n--b--",
                "multipart/mixed(text/plain=no header here)",
            ),
            (
                "Content-Type: multipart/mixed; boundary=b\n\n--b\n\nnever ends",
                "multipart/mixed(text/plain=never ends)",
            ),
            (
                "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: multipart/alternative; boundary=bb\n\n--bb\n\none\n--bb--\n--b\n\ntwo\n--b--",
                "multipart/mixed(multipart/alternative(text/plain=one) text/plain=two)",
            ),
            (
                "Content-Type: multipart/digest; boundary=b\n\n--b\n\nSubject: x\n\nhi\n--b--",
                "multipart/digest(message/rfc822=Subject: x\r\n\r\nhi)",
            ),
            ("Content-Type: text\n\nhi", "text/plain=hi"),
            ("", "text/plain="),
        ] {
            assert_eq!(shape(mail), expected, "{mail}");
        }
    }

    #[test]
    fn names_and_charsets_are_decoded() {
        let mail = "Content-Type: text/csv; charset=koi8-r; name=\"=?utf-8?q?Gr=C3=BC=C3=9Fe.csv?=\"\r\n\
            Content-Transfer-Encoding: BASE64\r\nContent-Disposition: attachment\r\n\r\n8NLJ18XU\r\n";
        let part = Part::of_mail(mail.as_bytes());
        assert_eq!((part.name.as_deref(), part.text().as_str()), (Some("Grüße.csv"), "Привет"));
        assert!(part.is_attachment && !part.has_id);
        let named =
            "Content-Type: text/plain; name*=utf-8''Gr%C3%BC%C3%9Fe.txt; format=flowed; delsp=yes\r\n\r\nx";
        let part = Part::of_mail(named.as_bytes());
        assert_eq!((part.name.as_deref(), part.flow), (Some("Grüße.txt"), Some(Flow::DeleteBlank)));
    }

    #[test]
    fn hostile_nesting_ends_somewhere() {
        let nested = "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n".repeat(3000);
        let _ = Part::of_mail(nested.as_bytes());
        let many =
            format!("Content-Type: multipart/mixed; boundary=b\r\n\r\n{}", "--b\r\n\r\nx\r\n".repeat(5000));
        assert!(Part::of_mail(many.as_bytes()).children.len() < 600);
    }
}
