//! `/stop`: which turns it reaches, and that none of them comes back.

use std::collections::BTreeSet;
use std::sync::Arc;

use aethon_core::error::Result;
use aethon_core::ids::{SessionId, TurnId};

use super::begun::{SEEN_FOR, note_shown};
use super::intake::Intake;
use super::outlet;
use super::place::{self, Place};
use super::platform::Arrival;
use super::reply_gates::withdrawal_of;
use super::waiting::Entry;

impl Intake {
    /// Stops the running turns. If the conversation is theirs, that is all of it and of earlier conversations here;
    /// otherwise only what they started themselves.
    pub(super) async fn stop(&self, arrival: &Arrival, place: &Place, is_theirs: bool) -> Result<String> {
        let (chat, sender) = (arrival.chat.as_str(), arrival.sender.id.as_str());
        let has_threads = (self.outlet.platform.dialect().has_threads)(chat);
        let is_same = |other: &str| {
            let channel = self.outlet.channel();
            place::conversation(channel, other) == place::conversation(channel, chat)
        };
        let is_there = |other: &str| {
            let in_it = other.strip_prefix(chat);
            is_same(other) || in_it.is_some_and(|rest| has_threads && rest.starts_with(':'))
        };
        let is_meant = |waiting: &Arrival| {
            is_there(&waiting.chat) && (waiting.sender.id == sender || (is_theirs && is_same(&waiting.chat)))
        };
        let now = self.session(place).await?;
        let (mut sessions, mut own) = (BTreeSet::new(), Vec::new());
        let dropped = {
            let _in_order = self.order.lock().await;
            let active = self.assistant.activity();
            if is_theirs {
                sessions = self.before(place, &now)?;
                sessions.insert(now.clone());
            }
            if !is_theirs || has_threads {
                own = self.streams.started_turns.of(sender, is_there);
                own.retain(|started| active.iter().any(|turn| turn.turn == started.turn));
            }
            let is_stopped = |turn: &TurnId| own.iter().any(|started| started.turn == *turn);
            for turn in &active {
                if sessions.contains(&turn.session_id) || is_stopped(&turn.turn) {
                    self.streams.gates.settle(&turn.turn);
                    // Stopping does not depend on it.
                    if let Err(error) = note_shown(&self.outlet, &turn.turn).await {
                        tracing::warn!(channel = self.outlet.channel(), %error, "a stopped turn was not noted");
                    }
                }
            }
            self.drop_waiting(is_meant).await
        };
        let (mut stopped, mut stopped_before) = (0, 0);
        for session in sessions {
            let count = self.assistant.stop(&session, None).await;
            if session == now { stopped += count } else { stopped_before += count }
        }
        for started in own {
            stopped += self.assistant.stop(&started.session, Some(&started.turn)).await;
        }
        for entry in dropped? {
            stopped += 1;
            if let Some(turn) = &entry.act.instead {
                self.assistant.stop(&entry.act.session, Some(turn)).await;
            }
        }
        let answer = match (stopped, stopped_before) {
            (0, 0) if is_theirs => "Nothing is running.",
            (0, 0) => "Nothing of yours is running.",
            (_, 0) => "Stopped.",
            (0, _) => "Stopped what still ran in the conversation before this one.",
            _ => "Stopped, with what still ran in the conversation before this one.",
        };
        Ok(answer.to_owned())
    }

    /// Drops the waiting acts with matching messages and returns them. Before their records go, it is stored that they were
    /// called off, since the platform may deliver them again.
    async fn drop_waiting(&self, is_meant: impl Fn(&Arrival) -> bool) -> Result<Vec<Arc<Entry>>> {
        let dropped = self.waiting.those(is_meant);
        for entry in &dropped {
            if let Some(turn) = &entry.act.instead {
                let until = Some(self.now() + SEEN_FOR);
                self.records().put(self.outlet.channel(), &withdrawal_of(turn), "", until).await?;
            }
            self.begun.note_dropped(self.storage(), &entry.act).await?;
            self.waiting.remove(entry).await;
        }
        Ok(dropped)
    }

    /// Returns the earlier conversations of a place in which something runs or waits.
    fn before(&self, place: &Place, now: &SessionId) -> Result<BTreeSet<SessionId>> {
        let first = outlet::session(&place.channel, &place.conversation, 1)?;
        let is_here = |session: &SessionId| {
            let number = session.as_str().strip_prefix(first.as_str());
            number.is_some_and(|number| {
                number.is_empty()
                    || number.strip_prefix('~').is_some_and(|number| number.parse::<u32>().is_ok())
            })
        };
        let active = self.assistant.activity().into_iter().map(|turn| turn.session_id);
        Ok(active.filter(|session| session != now && is_here(session)).collect())
    }
}
