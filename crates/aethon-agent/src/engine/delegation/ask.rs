//! The tool `ask_NAME`.

use std::sync::{Arc, Weak};

use aethon_core::agents::Caller;
use aethon_core::ids::{AgentName, SessionId, unique};
use aethon_core::ledger::WorkKind;
use aethon_core::message::{Inbound, Message, Reply, TurnEnd};
use aethon_core::session::{SessionQuery, SessionSummary};
use aethon_core::tool::{Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use aethon_core::turn::Trust;
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::CHANNEL;
use super::conversations::Conversations;
use super::stop::StopWithCaller;
use super::surface::DelegatedSurface;
use crate::agent::Agent;
use crate::engine::ends::outside;
use crate::engine::shared::Shared;
use crate::engine::submit::submit;

/// The longest task, in characters: as much as a model writes in one call.
const MAX_TASK: usize = 64_000;

/// How many of the newest conversations with specialists are searched for the last one after a restart; older ones need
/// their id.
const MAX_LISTED: usize = 200;

/// How many messages of a specialist's session are checked for outside content.
const MAX_SEEN: usize = 500;

/// The tool that asks one specialist.
pub(super) struct Ask {
    spec: ToolSpec,
    name: AgentName,
    shared: Weak<Shared>,
    conversations: Arc<Conversations>,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The whole task: nothing of this conversation is known there. Say what for, what you know, and what to report.
    task: String,
    /// Whether this goes on with the last request.
    r#continue: Option<bool>,
    /// Goes on with the conversation of this id, told under a report.
    conversation: Option<String>,
}

impl Ask {
    pub(super) fn new(agent: &Agent, shared: Weak<Shared>, conversations: Arc<Conversations>) -> Self {
        let description = format!(
            "Has the {} work on a task, and waits for its report. {}. Several in one response run side by side.",
            agent.name, agent.role
        );
        let spec = ToolSpec::of::<Arguments>(format!("ask_{}", agent.name), description)
            .running_side_by_side()
            // Its turn is the caller's: it may do no more than the caller may.
            .open_to(Trust::Guest)
            .waiting_for_turns()
            .with_untrusted_output();
        Self { spec, name: agent.name.clone(), shared, conversations }
    }

    /// Returns the session in which the request is handled.
    async fn session(
        &self,
        shared: &Shared,
        context: &ToolContext,
        arguments: &Arguments,
    ) -> Result<SessionId, ToolError> {
        if let Some(id) = &arguments.conversation {
            return self.continued_session(shared, context, id).await;
        }
        if arguments.r#continue == Some(true) {
            let last = match self.conversations.last(&context.session, &self.name) {
                Some(last) => Some(last),
                None => self.stored(shared, context).await?,
            };
            return last.ok_or_else(|| {
                ours(format!("there is no earlier request to the {} to go on with; ask anew", self.name))
            });
        }
        let fresh = match context.session.is_temporary() {
            true => SessionId::temporary(CHANNEL, Some(self.name.as_str())),
            false => SessionId::of(CHANNEL, &format!("{}:{}", self.name, unique())),
        };
        fresh.map_err(|error| ours(error.to_string()))
    }

    /// Returns the last conversation that this session had with this specialist before the program was started.
    async fn stored(&self, shared: &Shared, context: &ToolContext) -> Result<Option<SessionId>, ToolError> {
        let query = SessionQuery::newest(MAX_LISTED).of_channel(Some(CHANNEL.into()));
        let listed = shared.services.transcripts.sessions(query).await;
        let listed = listed.map_err(|error| ours(format!("the conversation could not be found: {error}")))?;
        let begins = format!("{CHANNEL}:{}:", self.name);
        let is_it = |found: &SessionSummary| {
            found.sender == context.session.as_str() && found.session_id.as_str().starts_with(&begins)
        };
        Ok(listed.sessions.into_iter().find(is_it).map(|found| found.session_id))
    }

    /// Returns an earlier conversation, which must be one that this session had with this specialist.
    async fn continued_session(
        &self,
        shared: &Shared,
        context: &ToolContext,
        id: &str,
    ) -> Result<SessionId, ToolError> {
        let unknown =
            || ours(format!("this conversation has no earlier one {id:?} with the {}; ask anew", self.name));
        let begins = format!("{CHANNEL}:{}:", self.name);
        let session = SessionId::parse(id).ok().filter(|_| id.starts_with(&begins)).ok_or_else(unknown)?;
        let found = shared.services.transcripts.session(&session).await;
        let found = found.map_err(|error| ours(format!("the conversation could not be read: {error}")))?;
        found.filter(|found| found.sender == context.session.as_str()).map(|_| session).ok_or_else(unknown)
    }

    async fn ask(
        &self,
        shared: &Arc<Shared>,
        context: &ToolContext,
        task: String,
        session: &SessionId,
    ) -> Result<Arc<Reply>, ToolError> {
        let board = &shared.services.board;
        let caller = Caller { session: context.session.clone(), turn: context.turn.clone() };
        board.called_by(session, caller);
        // Work that no person waits for remains background work, including the parts that specialists do.
        let kind = match board.kind(&context.turn) {
            Some(WorkKind::Background) => WorkKind::Background,
            _ => WorkKind::Delegation,
        };
        let inbound = Inbound::say(session.clone(), task)
            .for_agent(self.name.clone())
            .of_kind(kind)
            .from_sender(context.session.as_str())
            .for_person(context.person.clone())
            .with_outside(context.untrusted)
            .with_oneshot(true);
        let mut stop = StopWithCaller::new(Arc::downgrade(shared), session.clone());
        let surface = Arc::new(DelegatedSurface::new(self.name.clone(), context.clone()));
        let submitted = submit(shared, inbound, surface).await;
        let submitted =
            submitted.map_err(|error| ours(format!("the {} cannot work now: {error}", self.name)))?;
        stop.only(submitted.turn);
        self.conversations.note(&context.session, &self.name, session);
        let reply = submitted.reply.wait().await;
        stop.disarm();
        reply.map_err(|error| ours(format!("the {} was cut off: {error}", self.name)))
    }

    /// Returns whether the specialist has seen outside content. Unreadable messages count as if it had.
    async fn saw_outside(&self, shared: &Shared, session: &SessionId) -> bool {
        let Ok(messages) = shared.services.turns.window(session, MAX_SEEN).await else { return true };
        let inbound = Inbound::say(session.clone(), "");
        let is_summary = |message: &Message| {
            message.content.iter().any(|block| matches!(block, aethon_core::message::Block::Folded { .. }))
        };
        messages.iter().any(is_summary) || outside(&inbound, messages.iter()).is_some()
    }
}

