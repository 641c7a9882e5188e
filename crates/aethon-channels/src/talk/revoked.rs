//! Ends the turns of people who may not write any more: they were taken off the list, or their pairing was revoked, possibly by
//! another program.

use std::collections::HashSet;
use std::time::Duration;

use aethon_core::assistant::Assistant;
use tokio::time::sleep;

use super::access;
use super::outlet::RateLimitedSender;
use super::started_turns::StartedTurn;
use super::stream::Streams;

/// How often access is looked at while turns run.
const INTERVAL: Duration = Duration::from_millis(500);

/// Stops turns whose starter has lost access, while it is polled.
pub(super) async fn watch(outlet: &RateLimitedSender, streams: &Streams, assistant: &dyn Assistant) {
    loop {
        streams.started_turns.noted().await;
        // Turns of the time before a restart, once their starter was seen to have access.
        let mut admitted = HashSet::new();
        loop {
            let active = assistant.activity();
            let running =
                streams.started_turns.those(|started| active.iter().any(|turn| turn.turn == started.turn));
            if running.is_empty() {
                break;
            }
            for started in running {
                match outlet.may_write(&started.who).await {
                    Ok(true) => drop(admitted.insert(started.turn)),
                    // Of these, it is not known by which name or group they may have had access.
                    Ok(false)
                        if started.is_resumed
                            && !admitted.contains(&started.turn)
                            && access::lists_names_or_groups(&outlet.rules) => {}
                    Ok(false) => stop(outlet, streams, (assistant, &started)).await,
                    Err(error) => {
                        tracing::debug!(channel = outlet.channel(), %error, "it could not be checked who may write");
                    }
                }
            }
            sleep(INTERVAL).await;
        }
    }
}

async fn stop(
    outlet: &RateLimitedSender,
    streams: &Streams,
    (assistant, started): (&dyn Assistant, &StartedTurn),
) {
    streams.silence(&started.turn);
    let count = assistant.stop(&started.session, Some(&started.turn)).await;
    if count > 0 {
        let (channel, sender) = (outlet.channel(), started.who.id.as_str());
        tracing::info!(channel, sender, "a turn was stopped, because its sender may not write any more");
    }
}
