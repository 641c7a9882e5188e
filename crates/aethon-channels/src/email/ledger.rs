//! Bounds how often one sender is answered, because two programs that answer each other never stop by themselves (RFC 3834,
//! section 2), and not every one of them says that it is a program.
//!
//! Answers are stored, so that a restart does not reset the count. A mail that arrives a second time, such as
//! after a crash, is not counted again.

use aethon_core::channel::ChannelRecords;
use aethon_core::error::Result;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::letter::Letter;
use super::thread::bare_subject;
use crate::digest::digest_of;

/// How many mails of a thread are answered in an hour.
const MAX_OF_THREAD: usize = 5;
/// How many mails of a sender are answered in an hour, whatever their threads.
const MAX_OF_SENDER: usize = 240;
/// How often the same text is answered in an hour, whatever its thread.
const MAX_OF_TEXT: usize = 4;
/// How long a mail counts.
const HOUR: SignedDuration = SignedDuration::from_hours(1);
/// How long the last mail of a thread is compared with the next one.
const DAY: SignedDuration = SignedDuration::from_hours(24);
/// A text is short with fewer characters and fewer words: people say `yes` twice.
const SHORT: (usize, usize) = (10, 3);
/// The shortest subject by which an answer without references is assigned to a thread, in characters.
const MIN_SUBJECT: usize = 2;

/// A mail to be counted.
pub(super) struct Counted<'l> {
    /// The chat of its thread.
    pub(super) chat: &'l str,
    /// The id of its arrival.
    pub(super) id: &'l str,
    pub(super) letter: &'l Letter,
}

/// Whether a mail is to be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is.
    Answer,
    /// It is not, for this reason, which concerns this thread or sender.
    End { why: &'static str, of: String },
}

/// The answered mails of a sender, oldest first.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Ledger {
    mails: Vec<Answered>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Answered {
    /// When, in seconds.
    at: i64,
    /// The chat of the thread that it counts to.
    thread: String,
    /// A digest of the id.
    id: String,
    /// A digest of the text.
    text: String,
    /// The subject, without marks of a reply.
    subject: String,
}

/// Decides whether a mail is to be answered, and counts it if so.
pub(super) async fn judge(
    records: &dyn ChannelRecords,
    sender: &str,
    mail: &Counted<'_>,
    now: Timestamp,
) -> Result<Verdict> {
    let name = format!("answered:{sender}");
    let stored = records.get("email", &name).await?;
    let mut ledger: Ledger = stored.and_then(|stored| serde_json::from_str(&stored).ok()).unwrap_or_default();
    let verdict = ledger.judge(sender, mail, now);
    if verdict == Verdict::Answer {
        let text = serde_json::to_string(&ledger).unwrap_or_default();
        records.put("email", &name, &text, Some(now + DAY)).await?;
    }
    Ok(verdict)
}

impl Ledger {
    fn judge(&mut self, sender: &str, mail: &Counted<'_>, now: Timestamp) -> Verdict {
        let age = |at: i64| now.as_second().saturating_sub(at);
        self.mails.retain(|answered| age(answered.at) < DAY.as_secs());
        let id = short_digest(mail.id);
        if self.mails.iter().any(|answered| answered.id == id) {
            return Verdict::Answer;
        }
        let said = normalised(mail.letter);
        // Other files are another mail, whatever their names.
        let files = mail.letter.files.iter().map(|file| short_digest(&file.bytes));
        let text = short_digest(files.fold(said.clone(), |said, file| format!("{said} {file}")));
        let subject = bare_subject(&mail.letter.subject).to_lowercase();
        let thread = self.thread(mail, now).unwrap_or_else(|| mail.chat.to_owned());
        let is_recent = |answered: &&Answered| age(answered.at) < HOUR.as_secs();
        let recent: Vec<&Answered> = self.mails.iter().filter(is_recent).collect();
        let last = self.mails.iter().rev().find(|answered| answered.thread == thread);
        let in_thread = recent.iter().filter(|answered| answered.thread == thread);
        let equal = |answered: &&&Answered| answered.text == text;
        let repeated = in_thread
            .clone()
            .filter(equal)
            .count()
            .max(usize::from(last.is_some_and(|last| last.text == text)));
        let is_short = said.chars().count() < SHORT.0 && said.split_whitespace().count() < SHORT.1;
        // A request to stop is always served.
        let is_stop = said.starts_with("/stop");
        let end = |why, of: &str| Verdict::End { why, of: of.to_owned() };
        let verdict = match () {
            () if is_stop => Verdict::Answer,
            () if in_thread.count() >= MAX_OF_THREAD => end("five mails of a thread within an hour", &thread),
            () if repeated > usize::from(is_short) => end("the same text again", &thread),
            () if recent.iter().filter(equal).count() >= MAX_OF_TEXT && !is_short => {
                end("the same text again and again", sender)
            }
            () if recent.len() >= MAX_OF_SENDER => end("very many mails within an hour", sender),
            () => Verdict::Answer,
        };
        if verdict == Verdict::Answer {
            self.mails.push(Answered { at: now.as_second(), thread, id, text, subject });
            let surplus = self.mails.len().saturating_sub(2 * MAX_OF_SENDER);
            self.mails.drain(..surplus);
        }
        verdict
    }

