//! The engine's side: turns are accepted, begin, grow and end.
//!
//! The caller serializes JSON before it queues the job; the job itself only runs statements.

use aethon_core::error::{Error as CoreError, Result as CoreResult};
use aethon_core::ids::{MessageId, SessionId, TurnId};
use aethon_core::message::{Inbound, Message, Role};
use aethon_core::session::{
    Accepted, Begin, Begun, Finish, Finished, TurnLog, TurnLookup, TurnPhase, TurnRecord, title_of,
};
use async_trait::async_trait;

use crate::db::{CommitTiming, Sql};
use crate::error::Error;
use crate::messages::{self, NewMessage, to_json};
use crate::oneshots;
use crate::outbox;
use crate::owner::Owner;
use crate::owners;
use crate::sessions::{self, OpenSession, SessionOpening};
use crate::store::Store;
use crate::turns::{self, Due, HeldMessages, NewTurn, Outcome, TurnState};
use crate::versions;

/// From this size on, a text that is already in a message is not stored again just because a notice follows it.
const LONG: usize = 64 << 10;

#[async_trait]
impl TurnLog for Store {
    async fn accept(&self, turn: &TurnId, inbound: &Inbound, begin: Option<Begin>) -> CoreResult<Accepted> {
        let now = self.now();
        let opening = SessionOpening {
            id: inbound.session.clone(),
            sender: Some(inbound.sender.clone()),
            agent_name: if inbound.agent.is_main() { self.agent_name() } else { inbound.agent.as_str() }
                .to_owned(),
            is_oneshot: inbound.oneshot,
            now,
        };
        let dedupe = inbound.dedupe.as_ref().map(|dedupe| {
            let until = dedupe.valid_for.map(|seconds| {
                now.saturating_add(i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1000))
            });
            (dedupe.id.clone(), until)
        });
        let turn = NewTurn {
            id: turn.clone(),
            channel: inbound.channel.clone(),
            dedupe,
            inbound: to_json(inbound)?,
            owner: self.owner(),
            now,
        };
        let start = begin.as_ref().map(PreparedBegin::from).transpose()?;
        if inbound.oneshot {
            self.limit_grown_oneshots().await;
        }
        self.note_growth(turn.inbound.len() * 2);
        let mark = self.mark_for(inbound.trust());
        // A message that waits behind a running turn can wait for the commit that ends it.
        let timing = if begin.is_some() { CommitTiming::Immediate } else { CommitTiming::Shared };
        let accept = move |sql: &Sql<'_>| match mark {
            Some(mark) if !has_room(sql, &turn, mark)? => Ok(None),
            _ => accept(sql, &opening, &turn, start.as_ref()).map(Some),
        };
        let accepted = self.write_at(now, timing, accept).await?;
        accepted.ok_or_else(|| {
            CoreError::no_room(
                "what others send has filled three quarters of the database (`storage.max_mb`), and the rest is kept for the \
                 owner: remove conversations, or raise the limit",
            )
        })
    }

    async fn begin(&self, turn: &TurnId, begin: Begin) -> CoreResult<Begun> {
        let (turn, start, by) = (turn.clone(), PreparedBegin::from(&begin)?, (self.owner(), self.now()));
        Ok(self.write(move |sql| begin_stored(sql, &turn, &start, by)).await?)
    }

    async fn is_ours(&self, turn: &TurnId) -> CoreResult<bool> {
        let (turn, owner) = (turn.clone(), self.owner());
        let state = self.read(move |sql: &Sql<'_>| turns::state(sql, &turn)).await.map_err(CoreError::from);
        match state {
            Err(error) if error.is_not_found() => Ok(false),
            state => state.map(|state| state.phase != TurnPhase::Done && state.is_of(owner)),
        }
    }

    async fn append(&self, turn: &TurnId, messages: Vec<Message>) -> CoreResult<Vec<MessageId>> {
        let (turn, messages, now, owner) = (turn.clone(), prepare(&messages)?, self.now(), self.owner());
        self.note_growth(messages.iter().map(NewMessage::bytes).sum());
        let append = move |sql: &Sql<'_>| {
            let state = turns::state(sql, &turn)?;
            if state.phase != TurnPhase::Running {
                return Err(CoreError::invalid(format!("the turn {turn} does not run")).into());
            }
            if !state.is_of(owner) {
                return Err(owners::taken_over(&turn));
            }
            add(sql, state.session, &turn, &messages, now)
        };
        Ok(self.write(append).await?)
    }

    async fn finish(&self, finish: Finish) -> CoreResult<Finished> {
        let now = self.now();
        let Finish { messages, reply, deliveries, next } = finish;
        let held = held(&messages)?;
        // Messages that may have to wait have no id yet that the outcome could refer to.
        let suffix_after = |message: &Message| suffix_after(&reply.text, message);
        let holder =
            messages.iter().rposition(|message| suffix_after(message).is_some()).filter(|_| held.is_none());
        let after =
            holder.and_then(|holder| suffix_after(messages.get(holder)?)).filter(|after| !after.is_empty());
        let prepared = PreparedFinish {
            holder,
            outcome: to_json(&Outcome {
                text: holder.is_none().then(|| reply.text.clone()),
                after: after.map(str::to_owned),
                end: reply.end,
                model: reply.model.clone(),
                usage: reply.usage,
                failure: reply.failure.clone(),
                held: None,
            })?,
            held,
            messages: prepare(&messages)?,
            turn: reply.turn.clone(),
            session: reply.session.clone(),
            deliveries,
            next: next
                .map(|(turn, begin)| Ok::<_, Error>((turn, PreparedBegin::from(&begin)?)))
                .transpose()?,
            owner: self.owner(),
            now,
        };
        self.note_growth(prepared.messages.iter().map(NewMessage::bytes).sum());
        Ok(self.write_at(now, CommitTiming::Immediate, move |sql| prepared.store(sql)).await?)
    }

    async fn window(&self, session: &SessionId, limit: usize) -> CoreResult<Vec<Message>> {
        let session = session.clone();
        let read = move |sql: &Sql<'_>| {
            let Some(key) = sessions::key(sql, session.as_str())? else { return Ok(Vec::new()) };
            messages::window(sql, key, limit)
        };
        Ok(self.read(read).await?)
    }
}

