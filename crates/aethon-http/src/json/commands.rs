//! The document about the commands in the background of a conversation, for the API and the terminal.

use aethon_core::background::{BackgroundCommand, BackgroundCommands};
use aethon_core::ids::SessionId;
use schemars::JsonSchema;
use serde::Serialize;

/// The commands in the background of a conversation.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CommandList")]
pub struct CommandList {
    session_id: SessionId,
    /// Oldest first: all that run, and the last that have ended.
    commands: Vec<BackgroundCommand>,
}

impl CommandList {
    /// Lists the commands of a conversation.
    pub fn of(commands: &dyn BackgroundCommands, session: &SessionId) -> Self {
        Self { session_id: session.clone(), commands: commands.list(session) }
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }
}
