//! Reads incoming mail: each mail is passed to the intake, then the position after it is stored, then the mail is
//! marked as seen.
//!
//! The position consists of the UIDVALIDITY and the last UID. The first start begins with mail that arrives from then
//! on. If UIDVALIDITY changes, unseen mail that is not too old is checked again; mail already processed is recognised
//! by its id. Mail of strangers, lists and programs stays in the mailbox, unseen.

use aethon_core::shutdown::Shutdown;
use std::time::Duration;

use aethon_core::error::Result;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio::time::sleep;

use super::head::Head;
use super::imap::{Failure, Imap};
use super::ledger::{self, Counted, Verdict};
use super::letter::Letter;
use super::options::UNPROVEN;
use super::platform::{Mail, REMEMBERED};
use super::thread::{self, Thread};
use crate::talk::{self, Arrival, Intake, ReceiveLoop, Receiver, RemoteFile, Sender, Stop};

/// How long to idle before polling the server. It may disconnect after 29 minutes, and devices in between (a home
/// router, say) often do so much sooner.
const LISTEN: Duration = Duration::from_secs(9 * 60);
/// The pause before polling again a server that reports messages but has none.
const BREATH: Duration = Duration::from_secs(1);
/// How much of a stranger's mail is read: enough for a code.
const MAX_OF_STRANGERS: usize = 64 << 10;
/// How much of an oversized mail is read.
const MAX_OF_LONG: usize = 512 << 10;
/// How far back mails are checked again. Their ids are remembered for one day longer.
const LOOK_BACK: SignedDuration = SignedDuration::from_hours(6 * 24);
/// How long a stranger's thread is remembered.
const STRANGERS_REMEMBERED: SignedDuration = SignedDuration::from_hours(1);
/// How long the owner is not told again that a thread or a sender is not answered.
const TOLD_FOR: SignedDuration = SignedDuration::from_hours(24);
/// Where the position is stored, and the time of the first start.
const PLACE: &str = "place";
const BEGUN: &str = "begun";

/// Receives from an open mailbox. After a failure, a new connection resumes at the stored position.
pub(super) struct Watch<'a> {
    mail: &'a Mail,
    session: Option<Session>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(mail: &'a Mail) -> Self {
        Self { mail, session: None }
    }
}

#[async_trait]
impl ReceiveLoop for Watch<'_> {
    async fn round(&mut self, intake: &Intake) -> std::result::Result<(), Stop> {
        if !self.mail.options.proves_senders() {
            return Err(Stop::Useless(UNPROVEN.to_owned()));
        }
        let mut session = match self.session.take() {
            Some(session) => session,
            None => Session::begin(self.mail, intake).await?,
        };
        session.round(self.mail, intake).await?;
        self.session = Some(session);
        Ok(())
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Login(message) => Self::Refused(message),
            Failure::Refused(message) => Self::again(message),
            Failure::Broken(message) => Self::Outage(message),
        }
    }
}

/// An open mailbox, and how far it was read.
struct Session {
    imap: Imap,
    validity: u32,
    last: u32,
}

impl Session {
    async fn begin(mail: &Mail, intake: &Intake) -> std::result::Result<Self, Stop> {
        let mut imap = Imap::open(&mail.options, &mail.credentials, mail.most).await?;
        let folder = imap.select(&mail.options.folder).await?;
        let stored = intake.records().get("email", PLACE).await?;
        let stored = stored.as_deref().and_then(|place| place.split_once(':'));
        let stored: Option<(u32, u32)> =
            stored.and_then(|(validity, last)| Some((validity.parse().ok()?, last.parse().ok()?)));
        let newest = match folder.next {
            Some(next) => next.saturating_sub(1),
            None => imap.above(0).await?.last().copied().unwrap_or(0),
        };
        let last = stored.filter(|(validity, _)| *validity == folder.validity).map(|(_, last)| last);
        let mut session = Self { imap, validity: folder.validity, last: last.unwrap_or(newest) };
        if stored.is_none() {
            // Mail from before the first start is none of our business, even if UIDVALIDITY changes later.
            let now = mail.now().as_second().to_string();
            intake.records().put("email", BEGUN, &now, None).await?;
        }
        if last.is_none() && stored.is_some() {
            session.look_again(mail, intake, newest).await?;
        }
        session.store(intake).await?;
        let account = mail.account();
        tracing::info!(channel = "email", account, "the channel runs");
        intake.health().runs(Some(&account));
        Ok(session)
    }

