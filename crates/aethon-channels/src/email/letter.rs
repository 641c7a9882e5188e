//! From the bytes of a mail to what its sender says with it: words, files, and what it answers.

use mail_parser::decoders::html::html_to_text;
use mail_parser::{MessageParser, MessagePart, MimeHeaders as _, PartType};

use super::body::{self, Words};
use super::head::Head;

/// Pictures inside a page that are smaller than this are part of somebody's signature.
const LEAST_PICTURE: usize = 10 << 10;
/// The longest subject that is kept.
const LONGEST_SUBJECT: usize = 200;
/// Parts that programs add for each other.
const NOT_FOR_PEOPLE: [&str; 7] = [
    "application/pgp-signature",
    "application/pkcs7-signature",
    "application/x-pkcs7-signature",
    "application/ms-tnef",
    "application/pgp-keys",
    "text/calendar",
    "text/vcard",
];

/// A mail, taken apart.
#[derive(Debug, Default)]
pub(super) struct Letter {
    /// Its id.
    pub(super) id: String,
    /// The ids of what it answers, the first of the thread first.
    pub(super) references: Vec<String>,
    /// Its subject, in one line.
    pub(super) subject: String,
    /// What was written.
    pub(super) words: Words,
    /// What came with it.
    pub(super) files: Vec<File>,
}

/// A file that came with a mail.
#[derive(Debug)]
pub(super) struct File {
    pub(super) name: String,
    pub(super) mime: String,
    pub(super) bytes: Vec<u8>,
}

impl Letter {
    /// Takes a mail apart. `stand_in` is its id where it has none.
    pub(super) fn read(mail: &[u8], head: &Head, stand_in: &str) -> Self {
        let id = head.ids("message-id").into_iter().next().unwrap_or_else(|| stand_in.to_owned());
        let mut references = head.ids("references");
        if references.is_empty() {
            references = head.ids("in-reply-to");
        }
        let Some(message) = MessageParser::default().parse(mail) else {
            return Self { id, references, ..Self::default() };
        };
        let is_reply = !references.is_empty();
        let text = match message.text_bodies().next().map(|part| &part.body) {
            Some(PartType::Text(text)) => text.to_string(),
            Some(PartType::Html(page)) if is_reply => html_to_text(body::without_repeated(page)),
            Some(PartType::Html(page)) => html_to_text(page),
            _ => String::new(),
        };
        let files = message.attachments().filter_map(file).collect();
        let subject = one_line(message.subject().unwrap_or_default());
        Self { id, references, subject, words: body::words(&text, is_reply), files }
    }

    /// The id of the first mail of its thread.
    pub(super) fn root(&self) -> &str {
        self.references.first().unwrap_or(&self.id)
    }

    /// What was said. The subject of a mail that begins a thread is a part of it, but no part of a command.
    pub(super) fn text(&self) -> String {
        let own = self.words.own.trim();
        let is_command = own.starts_with(['/', '!']);
        match (self.subject.as_str(), own) {
            (subject, "") if self.words.passed_on.is_none() => subject.to_owned(),
            ("", own) => own.to_owned(),
            (_, own) if is_command || !self.references.is_empty() => own.to_owned(),
            (subject, own) => format!("Subject: {subject}\n\n{own}").trim_end().to_owned(),
        }
    }
}

fn file(part: &MessagePart<'_>) -> Option<File> {
    let mime = match part.content_type() {
        Some(kind) => {
            format!("{}/{}", kind.ctype(), kind.subtype().unwrap_or("octet-stream")).to_ascii_lowercase()
        }
        None => "text/plain".to_owned(),
    };
    let bytes = part.contents();
    let is_decoration =
        mime.starts_with("image/") && part.content_id().is_some() && bytes.len() < LEAST_PICTURE;
    if is_decoration || NOT_FOR_PEOPLE.contains(&mime.as_str()) {
        return None;
    }
    let name = part.attachment_name().map(one_line).filter(|name| !name.is_empty());
    Some(File { name: name.unwrap_or_else(|| "attachment".to_owned()), mime, bytes: bytes.to_vec() })
}

/// A text as one line without anything that is not seen.
pub(super) fn one_line(text: &str) -> String {
    let blanked: String =
        text.chars().map(|c| if c.is_control() || c.is_whitespace() { ' ' } else { c }).collect();
    let words: Vec<&str> = blanked.split_whitespace().collect();
    words.join(" ").chars().take(LONGEST_SUBJECT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mail: &str) -> Letter {
        let mail = mail.replace('\n', "\r\n");
        Letter::read(mail.as_bytes(), &Head::read(mail.as_bytes()), "<stand@in>")
    }

    #[test]
    fn a_first_mail_has_its_subject_and_a_reply_has_not() {
        let first = read("Message-ID: <1@x>\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\n\nHi there\n-- \nAda\n");
        assert_eq!((first.text().as_str(), first.root()), ("Subject: Grüße\n\nHi there", "<1@x>"));
        let reply = read(
            "Message-ID: <3@x>\nReferences: <1@x> <2@x>\nSubject: Re: a\n\nYes\n\nOn 3 May 2026, B wrote:\n> old\n",
        );
        assert_eq!((reply.text().as_str(), reply.root()), ("Yes", "<1@x>"));
        let replied = read("In-Reply-To: <2@x>\nSubject: Re: a\n\nYes\n");
        assert_eq!((replied.id.as_str(), replied.root()), ("<stand@in>", "<2@x>"));
        assert_eq!(read("Subject: hi\n\n/new\n").text(), "/new");
        assert_eq!(read("Subject: /pair ABCD2345\n\n\n").text(), "/pair ABCD2345");
    }

    #[test]
    fn pages_are_read_as_text_and_files_are_taken_along() {
        let page = read(
            "In-Reply-To: <2@x>\nContent-Type: text/html; charset=utf-8\n\n<p>Yes &amp; no</p><div class=\"gmail_quote\">old</div>\n",
        );
        assert_eq!(page.text().trim(), "Yes & no");
        let parts = "Content-Type: multipart/mixed; boundary=b\nSubject: s\n\n--b\nContent-Type: text/plain\n\nlook\n--b\n\
            Content-Type: text/csv; name=\"a.csv\"\nContent-Disposition: attachment; filename=\"a.csv\"\nContent-Transfer-Encoding: base64\n\nMSwy\n--b\n\
            Content-Type: application/pgp-signature\nContent-Disposition: attachment; filename=\"s.asc\"\n\nx\n--b--\n";
        let mail = read(parts);
        assert_eq!(mail.text(), "Subject: s\n\nlook");
        assert_eq!(mail.files.len(), 1);
        assert_eq!((mail.files[0].name.as_str(), mail.files[0].mime.as_str()), ("a.csv", "text/csv"));
        assert_eq!(mail.files[0].bytes, b"1,2");
    }

    #[test]
    fn a_hostile_mail_is_read_as_far_as_it_goes() {
        for mail in [
            "",
            "\n\n",
            "Content-Type: multipart/mixed; boundary=b\n\n--b\n--b\n--b",
            "Subject: \x01\n\n\x00\u{fffd}",
        ] {
            let _ = read(mail);
        }
        let nested = "Content-Type: multipart/mixed; boundary=b\n\n--b\n".repeat(2000);
        let _ = read(&nested);
    }
}
