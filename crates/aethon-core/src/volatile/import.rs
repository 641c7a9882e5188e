//! The import of whole conversations.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::store::MemoryStore;
use super::tables::TurnRow;
use crate::error::Result;
use crate::import::{NewSession, SessionImport, rename_messages};
use crate::session::{TurnPhase, TurnRecord};

#[async_trait]
impl SessionImport for MemoryStore {
    async fn import(&self, mut session: NewSession) -> Result<bool> {
        let (mut tables, now) = (self.enter("import")?, self.clock.now());
        if tables.sessions.contains_key(&session.id) {
            return Ok(false);
        }
        let turns = session.renew_turns();
        let row = tables.open_session(&session.id, (&session.sender, false), now);
        row.title.clone_from(&session.title);
        row.is_title_given = !session.title.is_empty();
        let mut known = BTreeMap::new();
        for mut message in session.messages {
            rename_messages(&mut message, &known);
            let old = message.id;
            let new = tables.add(&session.id, None, vec![message], now)?;
            known.extend(new.first().map(|&new| (old, new)));
        }
        // The person who imports it knows it.
        if let Some(row) = tables.sessions.get_mut(&session.id) {
            row.read_through = row.messages.last().map_or(row.read_through, |message| message.id);
        }
        for imported in turns {
            let number = tables.next_number();
            let messages = tables.sessions.get(&session.id).map(|row| row.messages.as_slice());
            let mut own = messages.into_iter().flatten();
            let first = own.find(|message| message.turn.as_ref() == Some(&imported.turn));
            let row = TurnRow {
                number,
                record: TurnRecord::new(imported.turn.clone(), imported.inbound, TurnPhase::Done, now),
                owner: None,
                first_message: first.map(|message| message.id),
                held: Vec::new(),
                known_until: None,
                is_shell: false,
            };
            tables.turns.insert(imported.turn, row);
        }
        Ok(true)
    }
}
