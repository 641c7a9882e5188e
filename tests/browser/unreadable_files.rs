//! Documents as files of a message: an unreadable one is told of in words, and a PDF is never taken for the text of its source.

use std::path::PathBuf;

use crate::page::Page;

/// A document of one page that consists of ASCII only.
fn ascii_pdf(words: &str) -> Vec<u8> {
    let content = format!("BT /F1 12 Tf 72 700 Td ({words}) Tj ET");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>".to_owned(),
        format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    let mut pdf = "%PDF-1.4\n".to_owned();
    let mut table = "xref\n0 6\n0000000000 65535 f \n".to_owned();
    for (index, object) in objects.iter().enumerate() {
        table += &format!("{:010} 00000 n \n", pdf.len());
        pdf += &format!("{} 0 obj\n{object}\nendobj\n", index + 1);
    }
    let at = pdf.len();
    pdf += &format!("{table}trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n{at}\n%%EOF\n");
    assert!(pdf.is_ascii());
    pdf.into_bytes()
}

/// What an office program writes with a password.
fn encrypted_office() -> Vec<u8> {
    let wide: Vec<u8> = "EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes).collect();
    [b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".to_vec(), vec![0; 600], wide].concat()
}

fn write(page: &Page, name: &str, bytes: &[u8]) -> PathBuf {
    let path = page.browser.folder().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn an_unreadable_document_is_told_of_in_words_and_nothing_typed_is_lost() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.fill("#message", "!say half a thought");
    let damaged = write(&page, "damaged.pdf", b"%PDF-1.7\nthis is \x00 no document\n");
    let locked = write(&page, "locked.docx", &encrypted_office());
    let fine = write(&page, "list.txt", b"eggs\n");
    browser.give_files("[type=file]", &[damaged, locked, fine]);
    page.until("all are attached", "all('.composer-file').length === 3");
    assert_eq!(browser.text("one('#message').value"), "!say half a thought");
    browser.click(".send");
    let turn = page.settled();
    assert_eq!((turn.said.as_str(), turn.reply.as_str()), ("!say half a thought", "half a thought"));
    let told = "(([damaged, locked, ...others]) => /^damaged[.]pdf could not be read: .*damaged/.test(damaged)
        && locked === 'locked.docx could not be read: it needs a password.' && others.length === 0)(all('.file-unread').map((note) => note.innerText.trim()))";
    page.until("each is told of with its reason", told);
    browser.reload();
    page.until("it still is", told);
    assert_eq!(browser.text("all('.said-files .file-chip').length"), "3");
    page.assert_clean();
}

#[test]
fn a_pdf_of_plain_letters_is_read_as_a_document() {
    let Some(page) = Page::open(&[]) else { return };
    let pdf = write(&page, "rent.pdf", &ascii_pdf("Rent is due on the 5th."));
    page.browser.give_files("[type=file]", &[pdf]);
    page.until("it is attached", "all('.composer-file').length === 1");
    assert_eq!(page.ask("!say seen").reply, "seen");
    let stored = page.server().messages("webchat:default")[0].to_string();
    assert!(stored.contains("Rent is due on the 5th.") && !stored.contains("%PDF"), "{stored}");
    page.until("its text can be opened without a reload", "one('button.file-chip')");
    page.browser.click("button.file-chip");
    page.until("it is shown", "/Rent is due on the 5th/.test(one('dialog[open]')?.innerText)");
    assert!(!page.browser.is("one('.file-unread')"));
}
