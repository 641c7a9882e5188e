//! Looks up the references of a message: the message that it answers, the beginning of its thread, and the messages before it
//! there.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde_json::Value;

use super::api::Api;
use super::content::{content, edited};
use super::edits;
use super::inbound::{self, Surroundings, Us};
use super::upgrades::Rooms;
use crate::rest::encoded;
use crate::talk::{Arrival, Failure, Fault, Intake, Sender, Stop, newest_lines};

/// How many events are remembered.
const MAX_EVENTS: usize = 500;
/// How many messages of a thread are read.
const PAGE: usize = 20;
/// How long it is remembered how far the conversation knows a thread.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(30 * 24);

/// A room.
#[derive(Clone, Copy)]
pub(super) struct Room<'r> {
    pub(super) id: &'r str,
    /// The room in which its conversation began, by which lists name it.
    pub(super) first: &'r str,
    /// Whether only we and one other person are in it.
    pub(super) is_private: bool,
}

/// The looked-up references, and our own identity.
pub(super) struct Context {
    us: Us,
    /// Recent events of ours, and those that were looked up; `None` where there is none.
    events: BTreeMap<String, Option<Value>>,
}

/// How far the conversation knows a thread.
pub(super) struct ThreadMark {
    name: String,
    last: String,
}

/// A part of a thread: before an event, and after the last one that the conversation knows.
struct Span<'s> {
    after: Option<&'s str>,
    before: &'s Value,
}

impl ThreadMark {
    /// Stores it, after the message was taken in.
    pub(super) async fn store(&self, intake: &Intake) -> Result<(), Stop> {
        let until = Some(intake.now() + REMEMBERED);
        intake.records().put("matrix", &self.name, &self.last, until).await?;
        Ok(())
    }
}

impl Context {
    pub(super) fn new(us: Us) -> Self {
        Self { us, events: BTreeMap::new() }
    }

    /// Remembers our name in a room.
    pub(super) fn note_member(&mut self, event: &Value) {
        if event["type"] == "m.room.member"
            && event["state_key"] == self.us.id
            && let Some(name) = event["content"]["displayname"].as_str()
        {
            self.us.note_name(name);
        }
    }

    /// Converts an event, with its references.
    pub(super) async fn arrival(
        &mut self,
        rooms: Rooms<'_>,
        room: Room<'_>,
        event: &Value,
    ) -> Result<Option<(Arrival, Option<ThreadMark>)>, Stop> {
        let Some(sender) = event["sender"].as_str() else { return Ok(None) };
        if sender == self.us.id {
            self.note_ours(event);
            return Ok(None);
        }
        let (event, replaces) = edits::unfolded(event);
        let found = self.read(rooms, room, &event, sender).await?;
        Ok(found.map(|(arrival, thread)| (Arrival { replaces, ..arrival }, thread)))
    }

    /// Converts an event of another person, which is no edit any more.
    async fn read(
        &mut self,
        Rooms { api, intake, .. }: Rooms<'_>,
        Room { id: room, first, is_private }: Room<'_>,
        event: &Value,
        sender: &str,
    ) -> Result<Option<(Arrival, Option<ThreadMark>)>, Stop> {
        let group = (!is_private).then(|| first.to_owned());
        let sender = Sender { id: sender.to_owned(), name: None, group };
        // Nothing is looked up for strangers.
        if !intake.may_write(&sender).await? {
            let arrival = inbound::arrival(
                event,
                room,
                &self.us,
                &Surroundings { is_private, ..Surroundings::default() },
            );
            return Ok(arrival.map(|arrival| (arrival, None)));
        }
        let answered = match inbound::answered(event) {
            Some(id) => self.event(api, room, id).await?,
            None => None,
        };
        let thread = inbound::thread(event).map(str::to_owned);
        let root = match &thread {
            Some(id) => self.event(api, room, id).await?,
            None => None,
        };
        let surroundings = Surroundings { is_private, answered, root };
        let Some(mut arrival) = inbound::arrival(event, room, &self.us, &surroundings) else {
            return Ok(None);
        };
        let Some(thread) = thread.filter(|_| arrival.is_addressed) else { return Ok(Some((arrival, None))) };
        let mark = ThreadMark { name: format!("thread:{room}{thread}"), last: arrival.id.clone() };
        let last = intake.records().get("matrix", &mark.name).await?;
        let is_command = arrival.text.starts_with(['/', '!']);
        if last.is_none() && !is_command && inbound::answered(event).is_none() {
            inbound::add_root(&mut arrival, &surroundings, &self.us);
        }
        let is_unknown = last.is_none() || inbound::is_named(event, &self.us);
        if is_unknown && !is_private && !is_command {
            let span = Span { after: last.as_deref(), before: event };
            arrival.earlier = self.earlier(api, room, &thread, &span).await;
        }
        Ok(Some((arrival, Some(mark))))
    }

