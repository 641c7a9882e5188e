//! What a tool call hands its changes to, before it makes them.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use aethon_core::agents::Caller;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::tool::ToolContext;
use aethon_core::turn::Trust;

use super::journal::{ChangeJournal, Written};
use super::record::{Act, Content, Earlier, FileState, Head, RecordName};

/// The channel of clients that call tools over MCP: there is no conversation in which anything could be taken back.
const CLIENTS: &str = "mcp";

/// Keeps the changes of one call.
pub(crate) struct Keeper {
    journal: ChangeJournal,
    session: SessionId,
    turn: TurnId,
    call: String,
    tool: String,
    trust: Trust,
    /// What other instances have to be told.
    untold: Mutex<Untold>,
}

#[derive(Default)]
struct Untold {
    written: Vec<RecordName>,
    removed: Vec<RecordName>,
}

impl Keeper {
    /// The keeper of a call; `None` for one of which nothing is kept: a temporary conversation leaves no traces, and a client of MCP
    /// has no conversation here. What a specialist changes belongs to the turn that asked it.
    pub(crate) fn of(journal: &ChangeJournal, context: &ToolContext) -> Option<Self> {
        let own = || Caller { session: context.session.clone(), turn: context.turn.clone() };
        let Caller { session, turn } = context.surface.caller().unwrap_or_else(own);
        let has_conversation = session.channel() != CLIENTS && !session.is_temporary();
        has_conversation.then(|| Self {
            journal: journal.clone(),
            session,
            turn,
            call: context.call_key().unwrap_or_default(),
            tool: context.tool_name().to_owned(),
            trust: context.trust(),
            untold: Mutex::default(),
        })
    }

    /// Keeps what a file is, before it becomes `after`. `None` if nothing changes, or if the turn has changed too many files. Blocks.
    pub(crate) fn keep(
        &self,
        path: String,
        mode: Option<u32>,
        before: &Content,
        after: &[u8],
    ) -> io::Result<Option<RecordName>> {
        if matches!(before, Content::Whole(before) if before == after) {
            return Ok(None);
        }
        let head = Head {
            session: self.session.clone(),
            turn: self.turn.clone(),
            call: self.call.clone(),
            tool: self.tool.clone(),
            path,
            at: self.journal.now(),
            before: before.state(),
            after: FileState::of(after),
            mode,
            earlier: Earlier::NotKept,
            act: Act::Change,
        };
        let written = self.journal.write(head, before, Some(after), self.trust)?;
        let gone = self.journal.make_room()?;
        Ok(written.map(|written| self.note(written, gone)))
    }

    /// Forgets a change that did not happen after all. A record that stays does no harm. Blocks.
    pub(crate) fn forget(&self, record: RecordName) {
        if let Err(error) = self.journal.remove(std::slice::from_ref(&record)) {
            tracing::debug!(%error, "the record of a change that was not made stays");
            return;
        }
        self.lock().written.retain(|written| *written != record);
    }

    /// Tells other instances of the changes.
    pub(crate) async fn share(&self) {
        let untold = std::mem::take(&mut *self.lock());
        self.journal.share(&untold.written, &untold.removed).await;
    }

    fn note(&self, written: Written, gone: Vec<RecordName>) -> RecordName {
        let mut untold = self.lock();
        untold.written.push(written.record.clone());
        untold.removed.extend(gone);
        written.record
    }

    fn lock(&self) -> MutexGuard<'_, Untold> {
        self.untold.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
