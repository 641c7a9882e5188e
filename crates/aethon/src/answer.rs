//! An answer while it is made: the events of one turn as a stream, for callers that have no [`Surface`] of their own.
//!
//! The queue between the turn and the reader is bounded, and the turn never waits for it. Adjacent pieces of text become one
//! event while they wait. If a reader is [`MAX_QUEUED`] events behind, the ones that only show progress are left out; text, approval
//! requests, and the end always arrive.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use aethon_core::assistant::{Assistant, Submitted};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::{Inbound, Reply};
use aethon_core::surface::{Surface, TurnEvent};
use futures_util::Stream;

use crate::error::{Error, Result};

/// How many events wait for the reader.
const MAX_QUEUED: usize = 1024;

/// Who answers the approval requests of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attendance {
    /// Nobody: they are denied at once.
    Unattended,
    /// The reader of the stream, through [`Aethon::approvals`](crate::Aethon::approvals). A request that stays unanswered is
    /// denied after `approval.timeout_seconds`, or at once when the stream is dropped before it is made.
    Attended,
}

/// The events of a turn, as a stream that ends after [`TurnEvent::Done`].
///
/// The turn goes on if the stream is dropped, and its reply is stored; [`Answer::stop`] ends it.
pub struct Answer {
    session: SessionId,
    turn: TurnId,
    assistant: Arc<dyn Assistant>,
    queue: Arc<Queue>,
    outcome: Outcome,
}

/// What is known about the end of the turn.
enum Outcome {
    Pending(Pin<Box<dyn Future<Output = aethon_core::error::Result<Arc<Reply>>> + Send>>),
    /// It has ended, and the reader has yet to see it.
    Known(Arc<Reply>),
    /// The stream is over.
    Shown,
}

impl Answer {
    /// Hands the message to the assistant. When this returns, it is stored.
    pub(crate) async fn to(
        inbound: Inbound,
        assistant: Arc<dyn Assistant>,
        attendance: Attendance,
    ) -> Result<Self> {
        let queue = Arc::new(Queue { attendance, state: Mutex::default() });
        let session = inbound.session.clone();
        let Submitted { turn, reply, .. } = assistant.submit(inbound, queue.clone()).await?;
        Ok(Self { session, turn, assistant, queue, outcome: Outcome::Pending(Box::pin(reply.wait())) })
    }

    /// The session that the turn belongs to.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// The id of the turn.
    pub fn turn(&self) -> &TurnId {
        &self.turn
    }

    /// Waits for the next event; `None` after the end. The same as `StreamExt::next`, without importing it.
    pub async fn next(&mut self) -> Option<Result<TurnEvent>> {
        futures_util::StreamExt::next(self).await
    }

    /// Skips to the end, and returns the reply.
    pub async fn reply(mut self) -> Result<Arc<Reply>> {
        while let Some(event) = self.next().await {
            if let TurnEvent::Done(reply) = event? {
                return Ok(reply);
            }
        }
        Err(Error::failed("the end of this answer was read already"))
    }

    /// Ends the turn, which keeps the text so far. The stream goes on to its [`TurnEvent::Done`].
    pub async fn stop(&self) {
        self.assistant.stop(&self.session, Some(&self.turn)).await;
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer")
            .field("session", &self.session)
            .field("turn", &self.turn)
            .finish_non_exhaustive()
    }
}

impl Stream for Answer {
    type Item = Result<TurnEvent>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if matches!(this.outcome, Outcome::Shown) {
            return Poll::Ready(None);
        }
        if let Some(event) = this.queue.take(cx.waker()) {
            return Poll::Ready(Some(Ok(this.shown(event))));
        }
        if let Outcome::Pending(reply) = &mut this.outcome {
            match ready!(reply.as_mut().poll(cx)) {
                Ok(reply) => this.outcome = Outcome::Known(reply),
                Err(error) => {
                    this.outcome = Outcome::Shown;
                    return Poll::Ready(Some(Err(error.into())));
                }
            }
        }
        // The last events were queued before the reply was announced.
        let event = this.queue.take(cx.waker());
        let event = match (event, &this.outcome) {
            (Some(event), _) => event,
            (None, Outcome::Known(reply)) => TurnEvent::Done(reply.clone()),
            (None, _) => return Poll::Ready(None),
        };
        Poll::Ready(Some(Ok(this.shown(event))))
    }
}

