//! What the owner has set for a channel, and what every channel is given.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::approval::PendingApprovals;
use aethon_core::audit::AuditLog;
use aethon_core::channel::{ChannelRecords, Courier};
use aethon_core::clock::Clock;
use aethon_core::live::Live;
use aethon_core::messenger::{GroupMode, Pairing, Strangers};
use aethon_core::person::Person;
use aethon_core::program::Programs;
use aethon_core::transcribe::Transcriber;

/// A sender who is somebody in the household.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// By the platform's own id, or the name there.
    pub sender: String,
    /// Who it is.
    pub person: Person,
    /// The conversation to which private messages go from this and other messengers; a chat is its own without one.
    pub conversation: Option<String>,
}

/// What the owner has set for a channel.
#[derive(Debug, Clone)]
pub struct Rules {
    /// The channel's name.
    pub channel: &'static str,
    /// Who may write, by the platform's own ids. Empty: nobody but those who were paired. It counts as it is at the moment.
    pub allowed: Live<Vec<String>>,
    /// Who the owners are: they alone are asked for approval, and their words are not marked. `None` for everybody who may write.
    pub owners: Option<Vec<String>>,
    /// Who is who among the senders; `None` without a household.
    pub people: Option<Vec<Member>>,
    /// Which messages of a group are answered.
    pub groups: GroupMode,
    /// How somebody comes to be heard.
    pub pairing: Pairing,
    /// What a stranger is told.
    pub strangers: Strangers,
    /// Whether a reply is shown while it is written.
    pub streams: bool,
    /// Who gets what names no recipient.
    pub home: Option<String>,
    /// The largest file that is taken, in bytes.
    pub max_file_bytes: u64,
    /// The age above which a message is not answered.
    pub stale_after: Duration,
    /// Whether the words of those who are no owners are marked as somebody else's.
    pub marks_others: bool,
}

/// What every channel is given by the program.
#[derive(Clone)]
pub struct Surroundings {
    /// What it remembers.
    pub records: Arc<dyn ChannelRecords>,
    /// Where it is noted who was let in.
    pub audit: Arc<dyn AuditLog>,
    /// Where questions are answered.
    pub desk: PendingApprovals,
    /// The way out for what it says itself.
    pub courier: Arc<dyn Courier>,
    /// What starts a program of the owner's, where one is named.
    pub programs: Arc<dyn Programs>,
    /// What writes down voice messages; without it they are not heard.
    pub transcriber: Option<Arc<dyn Transcriber>>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}