#[async_trait]
impl TurnLookup for Store {
    async fn known(&self, channel: &str, dedupe_id: &str) -> CoreResult<Option<TurnRecord>> {
        let (channel, dedupe_id, now) = (channel.to_owned(), dedupe_id.to_owned(), self.now());
        Ok(self.read(move |sql| turns::still_known(sql, &channel, &dedupe_id, now)).await?)
    }

    async fn turn(&self, turn: &TurnId) -> CoreResult<Option<TurnRecord>> {
        let turn = turn.clone();
        Ok(self.read(move |sql| turns::record(sql, &turn)).await?)
    }

    async fn unfinished(&self) -> CoreResult<Vec<TurnRecord>> {
        let open = self.read(|sql| turns::open(sql, None)).await?;
        Ok(open.into_iter().filter(|record| record.phase != TurnPhase::Done).collect())
    }
}

/// Returns the text that a reply adds to a message: empty if they are equal, `None` if the texts differ. A long text
/// followed by a notice is not stored twice, either.
fn suffix_after<'r>(reply: &'r str, message: &Message) -> Option<&'r str> {
    if message.text_bytes() > reply.len() {
        return None;
    }
    let after = reply.strip_prefix(message.text().as_str())?;
    (after.is_empty() || reply.len() - after.len() >= LONG).then_some(after)
}

/// A [`Begin`] ready to be stored.
struct PreparedBegin {
    message: NewMessage,
    title: String,
    replaces: Option<TurnId>,
}

impl PreparedBegin {
    fn from(begin: &Begin) -> Result<Self, Error> {
        Ok(Self {
            message: NewMessage::from(&begin.message)?,
            title: title_of(&begin.message),
            replaces: begin.replaces.clone(),
        })
    }
}

/// A [`Finish`] ready to be stored.
struct PreparedFinish {
    turn: TurnId,
    session: SessionId,
    messages: Vec<NewMessage>,
    /// Index of the message that contains the reply's text.
    holder: Option<usize>,
    outcome: String,
    /// The messages as JSON, if they may have to wait for their place in the transcript.
    held: Option<String>,
    deliveries: Vec<aethon_core::channel::NewDelivery>,
    next: Option<(TurnId, PreparedBegin)>,
    owner: Owner,
    now: i64,
}

