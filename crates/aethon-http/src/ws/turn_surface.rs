//! The surface of one turn that people may watch in the chat: it turns events into the frames of its room.
//!
//! Until the message is acknowledged the events wait, so that `ack` comes before everything that the turn says. While
//! nobody reads, nothing is rendered. Questions are answered where all open questions are kept; the surface never answers one.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use aethon_core::approval::{ApprovalRequest, Decision};
use aethon_core::ids::TurnId;
use aethon_core::message::Reply;
use aethon_core::surface::{Surface, TurnEvent};
use async_trait::async_trait;

use super::frames::Body;
use super::room::{CatchUp, Room};
use crate::markdown::{self, Incremental};

/// How far apart rendered blocks are sent.
const PACE: Duration = Duration::from_millis(50);
/// By how much a kibibyte of rendered blocks stretches that.
const PACE_PER_KIBIBYTE: Duration = Duration::from_millis(2);

/// How many pieces of an answer are sent as they come between two times that blocks are sent. A model that is faster is
/// faster than anybody reads, and its pieces are joined, so that those who keep up never lag behind the log.
const BURST: usize = 128;
/// The most of what was said that is rendered. Whoever wants to read more of it has the text.
const MAX_RENDERED: usize = 512 << 10;
/// The most of a reply that its last frame says again; the pieces have said all of it.
const MAX_TOLD: usize = 2 << 20;
const GOES_ON: &str =
    "\n\n*This answer goes on. It is too long to be shown; the export of the conversation has all of it.*";
/// How long joined pieces become before they are sent even so.
const JOINED: usize = 4 << 10;

/// The surface of one turn.
pub(super) struct TurnSurface {
    room: Arc<Room>,
    own: Weak<TurnSurface>,
    state: Mutex<SurfaceState>,
}

struct SurfaceState {
    turn: Option<TurnId>,
    /// What happened before the acknowledgement; `None` once that was given.
    held: Option<Vec<(TurnId, TurnEvent)>>,
    rendered: Incremental,
    /// All that was said, over several responses of the model when it used tools in between. The reply is the last of
    /// them; the page shows them all, but no more than [`MAX_RENDERED`].
    said: String,
    /// Whether more was said than that.
    is_long: bool,
    /// The end of the answer that was not sent yet, because the model is faster than [`BURST`].
    waiting: String,
    /// How many pieces were sent since the last blocks.
    burst: usize,
    /// Where the last response begins.
    last_response: usize,
    /// Whether a tool was called since the last text, so that what follows is another response.
    is_after_tool: bool,
    /// Before this, no blocks are sent.
    quiet_until: Option<Instant>,
    /// Whether a task waits to send what came in the meantime.
    is_due: bool,
    is_running: bool,
    is_done: bool,
}

impl TurnSurface {
    /// A surface whose events wait until [`TurnSurface::acknowledge`] or [`TurnSurface::release`].
    pub(super) fn held(room: &Arc<Room>) -> Arc<Self> {
        Self::new(room, Some(Vec::new()))
    }

    /// A surface of a turn that needs no acknowledgement.
    pub(super) fn open(room: &Arc<Room>) -> Arc<Self> {
        Self::new(room, None)
    }

    fn new(room: &Arc<Room>, held: Option<Vec<(TurnId, TurnEvent)>>) -> Arc<Self> {
        let state = SurfaceState {
            turn: None,
            held,
            rendered: Incremental::default(),
            said: String::new(),
            is_long: false,
            waiting: String::new(),
            burst: 0,
            last_response: 0,
            is_after_tool: false,
            quiet_until: None,
            is_due: false,
            is_running: false,
            is_done: false,
        };
        Arc::new_cyclic(|own| Self { room: Arc::clone(room), own: own.clone(), state: Mutex::new(state) })
    }

    /// The message is stored: says so, and lets go of what happened since.
    pub(super) fn acknowledge(&self, turn: &TurnId, id: &str, queued: usize) {
        let mut state = self.lock();
        self.begin(&mut state, turn, false);
        self.room.push(turn, &Body::Ack { id, queued });
        self.let_go(&mut state);
    }

    /// Lets go of what happened, without a word of its own.
    pub(super) fn release(&self) {
        self.let_go(&mut self.lock());
    }

    fn let_go(&self, state: &mut SurfaceState) {
        for (turn, event) in state.held.take().unwrap_or_default() {
            self.show(state, &turn, event);
        }
    }

    fn begin(&self, state: &mut SurfaceState, turn: &TurnId, is_running: bool) {
        let own: Weak<dyn CatchUp> = self.own.clone();
        self.room.open_turn(turn, &own, is_running);
        if state.turn.is_none() {
            state.turn = Some(turn.clone());
        }
    }

    fn show(&self, state: &mut SurfaceState, turn: &TurnId, event: TurnEvent) {
        if state.is_done {
            return;
        }
        if !std::mem::replace(&mut state.is_running, true) {
            self.begin(state, turn, true);
        }
        if !matches!(event, TurnEvent::Text(_) | TurnEvent::Done(_)) {
            // The page puts what comes between the blocks so far and those to come.
            self.send_blocks(state);
        }
        match &event {
            TurnEvent::Text(text) => self.show_text(state, turn, text),
            TurnEvent::Done(reply) => self.show_end(state, turn, reply),
            event => {
                state.is_after_tool |= matches!(event, TurnEvent::Tool(_));
                if let Some(body) = Body::of(event) {
                    self.room.push(turn, &body);
                }
            }
        }
    }

