//! The engine's side: turns come in, begin, grow and end.
//!
//! JSON is written by the caller before the job is queued; a job is statements only.

use aethon_core::error::{Error as CoreError, Result as CoreResult};
use aethon_core::ids::{MessageId, SessionId, TurnId};
use aethon_core::message::{Inbound, Message};
use aethon_core::session::{Accepted, Begin, Finish, Finished, TurnLog, TurnPhase, TurnRecord, title_of};
use async_trait::async_trait;

use crate::db::Sql;
use crate::error::Error;
use crate::messages::{self, NewMessage, to_json};
use crate::outbox;
use crate::sessions::{self, Opened, Opening};
use crate::store::Store;
use crate::turns::{self, NewTurn, Outcome};

#[async_trait]
impl TurnLog for Store {
    async fn accept(&self, turn: &TurnId, inbound: &Inbound, begin: Option<Begin>) -> CoreResult<Accepted> {
        let now = self.now();
        let opening = Opening {
            id: inbound.session.clone(),
            sender: Some(inbound.sender.clone()),
            agent_name: self.agent_name().to_owned(),
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
            now,
        };
        let start = begin.as_ref().map(Start::from).transpose()?;
        Ok(self.write_at(now, move |sql| accept(sql, &opening, &turn, start.as_ref())).await?)
    }

    async fn begin(&self, turn: &TurnId, begin: Begin) -> CoreResult<MessageId> {
        let (turn, start, now) = (turn.clone(), Start::from(&begin)?, self.now());
        let id = self.write(move |sql| begin_again(sql, &turn, &start, now)).await?;
        Ok(MessageId(id))
    }

    async fn append(&self, turn: &TurnId, messages: Vec<Message>) -> CoreResult<Vec<MessageId>> {
        let (turn, messages, now) = (turn.clone(), prepared(&messages)?, self.now());
        let append = move |sql: &Sql<'_>| {
            let standing = turns::standing(sql, &turn)?;
            if standing.phase != TurnPhase::Running {
                return Err(CoreError::invalid(format!("the turn {turn} does not run")).into());
            }
            add(sql, standing.session, &turn, &messages, now)
        };
        Ok(self.write(append).await?)
    }

    async fn finish(&self, finish: Finish) -> CoreResult<Finished> {
        let now = self.now();
        let Finish { messages, reply, deliveries, next } = finish;
        let holder = messages.iter().rposition(|message| message.text() == reply.text);
        let ending = Ending {
            holder,
            outcome: to_json(&Outcome {
                text: holder.is_none().then_some(reply.text),
                end: reply.end,
                model: reply.model,
                usage: reply.usage,
                failure: reply.failure,
            })?,
            messages: prepared(&messages)?,
            turn: reply.turn,
            session: reply.session,
            deliveries,
            next: next.map(|(turn, begin)| Ok::<_, Error>((turn, Start::from(&begin)?))).transpose()?,
            now,
        };
        Ok(self.write_at(now, move |sql| ending.store(sql)).await?)
    }

    async fn window(&self, session: &SessionId, limit: usize) -> CoreResult<Vec<Message>> {
        let session = session.clone();
        let read = move |sql: &Sql<'_>| {
            let Some(key) = sessions::key(sql, session.as_str())? else { return Ok(Vec::new()) };
            messages::page(sql, key, (messages::folded_through(sql, key)?, i64::MAX), limit)
        };
        Ok(self.read(read).await?)
    }

    async fn turn(&self, turn: &TurnId) -> CoreResult<Option<TurnRecord>> {
        let turn = turn.clone();
        Ok(self.read(move |sql| turns::record(sql, &turn)).await?)
    }

    async fn unfinished(&self) -> CoreResult<Vec<TurnRecord>> {
        Ok(self.read(|sql| turns::open(sql, None)).await?)
    }
}

/// A [`Begin`] that is ready to be stored.
struct Start {
    message: NewMessage,
    title: String,
    replaces: Option<TurnId>,
}

impl Start {
    fn from(begin: &Begin) -> Result<Self, Error> {
        Ok(Self {
            message: NewMessage::from(&begin.message)?,
            title: title_of(&begin.message),
            replaces: begin.replaces.clone(),
        })
    }
}

/// A [`Finish`] that is ready to be stored.
struct Ending {
    turn: TurnId,
    session: SessionId,
    messages: Vec<NewMessage>,
    /// Which of the messages has the reply's text.
    holder: Option<usize>,
    outcome: String,
    deliveries: Vec<aethon_core::channel::NewDelivery>,
    next: Option<(TurnId, Start)>,
    now: i64,
}

