//! Rooms that were replaced by another one. The conversation goes on there under its old name, as do `home`, jobs and deliveries.
//!
//! Both rooms have to say so. The old one does by its tombstone, a state event, which only people with that power can set; a
//! message that looks like one is none. The new one names the old one as its predecessor, and was created by somebody with that
//! power. If only invited people may join it, the invitation is accepted from whomever it comes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aethon_core::channel::ChannelRecords;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::api::Api;
use crate::rest::encoded;
use crate::talk::{Arrival, Fault, Intake, Sender, Stop};

/// Where the current room of a conversation is stored, by the room in which it began.
const MOVED: &str = "moved:";
/// How many are remembered.
const MAX_MOVES: usize = 1000;
/// Where an upgrade is stored that could not be followed yet, by the new room.
const EXPECTED: &str = "upgrade:";
/// How long its invitation is waited for.
const EXPECTED_FOR: SignedDuration = SignedDuration::from_hours(30 * 24);
/// How many upgrades may wait.
const MAX_EXPECTED: usize = 100;
/// The longest id of a room.
const MAX_ID: usize = 255;
/// The power that state events need, unless the room says otherwise.
const USUAL_POWER: i64 = 50;

/// Returns a message of a room under the name that its conversation began with. A thread keeps its root.
pub(super) fn under_first_name(arrival: Arrival, room: &str, first: &str) -> Arrival {
    let Some(thread) = arrival.chat.strip_prefix(room) else { return arrival };
    let chat = format!("{first}{thread}");
    let group = arrival.sender.group.as_ref().map(|_| first.to_owned());
    Arrival { chat, sender: Sender { group, ..arrival.sender }, ..arrival }
}

/// The rooms in which conversations go on, by those in which they began.
pub(super) struct Moves {
    records: Arc<dyn ChannelRecords>,
    now: Mutex<BTreeMap<String, String>>,
}

impl Moves {
    pub(super) fn new(records: Arc<dyn ChannelRecords>) -> Self {
        Self { records, now: Mutex::default() }
    }

    /// Loads what an earlier run has stored.
    pub(super) async fn load(&self) -> aethon_core::error::Result<()> {
        for (name, now) in self.records.list("matrix", MOVED, MAX_MOVES).await? {
            if let Some(first) = name.strip_prefix(MOVED) {
                self.lock().insert(first.to_owned(), now);
            }
        }
        Ok(())
    }

    /// Returns the room in which the conversation of a room began.
    pub(super) fn first(&self, room: &str) -> String {
        let first = self.lock().iter().find(|(_, now)| *now == room).map(|(first, _)| first.clone());
        first.unwrap_or_else(|| room.to_owned())
    }

    /// Returns the room in which a conversation goes on.
    pub(super) fn now(&self, first: &str) -> String {
        self.lock().get(first).cloned().unwrap_or_else(|| first.to_owned())
    }

    /// Returns whether a conversation that began in this room goes on elsewhere.
    pub(super) fn has_moved(&self, first: &str) -> bool {
        self.lock().contains_key(first)
    }

