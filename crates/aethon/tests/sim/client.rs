//! A client: it sends messages one after the other, corrects them, stops and clears, posts as a job does, and sends
//! unacknowledged messages again, as the real programs do.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use aethon_core::assistant::{Assistant, Posting, Submitted};
use aethon_core::error::Error;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::{Dedupe, Destination, Inbound};
use aethon_core::session::{Clear, TurnLookup, TurnPhase};
use futures_util::FutureExt;
use tokio::time::sleep;

use crate::doubles::Watcher;
use crate::history::{Cleared, Posted, Said};
use crate::program::{Program, Slot};
use crate::world::{World, session};

pub struct Client {
    pub world: Arc<World>,
    pub slots: Vec<Arc<Slot>>,
    pub sender: usize,
    pub sessions: usize,
    /// Replies that are waited for, of all clients.
    pub waits: Arc<AtomicUsize>,
}

/// What became of a message.
enum Handed {
    Acknowledged(Submitted, Program, u64),
    /// Its program died, so the outcome cannot be queried.
    Lost,
    Refused(Error),
}

impl Client {
    /// Lives through its script.
    pub async fn run(self) {
        let acts = 3 + self.world.below(6);
        for number in 0..acts {
            let session = session(self.world.below(self.sessions));
            match self.world.below(20) {
                0..13 => self.say(session, number).await,
                13..15 => self.edit(number).await,
                15 => self.stop(&session, None).await,
                16 => self.stop_last(&session).await,
                17 => self.clear(&session).await,
                18 => self.post(&session, number).await,
                _ => sleep(Duration::from_millis(self.world.below(6_000) as u64)).await,
            }
            if self.world.below(3) == 0 {
                sleep(Duration::from_millis(self.world.below(400) as u64)).await;
            }
        }
    }

    async fn say(&self, session: SessionId, number: usize) {
        let text = format!("m{}.{number}", self.sender);
        let is_named = self.world.below(4) > 0;
        let is_delivered = self.world.below(3) == 0;
        let recipient = [None, Some("a".to_owned()), Some("b".to_owned())][self.world.below(3)].clone();
        let to = is_delivered.then(|| Destination { channel: "pigeon".into(), recipient });
        let inbound = Inbound::say(session, &text).delivered_to(to);
        self.hand(inbound, text, is_named, None).await;
    }

    /// Corrects a message of its own that was answered.
    async fn edit(&self, number: usize) {
        let own: Vec<(usize, Said)> = self.world.history(|history| {
            let own = history.said.iter().enumerate().filter(|(_, said)| said.sender == self.sender);
            own.map(|(place, said)| (place, said.clone())).collect()
        });
        if own.is_empty() {
            return;
        }
        let (place, said) = &own[self.world.below(own.len())];
        let Some(turn) = said.turn.clone() else { return };
        let text = format!("m{}.{number}", self.sender);
        let inbound = Inbound::edit(said.session.clone(), turn, &text);
        self.hand(inbound, text, true, Some(*place)).await;
    }

    async fn hand(&self, inbound: Inbound, text: String, is_named: bool, replaces: Option<usize>) {
        let dedupe = is_named.then(|| Dedupe { id: text.clone(), fingerprint: None, valid_for: None });
        let is_delivered = inbound.deliver_to.is_some();
        let inbound = inbound.from_sender(format!("p{}", self.sender)).with_dedupe(dedupe);
        let session = inbound.session.clone();
        let (place, began) = self.world.history(|history| {
            let began = history.now();
            history.said.push(Said {
                session: session.clone(),
                sender: self.sender,
                text,
                is_delivered,
                replaces,
                began,
                acknowledged: None,
                turn: None,
            });
            (history.said.len() - 1, began)
        });
        match self.hand_in(&inbound, is_named, began).await {
            Handed::Acknowledged(submitted, program, watcher) => {
                self.acknowledged(place, &submitted);
                let is_patient = self.world.below(3) == 0;
                let wait = self.wait(submitted, program, (session, began), watcher);
                match is_patient {
                    true => wait.await,
                    false => drop(tokio::spawn(wait)),
                }
            }
            Handed::Lost => {}
            Handed::Refused(error) => {
                let may_be_gone = self.world.history(|history| history.may_be_cleared_since(&session, began));
                if replaces.is_none() && !may_be_gone {
                    self.world.violated(format!("{:?} was refused: {error}", inbound.text));
                }
            }
        }
    }

    /// Hands a message in until it is acknowledged or refused.
    async fn hand_in(&self, inbound: &Inbound, is_named: bool, since: u64) -> Handed {
        loop {
            let program = self.living().await;
            let number = self.world.count();
            let (world, life) = (self.world.clone(), program.life.clone());
            let watcher = Arc::new(Watcher { world, life, number, since });
            self.world.note(|| format!("{} is handed {}", program.life.number, inbound.text));
            let answer = tokio::select! {
                biased;
                () = program.life.died() => None,
                answer = program.engine.submit(inbound.clone(), watcher) => Some(answer),
            };
            match answer {
                Some(Ok(submitted)) => return Handed::Acknowledged(submitted, program, number),
                Some(Err(error)) if !error.is_busy() => return Handed::Refused(error),
                None if !is_named => return Handed::Lost,
                _ => sleep(Duration::from_millis(50 + self.world.below(300) as u64)).await,
            }
        }
    }