impl Ending {
    fn store(&self, sql: &Sql<'_>) -> Result<Finished, Error> {
        let standing = turns::standing(sql, &self.turn)?;
        if standing.phase == TurnPhase::Done {
            return Err(CoreError::invalid(format!("the turn {} has ended before", self.turn)).into());
        }
        let messages = add(sql, standing.session, &self.turn, &self.messages, self.now)?;
        let reply_message = self.holder.and_then(|holder| messages.get(holder)).map(|id| id.0);
        turns::end(sql, standing.key, &self.outcome, reply_message, self.now)?;
        for delivery in &self.deliveries {
            outbox::insert(sql, (self.session.as_str(), self.turn.as_str()), delivery, self.now)?;
        }
        let next = match &self.next {
            Some((turn, start)) => unless_gone(begin_again(sql, turn, start, self.now))?.map(MessageId),
            None => None,
        };
        Ok(Finished { messages, next })
    }
}

fn prepared(messages: &[Message]) -> Result<Vec<NewMessage>, Error> {
    messages.iter().map(NewMessage::from).collect()
}

fn accept(
    sql: &Sql<'_>,
    opening: &Opening,
    turn: &NewTurn,
    start: Option<&Start>,
) -> Result<Accepted, Error> {
    if let Some((dedupe_id, _)) = &turn.dedupe
        && let Some(known) = turns::known(sql, &turn.channel, dedupe_id, turn.now)?
    {
        return Ok(Accepted::Known(Box::new(known)));
    }
    let session = sessions::open(sql, opening)?;
    let first = match start {
        Some(start) => Some(begin(sql, &session, &turn.id, start, turn.now)?),
        None => {
            gone_unless(sessions::touch(sql, session.key, 0, turn.now)?, &turn.id)?;
            None
        }
    };
    turns::insert(sql, session.key, turn, first)?;
    Ok(Accepted::New(first.map(MessageId)))
}

/// Starts a turn that waited, or one that had begun when the program ended: its message is there already.
fn begin_again(sql: &Sql<'_>, turn: &TurnId, start: &Start, now: i64) -> Result<i64, Error> {
    let standing = turns::standing(sql, turn)?;
    if standing.phase == TurnPhase::Done {
        return Err(CoreError::invalid(format!("the turn {turn} has ended before")).into());
    }
    let first = match standing.first_message {
        Some(first) => first,
        None => {
            let session = Opened { key: standing.session, is_untitled: true };
            begin(sql, &session, turn, start, now)?
        }
    };
    turns::start(sql, standing.key, first, now)?;
    Ok(first)
}

/// Stores the user's message, and takes what it replaces out of the live branch.
fn begin(sql: &Sql<'_>, session: &Opened, turn: &TurnId, start: &Start, now: i64) -> Result<i64, Error> {
    let replaced =
        start.replaces.as_ref().map(|replaced| live_start(sql, session.key, replaced)).transpose()?;
    let first = messages::insert(sql, session.key, Some(turn.as_str()), &start.message)?;
    let mut added = 1;
    if let Some(replaced) = replaced {
        let left = messages::supersede(sql, session.key, replaced, first)?;
        added -= i64::try_from(left).unwrap_or(0);
    }
    gone_unless(sessions::touch(sql, session.key, added, now)?, turn)?;
    if session.is_untitled || replaced.is_some() {
        sessions::suggest_title(sql, session.key, &start.title)?;
    }
    Ok(first)
}

/// The first message of a turn that a retry or an edit may replace.
fn live_start(sql: &Sql<'_>, session: i64, turn: &TurnId) -> Result<i64, Error> {
    let standing = turns::standing(sql, turn)?;
    let first = standing.first_message.filter(|_| standing.session == session);
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
    gone_unless(sessions::touch(sql, session, added, now)?, turn)?;
    Ok(ids)
}

/// A turn that cannot begin, because it is over or was removed, has written nothing.
fn unless_gone(begun: Result<i64, Error>) -> Result<Option<i64>, Error> {
    match begun.map_err(CoreError::from) {
        Ok(first) => Ok(Some(first)),
        Err(error) if error.is_not_found() || error.is_invalid() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A session that was removed while its turn ran takes nothing more.
fn gone_unless(exists: bool, turn: &TurnId) -> Result<(), Error> {
    if exists { Ok(()) } else { Err(turns::no_turn(turn)) }
}

#[cfg(test)]
mod cost;
