//! Summarises what leaves the window in passes: each pass shows a model the summary so far and the next part of the
//! conversation, and takes its summary of both.
//!
//! So a model sees every message, however many there are and however small its window is, and the summary says how many
//! that were. If no model answers, the rest becomes a digest, which says that it is one.

use std::collections::VecDeque;
use std::sync::Arc;

use aethon_core::ids::{MessageId, SessionId};
use aethon_core::message::Message;

use super::conversation::Leaving;
use super::summarised::Summarised;
use super::summariser::Summariser;
use crate::control::{Control, Interrupt};
use crate::engine::shared::Shared;
use crate::window::{Summary, Transcript, digest};
use aethon_core::patience::until_read;
use aethon_core::storage_log::log_storage;

/// How many messages are read from the storage at once.
const PAGE: usize = 200;

/// How many parts one message may take. Of a longer one, a model sees the beginning and the end: each part is a request,
/// and the original stays in the transcript.
const PARTS_OF_A_MESSAGE: usize = 4;

/// The state of the messages as they go through the passes.
struct Passes<'a> {
    shared: &'a Shared,
    session: &'a SessionId,
    /// The pages of the storage still to be read, the last one first; each ends before this message.
    pages: Vec<MessageId>,
    /// The window's messages, until it is their turn.
    newer: Vec<Arc<Message>>,
    transcript: Transcript,
    /// Messages that are in the transcript and that no model has seen in full.
    pending: VecDeque<Arc<Message>>,
    summary: Summary,
    seen: u64,
    first: Option<MessageId>,
}

/// Summarises the part that leaves. Only a stop is an error.
pub(super) async fn summarise(
    summariser: &mut Summariser<'_>,
    (shared, session): (&Shared, &SessionId),
    leaving: Leaving,
    control: &mut Control,
) -> Result<Summarised, Interrupt> {
    let Leaving { messages, earlier, unread, last, prefix } = leaving;
    let pages = match unread {
        Some((before, _)) => control.guard(pages(shared, session, before)).await?,
        None => Vec::new(),
    };
    let summary = earlier.as_ref().map(|earlier| Summary::parse(&earlier.summary)).unwrap_or_default();
    let mut passes = Passes {
        shared,
        session,
        pages,
        newer: messages,
        transcript: Transcript::default(),
        pending: VecDeque::new(),
        summary,
        seen: 0,
        first: None,
    };
    let is_whole = passes.run(summariser, control).await?;
    let (mut seen, mut first) = (passes.seen, passes.first);
    let text = if is_whole {
        passes.summary.render()
    } else {
        passes.pending.extend(std::mem::take(&mut passes.newer));
        let digest = digest(passes.summary, passes.pending.make_contiguous(), summariser.chars());
        seen += digest.messages;
        first = first.or(digest.first);
        digest.text
    };
    let first = first.map_or(last, |id| id.0).to_string();
    let (before, from) = earlier.map_or((0, first), |earlier| (earlier.messages, earlier.from));
    Ok(Summarised { prefix, messages: before + seen, from, to: last.to_string(), text, is_whole })
}

impl Passes<'_> {
    /// Goes through all parts. `false` if the models gave up before the end.
    async fn run(
        &mut self,
        summariser: &mut Summariser<'_>,
        control: &mut Control,
    ) -> Result<bool, Interrupt> {
        loop {
            let so_far = self.summary.render();
            let room = summariser.room(&so_far);
            control.guard(self.refill(room)).await?;
            let part = self.transcript.part(room);
            if part.text.is_empty() {
                self.count(part.messages);
                return Ok(true);
            }
            let Some(newer) = summariser.refine(&so_far, &part.text, control).await? else {
                return Ok(false);
            };
            self.summary = std::mem::take(&mut self.summary).refined_by(newer).bounded(summariser.chars());
            self.count(part.messages);
        }
    }

    /// Adds messages to the transcript until they fill a part or run out.
    async fn refill(&mut self, room: usize) {
        self.transcript.shorten_to(room.saturating_mul(PARTS_OF_A_MESSAGE));
        while self.transcript.bytes() < room {
            let messages = match self.pages.pop() {
                Some(before) => read(self.shared, self.session, before).await,
                None if self.newer.is_empty() => return,
                None => std::mem::take(&mut self.newer),
            };
            self.pending.extend(messages.iter().cloned());
            self.transcript.extend(messages);
        }
    }

    /// Records that a model has seen this many more messages.
    fn count(&mut self, messages: usize) {
        for message in self.pending.drain(..messages.min(self.pending.len())) {
            self.seen += 1;
            self.first = self.first.or(Some(message.id).filter(|id| id.0 > 0));
        }
    }
}

/// Returns where the pages of a session that precede a message end, the last one first.
async fn pages(shared: &Shared, session: &SessionId, before: MessageId) -> Vec<MessageId> {
    let mut pages = Vec::new();
    let mut end = before;
    loop {
        let page = read(shared, session, end).await;
        let Some(first) = page.first() else { return pages };
        pages.push(end);
        end = first.id;
    }
}

/// Reads the messages that precede one. Unreadable messages have not been shown to a model and are not counted.
async fn read(shared: &Shared, session: &SessionId, before: MessageId) -> Vec<Arc<Message>> {
    let page = || shared.services.transcripts.messages(session, Some(before), PAGE);
    match until_read("older messages could not be read; trying again", &shared.services.health, page).await {
        Ok(messages) => messages.into_iter().map(Arc::new).collect(),
        Err(error) => {
            log_storage("older messages could not be read for a summary", &error);
            Vec::new()
        }
    }
}