impl Answer {
    fn shown(&mut self, event: TurnEvent) -> TurnEvent {
        if matches!(event, TurnEvent::Done(_)) {
            self.outcome = Outcome::Shown;
        }
        event
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        state.is_closed = true;
        state.events.clear();
    }
}

/// The events that the reader has yet to see.
struct Queue {
    attendance: Attendance,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    events: VecDeque<TurnEvent>,
    reader: Option<Waker>,
    /// Whether the reader is gone.
    is_closed: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next event. If there is none, `reader` is woken when one comes.
    fn take(&self, reader: &Waker) -> Option<TurnEvent> {
        let mut state = self.lock();
        let event = state.events.pop_front();
        if event.is_none() {
            state.reader = Some(reader.clone());
        }
        event
    }
}

impl State {
    fn add(&mut self, event: TurnEvent) {
        match (self.events.back_mut(), &event) {
            (Some(TurnEvent::Text(last)), TurnEvent::Text(more))
            | (Some(TurnEvent::Reasoning(last)), TurnEvent::Reasoning(more)) => return last.push_str(more),
            _ => {}
        }
        if self.events.len() < MAX_QUEUED || is_needed(&event) {
            self.events.push_back(event);
        }
    }
}

/// Returns whether the reader could not make sense of the rest without this event.
fn is_needed(event: &TurnEvent) -> bool {
    matches!(
        event,
        TurnEvent::Text(_)
            | TurnEvent::TextWithdrawn
            | TurnEvent::Approval(_)
            | TurnEvent::ApprovalDone { .. }
            | TurnEvent::Done(_)
    )
}

impl Surface for Queue {
    fn emit(&self, _turn: &TurnId, event: TurnEvent) {
        let reader = {
            let mut state = self.lock();
            if state.is_closed {
                return;
            }
            state.add(event);
            state.reader.take()
        };
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    fn is_attended(&self) -> bool {
        self.attendance == Attendance::Attended && !self.lock().is_closed
    }
}

#[cfg(test)]
mod tests {
    use aethon_core::model::Usage;

    use super::*;

    fn queue() -> Queue {
        Queue { attendance: Attendance::Attended, state: Mutex::default() }
    }

    #[test]
    fn pieces_of_text_that_wait_become_one_event() {
        let (queue, turn) = (queue(), TurnId::fresh());
        for word in ["a", "b", "c"] {
            queue.emit(&turn, TurnEvent::Text(word.into()));
        }
        queue.emit(&turn, TurnEvent::TextWithdrawn);
        queue.emit(&turn, TurnEvent::Text("d".into()));
        let waker = Waker::noop();
        assert!(matches!(queue.take(waker), Some(TurnEvent::Text(text)) if text == "abc"));
        assert!(matches!(queue.take(waker), Some(TurnEvent::TextWithdrawn)));
        assert!(matches!(queue.take(waker), Some(TurnEvent::Text(text)) if text == "d"));
        assert!(queue.take(waker).is_none());
    }

    #[test]
    fn a_reader_that_is_far_behind_misses_progress_and_no_text() {
        let (queue, turn) = (queue(), TurnId::fresh());
        for _ in 0..3 * MAX_QUEUED {
            queue.emit(&turn, TurnEvent::Usage(Usage::default()));
        }
        queue.emit(&turn, TurnEvent::Text("all".into()));
        let waiting: Vec<_> = std::iter::from_fn(|| queue.take(Waker::noop())).collect();
        assert_eq!(waiting.len(), MAX_QUEUED + 1);
        assert!(matches!(waiting.last(), Some(TurnEvent::Text(text)) if text == "all"));
    }
}
