//! Rooms that were replaced by another one. The conversation continues there under its old name, as do `home`, jobs and deliveries.
//!
//! Both rooms have to say so. The old one does by its tombstone, a state event, which only people with that power can set; a
//! message that looks like one is none. The new one names the old one as its predecessor, and was created by a person with that
//! power. If only invited people may join it, the invitation is accepted from whomever it comes.
//!
//! The new room may be on a server that does not answer. Other rooms do not wait for it: it is joined later.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_core::channel::ChannelRecords;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::Instant;

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
/// How long after a failure a room is left alone, and how many are tried in one round.
const POSTPONED_FOR: Duration = Duration::from_secs(300);
const MAX_TRIES: usize = 3;
/// How many rooms are left alone at most.
const MAX_POSTPONED: usize = 1000;
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

/// The parts that joining, leaving and following rooms need.
#[derive(Clone, Copy)]
pub(super) struct Rooms<'r> {
    pub(super) api: &'r Api,
    pub(super) moves: &'r Moves,
    pub(super) intake: &'r Intake,
}

/// The rooms in which conversations go on, by those in which they began.
pub(super) struct Moves {
    records: Arc<dyn ChannelRecords>,
    now: Mutex<BTreeMap<String, String>>,
    /// Rooms that could not be joined, and when they are tried again.
    postponed: Mutex<BTreeMap<String, Instant>>,
}

impl Moves {
    pub(super) fn new(records: Arc<dyn ChannelRecords>) -> Self {
        Self { records, now: Mutex::default(), postponed: Mutex::default() }
    }

    /// Loads the state that an earlier run stored.
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

    /// Returns the room in which a conversation continues.
    pub(super) fn now(&self, first: &str) -> String {
        self.lock().get(first).cloned().unwrap_or_else(|| first.to_owned())
    }

    /// Returns whether a conversation that began in this room continues elsewhere.
    pub(super) fn has_moved(&self, first: &str) -> bool {
        self.lock().contains_key(first)
    }

    /// Returns whether a room is left alone for now, because it could not be joined a short while ago.
    pub(super) fn is_postponed(&self, room: &str) -> bool {
        lock(&self.postponed).get(room).is_some_and(|until| *until > Instant::now())
    }

    /// Leaves a room alone for some minutes, because it could not be joined.
    pub(super) fn postpone(&self, room: &str) {
        let mut postponed = lock(&self.postponed);
        if postponed.len() >= MAX_POSTPONED {
            postponed.clear();
        }
        postponed.insert(room.to_owned(), Instant::now() + POSTPONED_FOR);
    }

