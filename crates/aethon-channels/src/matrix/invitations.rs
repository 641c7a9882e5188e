//! Invitations to rooms. One from a permitted person is accepted. One from a stranger is left unanswered, so that it
//! does not reveal that it was seen, but remembered: while a pairing code is open, the room is the only place where
//! the stranger can send it. Only then is the room joined, and left again if no pairing results.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::upgrades::{self, Moves, Rooms};
use crate::rest::encoded;
use crate::talk::{Fault, Intake, Sender, Stop};

/// Where invitations of strangers are stored, by room.
const INVITED: &str = "invited:";
/// How long they are stored.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(24);
/// How many are stored. Further ones are ignored.
const MAX_INVITED: usize = 20;
/// Where joined rooms of strangers are stored, with the stranger and the time.
const STRANGE: &str = "strange:";
/// How many of them we may be in at once.
const MAX_STRANGE: usize = 3;

/// Accepts an invitation from a permitted person, or to a room that replaces one of ours, and remembers any other.
pub(super) async fn invited(rooms: Rooms<'_>, us: &str, room: &str, invite: &Value) -> Result<(), Stop> {
    let intake = rooms.intake;
    if upgrades::invited(rooms, room).await? {
        return Ok(());
    }
    let Some(inviter) = inviter(invite, us) else {
        tracing::debug!(channel = "matrix", room, "it is not clear who sent an invitation");
        return Ok(());
    };
    if intake.may_write(&somebody(inviter)).await? {
        if join(rooms, room).await? == Outcome::Settled {
            return Ok(());
        }
    } else {
        intake.note_knock(inviter);
    }
    if intake.records().list("matrix", INVITED, MAX_INVITED).await?.len() < MAX_INVITED {
        let until = Some(intake.now() + REMEMBERED);
        intake.records().put("matrix", &format!("{INVITED}{room}"), inviter, until).await?;
    }
    Ok(())
}

/// Returns whether we are in a room only until it is clear whether the stranger who invited us is paired.
pub(super) async fn is_strangers(intake: &Intake, room: &str) -> Result<bool, Stop> {
    Ok(intake.records().get("matrix", &format!("{STRANGE}{room}")).await?.is_some())
}

/// Joins rooms of strangers who can be paired now, and leaves those of strangers who were not paired.
pub(super) async fn process_invitations(rooms: Rooms<'_>) -> Result<(), Stop> {
    let Rooms { moves, intake, .. } = rooms;
    let mut strange = 0;
    for (name, note) in intake.records().list("matrix", STRANGE, MAX_INVITED).await? {
        let Some((room, (stranger, joined_at))) = name.strip_prefix(STRANGE).zip(read(&note)) else {
            continue;
        };
        let is_known = intake.may_write(&somebody(stranger)).await?;
        if !is_known && intake.awaits(stranger, Some(joined_at)).await? {
            strange += 1;
            continue;
        }
        if !is_known && (moves.is_postponed(room) || leave(rooms, room).await? == Outcome::Later) {
            strange += 1;
            continue;
        }
        intake.records().take("matrix", &name).await?;
    }
    for (name, inviter) in intake.records().list("matrix", INVITED, MAX_INVITED).await? {
        let Some(room) = name.strip_prefix(INVITED).filter(|room| !moves.is_postponed(room)) else {
            continue;
        };
        let is_known = intake.may_write(&somebody(&inviter)).await?;
        if !is_known && (strange >= MAX_STRANGE || !intake.awaits(&inviter, None).await?) {
            continue;
        }
        if !is_known {
            strange += 1;
            // Stored before joining, so that the room is left later even after a crash.
            let note = format!("{} {inviter}", intake.now().as_second());
            intake.records().put("matrix", &format!("{STRANGE}{room}"), &note, None).await?;
        }
        if join(rooms, room).await? == Outcome::Settled {
            intake.records().take("matrix", &name).await?;
        }
    }
    Ok(())
}