#[async_trait]
impl Tool for Ask {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let arguments: Arguments = self.spec.parse(input)?;
        if !context.agent.is_main() {
            return Err(ToolError::denied("a specialist asks no other one; report what is missing instead"));
        }
        let task = arguments.task.trim().to_owned();
        if task.is_empty() || task.chars().count() > MAX_TASK {
            return Err(ours(format!("give the task in 1 to {MAX_TASK} characters")));
        }
        let shared = self.shared.upgrade().ok_or_else(|| ours("the program is ending".to_owned()))?;
        let session = self.session(&shared, context, &arguments).await?;
        let reply = self.ask(&shared, context, task, &session).await?;
        let is_own = !self.saw_outside(&shared, &session).await;
        let under = format!("\n\n[conversation: {session}]");
        match reply.end {
            TurnEnd::End => Ok(ToolOutput::text(reply.text.trim().to_owned() + &under).of_the_owner(is_own)),
            // A partial answer may be of use; the notice that it is unfinished comes from the program.
            _ => {
                let why = format!("the {} did not finish ({}): ", self.name, reply.end.as_str());
                let error = ToolError::failed(why + reply.text.trim() + &under);
                Err(if is_own { error.of_the_owner() } else { error })
            }
        }
    }
}

/// Returns the program's own explanation of a missing report.
fn ours(message: String) -> ToolError {
    ToolError::failed(message).of_the_owner()
}
