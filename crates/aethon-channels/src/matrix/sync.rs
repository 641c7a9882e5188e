//! The sync loop: events are passed to the intake, and only then is the position stored from which the next sync
//! continues.
//!
//! The first start begins with events from then on, judged by their times, so that a message written while the channel signs in is
//! answered, and a crash before the first sync is through loses none of it. If the server leaves a gap because too much happened at once, the
//! missing messages are fetched.

use super::platform::Matrix;
use aethon_core::shutdown::Shutdown;
use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::Value;

use super::api::Api;
use super::context::{Context, Room};
use super::inbound::Us;
use super::upgrades::{self, Rooms};
use super::{content, invitations};
use crate::rest::encoded;
use crate::talk::{self, Failure, Fault, Intake, ReceiveLoop, Receiver, Sender, Stop};

/// How long the server holds a request without news.
pub const POLL: Duration = Duration::from_secs(30);

/// Where the position is stored.
const SINCE: &str = "since";
/// Where the time of the first start is stored, until the first sync is through.
const BEGUN: &str = "begun";
/// How many pages of a gap are fetched.
const MAX_PAGES: usize = 20;
/// Which events of rooms are requested.
const FILTER: &str = r#"{"presence":{"types":[]},"account_data":{"types":[]},"room":{"ephemeral":{"types":[]},"account_data":{"types":[]},"state":{"lazy_load_members":true,"types":["m.room.member","m.room.tombstone"]},"timeline":{"limit":50}}}"#;
const ENCRYPTED: &str = "I cannot read encrypted rooms. Please write to me in a room without encryption.";

/// Receives events for an account, once it is signed in.
pub(super) struct SyncLoop<'a> {
    matrix: &'a Matrix,
    session: Option<Session>,
}

impl<'a> SyncLoop<'a> {
    pub(super) fn new(matrix: &'a Matrix) -> Self {
        Self { matrix, session: None }
    }
}

#[async_trait]
impl ReceiveLoop for SyncLoop<'_> {
    async fn round(&mut self, intake: &Intake) -> Result<(), Stop> {
        match &mut self.session {
            Some(session) => session.round(self.matrix, intake).await,
            None => {
                self.session = Some(Session::begin(self.matrix, intake).await?);
                Ok(())
            }
        }
    }
}

/// A signed-in account, and how far its events were read.
struct Session {
    us: String,
    since: Option<String>,
    /// Before the first sync: messages until then are history.
    begun: Option<Timestamp>,
    /// The number of people in each room, as far as known.
    members: BTreeMap<String, u64>,
    /// What messages refer to.
    context: Context,
    /// Whether the last request failed. If so, the next one returns immediately; otherwise recovery would show only
    /// after the server held a request for its full time.
    has_failed: bool,
}

impl Session {
    async fn begin(matrix: &Matrix, intake: &Intake) -> Result<Self, Stop> {
        let api = &matrix.api;
        if !api.has_token() {
            return Err(Stop::Useless("channels.matrix.token is empty".into()));
        }
        let since = intake.records().get("matrix", SINCE).await?;
        let begun = if since.is_none() { Some(first_start(intake).await?) } else { None };
        matrix.moves.load().await?;
        let us = api.account().await?;
        tracing::info!(channel = "matrix", account = us, "the channel runs");
        intake.health().runs(Some(&us));
        let context = Context::new(named(api, &us).await);
        Ok(Self { us, since, begun, members: BTreeMap::new(), context, has_failed: false })
    }

    async fn round(&mut self, matrix: &Matrix, intake: &Intake) -> Result<(), Stop> {
        let api = &matrix.api;
        let is_first = self.since.is_none();
        let wait = if is_first || self.has_failed { 0 } else { POLL.as_millis() };
        let since = self.since.as_ref().map(|since| format!("&since={}", encoded(since))).unwrap_or_default();
        let path = format!("/_matrix/client/v3/sync?timeout={wait}{since}&filter={}", encoded(FILTER));
        let asked = api.poll(&path).await;
        self.has_failed = asked.is_err();
        let answer = asked?;
        intake.health().runs(None);
        let rooms = Rooms { api, moves: &matrix.moves, intake };
        for (room, invite) in answer["rooms"]["invite"].as_object().into_iter().flatten() {
            invitations::invited(rooms, &self.us, room, invite).await?;
        }
        invitations::process_invitations(rooms).await?;
        for (room, joined) in answer["rooms"]["join"].as_object().into_iter().flatten() {
            self.note_members(room, joined);
            self.room(rooms, room, joined).await?;
        }
        if let Some(next) = answer["next_batch"].as_str() {
            intake.records().put("matrix", SINCE, next, None).await?;
            (self.since, self.begun) = (Some(next.to_owned()), None);
        }
        upgrades::retry(rooms).await?;
        Ok(())
    }

    async fn room(&mut self, rooms: Rooms<'_>, room: &str, joined: &Value) -> Result<(), Stop> {
        let timeline = &joined["timeline"];
        let mut events = match timeline["limited"] == true {
            true => self.gap(rooms.api, room, &timeline["prev_batch"]).await?,
            false => Vec::new(),
        };
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        events.extend(list(&timeline["events"]));
        // A gap may hide a tombstone, which is then part of the state.
        events.extend(list(&joined["state"]["events"]).into_iter().filter(is_tombstone));
        for event in events {
            if !self.is_history(&event) {
                self.event(rooms, room, &event).await?;
            }
        }
        Ok(())
    }