    fn show_text(&self, state: &mut SurfaceState, turn: &TurnId, text: &str) {
        if text.is_empty() {
            return;
        }
        state.part_responses();
        state.note(text);
        state.waiting.push_str(text);
        if state.burst < BURST || state.waiting.len() >= JOINED {
            self.send_waiting(state, turn);
        }
        if !self.room.is_watched() {
            return;
        }
        match state.quiet_until.filter(|until| *until > Instant::now()) {
            None => self.send_blocks(state),
            Some(until) if !state.is_due => state.is_due = self.send_later(until),
            Some(_) => {}
        }
    }

    fn send_waiting(&self, state: &mut SurfaceState, turn: &TurnId) {
        if !state.waiting.is_empty() {
            self.room.push(turn, &Body::Delta { text: &state.waiting });
            state.waiting.clear();
            state.burst += 1;
        }
    }

    /// Sends the blocks that changed, if anybody is there to see them.
    fn send_blocks(&self, state: &mut SurfaceState) {
        let Some(turn) = state.turn.clone() else { return };
        self.send_waiting(state, &turn);
        if state.is_done || !state.rendered.is_dirty() || !self.room.is_watched() {
            return;
        }
        if let Some((from, html)) = state.rendered.changes() {
            let kibibytes = html.iter().map(String::len).sum::<usize>() / 1024;
            let stretch = PACE_PER_KIBIBYTE * u32::try_from(kibibytes).unwrap_or(u32::MAX);
            self.room.push(&turn, &Body::Blocks { from, html: &html });
            state.quiet_until = Some(Instant::now() + PACE + stretch);
            state.burst = 0;
        }
    }

    /// Has the blocks sent when the pace allows it, so that the end of a burst does not wait for the next one. `false`
    /// outside a runtime.
    fn send_later(&self, at: Instant) -> bool {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return false };
        let own = self.own.clone();
        // Ends by itself within the pace; holds nothing of the turn until then.
        runtime.spawn(async move {
            tokio::time::sleep_until(at.into()).await;
            if let Some(surface) = own.upgrade() {
                surface.catch_up();
            }
        });
        true
    }

    fn show_end(&self, state: &mut SurfaceState, turn: &TurnId, reply: &Reply) {
        self.send_waiting(state, turn);
        state.part_responses();
        let rendered = std::mem::take(&mut state.rendered);
        let whole = state.whole(&reply.text);
        let html = if self.room.is_watched() || rendered.has_told() {
            let finished = rendered.finish(&whole);
            if let Some(html) = &finished.changed {
                self.room.push(turn, &Body::Blocks { from: finished.from, html });
            }
            finished.html
        } else {
            markdown::render(&whole)
        };
        if let Some(failure) = &reply.failure {
            self.room.push(turn, &Body::Error { code: failure.code.as_str(), message: &failure.message });
        }
        let stop_reason = reply.end.as_str();
        state.is_done = true;
        let mut text = Cow::Borrowed(reply.text.as_str());
        if text.len() > MAX_TOLD {
            text = Cow::Owned(format!("{}{GOES_ON}", &text[..text.floor_char_boundary(MAX_TOLD)]));
        }
        self.room.push(turn, &Body::Done { text: &text, html: &html, stop_reason, model: &reply.model });
    }

    fn lock(&self) -> MutexGuard<'_, SurfaceState> {
        // The state is whole between statements that could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SurfaceState {
    /// Keeps what was said, as far as it is to be rendered.
    fn note(&mut self, text: &str) {
        if self.is_long {
            return;
        }
        let room = MAX_RENDERED - self.said.len();
        self.is_long = text.len() > room;
        let text = &text[..text.floor_char_boundary(room)];
        self.said.push_str(text);
        self.rendered.push(text);
    }

    /// All that was said as it is to be rendered, when this is how it ended.
    fn whole(&mut self, reply: &str) -> String {
        let mut whole = std::mem::take(&mut self.said);
        if !self.is_long {
            whole.truncate(self.last_response);
            let room = MAX_RENDERED.saturating_sub(whole.len());
            self.is_long = reply.len() > room;
            whole.push_str(&reply[..reply.floor_char_boundary(room)]);
        }
        if self.is_long {
            // Whole lines only: half a line of a table is none.
            whole.truncate(whole.rfind('\n').unwrap_or(whole.len()));
            whole.push_str(GOES_ON);
        }
        whole
    }

    /// What comes after a tool call begins a new paragraph.
    fn part_responses(&mut self) {
        if std::mem::take(&mut self.is_after_tool) && !self.said.is_empty() {
            self.note("\n\n");
            self.last_response = self.said.len();
        }
    }
}

impl CatchUp for TurnSurface {
    /// Sends the blocks that were not rendered while nobody was there.
    fn catch_up(&self) {
        let mut state = self.lock();
        state.is_due = false;
        self.send_blocks(&mut state);
    }
}

impl Drop for TurnSurface {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(turn) = state.turn.take().filter(|_| !state.is_done) {
            // The program stops, or a second delivery was never run: nobody must wait for an end.
            self.room.close_turn(&turn);
        }
    }
}

#[async_trait]
impl Surface for TurnSurface {
    fn emit(&self, turn: &TurnId, event: TurnEvent) {
        let mut state = self.lock();
        match &mut state.held {
            Some(held) => held.push((turn.clone(), event)),
            None => self.show(&mut state, turn, event),
        }
    }

    async fn decide(&self, _request: &ApprovalRequest) -> Option<Decision> {
        std::future::pending().await
    }
}