    /// Returns an event, from memory if it is known. A failure other than a refusal leaves it open.
    async fn event(&mut self, api: &Api, room: &str, id: &str) -> Result<Option<Value>, Stop> {
        if let Some(known) = self.events.get(id) {
            return Ok(known.clone());
        }
        let path = format!("/_matrix/client/v3/rooms/{}/event/{}", encoded(room), encoded(id));
        let found = match api.get(&path).await {
            Ok(found) => Some(edited(found)),
            Err(failure @ Failure::Token(_)) => return Err(failure.into()),
            Err(Failure::Fault(Fault::Refused(_))) => None,
            // A person who meant us can mention us; other people's messages must not wait for this.
            Err(Failure::Fault(fault)) => {
                let error = fault.message();
                tracing::debug!(channel = "matrix", error, "the answered message could not be looked up");
                return Ok(None);
            }
        };
        self.remember(id.to_owned(), found.clone());
        Ok(found)
    }

    fn remember(&mut self, id: String, event: Option<Value>) {
        if self.events.len() >= MAX_EVENTS {
            self.events.clear();
        }
        self.events.insert(id, event);
    }

    /// Remembers a message of ours, or its last edit.
    fn note_ours(&mut self, event: &Value) {
        let relation = &event["content"]["m.relates_to"];
        let edited = relation["event_id"].as_str().filter(|_| relation["rel_type"] == "m.replace");
        if let Some(edited) = edited {
            if let Some(Some(known)) = self.events.get_mut(edited) {
                known["content"] = event["content"]["m.new_content"].clone();
            }
        } else if let Some(id) = event["event_id"].as_str() {
            self.remember(id.to_owned(), Some(event.clone()));
        }
    }

    /// Returns the words of others in this part of a thread.
    async fn earlier(&self, api: &Api, room: &str, thread: &str, span: &Span<'_>) -> Option<String> {
        let path = format!(
            "/_matrix/client/v1/rooms/{}/relations/{}/m.thread?dir=b&limit={PAGE}",
            encoded(room),
            encoded(thread)
        );
        let found = match api.get(&path).await {
            Ok(found) => found,
            Err(failure) => {
                let error = Fault::from(failure);
                tracing::debug!(
                    channel = "matrix",
                    error = error.message(),
                    "a thread could not be looked up"
                );
                return None;
            }
        };
        let events: Vec<&Value> = found["chunk"].as_array().into_iter().flatten().collect();
        let own = events.iter().position(|other| other["event_id"] == span.before["event_id"]);
        let before = events.into_iter().skip(own.map_or(0, |own| own + 1));
        let unknown = before.take_while(|other| other["event_id"].as_str() != span.after);
        let mut lines: Vec<String> = unknown
            .filter_map(|other| {
                let sender = other["sender"].as_str().filter(|sender| *sender != self.us.id)?;
                let words = content(&edited(other.clone()), &self.us.id)?.markup.text;
                (!words.is_empty()).then(|| format!("{sender}: {words}"))
            })
            .collect();
        lines.reverse();
        newest_lines(lines)
    }
}
