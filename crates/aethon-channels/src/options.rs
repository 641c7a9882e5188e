//! The owner's settings for a channel, and the services that every channel gets from the program.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::approval::PendingApprovals;
use aethon_core::audit::AuditLog;
use aethon_core::channel::{ChannelRecords, Courier};
use aethon_core::clock::Clock;
use aethon_core::live::Live;
use aethon_core::messenger::{GroupMode, Pairing, UnknownSenderPolicy};
use aethon_core::person::Person;
use aethon_core::program::Programs;
use aethon_core::transcribe::Transcriber;

/// A sender who belongs to the household.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The platform's own id or name.
    pub sender: String,
    /// The person it is.
    pub person: Person,
    /// The conversation for private messages from all of this person's messengers. If `None`, each chat is its own
    /// conversation.
    pub conversation: Option<String>,
}

/// The owner's settings for a channel.
#[derive(Debug, Clone)]
pub struct Rules {
    /// The channel's name.
    pub channel: &'static str,
    /// Who may write, by the platform's own ids. If empty, only people who were paired. Updated on reload.
    pub allowed: Live<Vec<String>>,
    /// The owners: only they see approval questions, and their words are not marked as untrusted. `None` makes
    /// everyone who may write an owner; with a household there always is a list.
    pub owners: Option<Vec<String>>,
    /// The people behind the senders; `None` without a household.
    pub people: Option<Vec<Member>>,
    /// Which messages of a group are answered.
    pub groups: GroupMode,
    /// How people gain access.
    pub pairing: Pairing,
    /// The reply to unknown senders.
    pub strangers: UnknownSenderPolicy,
    /// Whether a reply is shown while it is written.
    pub streams: bool,
    /// Whether a message gets a reaction while its turn waits or runs.
    pub acknowledges: bool,
    /// The recipient of deliveries that name none.
    pub home: Option<String>,
    /// The largest file that is accepted, in bytes.
    pub max_file_bytes: u64,
    /// Older messages are not answered.
    pub stale_after: Duration,
    /// Whether the words of people other than owners are marked as untrusted. Those of a household are not, unless owners
    /// are named besides.
    pub marks_others: bool,
}

/// The services that every channel gets from the program.
#[derive(Clone)]
pub struct ChannelServices {
    /// The state that channels store.
    pub records: Arc<dyn ChannelRecords>,
    /// The audit log, for pairings.
    pub audit: Arc<dyn AuditLog>,
    /// The pending approvals.
    pub approvals: PendingApprovals,
    /// Delivers the channel's own messages through the outbox.
    pub courier: Arc<dyn Courier>,
    /// Starts a program of the owner's, if one is configured.
    pub programs: Arc<dyn Programs>,
    /// Transcribes voice messages. Without it, they are not understood.
    pub transcriber: Option<Arc<dyn Transcriber>>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}
