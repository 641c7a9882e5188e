//! A queued turn in two halves: the [`Job`] that is run, and the [`TurnHandle`] by which others find and stop it.

use std::borrow::Cow;
use std::sync::Arc;

use aethon_core::assistant::PendingReply;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::{Block, Inbound, Intent, Message, Reply};
use aethon_core::session::{Begin, Begun};
use aethon_core::share::Held;
use aethon_core::surface::Surface;
use aethon_core::turn::Trust;
use jiff::Timestamp;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::control::{StopSignal, StopSwitch};

/// A turn to run.
pub(crate) struct Job {
    pub(crate) turn: TurnId,
    pub(crate) inbound: Inbound,
    /// The user's message as the transcript keeps it.
    pub(crate) message: Message,
    pub(crate) replaces: Option<TurnId>,
    pub(crate) stage: Stage,
    /// Whether the user has been notified that the turn is waiting for another program.
    pub(crate) has_waited: bool,
    /// When the program for which this turn waits first looked dead.
    pub(crate) left_since: Option<Instant>,
    /// The provider of the model that answers, once that is decided.
    pub(crate) provider: Option<String>,
    pub(crate) surface: Arc<dyn Surface>,
    pub(crate) stop: StopSignal,
    pub(crate) reply: watch::Sender<Option<Arc<Reply>>>,
}

/// How far a turn has got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Stored but not begun.
    Waiting,
    /// Stored; it may begin in the same transaction that ends the turn before it, and so can no longer be dequeued.
    Beginning,
    /// Begun in this process.
    Begun(Begun),
    /// Begun by a process that has since died; its messages are in the storage.
    LeftBehind,
    /// Left waiting by a process that has since died and not to be run: it is closed when it reaches the front.
    GivenUp,
}

/// A turn as seen from outside.
pub(crate) struct TurnHandle {
    pub(crate) turn: TurnId,
    pub(crate) since: Timestamp,
    pub(crate) stop: StopSwitch,
    pub(crate) reply: PendingReply,
    pub(crate) claim: Claim,
}

/// The resources that a turn occupies while it waits and runs.
pub(crate) struct Claim {
    pub(crate) trust: Trust,
    /// How many bytes came with it.
    pub(crate) bytes: u64,
    /// Its place among all turns and its bytes among all bytes, once it has them.
    pub(crate) held: Option<[Held; 2]>,
}

impl Claim {
    fn of(inbound: &Inbound) -> Self {
        let bytes = u64::try_from(inbound.content_bytes()).unwrap_or(u64::MAX);
        Self { trust: inbound.trust(), bytes, held: None }
    }

    /// Gives back what a message takes less than before. It does not grow: the message was let in with what it had.
    pub(super) fn shrink(&mut self, inbound: &Inbound) {
        self.bytes = self.bytes.min(Self::of(inbound).bytes);
        if let Some([_, bytes]) = &mut self.held {
            bytes.shrink(self.bytes);
        }
    }
}

impl Job {
    /// Creates both halves of a turn that is not stored yet, or was stored earlier.
    pub(crate) fn pair(
        turn: TurnId,
        inbound: Inbound,
        (message, replaces): (Message, Option<TurnId>),
        surface: Arc<dyn Surface>,
    ) -> (Self, TurnHandle) {
        let (stop_switch, stop) = StopSwitch::pair();
        let (reply, pending) = PendingReply::pair();
        let live = TurnHandle {
            turn: turn.clone(),
            since: message.created_at,
            stop: stop_switch,
            reply: pending,
            claim: Claim::of(&inbound),
        };
        (
            Self {
                turn,
                inbound,
                message,
                replaces,
                stage: Stage::Waiting,
                has_waited: false,
                left_since: None,
                provider: None,
                surface,
                stop,
                reply,
            },
            live,
        )
    }

    pub(crate) fn session(&self) -> &SessionId {
        &self.inbound.session
    }

    /// Returns the inbound message with the text to be answered, which a retry does not carry itself. Untrusted text is
    /// left out.
    pub(crate) fn inbound_with_text(&self) -> Cow<'_, Inbound> {
        if !matches!(self.inbound.intent, Intent::Retry { .. }) {
            return Cow::Borrowed(&self.inbound);
        }
        let texts = self.message.content.iter().filter_map(|block| match block {
            Block::Text { text, untrusted: None } => Some(text.as_str()),
            _ => None,
        });
        let text = texts.collect::<Vec<_>>().join("\n\n");
        let mut inbound = self.inbound.clone();
        inbound.text = text;
        Cow::Owned(inbound)
    }

    /// Drops the text and the files, which from now on are in the turn's window only: a turn may run for long, and
    /// many may run at once.
    pub(crate) fn drop_content(&mut self) {
        self.inbound.text = String::new();
        self.inbound.attachments = Vec::new();
    }

    /// Returns the data with which the storage begins this turn.
    pub(crate) fn begin(&self) -> Begin {
        Begin { message: self.message.clone(), replaces: self.replaces.clone() }
    }
}
