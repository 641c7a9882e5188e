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
    check(context)?;
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

/// Refuses a turn after which no one could look after the command.
fn check(context: &ToolContext) -> Result<(), ToolError> {
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
    if context.is_oneshot {
        return Err(ToolError::failed(
            "this conversation is over with its turn and no one comes back to it, so it starts no commands in the background; \
             run it without `background`",
        ));
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use aethon_core::hook::TurnContext;
    use aethon_core::ids::{AgentName, SessionId, TurnId};
    use aethon_core::message::Inbound;
    use aethon_core::surface::Unattended;

    use super::*;

    #[test]
    fn command_needs_someone_who_comes_back_to_its_conversation() {
        let check = |inbound: Inbound, expected: &str| {
            let turn = TurnContext::of(TurnId::fresh(), &inbound);
            let refusal = check(&ToolContext::of(&turn, Arc::new(Unattended), 1_000)).err();
            let refusal = refusal.map(|refusal| refusal.to_string()).unwrap_or_default();
            assert!(refusal.contains(expected) && refusal.is_empty() == expected.is_empty(), "{refusal}");
        };
        let say = |id: &str| Inbound::say(SessionId::parse(id).unwrap(), "go");
        check(say("webchat:a"), "");
        check(say("schedule:tea:1").with_oneshot(true), "over with its turn and no one comes back");
        // The owner has opened the run and asks for more.
        check(say("schedule:tea:1"), "");
        check(say("webchat:a").with_outside(true), "the owner's own words");
        check(say("webchat:a").for_agent(AgentName::parse("critic").unwrap()), "a specialist's conversation");
    }
}
