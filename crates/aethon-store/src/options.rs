//! Settings of a store.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aethon_core::clock::{Clock, SystemClock};
use aethon_core::storage::Synchronous;

/// Who opens a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OpenMode {
    /// The one daemon of the home. Calls that were running when an earlier daemon crashed are booked at an estimate.
    Daemon,
    /// A program that may run beside the daemon and leaves the daemon's state alone.
    #[default]
    Guest,
}

/// What happens to a database of an older format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Upgrade {
    /// It is refused and left as it is.
    #[default]
    Refuse,
    /// It is copied and brought to the current format, provided that no other program has it open.
    Allow,
}

/// Which limits are the program's defaults, and not the owner's wish. After an upgrade they wait until the owner was warned for
/// long enough; see [`aethon_core::storage::StorageMarks::defaults_wait`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DefaultLimits {
    /// [`Options::max_bytes`].
    pub file: bool,
    /// [`Options::max_oneshot_bytes`].
    pub oneshots: bool,
}

/// Settings of a store. Start from the default and change what differs.
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// Who opens it.
    pub mode: OpenMode,
    /// What an acknowledged write survives.
    pub synchronous: Synchronous,
    /// The source of the current time.
    pub clock: Arc<dyn Clock>,
    /// The agent that answers new sessions.
    pub agent_name: String,
    /// How long a program counts as alive after its last sign of life.
    pub lease: Duration,
    /// How long a write waits for another program that writes to the same file.
    pub busy_timeout: Duration,
    /// Maximum size of the file in bytes. Turns of strangers fill three quarters of it. Beyond it, the oldest one-shot
    /// sessions are removed; if there are none, writes fail.
    pub max_bytes: Option<u64>,
    /// Maximum size of all one-shot sessions together.
    pub max_oneshot_bytes: Option<u64>,
    /// What holds in place of [`Self::max_oneshot_bytes`] while that waits as a default: the owner's part of it, if any.
    pub owner_oneshot_bytes: Option<u64>,
    /// Which of these two limits are defaults.
    pub defaults: DefaultLimits,
    /// What happens to a database of an older format.
    pub upgrade: Upgrade,
}

impl Options {
    /// Applies a change and returns the result.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            mode: OpenMode::Guest,
            synchronous: Synchronous::Normal,
            clock: Arc::new(SystemClock),
            agent_name: "aethon".to_owned(),
            lease: aethon_core::owner::LEASE,
            busy_timeout: Duration::from_secs(5),
            max_bytes: None,
            max_oneshot_bytes: None,
            owner_oneshot_bytes: None,
            defaults: DefaultLimits::default(),
            upgrade: Upgrade::Refuse,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("synchronous", &self.synchronous).finish_non_exhaustive()
    }
}