impl PreparedFinish {
    fn store(&self, sql: &Sql<'_>) -> Result<Finished, Error> {
        let state = turns::state(sql, &self.turn)?;
        if state.phase == TurnPhase::Done {
            return Err(CoreError::invalid(format!("the turn {} has ended before", self.turn)).into());
        }
        if !state.is_of(self.owner) {
            return Err(owners::taken_over(&self.turn));
        }
        let beside = match state.first_message {
            Some(first) => messages::has_beside(sql, state.session, first, self.turn.as_str())?,
            None => false,
        };
        let mut messages = self.end(sql, &state)?;
        for due in turns::due(sql, state.session)? {
            let placed = place_held_messages(sql, state.session, &due, self.now)?;
            if due.key == state.key {
                messages = placed;
            }
        }
        for delivery in &self.deliveries {
            outbox::insert(sql, (self.session.as_str(), self.turn.as_str()), delivery, self.now)?;
        }
        let next = match &self.next {
            Some((turn, start)) => none_if_blocked(begin_stored(sql, turn, start, (self.owner, self.now)))?,
            None => None,
        };
        Ok(Finished { messages, beside, next })
    }
}

impl PreparedFinish {
    /// Adds the last messages and stores the outcome. Those of a turn that never began wait until every older turn is
    /// over.
    fn end(&self, sql: &Sql<'_>, state: &TurnState) -> Result<Vec<MessageId>, Error> {
        let unbegun = self.held.as_ref().filter(|_| state.first_message.is_none());
        if let Some(held) = unbegun {
            turns::hold(sql, state.key, &self.outcome, held, self.now)?;
            return Ok(Vec::new());
        }
        let messages = add(sql, state.session, &self.turn, &self.messages, self.now)?;
        let reply_message = self.holder.and_then(|holder| messages.get(holder)).map(|id| id.0);
        turns::end(sql, state.key, &self.outcome, reply_message, self.now)?;
        Ok(messages)
    }
}

/// Adds the messages of a turn that ended before it began to the transcript.
fn place_held_messages(sql: &Sql<'_>, session: i64, due: &Due, now: i64) -> Result<Vec<MessageId>, Error> {
    let messages = add(sql, session, &due.id, &due.held.messages, now)?;
    turns::mark_placed(sql, due.key, messages.first().map(|id| id.0))?;
    sessions::suggest_title(sql, session, &due.held.title)?;
    Ok(messages)
}

/// Serializes messages that start with the user's, which means that the turn may never have begun.
fn held(messages: &[Message]) -> Result<Option<String>, Error> {
    let Some(first) = messages.first().filter(|first| first.role == Role::User) else { return Ok(None) };
    let held = HeldMessages { messages: prepare(messages)?, title: title_of(first) };
    Ok(Some(to_json(&held)?))
}

fn prepare(messages: &[Message]) -> Result<Vec<NewMessage>, Error> {
    messages.iter().map(NewMessage::from).collect()
}

/// Returns whether a stranger's turn fits into the part of the file that strangers may fill, after removing one-shot
/// sessions if necessary. One that is known already needs no room.
fn has_room(sql: &Sql<'_>, turn: &NewTurn, mark: u64) -> Result<bool, Error> {
    if let Some((dedupe_id, _)) = &turn.dedupe
        && turns::known(sql, &turn.channel, dedupe_id, turn.now)?.is_some()
    {
        return Ok(true);
    }
    let bytes = u64::try_from(turn.inbound.len()).unwrap_or(u64::MAX);
    oneshots::make_room_below(sql, mark, bytes, turn.now)
}

fn accept(
    sql: &Sql<'_>,
    opening: &SessionOpening,
    turn: &NewTurn,
    start: Option<&PreparedBegin>,
) -> Result<Accepted, Error> {
    if let Some((dedupe_id, _)) = &turn.dedupe
        && let Some(known) = turns::known(sql, &turn.channel, dedupe_id, turn.now)?
    {
        return Ok(Accepted::Known(Box::new(known)));
    }
    let session = sessions::open(sql, opening)?;
    turn.owner.sign_if_due(sql, turn.now)?;
    // Turns that another program has open in the session come first.
    let start = match start {
        Some(start) if !owners::is_held(sql, session.key, i64::MAX, turn.owner)? => Some(start),
        _ => None,
    };
    let begun = match start {
        Some(start) => Some(begin(sql, &session, &turn.id, start, turn.now)?),
        None => {
            ensure_exists(sessions::touch(sql, session.key, 0, turn.now)?, &turn.id)?;
            None
        }
    };
    turns::insert(sql, session.key, turn, begun.as_ref().map(|begun| begun.message.0))?;
    if let Some(replaced) = start.and_then(|start| start.replaces.as_ref()) {
        versions::join(sql, replaced, &turn.id)?;
    }
    Ok(Accepted::New(begun))
}

