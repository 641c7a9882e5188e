//! The task that tells and hears.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use aethon_core::peers::{Heard, Note, PeerId, Peers};
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::super::hub::{Hub, RoomNews};
use super::hearing::Hearing;
use super::notes::{FOLLOW, FRAMES};
use super::telling::Telling;

/// How often requests are looked through, and who is alive.
const TICK: Duration = Duration::from_millis(2500);

/// Relays the frames of the rooms of a [shared](Hub::shared) hub, for as long as this is polled.
pub async fn relay(hub: Arc<Hub>, peers: Arc<dyn Peers>) {
    let Some(mut news) = hub.take_news() else { return };
    let mut heard = peers.listen();
    let mut relay = Relay {
        telling: Telling::new(hub.clone(), peers.clone()),
        hearing: Hearing::new(hub, peers.clone()),
        others: BTreeSet::new(),
    };
    let wake = relay.telling.wake.clone();
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = wake.notified() => relay.telling.tell_new(),
            next = news.recv() => match next {
                Some(next) => relay.note(next),
                None => return,
            },
            next = heard.recv() => match next {
                Ok(Heard::Note(note)) => relay.hear(&note),
                Ok(Heard::Lost(from)) => relay.hearing.missed(from, &relay.others),
                Err(RecvError::Lagged(_)) => relay.hearing.missed(None, &relay.others),
                Err(RecvError::Closed) => return,
            },
            () = until(relay.hearing.due()) => relay.hearing.ask_again(),
            _ = tick.tick() => relay.tidy(&*peers).await,
        }
    }
}

/// Waits for a moment, if there is one.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

struct Relay {
    telling: Telling,
    hearing: Hearing,
    /// The other instances that are alive.
    others: BTreeSet<PeerId>,
}

impl Relay {
    fn note(&mut self, news: RoomNews) {
        match news {
            RoomNews::Made(room) => self.telling.has_room(&room),
            RoomNews::Read(room) => self.hearing.read(&room),
            RoomNews::Resumed { room, after, done } => self.hearing.resume(&room, after, done),
        }
    }

    fn hear(&mut self, note: &Note) {
        if self.others.insert(note.from) {
            self.hearing.began(note.from);
        }
        let understood = match note.topic.as_str() {
            FOLLOW => serde_json::from_str(&note.body).map(|follow| self.telling.asked(note.from, &follow)),
            FRAMES => serde_json::from_str(&note.body).map(|frames| self.hearing.told(note.from, frames)),
            _ => Ok(()),
        };
        if let Err(error) = understood {
            tracing::debug!(%error, topic = note.topic, "a note of another instance cannot be read");
        }
    }

    async fn tidy(&mut self, peers: &dyn Peers) {
        if let Ok(alive) = peers.others().await {
            let alive = BTreeSet::from_iter(alive);
            for gone in self.others.difference(&alive) {
                self.hearing.gone(*gone);
            }
            for new in alive.difference(&self.others) {
                self.hearing.began(*new);
            }
            self.others = alive;
        }
        let others = &self.others;
        self.telling.tidy(|peer| others.contains(&peer));
        self.hearing.tidy();
    }
}
