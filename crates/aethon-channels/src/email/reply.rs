//! Composes a mail: to the proven sender only, in its thread, with the same id at every attempt, and marked as
//! automatic so that no other program answers.

use std::error::Error;
use std::time::SystemTime;

use aethon_core::message::Attachment;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lettre::message::header::{ContentType, Header, HeaderName, HeaderValue};
use lettre::message::{Mailbox, MessageBuilder, MultiPart, SinglePart};
use lettre::{Address, Message};

use super::form;
use super::lines::one_line;
use super::thread::Thread;
use crate::talk::{Content, Fault};
use crate::text::Styled;

/// The longest subject derived from a text.
const MAX_SUBJECT: usize = 70;

/// The fields of a mail besides its content.
pub(super) struct Envelope<'a> {
    pub(super) from: &'a Mailbox,
    /// The recipient's address.
    pub(super) to: &'a str,
    /// Its id, with angle brackets.
    pub(super) id: &'a str,
    /// The thread it replies to.
    pub(super) thread: Option<&'a Thread>,
    /// Its date.
    pub(super) at: SystemTime,
}

/// Returns the mail, and its subject without `Re:`.
pub(super) fn write(envelope: &Envelope<'_>, content: Content<'_>) -> Result<(Message, String), Fault> {
    let subject = match (envelope.thread, content) {
        (Some(thread), _) if !thread.subject.is_empty() => one_line(&thread.subject),
        (_, Content::Text { text, .. }) => subject_of(&text.text),
        (_, Content::TextWithFiles { text: Some(text), .. }) => subject_of(&text.text),
        (_, Content::TextWithFiles { text: None, files }) => {
            files.first().map(|file| one_line(&file.name)).unwrap_or_default()
        }
        (_, Content::File(file)) => one_line(&file.name),
        (_, Content::Draft(_) | Content::Rich(_)) => return Err(Fault::no_such_form()),
    };
    let shown = if envelope.thread.is_some() { format!("Re: {subject}") } else { subject.clone() };
    let to: Address = envelope.to.parse().map_err(|_| unsent("the recipient is no address"))?;
    let mut builder = Message::builder()
        .from(envelope.from.clone())
        .to(Mailbox::new(None, to))
        .date(envelope.at)
        .subject(shown)
        .message_id(Some(envelope.id.to_owned()))
        .header(AutoSubmitted(if envelope.thread.is_some() { "auto-replied" } else { "auto-generated" }));
    if let Some(thread) = envelope.thread {
        builder = builder.in_reply_to(thread.last.clone()).references(thread.named().join(" "));
    }
    let message = match content {
        Content::Text { text, .. } => words(builder, text),
        Content::TextWithFiles { text: Some(text), files: [] } => words(builder, text),
        Content::TextWithFiles { text, files } => with_files(builder, text, files)?,
        Content::File(file) => with_files(builder, None, std::slice::from_ref(file))?,
        Content::Draft(_) | Content::Rich(_) => return Err(Fault::no_such_form()),
    };
    Ok((message.map_err(|error| unsent(&error.to_string()))?, subject))
}

type Built = Result<Message, lettre::error::Error>;

fn words(builder: MessageBuilder, text: &Styled) -> Built {
    builder.multipart(both_forms(text))
}

fn both_forms(text: &Styled) -> MultiPart {
    MultiPart::alternative_plain_html(form::plain(text), form::page(text))
}

/// Adds the text, or the names of the files, followed by the files.
fn with_files(builder: MessageBuilder, text: Option<&Styled>, files: &[Attachment]) -> Result<Built, Fault> {
    let mut mail = match text {
        Some(text) => MultiPart::mixed().multipart(both_forms(text)),
        None => {
            let names: Vec<String> = files.iter().map(|file| one_line(&file.name)).collect();
            MultiPart::mixed().singlepart(SinglePart::plain(names.join("\n")))
        }
    };
    for file in files {
        let bytes = STANDARD.decode(&file.data).map_err(|_| unsent("the file is not valid base64"))?;
        let kind = ContentType::parse(&file.mime);
        let kind = kind.or_else(|_| ContentType::parse("application/octet-stream"));
        let kind = kind.map_err(|_| unsent("the file has no kind"))?;
        mail = mail.singlepart(lettre::message::Attachment::new(one_line(&file.name)).body(bytes, kind));
    }
    Ok(builder.multipart(mail))
}

