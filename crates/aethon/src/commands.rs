//! Ends the commands in the background of conversations that are emptied or deleted.
//!
//! It listens to session events, as the task of the containers does. Another program may delete a conversation without an event
//! here, and events may be missed, so it also looks which conversations are still there as long as a command runs.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::event::Event;
use aethon_core::session::Transcripts;
use aethon_tools::CommandRegistry;
use tokio::sync::broadcast::Receiver;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use crate::prepared::Shared;
use crate::session_ends::{Ended, next_end};

/// How often it looks whether the conversations that have commands are still there.
const PACE: Duration = Duration::from_secs(5);

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
    let mut looks = interval(PACE);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let ended = tokio::select! {
            ended = next_end(&mut events) => ended,
            _ = looks.tick() => match commands.has_running() {
                true => Some(Ended::Unknown),
                false => continue,
            },
        };
        match ended {
            Some(Ended::Session(session)) => commands.end_session(&session),
            Some(Ended::Unknown) => end_missing(&commands, &*transcripts).await,
            None => return,
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
