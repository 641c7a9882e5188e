//! Removes the containers of the Docker sandbox: those of sessions that were cleared or deleted, and those idle for too long.
//! Also watches whether the daemon still answers.
//!
//! It listens to session events, so neither the engine nor the code that clears a session needs to know about sandboxes. Missed
//! events do no harm: the container goes when it has been idle for long enough, or at shutdown.

use std::time::Duration;

use aethon_core::event::Event;
use aethon_core::feature::{Feature, FeatureState, Features};
use aethon_tools::DockerSandbox;
use tokio::sync::broadcast::Receiver;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use crate::prepared::Shared;
use crate::session_ends::{Ended, next_end};

/// The interval between searches for idle containers and for the daemon.
const LOOK: Duration = Duration::from_secs(30);

/// The running task; dropping it ends the task.
pub(crate) struct ContainerTask(Option<JoinHandle<()>>);

impl ContainerTask {
    /// Starts the task if commands run in Docker, and puts a row on the board while the daemon does not answer.
    pub(crate) fn start(shared: &Shared) -> Self {
        let start = |docker: DockerSandbox| {
            offer(&shared.features, docker.clone());
            tokio::spawn(follow(docker, shared.bus.subscribe()))
        };
        Self(shared.docker.clone().map(start))
    }
}

impl Drop for ContainerTask {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

async fn follow(docker: DockerSandbox, mut events: Receiver<Event>) {
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = looks.tick() => {
                docker.ping().await;
                docker.tidy().await;
            }
            ended = next_end(&mut events) => match ended {
                Some(Ended::Session(session)) => docker.forget(&session).await,
                Some(Ended::Unknown) => {}
                None => return,
            },
        }
    }
}

fn offer(board: &Features, docker: DockerSandbox) {
    board.offer(move || {
        let row = |fault| {
            let (id, title) = ("shell_sandbox", "Sandbox for commands");
            let detail = format!("commands cannot run: {fault} ({})", docker.host());
            Feature::new((id, title), FeatureState::Degraded, detail, "security.sandbox")
        };
        docker.fault().map(row).into_iter().collect()
    });
}
