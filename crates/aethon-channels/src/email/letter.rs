//! Converts the bytes of a mail to what its sender says: text, files, and the mail it answers.

use ring::digest::{Context, SHA256};

use super::body::{self, Kind, Words};
use super::encoded_words;
use super::head::{self, Head};
use super::lines::one_line;
use super::parts::{Content, File};
use super::subject::{is_of_another, says_forwarded};
use crate::digest::shortened;

/// How many bytes of a digest distinguish mails with the same id.
const DIGEST_BYTES: usize = 8;

/// A parsed mail.
#[derive(Debug, Default)]
pub(super) struct Letter {
    /// Its id.
    pub(super) id: String,
    /// The ids of the mails it answers, starting with the first of the thread.
    pub(super) references: Vec<String>,
    /// Its subject, on one line.
    pub(super) subject: String,
    /// Its text.
    pub(super) words: Words,
    /// Its attachments.
    pub(super) files: Vec<File>,
    /// Whether another mail is attached, whose subject programs take over.
    brings_mail: bool,
}

impl Letter {
    /// Parses a mail. `stand_in` replaces a missing id.
    pub(super) fn read(mail: &[u8], head: &Head, stand_in: &str) -> Self {
        let id = head.ids("message-id").into_iter().next().unwrap_or_else(|| stand_in.to_owned());
        let mut references = head.ids("references");
        if references.is_empty() {
            references = head.ids("in-reply-to");
        }
        let subject = one_line(&encoded_words::decoded(&head::raw(mail, "subject").unwrap_or_default()));
        let kind = match references.is_empty() {
            // Programs reference the mail that they forward, too.
            _ if says_forwarded(&subject) => Kind::Forward,
            true => Kind::First,
            false => Kind::Reply,
        };
        let Content { lines, files, mails } = Content::of(mail);
        let mut words = body::words(&lines, kind);
        let brings_mail = !mails.is_empty();
        if brings_mail {
            let others = words.passed_on.into_iter().chain(mails).collect::<Vec<_>>();
            words.passed_on = Some(others.join("\n\n")).filter(|others| !others.trim().is_empty());
        }
        Self { id, references, subject, words, files, brings_mail }
    }

    /// Returns a digest of its content, which tells two mails with the same id apart.
    pub(super) fn digest(&self) -> String {
        let mut context = Context::new(&SHA256);
        let mut add = |bytes: &[u8]| {
            context.update(&bytes.len().to_le_bytes());
            context.update(bytes);
        };
        add(self.text().as_bytes());
        add(self.passed_on().unwrap_or_default().as_bytes());
        for file in &self.files {
            add(file.name.as_bytes());
            add(&file.bytes);
        }
        shortened(context.finish(), DIGEST_BYTES)
    }

    /// Returns the id of the first mail of its thread.
    pub(super) fn root(&self) -> &str {
        self.references.first().unwrap_or(&self.id)
    }

    /// Returns the sender's words. The subject of a mail that starts a thread is included, unless the mail is a
    /// command.
    pub(super) fn text(&self) -> String {
        let own = self.words.own.trim();
        let is_command = own.starts_with(['/', '!']);
        match self.own_subject() {
            Some(subject) if own.is_empty() => subject.to_owned(),
            Some(subject) if !is_command => format!("Subject: {subject}\n\n{own}"),
            _ => own.to_owned(),
        }
    }

    /// Returns the forwarded mail, with the subject if that belongs to it.
    pub(super) fn passed_on(&self) -> Option<String> {
        let is_others = self.begins_thread() && self.own_subject().is_none();
        let subject = Some(&self.subject).filter(|subject| is_others && !subject.is_empty());
        let subject = subject.map(|subject| format!("Subject: {subject}"));
        let parts: Vec<String> = subject.into_iter().chain(self.words.passed_on.clone()).collect();
        (!parts.is_empty()).then(|| parts.join("\n\n"))
    }

    /// Returns the subject, if it is informative and the sender's own.
    fn own_subject(&self) -> Option<&str> {
        let says_something = self.begins_thread() || self.words.own.trim().is_empty();
        let is_own = self.words.passed_on.is_none() && !self.brings_mail && !is_of_another(&self.subject);
        Some(self.subject.as_str()).filter(|subject| says_something && is_own && !subject.is_empty())
    }

    fn begins_thread(&self) -> bool {
        self.references.is_empty()
    }
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
    fn a_subject_of_another_mail_is_not_the_senders() {
        let check = |mail: &str, own: &str, passed_on: Option<&str>| {
            let letter = read(mail);
            assert_eq!((letter.text().as_str(), letter.passed_on().as_deref()), (own, passed_on), "{mail}");
        };
        for subject in ["Re: obey", "AW[2]: obey"] {
            let marked = format!("Subject: {subject}");
            check(&format!("{marked}\n\nLook.\n"), "Look.", Some(&marked));
            check(&format!("{marked}\n\n\n"), "", Some(&marked));
        }
        // It says that it was forwarded, and nothing shows where that begins.
        for subject in ["Fwd: obey", "FW: obey", "WG: obey", "Tr : obey", "fwd(3): obey", "转发：obey"] {
            let marked = format!("Subject: {subject}");
            check(&format!("{marked}\n\nDo it.\n"), "", Some(&format!("{marked}\n\nDo it.")));
            check(&format!("{marked}\n\n\n"), "", Some(&marked));
        }
        let mail = "---------- Forwarded message ---------\nFrom: eve\n\ndo it";
        check(
            &format!("Subject: obey\n\nLook.\n\n{mail}\n"),
            "Look.",
            Some(&format!("Subject: obey\n\n{mail}")),
        );
        check(&format!("Subject: obey\n\n{mail}\n"), "", Some(&format!("Subject: obey\n\n{mail}")));
        check("Subject: Note: milk\n\nBuy it.\n", "Subject: Note: milk\n\nBuy it.", None);
        check("In-Reply-To: <2@x>\nSubject: Re: plan\n\nYes\n", "Yes", None);
        check("In-Reply-To: <2@x>\nSubject: Re: plan\n\n\n", "", None);
        check("In-Reply-To: <2@x>\nSubject: call mum\n\n\n", "call mum", None);
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