    /// Handles a changed UIDVALIDITY: recent unseen mail may not have been read.
    async fn look_again(
        &mut self,
        mail: &Mail,
        intake: &Intake,
        newest: u32,
    ) -> std::result::Result<(), Stop> {
        let stale = SignedDuration::try_from(mail.stale_after).unwrap_or(LOOK_BACK);
        let begun = intake.records().get("email", BEGUN).await?.and_then(|second| second.parse().ok());
        let begun = begun.and_then(|second| Timestamp::from_second(second).ok()).unwrap_or(Timestamp::MIN);
        let since = begun.max(mail.now() - stale.min(LOOK_BACK));
        tracing::info!(channel = "email", %since, "the mail server has renumbered its mail; unseen mail is examined again");
        let found = self.imap.unseen_since(&since.strftime("%-d-%b-%Y").to_string()).await?;
        for uid in found.into_iter().filter(|uid| *uid <= newest) {
            self.take(mail, intake, (uid, since)).await?;
        }
        Ok(())
    }

    /// Processes the mails that are there and waits for more.
    async fn round(&mut self, mail: &Mail, intake: &Intake) -> std::result::Result<(), Stop> {
        // Files of earlier mails can be read again from the mailbox, so they need not stay in memory.
        mail.files.let_go();
        let found = self.imap.above(self.last).await?;
        let is_empty = found.is_empty();
        for uid in found {
            self.take(mail, intake, (uid, Timestamp::MIN)).await?;
            self.last = uid;
            self.store(intake).await?;
        }
        intake.health().runs(None);
        if self.imap.has_news() {
            if is_empty {
                sleep(BREATH).await;
            }
            return Ok(());
        }
        if self.imap.can("IDLE") {
            self.imap.idle(LISTEN).await?;
        } else {
            sleep(mail.options.poll).await;
            self.imap.look().await?;
        }
        Ok(())
    }

    async fn store(&self, intake: &Intake) -> Result<()> {
        intake.records().put("email", PLACE, &format!("{}:{}", self.validity, self.last), None).await
    }

    /// Processes a mail, unless it arrived before this time.
    async fn take(
        &mut self,
        mail: &Mail,
        intake: &Intake,
        (uid, since): (u32, Timestamp),
    ) -> std::result::Result<(), Stop> {
        let Some(found) = self.imap.head(uid).await? else { return Ok(()) };
        let head = Head::read(found.bytes.as_deref().unwrap_or_default());
        let at = arrived(&found.arrived).unwrap_or_else(|| mail.now());
        if at < since {
            return Ok(());
        }
        let address = match mail.trust().sender(&head) {
            Ok(address) => address,
            Err(why) => {
                tracing::debug!(channel = "email", uid, ?why, "a mail was not heard");
                return Ok(());
            }
        };
        let sender = Sender { id: address, name: None, group: None };
        let is_known = intake.may_write(&sender).await?;
        let most = if is_known { mail.most } else { MAX_OF_STRANGERS };
        let size = usize::try_from(found.size).unwrap_or(usize::MAX);
        let cut = (size > most).then_some(if is_known { MAX_OF_LONG } else { MAX_OF_STRANGERS });
        let Some(whole) = self.imap.whole(uid, cut).await? else { return Ok(()) };
        let stand_in = format!("<{}.{uid}@mailbox>", self.validity);
        let mut letter = Letter::read(whole.bytes.as_deref().unwrap_or_default(), &head, &stand_in);
        if cut.is_some() {
            letter.files.clear();
        }
        let received = Received { sender, letter: &letter, at, is_known };
        let arrival = self.arrival(mail, intake, received).await?;
        if is_known && !is_answered(mail, intake, &arrival, &letter).await? {
            return Ok(());
        }
        let files = match cut {
            None => mail.files.offer((self.validity, uid), std::mem::take(&mut letter.files)),
            Some(_) => vec![too_long(found.size)],
        };
        intake.arrive(Arrival { files, ..arrival }).await?;
        if is_known {
            match self.imap.mark_seen(uid).await {
                // The folder is read-only.
                Err(Failure::Refused(message)) => {
                    tracing::debug!(channel = "email", message, "a mail could not be marked as seen");
                }
                other => other?,
            }
        }
        Ok(())
    }

