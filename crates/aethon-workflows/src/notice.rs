//! Notices of the program itself, as messages that it answers: so they go through the outbox like every reply.

use aethon_core::ids::SessionId;
use aethon_core::ledger::WorkKind;
use aethon_core::message::{Dedupe, Destination, Handling, Inbound};

/// Builds the message of a notice about work or the schedule. It is delivered once per key, however often it is submitted.
/// `None` if the key is too long for a session.
pub(crate) fn notice(
    channel: &str,
    kind: WorkKind,
    key: &str,
    to: Destination,
    text: String,
) -> Option<Inbound> {
    let session = SessionId::of(channel, &format!("notices:{key}")).ok()?;
    let dedupe = Dedupe { id: format!("{channel}:{key}"), fingerprint: None, valid_for: None };
    let inbound = Inbound::say(session, format!("What is there to say about the {channel}?"));
    Some(
        inbound
            .from_sender(channel)
            .of_kind(kind)
            .with_oneshot(true)
            .with_dedupe(dedupe)
            .delivered_to(to)
            .handled_by(Handling::Program { answer: text }),
    )
}