    async fn note(&self, from: &str, to: &str) -> aethon_core::error::Result<()> {
        let first = self.first(from);
        self.records.put("matrix", &format!("{MOVED}{first}"), to, None).await?;
        self.lock().insert(first, to.to_owned());
        tracing::info!(
            channel = "matrix",
            from,
            to,
            "a room was upgraded; its conversation continues in the new one"
        );
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        lock(&self.now)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every statement leaves the map consistent, so a poisoned lock is usable.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The content of a tombstone.
#[derive(Debug, Serialize, Deserialize)]
struct Tombstone {
    room: String,
    event: String,
    sender: String,
    /// Whether the tombstone still has to be compared with the room's current one.
    #[serde(default)]
    is_unconfirmed: bool,
}

/// Follows a room that was replaced, according to one of its events.
pub(super) async fn replaced(rooms: Rooms<'_>, room: &str, event: &Value) -> Result<(), Stop> {
    let Rooms { api, moves, intake } = rooms;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let new = text(&event["content"]["replacement_room"]);
    let is_room = new.starts_with('!') && new.len() <= MAX_ID && new != room;
    // Without a state key, it is a message that anybody can send.
    if event["state_key"] != "" || !is_room || moves.now(&moves.first(room)) == new {
        return Ok(());
    }
    let mut tombstone = Tombstone {
        room: room.to_owned(),
        event: text(&event["event_id"]),
        sender: text(&event["sender"]),
        is_unconfirmed: false,
    };
    match is_current(api, &new, &tombstone).await {
        Ok(true) => {}
        Ok(false) => {
            tracing::warn!(channel = "matrix", room, new, "a room does not confirm that it was upgraded");
            return Ok(());
        }
        Err(fault) => {
            postpone(moves, &new, fault)?;
            tombstone.is_unconfirmed = true;
        }
    }
    let stored = serde_json::to_string(&tombstone).map_err(|error| Stop::again(error.to_string()))?;
    if intake.records().list("matrix", EXPECTED, MAX_EXPECTED).await?.len() < MAX_EXPECTED {
        let until = Some(intake.now() + EXPECTED_FOR);
        intake.records().put("matrix", &format!("{EXPECTED}{new}"), &stored, until).await?;
    }
    if tombstone.is_unconfirmed {
        return Ok(());
    }
    follow(rooms, &new, &tombstone).await
}

/// Follows upgrades that could not be followed when they came: after a start, and then every few minutes.
pub(super) async fn retry(rooms: Rooms<'_>) -> Result<(), Stop> {
    let mut tries = 0;
    for (name, stored) in rooms.intake.records().list("matrix", EXPECTED, MAX_EXPECTED).await? {
        let Some(new) = name.strip_prefix(EXPECTED).filter(|new| !rooms.moves.is_postponed(new)) else {
            continue;
        };
        if tries >= MAX_TRIES {
            break;
        }
        let Ok(tombstone) = serde_json::from_str(&stored) else { continue };
        tries += 1;
        follow(rooms, new, &tombstone).await?;
    }
    Ok(())
}

/// Returns whether a tombstone is the current one of its room.
async fn is_current(api: &Api, new: &str, old: &Tombstone) -> Result<bool, Fault> {
    let path = format!("/_matrix/client/v3/rooms/{}/state/m.room.tombstone", encoded(&old.room));
    match api.get(&path).await.map_err(Fault::from) {
        Ok(current) => Ok(current["replacement_room"] == *new),
        Err(Fault::Refused(_)) => Ok(false),
        Err(fault) => Err(fault),
    }
}

/// Leaves the new room alone for a while. Only faults of our own end the round: a room on another server that does
/// not answer must not keep us from reading the others.
fn postpone(moves: &Moves, new: &str, fault: Fault) -> Result<(), Stop> {
    if let fault @ Fault::Identity(_) = fault {
        return Err(fault.into());
    }
    moves.postpone(new);
    tracing::info!(
        channel = "matrix",
        new,
        error = fault.message(),
        "a room was upgraded; the new one is joined later, or once there is an invitation"
    );
    Ok(())
}

/// Follows an invitation to a room that replaces another one. Returns whether it is to such a room.
pub(super) async fn invited(rooms: Rooms<'_>, new: &str) -> Result<bool, Stop> {
    let stored = rooms.intake.records().get("matrix", &format!("{EXPECTED}{new}")).await?;
    let Some(tombstone) = stored.and_then(|stored| serde_json::from_str(&stored).ok()) else {
        return Ok(false);
    };
    follow(rooms, new, &tombstone).await?;
    Ok(true)
}

/// Joins the new room, if it lets us in, and continues there, if it names the old one. If that is not clear now, it is tried again.
async fn follow(rooms: Rooms<'_>, new: &str, old: &Tombstone) -> Result<(), Stop> {
    let Rooms { api, moves, intake } = rooms;
    match join_replacement(api, new, old).await {
        Ok(true) => moves.note(&old.room, new).await?,
        Ok(false) => tracing::warn!(
            channel = "matrix",
            room = old.room,
            new,
            "a room is not what its predecessor says, and was left"
        ),
        Err(fault) => return postpone(moves, new, fault),
    }
    intake.records().take("matrix", &format!("{EXPECTED}{new}")).await?;
    Ok(())
}

/// Joins the new room. Returns whether it replaces the old one; if it does not, it was left again.
async fn join_replacement(api: &Api, new: &str, old: &Tombstone) -> Result<bool, Fault> {
    if old.is_unconfirmed && !is_current(api, new, old).await? {
        return Ok(false);
    }
    // Rooms of newer versions have no server in their id, so those of the people are used.
    let servers: Vec<String> = [new, old.sender.as_str(), old.room.as_str()]
        .iter()
        .filter_map(|id| Some(format!("via={0}&server_name={0}", encoded(id.split_once(':')?.1))))
        .collect();
    let path = format!("/_matrix/client/v3/join/{}?{}", encoded(new), servers.join("&"));
    api.post(&path, &json!({})).await?;
    if names_predecessor(api, new, old).await? {
        return Ok(true);
    }
    match api.leave(new).await.map_err(Fault::from) {
        Ok(_) | Err(Fault::Refused(_)) => Ok(false),
        Err(fault) => Err(fault),
    }
}

/// Returns whether a room says that it replaces the other, and was created by a person with the power to do so.
async fn names_predecessor(api: &Api, new: &str, old: &Tombstone) -> Result<bool, Fault> {
    let path = format!("/_matrix/client/v3/rooms/{}/state/m.room.create/?format=event", encoded(new));
    let created = match api.get(&path).await.map_err(Fault::from) {
        Ok(created) => created,
        Err(Fault::Refused(_)) => return Ok(false),
        Err(fault) => return Err(fault),
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

/// Returns whether a person has the power to replace a room.
async fn may_replace(api: &Api, room: &str, person: &str) -> Result<bool, Fault> {
    let path = format!("/_matrix/client/v3/rooms/{}/state/m.room.power_levels", encoded(room));
    let levels = match api.get(&path).await.map_err(Fault::from) {
        Ok(levels) => levels,
        Err(Fault::Refused(_)) => return Ok(false),
        Err(fault) => return Err(fault),
    };
    let needed = levels["events"]["m.room.tombstone"].as_i64().or_else(|| levels["state_default"].as_i64());
    let own = levels["users"][person].as_i64().or_else(|| levels["users_default"].as_i64());
    Ok(own.unwrap_or(0) >= needed.unwrap_or(USUAL_POWER))
}