/// What became of joining or leaving a room.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// It was done, or cannot be.
    Settled,
    /// It is not clear yet: its server may not answer.
    Later,
}

async fn join(Rooms { api, moves, .. }: Rooms<'_>, room: &str) -> Result<Outcome, Stop> {
    let path = format!("/_matrix/client/v3/rooms/{}/join", encoded(room));
    match api.post(&path, &json!({})).await.map_err(Fault::from) {
        Ok(_) => tracing::info!(channel = "matrix", room, "an invitation was accepted"),
        Err(Fault::Refused(message)) => {
            tracing::warn!(channel = "matrix", room, message, "an invitation could not be accepted");
        }
        Err(fault) => return postpone(moves, room, fault),
    }
    Ok(Outcome::Settled)
}

async fn leave(Rooms { api, moves, .. }: Rooms<'_>, room: &str) -> Result<Outcome, Stop> {
    match api.leave(room).await.map_err(Fault::from) {
        Ok(_) => tracing::info!(channel = "matrix", room, "a room was left"),
        // We are no longer a member.
        Err(Fault::Refused(message)) => {
            tracing::debug!(channel = "matrix", room, message, "a room could not be left");
        }
        Err(fault) => return postpone(moves, room, fault),
    }
    Ok(Outcome::Settled)
}

/// Leaves a room as it is for a while. The messages of other rooms do not wait for it.
fn postpone(moves: &Moves, room: &str, fault: Fault) -> Result<Outcome, Stop> {
    if let fault @ Fault::Identity(_) = fault {
        return Err(fault.into());
    }
    moves.postpone(room);
    let message = fault.message();
    tracing::warn!(
        channel = "matrix",
        room,
        message,
        "a room could not be joined or left; trying again later"
    );
    Ok(Outcome::Later)
}

fn read(note: &str) -> Option<(&str, Timestamp)> {
    let (joined_at, stranger) = note.split_once(' ')?;
    Some((stranger, Timestamp::from_second(joined_at.parse().ok()?).ok()?))
}

fn somebody(id: &str) -> Sender {
    Sender { id: id.to_owned(), name: None, group: None }
}

/// Returns who sent an invitation. The homeserver verified only the invitation event itself, which it puts last. The
/// other events are claims of the inviting server, so if one of them names someone else, no inviter is accepted.
fn inviter<'i>(invite: &'i Value, us: &str) -> Option<&'i str> {
    let events = invite["invite_state"]["events"].as_array()?;
    let mut senders = events
        .iter()
        .filter(|event| {
            event["type"] == "m.room.member"
                && event["state_key"] == us
                && event["content"]["membership"] == "invite"
        })
        .map(|event| event["sender"].as_str());
    let last = senders.next_back()??;
    senders.all(|sender| sender == Some(last)).then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invitation_naming_two_inviters_is_ignored() {
        let event = |sender: &str, of: &str, membership: &str| json!({"type": "m.room.member", "state_key": of, "sender": sender, "content": {"membership": membership}});
        let check = |events: &[Value], expected: Option<&str>| {
            let invite = json!({"invite_state": {"events": events}});
            assert_eq!(inviter(&invite, "@bot:hs"), expected, "{events:?}");
        };
        let (ada, eve) = (event("@ada:hs", "@bot:hs", "invite"), event("@eve:hs", "@bot:hs", "invite"));
        check(&[], None);
        check(std::slice::from_ref(&ada), Some("@ada:hs"));
        check(&[ada.clone(), ada.clone()], Some("@ada:hs"));
        check(&[ada.clone(), eve.clone()], None);
        check(&[eve, ada.clone()], None);
        check(
            &[
                json!({"type": "m.room.member", "state_key": "@bot:hs", "content": {"membership": "invite"}}),
                ada.clone(),
            ],
            None,
        );
        check(
            &[ada.clone(), event("@eve:hs", "@eve:hs", "join"), event("@bot:hs", "@bot:hs", "leave")],
            Some("@ada:hs"),
        );
    }
}