    async fn note(&self, from: &str, to: &str) -> aethon_core::error::Result<()> {
        let first = self.first(from);
        self.records.put("matrix", &format!("{MOVED}{first}"), to, None).await?;
        self.lock().insert(first, to.to_owned());
        tracing::info!(
            channel = "matrix",
            from,
            to,
            "a room was upgraded; its conversation goes on in the new one"
        );
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        // Every statement leaves the map consistent, so a poisoned lock is usable.
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a tombstone says.
#[derive(Debug, Serialize, Deserialize)]
struct Tombstone {
    room: String,
    event: String,
    sender: String,
}

/// Follows a room that was replaced, according to one of its events.
pub(super) async fn replaced(
    (api, moves): (&Api, &Moves),
    intake: &Intake,
    (room, event): (&str, &Value),
) -> Result<(), Stop> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let new = text(&event["content"]["replacement_room"]);
    let is_room = new.starts_with('!') && new.len() <= MAX_ID && new != room;
    // Without a state key, it is a message that anybody can send.
    if event["state_key"] != "" || !is_room || moves.now(&moves.first(room)) == new {
        return Ok(());
    }
    let path = format!("/_matrix/client/v3/rooms/{}/state/m.room.tombstone", encoded(room));
    let is_current = match api.get(&path).await.map_err(Fault::from) {
        Ok(current) => current["replacement_room"] == *new,
        Err(Fault::Refused(_)) => false,
        Err(fault) => return Err(fault.into()),
    };
    if !is_current {
        tracing::warn!(channel = "matrix", room, new, "a room does not confirm that it was upgraded");
        return Ok(());
    }
    let tombstone =
        Tombstone { room: room.to_owned(), event: text(&event["event_id"]), sender: text(&event["sender"]) };
    let stored = serde_json::to_string(&tombstone).map_err(|error| Stop::again(error.to_string()))?;
    if intake.records().list("matrix", EXPECTED, MAX_EXPECTED).await?.len() < MAX_EXPECTED {
        let until = Some(intake.now() + EXPECTED_FOR);
        intake.records().put("matrix", &format!("{EXPECTED}{new}"), &stored, until).await?;
    }
    follow((api, moves), intake, (&new, &tombstone)).await
}

/// Follows an invitation to a room that replaces another one. Returns whether it is to such a room.
pub(super) async fn invited((api, moves): (&Api, &Moves), intake: &Intake, new: &str) -> Result<bool, Stop> {
    let stored = intake.records().get("matrix", &format!("{EXPECTED}{new}")).await?;
    let Some(tombstone) = stored.and_then(|stored| serde_json::from_str(&stored).ok()) else {
        return Ok(false);
    };
    follow((api, moves), intake, (new, &tombstone)).await?;
    Ok(true)
}

/// Joins the new room, if it lets us in, and goes on there, if it names the old one.
async fn follow(
    (api, moves): (&Api, &Moves),
    intake: &Intake,
    (new, old): (&str, &Tombstone),
) -> Result<(), Stop> {
    // Rooms of newer versions have no server in their id, so the people are asked by theirs.
    let servers: Vec<String> = [new, old.sender.as_str(), old.room.as_str()]
        .iter()
        .filter_map(|id| Some(format!("via={0}&server_name={0}", encoded(id.split_once(':')?.1))))
        .collect();
    let path = format!("/_matrix/client/v3/join/{}?{}", encoded(new), servers.join("&"));
    match api.post(&path, &json!({})).await.map_err(Fault::from) {
        Ok(_) => {}
        Err(Fault::Refused(message) | Fault::Unclear(message)) => {
            tracing::info!(
                channel = "matrix",
                new,
                message,
                "a room was upgraded; the new one is joined once there is an invitation"
            );
            return Ok(());
        }
        Err(fault) => return Err(fault.into()),
    }
    if names_predecessor(api, (new, old)).await? {
        moves.note(&old.room, new).await?;
    } else {
        tracing::warn!(
            channel = "matrix",
            room = old.room,
            new,
            "a room is not what its predecessor says, and was left"
        );
        match api.leave(new).await.map_err(Fault::from) {
            Ok(_) | Err(Fault::Refused(_)) => {}
            Err(fault) => return Err(fault.into()),
        }
    }
    intake.records().take("matrix", &format!("{EXPECTED}{new}")).await?;
    Ok(())
}

/// Returns whether a room says that it replaces the other, and was created by somebody who may say so.
async fn names_predecessor(api: &Api, (new, old): (&str, &Tombstone)) -> Result<bool, Stop> {
    let path = format!("/_matrix/client/v3/rooms/{}/state/m.room.create/?format=event", encoded(new));
    let created = match api.get(&path).await.map_err(Fault::from) {
        Ok(created) => created,
        Err(Fault::Refused(_)) => return Ok(false),
        Err(fault) => return Err(fault.into()),
    };
    // Older servers know no formats and answer with the content.
    let content = if created["content"].is_object() { &created["content"] } else { &created };
    let predecessor = &content["predecessor"];
    let is_event = predecessor["event_id"].as_str().is_none_or(|event| event == old.event);
    if predecessor["room_id"] != *old.room || !is_event {
        return Ok(false);
    }
    let creator = created["sender"].as_str().or_else(|| content["creator"].as_str());
    match creator {
        Some(creator) if creator != old.sender => may_replace(api, &old.room, creator).await,
        _ => Ok(true),
    }
}

/// Returns whether somebody has the power to replace a room.
async fn may_replace(api: &Api, room: &str, person: &str) -> Result<bool, Stop> {
    let path = format!("/_matrix/client/v3/rooms/{}/state/m.room.power_levels", encoded(room));
    let levels = match api.get(&path).await.map_err(Fault::from) {
        Ok(levels) => levels,
        Err(Fault::Refused(_)) => return Ok(false),
        Err(fault) => return Err(fault.into()),
    };
    let needed = levels["events"]["m.room.tombstone"].as_i64().or_else(|| levels["state_default"].as_i64());
    let own = levels["users"][person].as_i64().or_else(|| levels["users_default"].as_i64());
    Ok(own.unwrap_or(0) >= needed.unwrap_or(USUAL_POWER))
}
