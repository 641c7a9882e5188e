//! Ends the commands in the background of conversations that are emptied or deleted.
//!
//! It listens to session events, as the task of the containers does. Should it ever miss some, it looks which conversations are
//! still there.

use std::sync::Arc;

use aethon_core::event::Event;
use aethon_core::session::Transcripts;
use aethon_tools::CommandRegistry;
use tokio::sync::broadcast::Receiver;
use tokio::task::JoinHandle;

use crate::prepared::Shared;
use crate::session_ends::{Ended, next_end};

/// The running task; dropping it ends the task.
pub(crate) struct CommandTask(JoinHandle<()>);

impl CommandTask {
    /// Starts the task.
    pub(crate) fn start(
        shared: &Shared,
        commands: &CommandRegistry,
        transcripts: Arc<dyn Transcripts>,
    ) -> Self {
        Self(tokio::spawn(follow(commands.clone(), shared.bus.subscribe(), transcripts)))
    }
}

impl Drop for CommandTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn follow(commands: CommandRegistry, mut events: Receiver<Event>, transcripts: Arc<dyn Transcripts>) {
    while let Some(ended) = next_end(&mut events).await {
        match ended {
            Ended::Session(session) => commands.end_session(&session),
            Ended::Unknown => end_missing(&commands, &*transcripts).await,
        }
    }
}

/// Ends the commands of conversations that do not exist.
async fn end_missing(commands: &CommandRegistry, transcripts: &dyn Transcripts) {
    for session in commands.sessions() {
        if matches!(transcripts.session(&session).await, Ok(None)) {
            commands.end_session(&session);
        }
    }
}