    async fn event(&mut self, rooms: Rooms<'_>, room: &str, event: &Value) -> Result<(), Stop> {
        if is_tombstone(event) {
            if !invitations::is_strangers(rooms.intake, room).await? {
                upgrades::replaced(rooms, room, event).await?;
            }
            return Ok(());
        }
        if event["type"] == "m.room.member" {
            self.context.note_member(event);
            // Requested again when needed.
            self.members.remove(room);
            return Ok(());
        }
        let is_encrypted = event["type"] == "m.room.encrypted";
        if !is_encrypted && !content::is_message(&event["type"]) {
            return Ok(());
        }
        let Rooms { api, moves, intake } = rooms;
        let (chat, is_private) = (moves.first(room), self.is_private(api, room).await?);
        if is_encrypted {
            let sender = event["sender"].as_str().unwrap_or_default();
            let sender = Sender { id: sender.to_owned(), name: None, group: None };
            if is_private && sender.id != self.us && intake.may_write(&sender).await? {
                intake.tell(&chat, "encrypted", ENCRYPTED).await?;
            }
            return Ok(());
        }
        let place = Room { id: room, first: &chat, is_private };
        if let Some((arrival, thread)) = self.context.arrival(rooms, place, event).await? {
            intake.arrive(upgrades::under_first_name(arrival, room, &chat)).await?;
            if let Some(thread) = thread {
                thread.store(intake).await?;
            }
        }
        Ok(())
    }

    /// Fetches the messages that the server left out, oldest first.
    async fn gap(&self, api: &Api, room: &str, from: &Value) -> Result<Vec<Value>, Stop> {
        let (Some(mut from), Some(to)) = (from.as_str().map(str::to_owned), &self.since) else {
            return Ok(Vec::new());
        };
        let mut newest_first = Vec::new();
        for _ in 0..MAX_PAGES {
            let path = format!(
                "/_matrix/client/v3/rooms/{}/messages?dir=b&limit=100&from={}&to={}",
                encoded(room),
                encoded(&from),
                encoded(to)
            );
            let page = api.get(&path).await?;
            let chunk = page["chunk"].as_array().cloned().unwrap_or_default();
            let is_empty = chunk.is_empty();
            newest_first.extend(chunk);
            match page["end"].as_str() {
                Some(end) if !is_empty => from = end.to_owned(),
                _ => break,
            }
        }
        newest_first.reverse();
        Ok(newest_first)
    }

    /// Returns whether something was there before the first start.
    fn is_history(&self, event: &Value) -> bool {
        let at = event["origin_server_ts"].as_i64().and_then(|at| Timestamp::from_millisecond(at).ok());
        self.begun.is_some_and(|begun| at.is_none_or(|at| at <= begun))
    }

    fn note_members(&mut self, room: &str, joined: &Value) {
        let state = joined["state"]["events"].as_array().into_iter().flatten();
        state.for_each(|event| self.context.note_member(event));
        if let Some(count) = joined["summary"]["m.joined_member_count"].as_u64() {
            self.members.insert(room.to_owned(), count);
        }
    }

    /// Returns whether only we and one other person are in the room.
    async fn is_private(&mut self, api: &Api, room: &str) -> Result<bool, Stop> {
        if let Some(count) = self.members.get(room) {
            return Ok(*count <= 2);
        }
        let path = format!("/_matrix/client/v3/rooms/{}/joined_members", encoded(room));
        let count = match api.get(&path).await {
            Ok(members) => members["joined"].as_object().map_or(0, serde_json::Map::len) as u64,
            // We are no longer a member.
            Err(Failure::Fault(Fault::Refused(_))) => u64::MAX,
            Err(failure) => return Err(failure.into()),
        };
        self.members.insert(room.to_owned(), count);
        Ok(count <= 2)
    }
}

/// Returns who we are, with the name under which clients show us. Without it, the name in our id is left.
async fn named(api: &Api, us: &str) -> Us {
    let mut named = Us::new(us);
    if let Ok(profile) = api.get(&format!("/_matrix/client/v3/profile/{}/displayname", encoded(us))).await
        && let Some(name) = profile["displayname"].as_str()
    {
        named.note_name(name);
    }
    named
}

fn is_tombstone(event: &Value) -> bool {
    event["type"] == "m.room.tombstone"
}

/// Returns the time of the first start, and stores it if this is the first.
async fn first_start(intake: &Intake) -> Result<Timestamp, Stop> {
    let stored = intake.records().get("matrix", BEGUN).await?.and_then(|begun| begun.parse().ok());
    if let Some(begun) = stored.and_then(|begun| Timestamp::from_millisecond(begun).ok()) {
        return Ok(begun);
    }
    let begun = intake.now();
    intake.records().put("matrix", BEGUN, &begun.as_millisecond().to_string(), None).await?;
    Ok(begun)
}

#[async_trait]
impl Receiver for Matrix {
    async fn receive(&self, intake: &Intake, shutdown: Shutdown) -> aethon_core::error::Result<()> {
        talk::receive(&mut SyncLoop::new(self), intake, shutdown).await
    }
}
