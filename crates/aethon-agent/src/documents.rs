//! Documents that come with a message: they are read once, before the message is stored, and stored as their text. The
//! message keeps its place in its session meanwhile. A document that cannot be read leaves a sentence that says why.

use aethon_core::document::{
    DocumentKind, DocumentReader, DocumentText, HEAD, MAX_ATTACHED, Unreadable, is_plain_text,
    is_readable_text,
};
use aethon_core::message::{Attachment, Inbound};
use aethon_core::turn::Trust;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The most bytes of a document's text that come with a message: a model reads all of it, and again with each message
/// after it.
const MAX_TEXT: usize = 512 << 10;
/// The media type of a document that was read.
const READ: &str = "text/markdown";
/// The media type of a sentence in place of one.
const SENTENCE: &str = "text/plain";

/// Returns how a file is to be read before a model can be shown it, if so.
pub(crate) fn kind(file: &Attachment) -> Option<DocumentKind> {
    let mime = file.mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if file.own || file.is_quoted() || mime.starts_with("image/") {
        return None;
    }
    // Base64 turns three bytes into four characters.
    let head = file.data.get(..file.data.len().min(HEAD / 3 * 4))?;
    let head = STANDARD.decode(head).ok()?;
    match DocumentKind::of(&head, &file.name, &mime) {
        Some(kind) if !kind.is_textual() => Some(kind),
        // A page that was read keeps its name.
        Some(DocumentKind::Page) if !matches!(mime.as_str(), READ | SENTENCE) => Some(DocumentKind::Page),
        kind if kind.is_some() || mime.starts_with("text/") => {
            let bytes = STANDARD.decode(&file.data).ok()?;
            // A table under another label would be refused as it stands.
            // A longer text is cut, as that of a document is, and the rest is there for the tools.
            let is_shown = bytes.len() <= MAX_TEXT && is_plain_text(&bytes) && mime.starts_with("text/");
            (!is_shown && is_readable_text(&bytes)).then(|| kind.unwrap_or(DocumentKind::Plain))
        }
        _ => None,
    }
}

/// Returns whether a message has documents that are not read yet.
pub(crate) fn has_documents(inbound: &Inbound) -> bool {
    inbound.attachments.iter().any(|file| kind(file).is_some())
}

/// Reads the documents of a message.
pub(crate) async fn read(reader: &dyn DocumentReader, inbound: &mut Inbound) {
    let trust = inbound.trust();
    for file in &mut inbound.attachments {
        if let Some(kind) = kind(file) {
            read_file(reader, file, kind, trust).await;
        }
    }
}

/// Replaces the documents of a message by a sentence, because there is no time to read them.
pub(crate) fn leave(inbound: &mut Inbound, why: &str) {
    for file in inbound.attachments.iter_mut().filter(|file| kind(file).is_some()) {
        refuse(file, &Unreadable::Refused(why.to_owned()));
    }
}

async fn read_file(reader: &dyn DocumentReader, file: &mut Attachment, kind: DocumentKind, trust: Trust) {
    // Only its beginning was decoded before.
    let Ok(bytes) = STANDARD.decode(&file.data) else {
        return refuse(file, &Unreadable::Refused("its data is damaged: it did not arrive whole".to_owned()));
    };
    let is_text = kind.is_textual() && std::str::from_utf8(&bytes).is_ok();
    let read = if bytes.len() > MAX_ATTACHED {
        Err(Unreadable::Refused(format!("it is larger than {} MiB", MAX_ATTACHED >> 20)))
    } else {
        reader.read(kind, bytes, trust).await
    };
    match read {
        Ok(text) => replace(file, READ, &shown(&text)),
        // Better as it stands than not at all, under a label that lets it pass.
        Err(_) if is_text => {
            if !file.mime.trim_start().to_ascii_lowercase().starts_with("text/") {
                SENTENCE.clone_into(&mut file.mime);
            }
        }
        Err(why) => {
            tracing::info!(%why, "an attached document could not be read");
            refuse(file, &why);
        }
    }
}

fn shown(text: &DocumentText) -> String {
    let shown = text.for_model(MAX_TEXT);
    if shown.trim().is_empty() { "[The document has no text.]".to_owned() } else { shown }
}

