//! The surface of one turn in the chat: it turns events into frames of the turn's room.
//!
//! Events are held back until the message is acknowledged, so that `ack` precedes everything the turn says. Nothing is
//! rendered without readers. Approvals are decided through `PendingApprovals`, never by this surface.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use aethon_core::ids::TurnId;
use aethon_core::message::Reply;
use aethon_core::surface::{Surface, TurnEvent};

use super::frames::Body;
use super::room::{CatchUp, Room};
use crate::markdown::{self, Incremental};

/// The minimum time between sending rendered blocks.
const PACE: Duration = Duration::from_millis(50);
/// How much each kibibyte of rendered blocks adds to that.
const PACE_PER_KIBIBYTE: Duration = Duration::from_millis(2);

/// How many pieces of a reply are sent as they come between two sendings of blocks. A faster model outpaces any
/// reader, so its pieces are joined, which keeps readers from falling behind the log.
const BURST: usize = 128;
/// The largest text that is rendered. Beyond it, readers have only the source text.
const MAX_RENDERED: usize = 512 << 10;
/// The most of a reply that its last frame repeats. The pieces contained all of it.
const MAX_TOLD: usize = 2 << 20;
const GOES_ON: &str =
    "\n\n*This answer goes on. It is too long to be shown; the export of the conversation has all of it.*";
/// The size at which joined pieces are sent.
const JOINED: usize = 4 << 10;

/// The surface of one turn.
pub(super) struct TurnSurface {
    room: Arc<Room>,
    own: Weak<TurnSurface>,
    state: Mutex<SurfaceState>,
}

struct SurfaceState {
    turn: Option<TurnId>,
    /// Events before the acknowledgement; `None` afterwards.
    held: Option<Vec<(TurnId, TurnEvent)>>,
    rendered: Incremental,
    /// Everything the model said, across several responses if it used tools in between. The reply is only the last
    /// response; the page shows them all, up to [`MAX_RENDERED`].
    said: String,
    /// Whether the text exceeded that limit.
    is_long: bool,
    /// The unsent end of the reply, held back because the model is faster than [`BURST`].
    waiting: String,
    /// The number of pieces sent since the last blocks.
    burst: usize,
    /// Where the last response begins.
    last_response: usize,
    /// Whether a tool was called since the last text, so that the next text begins a new response.
    is_after_tool: bool,
    /// No blocks are sent before this time.
    quiet_until: Option<Instant>,
    /// Whether a task is waiting to send the text that was added meanwhile.
    is_due: bool,
    is_running: bool,
    is_done: bool,
}

impl TurnSurface {
    /// Creates a surface whose events are held back until [`TurnSurface::acknowledge`] or [`TurnSurface::release`].
    pub(super) fn held(room: &Arc<Room>) -> Arc<Self> {
        Self::new(room, Some(Vec::new()))
    }

    /// Creates a surface for a turn that needs no acknowledgement.
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

    /// Sends the acknowledgement that the message is stored, then the events held back.
    pub(super) fn acknowledge(&self, turn: &TurnId, id: &str, queued: usize) {
        let mut state = self.lock();
        self.begin(&mut state, turn, false);
        self.room.push(turn, &Body::Ack { id, queued });
        self.let_go(&mut state);
    }

    /// Sends the events held back, without an acknowledgement.
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
            // The page places this event between earlier and later blocks.
            self.send_blocks(state);
        }
        match &event {
            TurnEvent::Text(text) => self.show_text(state, turn, text),
            TurnEvent::TextWithdrawn => self.take_back(state),
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

    /// Takes back the text of the last response.
    fn take_back(&self, state: &mut SurfaceState) {
        state.waiting.clear();
        if !state.is_long {
            state.said.truncate(state.last_response);
            state.rendered.restart(&state.said);
        }
        self.send_blocks(state);
    }

    fn send_waiting(&self, state: &mut SurfaceState, turn: &TurnId) {
        if !state.waiting.is_empty() {
            self.room.push(turn, &Body::Delta { text: &state.waiting });
            state.waiting.clear();
            state.burst += 1;
        }
    }

    /// Sends the blocks that changed, if anyone is watching.
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

    /// Schedules the blocks to be sent when the pace allows, so that the end of a burst does not wait for the next
    /// one. Returns `false` outside a runtime.
    fn send_later(&self, at: Instant) -> bool {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return false };
        let own = self.own.clone();
        // Ends on its own when due, and keeps nothing of the turn alive until then.
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
        let stop_reason = reply.end;
        state.is_done = true;
        let mut text = Cow::Borrowed(reply.text.as_str());
        if text.len() > MAX_TOLD {
            text = Cow::Owned(format!("{}{GOES_ON}", &text[..text.floor_char_boundary(MAX_TOLD)]));
        }
        self.room.push(turn, &Body::Done { text: &text, html: &html, stop_reason, model: &reply.model });
    }

    fn lock(&self) -> MutexGuard<'_, SurfaceState> {
        // The state is consistent at every point that could panic, so a poisoned lock is usable.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SurfaceState {
    /// Appends to the text to be rendered, within the limit.
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

    /// Returns the whole text to be rendered, given the final reply.
    fn whole(&mut self, reply: &str) -> String {
        let mut whole = std::mem::take(&mut self.said);
        if !self.is_long {
            whole.truncate(self.last_response);
            let room = MAX_RENDERED.saturating_sub(whole.len());
            self.is_long = reply.len() > room;
            whole.push_str(&reply[..reply.floor_char_boundary(room)]);
        }
        if self.is_long {
            // Cut at a line end: half a line of a table is no longer a table row.
            whole.truncate(whole.rfind('\n').unwrap_or(whole.len()));
            whole.push_str(GOES_ON);
        }
        whole
    }

    /// Separates text after a tool call as a new paragraph.
    fn part_responses(&mut self) {
        if std::mem::take(&mut self.is_after_tool) && !self.said.is_empty() {
            self.note("\n\n");
            self.last_response = self.said.len();
        }
    }
}

impl CatchUp for TurnSurface {
    /// Sends the blocks that were not rendered while the room had no readers.
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
            // At shutdown, or for a duplicate that never ran, no reader must wait for an end.
            self.room.close_turn(&turn);
        }
    }
}

impl Surface for TurnSurface {
    fn emit(&self, turn: &TurnId, event: TurnEvent) {
        let mut state = self.lock();
        match &mut state.held {
            Some(held) => held.push((turn.clone(), event)),
            None => self.show(&mut state, turn, event),
        }
    }

    fn is_attended(&self) -> bool {
        true
    }
}
