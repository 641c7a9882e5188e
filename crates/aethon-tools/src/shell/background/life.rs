//! The life of a command: it runs, its output is kept, and it ends by itself, when somebody stops it, or when its time is over.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use aethon_core::audit::{AuditAction, AuditEntry};
use aethon_core::background::CommandEnd;
use aethon_core::ids::{SessionId, TurnId};
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::record::{End, Record};
use super::registry::CommandRegistry;
use crate::shell::process::ExitKind;
use crate::shell::run::{Ran, Sink};
use crate::shell::runner::{Runner, Script};

/// How often viewers are shown new output.
const PACE: Duration = Duration::from_secs(1);

/// A command that is about to run.
pub(super) struct Life {
    pub(super) registry: CommandRegistry,
    pub(super) runner: Arc<Runner>,
    pub(super) record: Arc<Record>,
    pub(super) session: SessionId,
    /// The turn that started it.
    pub(super) turn: TurnId,
    pub(super) directory: PathBuf,
    /// How long it may run.
    pub(super) limit: Duration,
}

impl Life {
    /// Runs the command to its end. Dropping the future kills everything that it has started.
    pub(super) async fn run(self) {
        let ((), end) = tokio::join!(self.note("started", "the assistant"), self.until_end());
        let by = match &end.how {
            CommandEnd::Stopped(by) => by.clone(),
            _ => "the command".to_owned(),
        };
        let outcome = end.how.outcome(end.took);
        self.record.end(end);
        self.registry.changed(&self.session);
        self.note(&outcome, &by).await;
    }

    async fn until_end(&self) -> End {
        let begun = Instant::now();
        let mut output = Output(&self.record);
        let script = Script {
            session: &self.session,
            command: &self.record.command,
            directory: self.directory.clone(),
            limit: self.limit,
        };
        let mut looks = interval(PACE);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut shown = self.record.revision();
        let (how, notes) = {
            // Dropped at the end of this block, which kills everything that the command has started.
            let mut running = std::pin::pin!(self.runner.run_apart(script, &mut output));
            loop {
                tokio::select! {
                    biased;
                    by = self.record.stopped() => break (CommandEnd::Stopped(by), Vec::new()),
                    ran = &mut running => break ended(ran),
                    _ = looks.tick() => {
                        let happened = self.record.revision();
                        if std::mem::replace(&mut shown, happened) != happened {
                            self.registry.changed(&self.session);
                        }
                    }
                }
            }
        };
        End { how, at: self.registry.now(), took: begun.elapsed(), notes }
    }

    async fn note(&self, outcome: &str, by: &str) {
        let Record { number, command, .. } = &*self.record;
        let entry = AuditEntry::new(self.registry.now(), AuditAction::Command, "shell", outcome)
            .by(by)
            .within(&self.session, &self.turn)
            .with_detail(format!("command {number} in the background: {command}"));
        self.registry.note(entry).await;
    }
}

/// Returns how a command ended, and what else is to be said about it.
fn ended(ran: Result<Ran, String>) -> (CommandEnd, Vec<String>) {
    let ran = match ran {
        Ok(ran) => ran,
        Err(why) => return (CommandEnd::Failed(why), Vec::new()),
    };
    let how = match ran.ended {
        Some(ExitKind::Status(status)) => CommandEnd::Status(status),
        Some(ExitKind::Signal(signal)) => CommandEnd::Signal(signal),
        Some(ExitKind::Unknown) => CommandEnd::Unknown,
        None => CommandEnd::Expired,
    };
    let left = ran.left_running.then(|| "its background processes were ended".to_owned());
    (how, left.into_iter().chain(ran.note).collect())
}

/// Keeps the output of a command.
struct Output<'r>(&'r Record);

impl Sink for Output<'_> {
    fn take(&mut self, bytes: &[u8]) {
        self.0.take(bytes);
    }

    /// The life of the command shows it, however the command runs.
    fn look(&mut self) {}
}