    /// Returns the thread that a mail without references answers by its subject: `Out of office: plan`, `Re: plan`.
    fn thread(&self, mail: &Counted<'_>, now: Timestamp) -> Option<String> {
        if !mail.letter.references.is_empty() {
            return None;
        }
        let subject = mail.letter.subject.to_lowercase();
        let is_answered = |answered: &&Answered| {
            now.as_second().saturating_sub(answered.at) < HOUR.as_secs()
                && answered.subject.chars().count() >= MIN_SUBJECT
                && subject != answered.subject
                && subject.ends_with(answered.subject.as_str())
                && subject[..subject.len() - answered.subject.len()].trim_end().ends_with([':', '：', ']'])
        };
        self.mails.iter().rev().find(is_answered).map(|answered| answered.thread.clone())
    }
}

/// Returns the text of a mail, with normalised blanks.
fn normalised(letter: &Letter) -> String {
    let own = letter.words.own.trim();
    let said =
        if own.is_empty() { letter.words.passed_on.as_deref().unwrap_or(&letter.subject) } else { own };
    let mut said: Vec<&str> = said.split_whitespace().collect();
    let files: Vec<&str> = letter.files.iter().map(|file| file.name.as_str()).collect();
    said.extend(files);
    said.join(" ")
}

fn short_digest(content: impl AsRef<[u8]>) -> String {
    digest_of(content, 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::email::head::Head;
    use crate::email::parts::File;

    const START: i64 = 1_800_000_000;

    fn letter(subject: &str, text: &str, reference: Option<&str>) -> Letter {
        let reference = reference.map(|id| format!("References: <{id}@x>\r\n")).unwrap_or_default();
        let mail = format!("{reference}Subject: {subject}\r\n\r\n{text}\r\n");
        Letter::read(mail.as_bytes(), &Head::read(mail.as_bytes()), "<id@x>")
    }

    struct Bench {
        ledger: Ledger,
        now: i64,
        count: usize,
    }

    impl Bench {
        fn new() -> Self {
            Self { ledger: Ledger::default(), now: START, count: 0 }
        }

        /// Returns whether a mail is answered.
        fn answers(&mut self, chat: &str, letter: &Letter) -> bool {
            self.count += 1;
            let id = format!("mail {}", self.count);
            let counted = Counted { chat, id: &id, letter };
            let now = Timestamp::from_second(self.now).unwrap();
            self.ledger.judge("ada@x.example", &counted, now) == Verdict::Answer
        }
    }

    #[test]
    fn thread_is_answered_five_times_an_hour() {
        let mut bench = Bench::new();
        let of = |number: usize| letter("Re: plan", &format!("This is round {number}."), Some("1"));
        let answered = (0..15).filter(|number| bench.answers("a", &of(*number))).count();
        assert_eq!(answered, 5);
        assert!(bench.answers("b", &letter("Re: other", "Another thread.", Some("2"))));
        assert!(bench.answers("a", &letter("Re: plan", "/stop", Some("1"))), "work can always be stopped");
        bench.now += 3601;
        assert!(bench.answers("a", &of(20)), "an hour later");
    }

    #[test]
    fn same_text_twice_ends_a_thread() {
        let mut bench = Bench::new();
        let away = letter("Re: plan", "I am away until Monday.", Some("1"));
        assert!(bench.answers("a", &away) && !bench.answers("a", &away) && !bench.answers("a", &away));
        bench.now += 7200;
        assert!(!bench.answers("a", &away), "it was the last one of the thread");
        assert!(bench.answers("a", &letter("Re: plan", "Now something else.", Some("1"))));
        let mut bench = Bench::new();
        let yes = letter("Re: plan", "Yes", Some("1"));
        assert_eq!((0..4).filter(|_| bench.answers("a", &yes)).count(), 2, "people say yes twice");
    }

    #[test]
    fn same_words_with_other_files_are_another_mail() {
        let mut bench = Bench::new();
        let with = |bytes: &str| {
            let mut letter = letter("Re: plan", "Here is the scan of today.", Some("1"));
            letter.files.push(File {
                name: "scan.pdf".into(),
                mime: "application/pdf".into(),
                bytes: bytes.into(),
                is_quoted: false,
            });
            letter
        };
        assert!(bench.answers("a", &with("one")) && bench.answers("a", &with("two")));
        assert!(!bench.answers("a", &with("two")));
    }

    #[test]
    fn autoresponder_without_references_is_counted_by_its_subject_and_text() {
        let mut bench = Bench::new();
        assert!(bench.answers("a", &letter("plan", "Hello there, everybody.", None)));
        let mut subject = "plan".to_owned();
        let mut answered = 1;
        for number in 0..10 {
            subject = format!("Ticket {number}: Re: {subject}");
            answered += usize::from(bench.answers(
                &format!("c{number}"),
                &letter(&subject, &format!("Number {number} is open."), None),
            ));
        }
        assert_eq!(answered, 5);
        let mut bench = Bench::new();
        let away = letter("Automatic reply", "I am away until Monday.", None);
        assert_eq!((0..10).filter(|number| bench.answers(&format!("d{number}"), &away)).count(), 4);
    }

    #[test]
    fn many_threads_of_a_person_are_answered() {
        let mut bench = Bench::new();
        let answered = (0..133).filter(|number| {
            bench.answers(
                &format!("c{number}"),
                &letter(&format!("s{number}"), &format!("text number {number}"), None),
            )
        });
        assert_eq!(answered.count(), 133);
    }

    #[test]
    fn mail_that_arrives_again_is_not_counted_again() {
        let mut bench = Bench::new();
        let mail = letter("plan", "A question, please.", None);
        for _ in 0..10 {
            let counted = Counted { chat: "a", id: "one", letter: &mail };
            let now = Timestamp::from_second(START).unwrap();
            assert_eq!(bench.ledger.judge("ada@x.example", &counted, now), Verdict::Answer);
        }
        assert_eq!(bench.ledger.mails.len(), 1);
    }
}