fn unsent(message: &str) -> Fault {
    Fault::Refused(format!("no mail can be made of it: {message}"))
}

/// Derives a subject from the beginning of a text's first line.
fn subject_of(text: &str) -> String {
    let line = text.lines().map(one_line).find(|line| !line.is_empty()).unwrap_or_default();
    if line.chars().count() <= MAX_SUBJECT {
        return if line.is_empty() { "A message".to_owned() } else { line };
    }
    let cut: String = line.chars().take(MAX_SUBJECT).collect();
    let end = cut.rfind(' ').unwrap_or(cut.len());
    format!("{} …", &cut[..end])
}

/// The `Auto-Submitted` field of RFC 3834, which tells other programs not to answer.
#[derive(Clone)]
struct AutoSubmitted(&'static str);

impl Header for AutoSubmitted {
    fn name() -> HeaderName {
        HeaderName::new_from_ascii_str("Auto-Submitted")
    }

    fn parse(_text: &str) -> Result<Self, Box<dyn Error + Send + Sync>> {
        Ok(Self("auto-generated"))
    }

    fn display(&self) -> HeaderValue {
        HeaderValue::new(Self::name(), self.0.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::styled;

    fn written(thread: Option<&Thread>, content: Content<'_>) -> String {
        let from: Mailbox = "Aethon <bot@home.example>".parse().unwrap();
        let envelope = Envelope {
            from: &from,
            to: "ada@x.example",
            id: "<k@home.example>",
            thread,
            at: SystemTime::UNIX_EPOCH,
        };
        String::from_utf8(write(&envelope, content).unwrap().0.formatted()).unwrap()
    }

    #[test]
    fn an_answer_stands_in_its_thread() {
        let thread = Thread {
            subject: "plan\r\nBcc: eve@y.example".into(),
            last: "<2@x>".into(),
            references: vec!["<1@x>".into()],
        };
        let mail = written(Some(&thread), Content::text(&styled("**Yes**")));
        for line in [
            "From: Aethon <bot@home.example>\r\n",
            "To: ada@x.example\r\n",
            "Message-ID: <k@home.example>\r\n",
            "In-Reply-To: <2@x>\r\n",
            "References: <1@x> <2@x>\r\n",
            "Auto-Submitted: auto-replied\r\n",
            "multipart/alternative",
            "*Yes*",
            "<strong>Yes",
        ] {
            assert!(mail.contains(line), "{line:?} in {mail}");
        }
        assert!(!mail.contains("\nBcc:"), "{mail}");
        assert_eq!(mail.matches("Re: ").count(), 1, "{mail}");
    }

    #[test]
    fn new_thread_takes_its_subject_from_the_first_line() {
        let mail = written(None, Content::text(&styled("Rain tomorrow\n\nTake a coat.")));
        assert!(mail.contains("Subject: Rain tomorrow\r\n") && mail.contains("auto-generated"), "{mail}");
        assert!(!mail.contains("In-Reply-To"), "{mail}");
        let file = Attachment::new("a.csv", "text/csv", "MSwy");
        let mail = written(None, Content::File(&file));
        assert!(mail.contains("filename=\"a.csv\"") && mail.contains("multipart/mixed"), "{mail}");
        let files = [file.clone(), Attachment { name: "b.csv".into(), ..file }];
        let text = styled("Two **lists**");
        let mail = written(None, Content::TextWithFiles { text: Some(&text), files: &files });
        for part in ["Subject: Two lists", "multipart/alternative", "Two *lists*", "\"a.csv\"", "\"b.csv\""] {
            assert!(mail.contains(part), "{part} in {mail}");
        }
    }
}
