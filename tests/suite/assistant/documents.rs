//! Documents in files and with messages: their text arrives at the model.

use std::io::{Cursor, Write as _};

use aethon_tests::Server;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

fn pdf(words: &str) -> Vec<u8> {
    let content = format!("BT /F1 12 Tf 72 700 Td ({words}) Tj ET");
    format!(
        "%PDF-1.7\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj\n\
         3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F1 << /Type /Font \
         /Subtype /Type1 /BaseFont /Helvetica >> >> >> >> endobj\n4 0 obj << /Length {} >>\nstream\n{content}\nendstream endobj\n\
         trailer << /Root 1 0 R >>\n%%EOF\n",
        content.len()
    )
    .into_bytes()
}

fn word(words: &str) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let document = format!("<w:document><w:p><w:r><w:t>{words}</w:t></w:r></w:p></w:document>");
    for (name, text) in [("[Content_Types].xml", "<Types/>"), ("word/document.xml", &document)] {
        writer.start_file(name, SimpleFileOptions::default()).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn message(id: &str, text: &str, files: &[(&str, &str, Vec<u8>)]) -> Value {
    let files: Vec<Value> = files
        .iter()
        .map(|(name, mime, bytes)| json!({"name": name, "mime": mime, "data": STANDARD.encode(bytes)}))
        .collect();
    json!({"type": "message", "id": id, "text": text, "attachments": files})
}

#[test]
fn attached_documents_are_stored_as_their_text() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
    let files = [
        ("a.pdf", "application/pdf", pdf("words of a PDF")),
        ("b.docx", docx, word("words of Word")),
        ("c.csv", "text/csv", b"Name;Gr\xf6\xdfe\nAda;42".to_vec()),
        ("d.rtf", "application/rtf", b"{\\rtf1 rich words}".to_vec()),
        ("e.html", "text/html", b"<p>words of a <b>page</b></p><script>no</script>".to_vec()),
        ("f.txt", "text/plain", "wide words".bytes().flat_map(|byte| [byte, 0]).collect()),
        ("g.pdf", "application/pdf", b"%PDF-1.7 nothing".to_vec()),
        ("h.csv", "application/vnd.ms-excel", b"Fruit;Colour\nLemon;yellow".to_vec()),
    ];
    chat.send_json(&message("m1", "!say seen", &files));
    assert_eq!(chat.until("done").last().unwrap()["text"], "seen");
    let stored = server.messages("webchat:default")[0].to_string();
    for words in [
        "words of a PDF",
        "words of Word",
        "| Name | Größe |",
        "rich words",
        "words of a page",
        "wide words",
        "could not be read: it is damaged",
        "| Fruit | Colour |",
    ] {
        assert!(stored.contains(words), "{words} is missing in {stored}");
    }
    assert!(!stored.contains("<script>"), "{stored}");
}

#[test]
fn message_with_a_document_keeps_its_place() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    chat.send_json(&message("m1", "!say first", &[("a.pdf", "application/pdf", pdf("words"))]));
    chat.send_json(&message("m2", "!say second", &[]));
    assert_eq!(chat.until("done").last().unwrap()["text"], "first");
    assert_eq!(chat.until("done").last().unwrap()["text"], "second");
}

#[test]
fn documents_of_the_workspace_are_read_and_searched() {
    let server = Server::start(&[]);
    let workspace = server.home().path().join("workspace");
    std::fs::write(workspace.join("a.pdf"), pdf("words of a PDF")).unwrap();
    std::fs::write(workspace.join("b.docx"), word("words of Word")).unwrap();
    std::fs::write(workspace.join("c.csv"), b"Name;Gr\xf6\xdfe").unwrap();
    let mut chat = server.chat("default");
    let mut output = |id: &str, input: Value| {
        let frames = chat.say(id, &format!("!tool file_read {input}"));
        let output = frames.iter().filter_map(|frame| frame["output"].as_str()).next_back();
        output.unwrap_or_default().to_owned()
    };
    assert!(output("1", json!({"path": "a.pdf"})).contains("words of a PDF"));
    assert!(output("2", json!({"path": "b.docx", "search": "of W"})).contains("1: words of Word"));
    assert!(output("3", json!({"path": "c.csv"})).contains("Größe"));
}