    fn acknowledged(&self, place: usize, submitted: &Submitted) {
        self.world.note(|| format!("{} acknowledged, new {}", submitted.turn, submitted.is_new));
        let is_stored = self.stored(&submitted.turn).is_some();
        let is_early = self.world.history(|history| {
            let now = history.now();
            let said = &mut history.said[place];
            said.acknowledged = Some(now);
            said.turn = Some(submitted.turn.clone());
            let said = said.clone();
            !is_stored && !history.may_be_cleared_since(&said.session, said.began)
        });
        if is_early {
            self.world.violated(format!("{} was acknowledged before it was stored", submitted.turn));
        }
    }

    /// Whether a turn is stored, and over.
    fn stored(&self, turn: &TurnId) -> Option<bool> {
        let record = self.world.store.turn(turn).now_or_never().and_then(Result::ok).flatten()?;
        Some(record.phase == TurnPhase::Done)
    }

    /// Waits for a reply. It must be stored by then, and watchers must have seen the end.
    fn wait(
        &self,
        submitted: Submitted,
        program: Program,
        (session, since): (SessionId, u64),
        watcher: u64,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (world, waits) = (self.world.clone(), self.waits.clone());
        waits.fetch_add(1, Ordering::SeqCst);
        let client = Self { slots: Vec::new(), world: world.clone(), waits: waits.clone(), ..*self };
        async move {
            let Submitted { turn, is_new, reply, .. } = submitted;
            // Several waits for one reply would be woken in an order that no seed decides.
            let reply = loop {
                if program.life.is_dead() {
                    break None;
                }
                match reply.clone().wait().now_or_never() {
                    Some(reply) => break reply.ok(),
                    None => sleep(Duration::from_millis(50)).await,
                }
            };
            waits.fetch_sub(1, Ordering::SeqCst);
            if reply.is_none() {
                return;
            }
            let is_gone = world.history(|history| history.may_be_cleared_since(&session, since));
            if client.stored(&turn) != Some(true) && !is_gone {
                world.violated(format!("{turn} has a reply that is not stored"));
            }
            let shown = world.history(|history| history.shown.get(&watcher).copied().unwrap_or_default());
            if is_new && shown != 1 {
                world.violated(format!("the end of {turn} was shown {shown} times before its reply"));
            }
        }
    }

    async fn stop(&self, session: &SessionId, turn: Option<&TurnId>) {
        let program = self.living().await;
        self.world.note(|| format!("{} stops {session}", program.life.number));
        tokio::select! {
            biased;
            () = program.life.died() => {}
            _ = program.engine.stop(session, turn) => {}
        }
    }

    /// Stops the newest message of a session alone.
    async fn stop_last(&self, session: &SessionId) {
        let last = self.world.history(|history| {
            let said = history.said.iter().rev().find(|said| said.session == *session);
            said.and_then(|said| said.turn.clone())
        });
        if let Some(turn) = last {
            self.stop(session, Some(&turn)).await;
        }
    }

    async fn clear(&self, session: &SessionId) {
        let program = self.living().await;
        let how = [Clear::Reset, Clear::Delete][self.world.below(2)].clone();
        self.world.note(|| format!("{} empties {session}", program.life.number));
        let place = self.world.history(|history| {
            let (session, began) = (session.clone(), history.now());
            history.cleared.push(Cleared { session, began, ended: u64::MAX, is_sure: false });
            history.cleared.len() - 1
        });
        let outcome = tokio::select! {
            biased;
            () = program.life.died() => None,
            cleared = program.engine.clear(session, how) => Some(cleared),
        };
        self.world.history(|history| {
            let now = history.now();
            let cleared = &mut history.cleared[place];
            (cleared.ended, cleared.is_sure) = match outcome {
                Some(Ok(true)) => (now, true),
                // Its program may have done it before it died.
                None => (now, false),
                Some(_) => (cleared.began, false),
            };
        });
    }

    /// Posts a message of the assistant, and again with the same key if it is unknown whether the first post succeeded.
    async fn post(&self, session: &SessionId, number: usize) {
        let text = format!("p{}.{number}", self.sender);
        let place = self.world.history(|history| {
            let (session, began, text) = (session.clone(), history.now(), text.clone());
            history.posted.push(Posted { session, text, began, is_sure: false });
            history.posted.len() - 1
        });
        for _ in 0..3 {
            let program = self.living().await;
            self.world.note(|| format!("{} posts {text}", program.life.number));
            let posting = Posting::new(text.as_str());
            let outcome = tokio::select! {
                biased;
                () = program.life.died() => continue,
                posted = program.engine.post(session, &text, &posting) => posted,
            };
            if outcome.is_ok() {
                return self.world.history(|history| history.posted[place].is_sure = true);
            }
        }
    }

    /// A program that lives; there is one again soon where there is none.
    async fn living(&self) -> Program {
        loop {
            let living: Vec<Program> = self.slots.iter().filter_map(|slot| slot.borrow().clone()).collect();
            if !living.is_empty() {
                return living[self.world.below(living.len())].clone();
            }
            sleep(Duration::from_millis(20)).await;
        }
    }
}
