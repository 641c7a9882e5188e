//! Starts a command in the background, and reports what it did in its first moments.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use aethon_core::background::CommandEnd;
use aethon_core::time;
use aethon_core::tool::{ToolContext, ToolError, ToolOutput};

use super::life::Life;
use super::record::{Reading, Record};
use super::registry::CommandRegistry;
use crate::shell::runner::Runner;

/// How long a command may run in the background.
pub(super) const MAX_LIFE: Duration = Duration::from_secs(8 * 3600);
/// How long the call waits for an early end: a command that does not work mostly says so at once.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// A command to start.
pub(in crate::shell) struct NewCommand<'c> {
    pub(in crate::shell) command: &'c str,
    pub(in crate::shell) directory: PathBuf,
    /// How long it may run, if not as long as any.
    pub(in crate::shell) limit: Option<Duration>,
}

/// Starts a command for this turn.
pub(in crate::shell) async fn start(
    registry: &CommandRegistry,
    runner: &Arc<Runner>,
    new: NewCommand<'_>,
    context: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    if !context.trust().is_owner() {
        return Err(ToolError::denied(
            "a command runs on in the background only if the owner's own words began the turn; run it without `background`",
        ));
    }
    if !context.agent.is_main() {
        return Err(ToolError::failed(
            "a specialist's conversation is over with its task, so it starts no commands in the background; run it without \
             `background`, or leave it to the one who asked you",
        ));
    }
    let record = registry.reserve(&context.session, new.command).map_err(ToolError::failed)?;
    let life = Life {
        registry: registry.clone(),
        runner: runner.clone(),
        record: record.clone(),
        session: context.session.clone(),
        turn: context.turn.clone(),
        directory: new.directory,
        limit: new.limit.unwrap_or(MAX_LIFE).min(MAX_LIFE),
    };
    registry.spawn(life.run());
    record.ended(FIRST_WAIT).await;
    let reading = record.read();
    if let Some(CommandEnd::Failed(why)) = reading.end.as_ref().map(|end| &end.how) {
        registry.withdraw(&context.session, &record);
        return Err(ToolError::failed(why.clone()));
    }
    Ok(ToolOutput::text(report(&record, &reading)))
}

/// Reports a command and its new output to the model. No time is given while it runs: two looks with the same result must
/// read the same, or a turn that goes in circles would not be noticed.
pub(super) fn report(record: &Record, Reading { output, end }: &Reading) -> String {
    let number = record.number;
    let mut text = output.clone();
    if text.is_empty() {
        text.push_str("[no new output]");
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let Some(end) = end else {
        return text
            + &format!(
                "[command {number} runs in the background; `background_commands` reads its output and stops it]"
            );
    };
    for note in &end.notes {
        text.push_str(&format!("[{note}]\n"));
    }
    // A status is reported in the words of a call, which checks after edits look for.
    text + &match end.how {
        CommandEnd::Status(status) => {
            format!("[exit status {status} after {}; command {number} has ended]", time::in_words(end.took))
        }
        ref how => format!("[command {number} {}]", how.outcome(end.took)),
    }
}
