//! Tells the others what happens here, hears what happens there, and does what they ask.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use aethon_agent::Engine;
use aethon_agent::outbox::DeliveryWake;
use aethon_core::approval::PendingApprovals;
use aethon_core::assistant::Assistant;
use aethon_core::event::{Event, EventBus, SessionChange};
use aethon_core::ids::SessionId;
use aethon_core::peers::{Heard, Note, PeerId, Peers};
use serde::Serialize;
use tokio::sync::Semaphore;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use super::asking::Asking;
use super::news::{ANSWER, ASK, Asked, Done, HELLO, NEWS, News, Question, STATE, State, Told};
use super::state::Others;

/// How often it is looked who is alive.
const LOOK: Duration = Duration::from_millis(2500);

/// How long the turns of a session may take to end, and how often that is looked at.
const QUIET: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(20);

/// How many questions of others are worked on at a time.
const AT_A_TIME: usize = 64;

/// What is known here, and what others may ask for.
pub(super) struct Desk {
    pub(super) peers: Arc<dyn Peers>,
    pub(super) others: Arc<Others>,
    pub(super) asking: Arc<Asking>,
    pub(super) engine: Arc<Engine>,
    pub(super) approvals: PendingApprovals,
    pub(super) bus: EventBus,
    pub(super) deliveries: DeliveryWake,
}

/// Runs for as long as it is polled.
pub(super) async fn run(desk: Arc<Desk>) {
    let mut heard = desk.peers.listen();
    let mut events = desk.bus.subscribe();
    let places = Arc::new(Semaphore::new(AT_A_TIME));
    let mut look = interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    desk.tell(None, HELLO, &());
    loop {
        tokio::select! {
            event = events.recv() => match event {
                Ok(event) if desk.others.is_any() => {
                    if let Some(news) = News::of(event) {
                        desk.tell(None, NEWS, &news);
                    }
                }
                Ok(_) => {}
                // What was missed, they learn from the whole.
                Err(RecvError::Lagged(_)) => desk.tell(None, STATE, &desk.state()),
                Err(RecvError::Closed) => return,
            },
            next = heard.recv() => match next {
                Ok(Heard::Note(note)) if note.topic == ASK => {
                    let Ok(place) = places.clone().acquire_owned().await else { return };
                    let desk = desk.clone();
                    tokio::spawn(async move {
                        desk.asked(&note).await;
                        drop(place);
                    });
                }
                Ok(Heard::Note(note)) => desk.hear(&note),
                Ok(Heard::Lost(from)) => desk.tell(from, HELLO, &()),
                Err(RecvError::Lagged(_)) => desk.tell(None, HELLO, &()),
                Err(RecvError::Closed) => return,
            },
            _ = look.tick() => desk.look().await,
        }
    }
}

impl Desk {
    fn tell(&self, to: Option<PeerId>, topic: &str, what: &impl Serialize) {
        match serde_json::to_string(what) {
            Ok(body) => self.peers.tell(to, topic, body),
            Err(error) => tracing::debug!(%error, topic, "a note could not be written"),
        }
    }

    fn state(&self) -> State {
        let running = self.engine.activity().into_iter().filter(|turn| turn.state == "running");
        let turns = running.map(|turn| (turn.session_id, turn.turn)).collect();
        State { turns, approvals: self.approvals.pending_here() }
    }

    fn hear(&self, note: &Note) {
        self.others.lives(note.from);
        let read = match note.topic.as_str() {
            HELLO => {
                self.tell(Some(note.from), STATE, &self.state());
                Ok(())
            }
            NEWS => serde_json::from_str(&note.body).map(|news| self.learn(note.from, news)),
            STATE => serde_json::from_str(&note.body).map(|state| self.replace(note.from, state)),
            ANSWER => serde_json::from_str(&note.body).map(|told| self.asking.told(note.from, told)),
            _ => Ok(()),
        };
        if let Err(error) = read {
            tracing::debug!(%error, topic = note.topic, "a note of another instance cannot be read");
        }
    }

    /// Takes in what happened elsewhere.
    fn learn(&self, from: PeerId, news: News) {
        match &news {
            News::TurnStarted { session, turn } => self.others.began(from, session.clone(), turn.clone()),
            News::TurnEnded { turn, .. } => {
                self.others.ended(turn);
                // It may have stored deliveries.
                self.deliveries.ring();
            }
            News::Session { session, change: SessionChange::Deleted | SessionChange::Reset } => {
                self.engine.forget(session);
            }
            News::Session { .. } => {}
            News::ApprovalOpened(request) => {
                self.approvals.elsewhere().opened(from, (**request).clone());
            }
            News::ApprovalDone { id, .. } => drop(self.approvals.elsewhere().settled(id)),
        }
        self.bus.publish(|| Event::Elsewhere(Arc::new(news.event())));
    }

    /// Takes in all that runs and waits at an instance.
    fn replace(&self, at: PeerId, state: State) {
        let mut changed = self.others.replace(at, state.turns);
        let elsewhere = self.approvals.elsewhere();
        changed.extend(elsewhere.forget(at).into_iter().map(|request| request.session_id));
        for request in state.approvals {
            changed.insert(request.session_id.clone());
            elsewhere.opened(at, request);
        }
        self.show(changed);
    }

    /// Has those who watch sessions look at these again.
    fn show(&self, sessions: BTreeSet<SessionId>) {
        for session in sessions {
            let change = SessionChange::Updated;
            self.bus.publish(|| Event::Elsewhere(Arc::new(Event::Session { session, change })));
        }
    }

    /// Looks who is alive, and forgets those who are gone.
    async fn look(&self) {
        let Ok(alive) = self.peers.others().await else { return };
        for gone in self.others.live(alive.into_iter().collect()) {
            tracing::info!(instance = gone.0, "another instance is gone");
            self.replace(gone, State::default());
        }
    }

    /// Does what another instance asks.
    async fn asked(&self, note: &Note) {
        self.others.lives(note.from);
        let question: Question = match serde_json::from_str(&note.body) {
            Ok(question) => question,
            Err(error) => return tracing::debug!(%error, "a question of another instance cannot be read"),
        };
        let what = match question.what {
            Asked::Stop { session, turn } => Done::Stopped(self.engine.stop(&session, turn.as_ref()).await),
            Asked::Quiet { session } => Done::Quiet(self.quiet(&session).await),
            Asked::Answer { id, answer } => Done::Answered(self.approvals.answer_here(&id, answer).await),
        };
        self.tell(Some(note.from), ANSWER, &Told { id: question.id, what });
    }

    /// Stops the turns of a session, and returns whether they have ended.
    async fn quiet(&self, session: &SessionId) -> bool {
        self.engine.stop(session, None).await;
        let until = Instant::now() + QUIET;
        while self.engine.is_busy(session) {
            if Instant::now() >= until {
                return false;
            }
            sleep(POLL).await;
        }
        self.engine.forget(session);
        true
    }
}
