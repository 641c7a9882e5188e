//! Tells the others what happens here, hears what happens there, and does what they ask.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use aethon_agent::Engine;
use aethon_agent::outbox::DeliveryWake;
use aethon_core::approval::PendingApprovals;
use aethon_core::assistant::{ActiveTurn, Assistant};
use aethon_core::background::BackgroundCommands;
use aethon_core::event::{Event, EventBus, SessionChange};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::peers::{Heard, Note, PeerId, Peers};
use aethon_tools::CommandRegistry;
use serde::Serialize;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc::Sender;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use super::asking::Asking;
use super::news::{
    ANSWER, ASK, Asked, CONFIGURED, Done, GRANT, HELLO, NEWS, News, Question, STATE, State, Told,
};
use super::state::Others;
use crate::view::ReloadRequest;

/// How often it is looked who is alive.
const LOOK: Duration = Duration::from_millis(2500);

/// How long the turns of a session may take to end, and how often that is looked at.
const QUIET: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(20);

/// How many turns that have ended are remembered; far more than end within the moment that counts.
const MAX_ENDED: usize = 256;

/// How many looks pass until those that are told to be busy are asked again, whatever was heard of them: ten seconds. A turn whose
/// end could not be stored has no end that is told.
const LOOKS: u32 = 4;

/// How many questions of others are worked on at a time.
const AT_A_TIME: usize = 64;

/// What is known here, and what others may ask for.
pub(super) struct Desk {
    pub(super) peers: Arc<dyn Peers>,
    pub(super) others: Arc<Others>,
    pub(super) asking: Arc<Asking>,
    pub(super) engine: Arc<Engine>,
    pub(super) approvals: PendingApprovals,
    pub(super) commands: CommandRegistry,
    /// The name of this instance.
    pub(super) name: String,
    pub(super) bus: EventBus,
    pub(super) deliveries: DeliveryWake,
    /// The turns that ended last. Their agents may still be listed as running for a moment, and who is told so then would never
    /// learn that they are over.
    pub(super) ended: Mutex<VecDeque<TurnId>>,
    /// Where the configuration is reloaded, once that is possible.
    pub(super) reload: Arc<OnceLock<Sender<ReloadRequest>>>,
}

/// Returns whether new settings are in force here, so that others look whether they have them, too. What needs a restart counts
/// nowhere yet, and would be found again by each look.
fn is_new_configuration(event: &Event) -> bool {
    matches!(event, Event::Config(news) if !news.taken_over.is_empty())
}

/// Runs for as long as it is polled.
pub(super) async fn run(desk: Arc<Desk>) {
    let mut heard = desk.peers.listen();
    let mut events = desk.bus.subscribe();
    let mut grants = desk.approvals.grants().listen();
    let places = Arc::new(Semaphore::new(AT_A_TIME));
    let mut look = interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut looks = 0_u32;
    desk.tell(None, HELLO, &());
    loop {
        tokio::select! {
            event = events.recv() => match event {
                Ok(event) => {
                    if let Event::TurnEnded { turn, .. } = &event {
                        desk.ended(turn);
                    }
                    if !desk.others.is_any() {
                        continue;
                    }
                    if is_new_configuration(&event) {
                        desk.tell(None, CONFIGURED, &());
                    } else if let Some(news) = News::of(event) {
                        desk.tell(None, NEWS, &news);
                    }
                }
                // What was missed, they learn from the whole.
                Err(RecvError::Lagged(_)) => desk.tell(None, STATE, &desk.state()),
                Err(RecvError::Closed) => return,
            },
            grant = grants.recv() => match grant {
                Ok(grant) if desk.others.is_any() && !grant.session_id.is_temporary() => desk.tell(None, GRANT, &*grant),
                Ok(_) => {}
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
            _ = look.tick() => {
                desk.look().await;
                looks += 1;
                if looks.is_multiple_of(LOOKS) {
                    for busy in desk.others.busy() {
                        desk.tell(Some(busy), HELLO, &());
                    }
                }
            }
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
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let is_running = |turn: &ActiveTurn| {
            turn.state == "running" && !ended.contains(&turn.turn) && !turn.session_id.is_temporary()
        };
        let running = self.engine.activity().into_iter().filter(is_running);
        let turns = running.map(|turn| (turn.session_id, turn.turn)).collect();
        drop(ended);
        let (mut approvals, mut grants) = (self.approvals.pending_here(), self.approvals.grants().here());
        approvals.retain(|request| !request.session_id.is_temporary());
        grants.retain(|grant| !grant.session_id.is_temporary());
        State { turns, approvals, grants }
    }

    /// Notes that a turn is over here.
    fn ended(&self, turn: &TurnId) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if ended.len() >= MAX_ENDED {
            ended.pop_front();
        }
        ended.push_back(turn.clone());
    }

    /// Has the configuration read again.
    fn read_configuration(&self) {
        if let Some(requests) = self.reload.get() {
            // The log has the result. Where so many wait, the file is read in a moment anyway.
            let _ = requests.try_send(oneshot::channel().0);
        }
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
            GRANT => serde_json::from_str(&note.body)
                .map(|grant| self.approvals.grants().allowed_at(note.from, grant)),
            CONFIGURED => {
                self.read_configuration();
                Ok(())
            }
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
        let (elsewhere, grants) = (self.approvals.elsewhere(), self.approvals.grants());
        grants.forget_of(at);
        state.grants.into_iter().for_each(|grant| grants.allowed_at(at, grant));
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
            Asked::TakeBack { id } => {
                self.approvals.grants().take_back(&id);
                Done::TakenBack
            }
            Asked::Commands { session } => {
                let numbers = self.commands.list(&session).into_iter().map(|command| command.number);
                Done::Commands { instance: self.name.clone(), numbers: numbers.collect() }
            }
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
