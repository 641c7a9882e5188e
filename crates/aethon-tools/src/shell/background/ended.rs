//! Tells the next turn of a conversation which of its commands have ended in the background, once.

use aethon_core::hook::{AddedContext, COMMANDS_CONTEXT, Hook, TurnContext};
use aethon_core::message::{Failure, Inbound};
use async_trait::async_trait;

use super::registry::CommandRegistry;

/// Adds the ends of commands to the next turn.
pub struct EndedCommands(pub CommandRegistry);

#[async_trait]
impl Hook for EndedCommands {
    fn name(&self) -> &'static str {
        "background commands"
    }

    async fn before_turn(
        &self,
        turn: &TurnContext,
        _inbound: &Inbound,
    ) -> Result<Vec<AddedContext>, Failure> {
        // What the owner has running is nothing to a stranger's turn in the same conversation, and only the main agent starts it.
        if !turn.trust().is_owner() || !turn.agent.is_main() {
            return Ok(Vec::new());
        }
        let records = self.0.records(&turn.session);
        let ended = records.iter().filter(|record| record.has_news()).map(|record| {
            record.end_is_known();
            let shown = self.0.shown(record);
            format!("{} {}", shown.name(), shown.outcome)
        });
        let lines: Vec<String> = ended.collect();
        if lines.is_empty() {
            return Ok(Vec::new());
        }
        let text = format!(
            "Ended in the background since your last turn; `background_commands` reads the rest of the output:\n{}",
            lines.join("\n")
        );
        Ok(vec![AddedContext::new(COMMANDS_CONTEXT, text)])
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use aethon_core::background::CommandEnd;
    use aethon_core::clock::SystemClock;
    use aethon_core::ids::{SessionId, TurnId};
    use aethon_core::live::Live;

    use super::super::record::End;
    use super::*;

    #[tokio::test]
    async fn next_turn_of_the_owner_is_told_of_an_end_once() {
        let registry = CommandRegistry::alone(Arc::new(SystemClock), Live::default());
        let session = SessionId::of("webchat", "a").unwrap();
        let (ended, running) =
            (registry.reserve(&session, "cargo test"), registry.reserve(&session, "serve"));
        let took = Duration::from_secs(84);
        let end = End { how: CommandEnd::Status(1), at: registry.now(), took, notes: Vec::new() };
        ended.unwrap().end(end);
        assert!(running.unwrap().is_running());
        let hook = EndedCommands(registry);
        let told = async |inbound: &Inbound| {
            let turn = TurnContext::of(TurnId::fresh(), inbound);
            hook.before_turn(&turn, inbound).await.unwrap()
        };
        let owners = Inbound::say(session.clone(), "and now?");
        assert!(told(&owners.clone().with_outside(true)).await.is_empty(), "it is nothing to strangers");
        assert!(told(&Inbound::say(SessionId::of("webchat", "b").unwrap(), "x")).await.is_empty());
        let note = told(&owners).await.pop().unwrap();
        assert!(
            note.text.ends_with(":\ncommand 1 (cargo test) ended with status 1 after 1 min 24 s"),
            "{note:?}"
        );
        assert!(told(&owners).await.is_empty(), "once");
    }
}
