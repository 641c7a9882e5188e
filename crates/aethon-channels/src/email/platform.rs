//! Mail as a platform: sending in threads, and fetching attachments.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aethon_core::channel::ChannelRecords;
use aethon_core::clock::Clock;
use aethon_core::error::Result;
use async_trait::async_trait;
use jiff::SignedDuration;
use lettre::message::Mailbox;

use super::Options;
use super::address;
use super::files::{FilePlace, Files};
use super::head::Head;
use super::imap::{Failure, Imap};
use super::letter::Letter;
use super::notes;
use super::options::{Account, UNPROVEN};
use super::proof::Trust;
use super::reply::{self, Envelope};
use super::smtp::Smtp;
use super::thread::{self, Thread};
use crate::options::{ChannelServices, Rules};
use crate::talk::{Check, Content, Dialect, Fault, Identity, Messenger, Platform, Reactions, RemoteFile};
use crate::text::{Fit, Measure, Styled};

/// Creates the channel.
pub fn channel(options: Options, rules: Rules, services: ChannelServices) -> Messenger {
    let mail = Mail::new(options, &rules, &services);
    Messenger::new(Arc::new(mail), |recipient| thread::address(recipient).is_some(), rules, services)
}

/// Returns whether this is a complete address, as configured for senders of mail.
pub fn is_address(address: &str) -> bool {
    address::is_address(&address::canonical(address))
}

/// The longest mail in bytes. Only the reader's patience limits it.
const MAX_TEXT: usize = 1 << 20;
/// How many bytes of files, in base64, are attached to one mail. Many servers allow 25 MB.
const MAX_ATTACHED: usize = 18 << 20;
/// The minimum interval between mails to a person.
const PACE: Duration = Duration::from_secs(1);
/// How long threads are remembered.
pub(super) const REMEMBERED: SignedDuration = SignedDuration::from_hours(365 * 24);

pub(super) struct Mail {
    pub(super) options: Options,
    pub(super) credentials: Account,
    /// Our own addresses.
    own: Vec<String>,
    /// The recipient of deliveries that name none.
    pub(super) home: Option<String>,
    /// The longest mail that is read completely, in bytes.
    pub(super) most: usize,
    /// Mails found again after a UIDVALIDITY change are ignored if they are older than this.
    pub(super) stale_after: Duration,
    smtp: Smtp,
    records: Arc<dyn ChannelRecords>,
    clock: Arc<dyn Clock>,
    /// The attachments of recently read mails.
    pub(super) files: Files,
}

impl Mail {
    fn new(mut options: Options, rules: &Rules, services: &ChannelServices) -> Self {
        let mut own = vec![options.address(), address::canonical(&options.username)];
        own.retain(|own| address::is_address(own));
        // Attachments grow by a third in transfer encoding.
        let most = usize::try_from(rules.max_file_bytes.saturating_mul(2))
            .unwrap_or(usize::MAX)
            .saturating_add(1 << 20);
        let credentials = Account::of(&mut options);
        Self {
            smtp: Smtp::new(&options, &credentials),
            credentials,
            options,
            own,
            home: rules.home.clone(),
            most,
            stale_after: rules.stale_after,
            records: services.records.clone(),
            clock: services.clock.clone(),
            files: Files::new(most),
        }
    }

    /// Returns the rules by which senders are believed.
    pub(super) fn trust(&self) -> Trust<'_> {
        Trust { authserv_id: &self.options.authserv_id, takes_from: self.options.trust_from, own: &self.own }
    }

    /// Returns the address of replies.
    pub(super) fn account(&self) -> String {
        self.options.address()
    }

    pub(super) fn now(&self) -> jiff::Timestamp {
        self.clock.now()
    }

    /// Reads a file again, over a separate connection, because the receiving one waits for mail.
    async fn read_again(&self, place: FilePlace) -> std::result::Result<Option<Vec<u8>>, Fault> {
        let later = |failure: Failure| Fault::later(failure.message());
        let mut imap = Imap::open(&self.options, &self.credentials, self.most).await.map_err(later)?;
        let folder = imap.examine(&self.options.folder).await.map_err(later)?;
        if folder.validity != place.validity {
            return Ok(None);
        }
        let found = imap.whole(place.uid, None).await.map_err(later)?;
        let mail = found.and_then(|found| found.bytes).unwrap_or_default();
        let letter = Letter::read(&mail, &Head::read(&mail), "");
        Ok(letter.files.into_iter().nth(place.number).map(|file| file.bytes))
    }

    /// Remembers which thread a mail of ours belongs to, for programs that name only that mail in their answer.
    async fn remember_sent(&self, chat: &str, id: &str) {
        let until = self.clock.now() + REMEMBERED;
        if let Err(error) = thread::remember_sent(&*self.records, chat, id, until).await {
            tracing::warn!(channel = "email", %error, "the thread of a mail could not be remembered");
        }
    }

    fn from(&self) -> std::result::Result<Mailbox, Fault> {
        let options = &self.options;
        let from = if options.from.trim().is_empty() { &options.username } else { &options.from };
        from.trim().parse().map_err(|_| {
            Fault::Refused("replies have no sender; set channels.email.from to the account's address".into())
        })
    }
}

