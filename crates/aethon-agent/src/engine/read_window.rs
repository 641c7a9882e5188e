//! Reads the part of a conversation that a model will see from the storage.

use aethon_core::error::Result;
use aethon_core::message::{Block, EndReason, Message, Role, ToolCall};
use aethon_core::tool::Toolbox as _;

use super::agents::RunningAgent;
use super::calls::{CutOffCall, RESTARTED};
use crate::dispatcher::{Job, Stage};
use crate::options::Options;
use crate::services::Services;
use crate::window::{ContextWindow, is_summary, missing_results, open_calls};
use aethon_core::patience::{retry_until_stored, until_read};

/// How many messages are looked through at once for the one that started a turn.
const PAGE: usize = 200;

/// The same, how often at most.
const MAX_PAGES: usize = 25;

const UNREAD: &str = "a conversation could not be read; trying again";

/// Reads the window of a turn that begins.
pub(super) struct WindowReader<'r> {
    pub(super) services: &'r Services,
    pub(super) options: &'r Options,
    pub(super) job: &'r Job,
}

impl WindowReader<'_> {
    /// Reads the part of a conversation that a model sees. Also returns the calls that a restart has cut off, if any
    /// of them runs again; otherwise they have results now.
    pub(super) async fn read(&self, agent: &RunningAgent) -> Result<(ContextWindow, Vec<CutOffCall>)> {
        let job = self.job;
        let (mut messages, is_cut) = self.newest().await?;
        let unread = if is_cut { self.older_than(&mut messages).await? } else { 0 };
        leave_out_withdrawn(&mut messages);
        let mut cut_off = Vec::new();
        if job.stage == Stage::LeftBehind {
            let unanswered = self.services.open_approvals.left_by(&self.job.turn).await;
            let own = || messages.iter().filter(|message| message.turn.as_ref() == Some(&self.job.turn));
            let why = |call: &ToolCall| unanswered.why(call, RESTARTED);
            let specs = agent.toolbox.specs();
            let runs_again =
                |call: &ToolCall| specs.iter().any(|spec| spec.name == call.name && spec.runs_again());
            let open = open_calls(own());
            if open.iter().any(|call| runs_again(call)) {
                let cut = open.into_iter().map(|call| CutOffCall {
                    failure: (!runs_again(call)).then(|| why(call)),
                    call: call.clone(),
                });
                cut_off = cut.collect();
            } else if let Some(missing) = missing_results(own(), why, self.services.clock.now()) {
                messages.push(self.stored_results(missing).await?);
            }
        }
        // Messages posted since the turn began are stored behind its question; the model's request ends with the
        // question.
        if let Some(own) = messages.iter().position(|message| message.turn.as_ref() == Some(&self.job.turn)) {
            messages[own..].sort_by_key(|message| message.turn.as_ref() == Some(&self.job.turn));
        }
        if let Some((place, first)) = self.start_of_a_parted_turn(&messages).await? {
            messages.insert(place, first);
        }
        let window =
            ContextWindow::of(messages, agent.limits(self.options).rule(), agent.knowledge.counter());
        Ok((window.after_unread(unread), cut_off))
    }

    /// Stores the results of calls that have none.
    async fn stored_results(&self, mut missing: Message) -> Result<Message> {
        missing.turn = Some(self.job.turn.clone());
        let append = || self.services.turns.append(&self.job.turn, vec![missing.clone()]);
        let stored = retry_until_stored("missing results could not be stored; trying again", append).await?;
        // A summary that covers them has to name them: without a number they would be read again, without their
        // calls.
        if let Some(id) = stored.first() {
            missing.id = *id;
        }
        Ok(missing)
    }

    /// Returns the messages that a model may see, and whether there are older ones. A history from before summaries
    /// existed may exceed the read limit. Behind a summary all messages are read, because no summary covers them;
    /// there are more than usual only if the assistant was killed before it could make the next summary.
    async fn newest(&self) -> Result<(Vec<Message>, bool)> {
        let mut most = self.options.window_messages.saturating_add(1);
        loop {
            let messages = until_read(UNREAD, &self.services.health, || {
                self.services.turns.window(self.job.session(), most)
            })
            .await?;
            let is_cut = messages.len() >= most;
            if !is_cut || !messages.iter().any(is_summary) {
                return Ok((messages, is_cut));
            }
            most = most.saturating_mul(2);
        }
    }

    /// Returns how many messages of a session are older than these, which then begin with a turn.
    async fn older_than(&self, messages: &mut Vec<Message>) -> Result<u64> {
        let first = messages.iter().position(|message| message.role == Role::User);
        messages.drain(..first.unwrap_or(0));
        let session = until_read(UNREAD, &self.services.health, || {
            self.services.transcripts.session(self.job.session())
        })
        .await?;
        let all = session.map_or(0, |session| session.message_count);
        Ok(all.saturating_sub(messages.len() as u64))
    }

    /// Returns the message that started the turn in the middle of which the conversation was compacted, so that it
    /// stays visible. Also returns its place, before the first step of that turn; messages posted meanwhile may come
    /// before it.
    async fn start_of_a_parted_turn(&self, messages: &[Message]) -> Result<Option<(usize, Message)>> {
        let is_of_a_turn = |message: &&Message| message.role != Role::System && message.turn.is_some();
        let first = messages.iter().find(is_of_a_turn).filter(|first| first.role == Role::Assistant);
        let is_compacted = messages.iter().any(is_summary);
        let Some(first) = first.filter(|_| is_compacted) else { return Ok(None) };
        let place = messages.iter().position(|message| message.id == first.id).unwrap_or(0);
        let mut before = first.id;
        for _ in 0..MAX_PAGES {
            let read = || self.services.transcripts.messages(self.job.session(), Some(before), PAGE);
            let older = until_read(UNREAD, &self.services.health, read).await?;
            let Some(oldest) = older.first().map(|message| message.id) else { return Ok(None) };
            let is_start = |message: &&Message| message.role == Role::User && message.turn == first.turn;
            if let Some(start) = older.iter().rev().find(is_start) {
                return Ok(Some((place, start.clone())));
            }
            before = oldest;
        }
        Ok(None)
    }
}

/// Removes messages that a person took back before they were answered: they are in the transcript for people only.
fn leave_out_withdrawn(messages: &mut Vec<Message>) {
    let is_mark =
        |block: &Block| matches!(block, Block::Notice { code, .. } if code == EndReason::Withdrawn.as_str());
    let ends = messages.iter().filter(|message| message.content.iter().any(is_mark));
    let withdrawn: Vec<_> = ends.filter_map(|message| message.turn.clone()).collect();
    messages.retain(|message| message.turn.as_ref().is_none_or(|turn| !withdrawn.contains(turn)));
}