/// Starts a turn that was waiting, or restarts one that was running when the program ended; its message is already
/// stored.
fn begin_stored(
    sql: &Sql<'_>,
    turn: &TurnId,
    start: &PreparedBegin,
    (owner, now): (Owner, i64),
) -> Result<Begun, Error> {
    let state = turns::state(sql, turn)?;
    if state.phase == TurnPhase::Done {
        return Err(CoreError::invalid(format!("the turn {turn} has ended before")).into());
    }
    if !state.is_of(owner) {
        return Err(owners::elsewhere());
    }
    let begun = match state.first_message {
        Some(first) => Begun {
            message: MessageId(first),
            after: None,
            defaults: sessions::defaults(sql, state.session)?,
        },
        None if owners::is_held(sql, state.session, state.key, owner)? => {
            return Err(owners::elsewhere());
        }
        None => {
            let defaults = sessions::defaults(sql, state.session)?;
            // A title that the session has already stays: only one without is named after its message.
            let session = OpenSession { key: state.session, is_untitled: true, defaults };
            begin(sql, &session, turn, start, now)?
        }
    };
    turns::start(sql, state.key, begun.message.0, now)?;
    if let Some(replaced) = &start.replaces {
        versions::join(sql, replaced, turn)?;
    }
    Ok(begun)
}

/// Stores the user's message and puts the replaced messages aside.
fn begin(
    sql: &Sql<'_>,
    session: &OpenSession,
    turn: &TurnId,
    start: &PreparedBegin,
    now: i64,
) -> Result<Begun, Error> {
    let after = messages::newest(sql, session.key)?.map(MessageId);
    let replaced =
        start.replaces.as_ref().map(|replaced| live_start(sql, session.key, replaced)).transpose()?;
    let first = messages::insert(sql, session.key, Some(turn.as_str()), &start.message)?;
    let mut added = 1;
    if let Some(replaced) = replaced {
        let left = messages::put_aside(sql, session.key, replaced, first)?;
        added -= i64::try_from(left).unwrap_or(0);
    }
    ensure_exists(sessions::touch(sql, session.key, added, now)?, turn)?;
    if session.is_untitled || replaced.is_some() {
        sessions::suggest_title(sql, session.key, &start.title)?;
    }
    Ok(Begun { message: MessageId(first), after, defaults: session.defaults.clone() })
}

/// Returns the first message of a turn that a retry or an edit may replace.
fn live_start(sql: &Sql<'_>, session: i64, turn: &TurnId) -> Result<i64, Error> {
    let state = turns::state(sql, turn)?;
    let first = state.first_message.filter(|_| state.session == session);
    match first {
        Some(first) if messages::is_live(sql, session, first)? => Ok(first),
        _ => Err(turns::no_turn(turn)),
    }
}

fn add(
    sql: &Sql<'_>,
    session: i64,
    turn: &TurnId,
    messages: &[NewMessage],
    now: i64,
) -> Result<Vec<MessageId>, Error> {
    let ids = messages
        .iter()
        .map(|message| messages::insert(sql, session, Some(turn.as_str()), message).map(MessageId))
        .collect::<Result<Vec<_>, _>>()?;
    let added = i64::try_from(ids.len()).unwrap_or(0);
    ensure_exists(sessions::touch(sql, session, added, now)?, turn)?;
    Ok(ids)
}

/// Converts errors about a turn that cannot begin (it is over, was removed, or has to wait) to `None`; nothing was
/// written.
fn none_if_blocked(begun: Result<Begun, Error>) -> Result<Option<Begun>, Error> {
    match begun.map_err(CoreError::from) {
        Ok(begun) => Ok(Some(begun)),
        Err(error) if error.is_not_found() || error.is_invalid() || error.is_elsewhere() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Rejects writes to a session that was removed while its turn ran.
fn ensure_exists(exists: bool, turn: &TurnId) -> Result<(), Error> {
    if exists { Ok(()) } else { Err(turns::no_turn(turn)) }
}

#[cfg(test)]
mod cost;