    /// Converts a letter to an arrival and remembers its thread.
    async fn arrival(
        &self,
        mail: &Mail,
        intake: &Intake,
        Received { sender, letter, at, is_known }: Received<'_>,
    ) -> Result<Arrival> {
        let mut chat = thread::chat(&sender.id, letter.root());
        // Some programs name only the mail that they answer, which may be ours.
        if let [answered] = letter.references.as_slice()
            && let Some(known) = thread::of_sent(intake.records(), &sender.id, answered).await?
        {
            chat = known;
        }
        let thread = Thread {
            subject: thread::bare_subject(&letter.subject).to_owned(),
            last: letter.id.clone(),
            references: letter.references.clone(),
        };
        let until = mail.now() + if is_known { REMEMBERED } else { STRANGERS_REMEMBERED };
        thread.store(intake.records(), &chat, until).await?;
        let (own, passed_on) = (letter.text(), letter.passed_on());
        let is_forwarded = passed_on.is_some() && own.is_empty();
        let text = passed_on.clone().filter(|_| is_forwarded).unwrap_or(own);
        Ok(Arrival {
            text: text.trim().to_owned(),
            quoted: passed_on.filter(|_| !is_forwarded),
            is_forwarded,
            ..Arrival::new(format!("{} {} {}", sender.id, letter.id, letter.digest()), chat, sender, at)
        })
    }
}

/// A letter that was read.
struct Received<'l> {
    sender: Sender,
    letter: &'l Letter,
    at: Timestamp,
    /// Whether the sender may write to us.
    is_known: bool,
}

/// Returns whether a mail is to be answered, and tells the owner once if a bound is reached.
async fn is_answered(mail: &Mail, intake: &Intake, arrival: &Arrival, letter: &Letter) -> Result<bool> {
    let (sender, records) = (&arrival.sender.id, intake.records());
    let counted = Counted { chat: &arrival.chat, id: &arrival.id, letter };
    let Verdict::End { why, of } = ledger::judge(records, sender, &counted, mail.now()).await? else {
        return Ok(true);
    };
    tracing::debug!(channel = "email", sender, why, "a mail is not answered");
    let until = Some(mail.now() + TOLD_FOR);
    if records.claim("email", &format!("ended:{of}"), "", until).await? {
        tracing::warn!(
            channel = "email",
            sender,
            why,
            "mails are not answered for now, as if a program sent them"
        );
        let subject = thread::bare_subject(&letter.subject);
        let text = format!(
            "I do not answer a mail of {sender} (\"{subject}\"), because of {why}: as programs do that answer each other. \
             It stays unread in the mailbox. I answer again after an hour, or in a new thread."
        );
        let is_other = mail.home.as_deref().is_some_and(|home| thread::address(home) != Some(sender));
        if !intake.tell_owner(&text, is_other).await? {
            tracing::warn!(channel = "email", sender, "no channel has a default recipient to tell the owner");
        }
    }
    Ok(false)
}

/// Stands for the files of an oversized mail, none of which were read.
fn too_long(size: u32) -> RemoteFile {
    RemoteFile {
        handle: String::new(),
        name: "what is attached".into(),
        mime: "application/octet-stream".into(),
        size: u64::from(size),
        seconds: None,
        is_quoted: false,
        is_earlier: false,
    }
}

/// Parses IMAP's date format: ` 7-Jul-2026 02:44:25 -0700`.
fn arrived(text: &str) -> Option<Timestamp> {
    let parsed = jiff::fmt::strtime::parse("%d-%b-%Y %H:%M:%S %z", text.trim()).ok()?;
    parsed.to_timestamp().ok()
}

#[async_trait]
impl Receiver for Mail {
    async fn receive(&self, intake: &Intake, shutdown: Shutdown) -> aethon_core::error::Result<()> {
        talk::receive(&mut Watch::new(self), intake, shutdown).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_arrival_are_read() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(arrived(text).map(|at| at.to_string()).as_deref(), expected, "{text:?}");
        };
        check("17-Jul-2026 02:44:25 -0700", Some("2026-07-17T09:44:25Z"));
        check(" 7-Jul-2026 02:44:25 +0000", Some("2026-07-07T02:44:25Z"));
        check("yesterday", None);
    }
}
