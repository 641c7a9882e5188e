//! Tells the next turn of a conversation which files the owner has put back since the last one, so that the model does not take
//! them for what it made of them.

use std::ops::ControlFlow;
use std::sync::Arc;

use aethon_core::error::Result;
use aethon_core::hook::{AddedContext, FILES_CONTEXT, Hook, TurnContext};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::{Failure, Inbound, Intent, Message};
use aethon_core::session::{Transcripts, read_back};
use async_trait::async_trait;

use super::put_back::{ChangedFiles, IsPutBack};

/// How many messages are read at a time in search of the last turn.
const PAGE: usize = 20;

/// The most files that are named.
const MAX_NAMED: usize = 30;

/// Adds the files that were put back to the next turn.
pub struct PutBackNews {
    /// The changed files.
    pub files: ChangedFiles,
    /// Where the last turn is looked up.
    pub transcripts: Arc<dyn Transcripts>,
}

#[async_trait]
impl Hook for PutBackNews {
    fn name(&self) -> &'static str {
        "files put back"
    }

    async fn before_turn(
        &self,
        turn: &TurnContext,
        inbound: &Inbound,
    ) -> std::result::Result<Vec<AddedContext>, Failure> {
        // What the owner takes back is nothing to a stranger's turn in the same conversation.
        if !turn.trust().is_owner() || !turn.agent.is_main() {
            return Ok(Vec::new());
        }
        match self.news(turn, inbound).await {
            Ok(news) => Ok(context(&news).into_iter().collect()),
            Err(error) => {
                tracing::warn!(%error, session = %turn.session, "whether files were put back is not known");
                Ok(Vec::new())
            }
        }
    }
}

impl PutBackNews {
    async fn news(&self, turn: &TurnContext, inbound: &Inbound) -> Result<Vec<IsPutBack>> {
        if !self.files.has_records(&turn.session).await? {
            return Ok(Vec::new());
        }
        // A turn that takes the place of another does not know what that one did.
        let beyond = match &inbound.intent {
            Intent::Retry { turn } | Intent::Edit { turn, .. } => Some(turn),
            _ => None,
        };
        match self.last(&turn.session, &turn.turn, beyond).await? {
            Some(last) => self.files.put_back_since(&turn.session, &last, beyond).await,
            None => Ok(Vec::new()),
        }
    }

    /// The last turn before this one; before `beyond`, if that is given.
    async fn last(
        &self,
        session: &SessionId,
        this: &TurnId,
        beyond: Option<&TurnId>,
    ) -> Result<Option<TurnId>> {
        let is_last = |turn: &TurnId| turn != this && beyond.is_none_or(|beyond| turn < beyond);
        let visit = |page: Vec<Message>| {
            let mut turns = page.into_iter().rev().filter_map(|message| message.turn);
            turns.find(is_last).map_or(ControlFlow::Continue(()), ControlFlow::Break)
        };
        read_back(&*self.transcripts, session, PAGE, visit).await
    }
}

fn context(news: &[IsPutBack]) -> Option<AddedContext> {
    // Quoted, because a name can contain line breaks.
    let line = |file: &IsPutBack| match file.is_removed {
        true => format!("{:?} (removed)", file.path),
        false => format!("{:?}", file.path),
    };
    let mut lines: Vec<String> = news.iter().take(MAX_NAMED).map(line).collect();
    if lines.is_empty() {
        return None;
    }
    if news.len() > MAX_NAMED {
        lines.push(format!("and {} more", news.len() - MAX_NAMED));
    }
    let text = format!(
        "Since your last turn, the owner has taken back changes that you made to these files; read them before you rely on them:\n{}",
        lines.join("\n")
    );
    Some(AddedContext::new(FILES_CONTEXT, text))
}