/// Writes a mail, with a note below its text.
fn write_with_note(
    envelope: &Envelope<'_>,
    content: Content<'_>,
    note: Option<&str>,
) -> std::result::Result<(lettre::Message, String), Fault> {
    let Some(note) = note else { return reply::write(envelope, content) };
    match content {
        Content::Text { text, buttons } => {
            reply::write(envelope, Content::Text { text: &notes::with_note(text, note), buttons })
        }
        Content::TextWithFiles { text, files } => {
            let text = notes::with_note(text.unwrap_or(&Styled::default()), note);
            reply::write(envelope, Content::TextWithFiles { text: Some(&text), files })
        }
        Content::File(file) => {
            let text = notes::with_note(&Styled::default(), note);
            let files = std::slice::from_ref(file);
            reply::write(envelope, Content::TextWithFiles { text: Some(&text), files })
        }
        other => reply::write(envelope, other),
    }
}

/// Mail has no reactions.
impl Reactions for Mail {}

#[async_trait]
impl Platform for Mail {
    fn dialect(&self) -> Dialect {
        let fit = Fit { measure: Measure::Bytes, length: MAX_TEXT, spans: 20_000 };
        Dialect {
            sends_once: true,
            edits: false,
            buttons: false,
            is_attended: false,
            attaches: Some(MAX_ATTACHED),
            passes_files_on: true,
            splits_at: None,
            ..Dialect::chat(fit, |_| PACE)
        }
    }

    async fn post(&self, chat: &str, content: Content<'_>, key: &str) -> std::result::Result<String, Fault> {
        let to = thread::address(chat).ok_or_else(|| Fault::Refused("this is no address".into()))?;
        let from = self.from()?;
        let unstored = |error: aethon_core::error::Error| Fault::later(error.to_string());
        let thread = Thread::load(&*self.records, chat).await.map_err(unstored)?;
        // The same id at every attempt, so that recipients can recognise duplicates.
        let key: String = key.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        let id = format!("<{key}@{}>", from.email.domain());
        let at = SystemTime::from(self.clock.now());
        let envelope = Envelope { from: &from, to, id: &id, thread: thread.as_ref(), at };
        let note = notes::waiting(&*self.records, chat).await.map_err(unstored)?;
        let (message, subject) = write_with_note(&envelope, content, note.as_deref())?;
        self.smtp.send(message).await?;
        if note.is_some()
            && let Err(error) = notes::mentioned(&*self.records, chat).await
        {
            tracing::warn!(channel = "email", %error, "a note that was sent could not be removed");
        }
        self.remember_sent(chat, &id).await;
        if thread.is_none() {
            // Replies to this mail continue its thread.
            let begun = Thread { subject, last: id.clone(), references: Vec::new() };
            let until = self.clock.now() + REMEMBERED;
            let stored = begun.store(&*self.records, &thread::chat(to, &id), until).await;
            if let Err(error) = stored {
                tracing::warn!(channel = "email", %error, "a thread could not be remembered");
            }
        }
        Ok(id)
    }

    async fn mention(&self, chat: &str, note: &str) -> Result<bool> {
        notes::add(&*self.records, chat, note, self.clock.now()).await?;
        Ok(true)
    }

    async fn edit(&self, _: &str, _: &str, _: Content<'_>) -> std::result::Result<(), Fault> {
        Err(Fault::Gone("a mail cannot be changed".into()))
    }

    async fn typing(&self, _chat: &str) -> std::result::Result<(), Fault> {
        Ok(())
    }

    async fn fetch(&self, file: &RemoteFile) -> std::result::Result<Vec<u8>, Fault> {
        let gone = || Fault::Refused("the mail that it came with is not in its folder any more".into());
        let place = FilePlace::parse(&file.handle).ok_or_else(gone)?;
        match self.files.take(place) {
            Some(bytes) => Ok(bytes),
            None => self.read_again(place).await?.ok_or_else(gone),
        }
    }
}

#[async_trait]
impl Identity for Mail {
    async fn identify(&self) -> std::result::Result<(), Fault> {
        self.smtp.look().await
    }

    async fn inspect(&self) -> Vec<Check> {
        let imap = async {
            let mut imap = Imap::open(&self.options, &self.credentials, self.most).await?;
            imap.examine(&self.options.folder).await?;
            Ok::<_, Failure>(imap.can("IDLE"))
        };
        let imap = match imap.await {
            Ok(true) => {
                Check::new("imap", true, format!("{}; it tells of new mail by itself", self.options.folder))
            }
            Ok(false) => Check::new(
                "imap",
                true,
                format!("{}; looked at every {} seconds", self.options.folder, self.options.poll.as_secs()),
            ),
            Err(failure) => Check::new("imap", false, failure.message()),
        };
        let smtp = match (self.from(), self.smtp.look().await) {
            (Ok(from), Ok(())) => Check::new("smtp", true, format!("sends as {}", from.email)),
            (Err(fault), _) | (_, Err(fault)) => Check::new("smtp", false, fault.message()),
        };
        let proof = match (self.options.proves_senders(), self.options.trust_from) {
            (false, _) => Check::new("senders", false, UNPROVEN),
            (true, true) => Check::new(
                "senders",
                true,
                "channels.email.trust_from is on: anyone who writes an allowed address into a mail is accepted as that person",
            ),
            (true, false) => {
                Check::new("senders", true, format!("proven by {}", self.options.authserv_id.trim()))
            }
        };
        vec![imap, smtp, proof]
    }
}
