//! The keys that the sections of messengers share, and what such a section is.

use aethon_core::messenger::{Acknowledge, GroupMode, Pairing, Streaming, UnknownSenderPolicy};
use aethon_core::secret::Secret;

/// The largest file that is downloaded, in MB. Larger ones are reported.
pub(super) const MAX_FILE_MB: u32 = 20;
/// The age in minutes from which a message is reported instead of answered.
pub(super) const STALE_MINUTES: u32 = 1440;

/// The keys that sections have in common. They are fields of each section rather than of one flattened into it, because a
/// flattened value loses its key and line, and unknown keys with it.
#[derive(Debug, Clone, Copy)]
pub struct SharedKeys<'c> {
    /// Whether it runs.
    pub enabled: bool,
    /// The address of its service.
    pub api_base: &'c str,
    /// Whether a reply is shown while it is written; `None` where messages cannot be edited.
    pub streaming: Option<Streaming>,
    /// Which messages of a group are answered; `None` where there are no groups.
    pub group_mode: Option<GroupMode>,
    /// Whether a message gets a reaction while its answer is on its way; `None` where there are none.
    pub acknowledge: Option<Acknowledge>,
    /// How an unknown sender can request access.
    pub pairing: Pairing,
    /// The reply to unknown senders.
    pub strangers: UnknownSenderPolicy,
    /// The recipient of what names none. Empty: nobody.
    pub home: &'c str,
    /// The largest file that is downloaded, in MB. Larger ones are reported.
    pub max_file_mb: u32,
    /// The age in minutes above which a message is not answered.
    pub stale_minutes: u32,
}

/// A section of `[channels]`.
pub trait MessengerSection {
    /// The keys that it shares with others.
    fn shared(&self) -> SharedKeys<'_>;

    /// Its secrets, set or not, in the order of its row.
    fn secrets(&self) -> Vec<&Secret>;

    /// The same, to be changed.
    fn secrets_mut(&mut self) -> Vec<&mut Secret>;

    /// Whether it cannot run without this secret, given its other keys.
    fn needs(&self, _secret: &str) -> bool {
        true
    }
}
