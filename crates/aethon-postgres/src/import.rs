//! Imports a whole conversation from elsewhere in one transaction.
//!
//! Messages get their ids as they are stored, so references between them are filled in here, inside the writer's job,
//! and not by the caller as everywhere else. Imports are rare and delay no turn.

use std::collections::BTreeMap;

use aethon_core::error::Result as CoreResult;
use aethon_core::ids::MessageId;
use aethon_core::import::{ImportedTurn, NewSession, SessionImport, rename_messages};
use aethon_core::message::{Message, TurnEnd};
use aethon_core::model::Usage;
use aethon_core::session::title_of;
use async_trait::async_trait;

use crate::db::Sql;
use crate::error::Error;
use crate::messages::{self, NewMessage, to_json};
use crate::owner::{About, Owner};
use crate::sessions::{self, SessionOpening};
use crate::store::Store;
use crate::turns::{self, NewTurn, Outcome};

#[async_trait]
impl SessionImport for Store {
    async fn import(&self, mut session: NewSession) -> CoreResult<bool> {
        let (now, owner) = (self.now(), self.owner());
        let turns = session.renew_turns();
        let agent_name = self.agent_name().to_owned();
        let opening = SessionOpening {
            id: session.id.clone(),
            sender: Some(session.sender.clone()),
            agent_name,
            is_oneshot: false,
            now,
        };
        let import = move |sql: &Sql<'_>| {
            if sessions::key(sql, opening.id.as_str())?.is_some() {
                return Ok(false);
            }
            let key = sessions::open(sql, &opening)?.key;
            let stored = store_messages(sql, key, &session)?;
            sessions::touch(sql, key, i64::try_from(stored.len()).unwrap_or(0), now)?;
            if session.title.is_empty() {
                let title = session.messages.first().map(title_of).unwrap_or_default();
                sessions::suggest_title(sql, key, &title)?;
            } else {
                sessions::rename(sql, opening.id.as_str(), &session.title)?;
            }
            let imported: Vec<(&Message, i64)> = session.messages.iter().zip(stored).collect();
            for turn in &turns {
                store_turn(sql, key, &imported, turn, owner, now)?;
            }
            // The person who imports it knows it.
            sessions::mark_read(sql, key)?;
            Ok(true)
        };
        Ok(self.write_at(now, import).await?)
    }
}

/// Stores the messages in order and returns their ids.
fn store_messages(sql: &Sql<'_>, key: i64, session: &NewSession) -> Result<Vec<i64>, Error> {
    let mut known = BTreeMap::new();
    let mut stored = Vec::with_capacity(session.messages.len());
    for message in &session.messages {
        let mut message = message.clone();
        rename_messages(&mut message, &known);
        let turn = message.turn.as_ref().map(aethon_core::ids::TurnId::as_str);
        let id = messages::insert(sql, key, turn, &NewMessage::from(&message)?)?;
        known.insert(message.id, MessageId(id));
        stored.push(id);
    }
    Ok(stored)
}

/// Stores a finished turn, so that its message can be retried.
fn store_turn(
    sql: &Sql<'_>,
    key: i64,
    messages: &[(&Message, i64)],
    imported: &ImportedTurn,
    owner: Owner,
    now: i64,
) -> Result<(), Error> {
    let mut of_turn = messages.iter().filter(|(message, _)| message.turn.as_ref() == Some(&imported.turn));
    let Some(&(_, first)) = of_turn.next() else { return Ok(()) };
    let last = of_turn.next_back();
    let turn = NewTurn {
        id: imported.turn.clone(),
        channel: imported.inbound.channel.clone(),
        dedupe: None,
        inbound: to_json(&imported.inbound)?,
        owner,
        about: About::default(),
        now,
    };
    turns::insert(sql, key, &turn, Some(first))?;
    let outcome = Outcome {
        text: last.is_none().then(String::new),
        after: None,
        end: last.and_then(|(message, _)| message.stop_reason).unwrap_or(TurnEnd::End),
        model: last.and_then(|(message, _)| message.model.clone()).unwrap_or_default(),
        usage: Usage::default(),
        failure: None,
        held: None,
    };
    let state = turns::state(sql, &imported.turn)?;
    turns::end(sql, state.key, &to_json(&outcome)?, last.map(|(_, id)| *id), now)
}