fn refuse(file: &mut Attachment, why: &Unreadable) {
    let name: String = file.name.chars().filter(|c| !c.is_control()).take(100).collect();
    let advice = match why {
        Unreadable::Refused(_) => "Tell the person so.",
        Unreadable::NotStarted(_) => "The file itself may be fine: ask the person to send it again later.",
    };
    replace(file, SENTENCE, &format!("[The file {name:?} could not be read: {why}. {advice}]"));
}

fn replace(file: &mut Attachment, mime: &str, text: &str) {
    mime.clone_into(&mut file.mime);
    file.data = STANDARD.encode(text);
}

#[cfg(test)]
mod tests {
    use aethon_core::document::NoDocuments;
    use aethon_core::ids::SessionId;

    use super::*;

    fn file(name: &str, mime: &str, bytes: &[u8]) -> Attachment {
        Attachment::new(name, mime, STANDARD.encode(bytes))
    }

    #[test]
    fn documents_are_found_whatever_they_are_labelled() {
        let check =
            |file: Attachment, expected: Option<DocumentKind>| assert_eq!(kind(&file), expected, "{file:?}");
        check(file("a.pdf", "application/pdf", b"%PDF-1.7"), Some(DocumentKind::Pdf));
        check(file("a.bin", "application/octet-stream", b"%PDF-1.7"), Some(DocumentKind::Pdf));
        check(file("a.docx", "application/zip", b"PK\x03\x04"), Some(DocumentKind::Package));
        check(file("a.pdf", "application/pdf", b"hi"), None);
        check(file("a.txt", "text/plain", "Größe".as_bytes()), None);
        check(file("a.txt", "text/plain", b"Gr\xf6\xdfe"), Some(DocumentKind::Plain));
        check(file("a.csv", "text/csv", b"a;Gr\xf6\xdfe"), Some(DocumentKind::Table));
        check(file("a.csv", "text/csv", b"a;b"), None);
        check(file("a.csv", "text/csv", b"a\0;\0b\0"), Some(DocumentKind::Table));
        check(file("a.txt", "text/plain", b"h\0i\0"), Some(DocumentKind::Plain));
        for mime in ["application/vnd.ms-excel", "application/octet-stream", "application/csv"] {
            check(file("a.csv", mime, b"a;b"), Some(DocumentKind::Table));
        }
        check(file("a.html", "text/html", b"<p>hi"), Some(DocumentKind::Page));
        check(file("a.html", "text/html", b"<p>hi").own(), None);
        check(file("a.html", "text/markdown", b"hi"), None);
        check(Attachment::quoted("aGk="), None);
        check(file("a.png", "image/png", b"\x89PNG"), None);
    }

    #[tokio::test]
    async fn unreadable_document_leaves_a_sentence() {
        let session = SessionId::of("webchat", "a").unwrap();
        let files = vec![
            file("a.pdf", "application/pdf", b"%PDF-1.7"),
            file("b.html", "text/html", b"<p>hi"),
            file("c.txt", "text/plain", b"hi"),
            file("d.csv", "application/vnd.ms-excel", b"a;b"),
            // Base64 that breaks off behind a head that is whole.
            Attachment::new(
                "e.pdf",
                "application/pdf",
                STANDARD.encode([b'%'; 3000]).replacen("JSUl", "JVBERi0x", 1) + "!",
            ),
        ];
        let mut inbound = Inbound::say(session, "look").with_attachments(files);
        assert!(has_documents(&inbound));
        read(&NoDocuments("there is no reader"), &mut inbound).await;
        let texts: Vec<String> = inbound
            .attachments
            .iter()
            .map(|file| String::from_utf8(STANDARD.decode(&file.data).unwrap()).unwrap())
            .collect();
        assert_eq!(inbound.attachments[0].mime, "text/plain");
        assert!(texts[0].contains("\"a.pdf\" could not be read: there is no reader"), "{texts:?}");
        assert_eq!(&texts[1..4], ["<p>hi", "hi", "a;b"]);
        assert_eq!(inbound.attachments[3].mime, "text/plain");
        assert!(texts[4].contains("its data is damaged"), "{texts:?}");
    }
}
