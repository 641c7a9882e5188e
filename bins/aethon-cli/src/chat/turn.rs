//! One turn of the chat, from the message to the end of its answer.

use std::time::Duration;

use anyhow::Result;
use tokio::time::{Instant, sleep_until};

use super::backend::{Backend, Request};
use super::event::{BackendEvent, ChatEvent};
use super::interrupts::{Interrupt, Interrupts};
use super::keys::Quiet;
use super::question::{Question, decide};
use super::screen::{Screen, style};

/// How long a stopped turn may take to end before the terminal moves on.
pub(super) const LEAVE: Duration = Duration::from_secs(3);

/// How a turn ended for the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// It ended by itself.
    Over,
    /// The user stopped it.
    Stopped,
    /// The user or the system ends the program.
    Leave,
}

/// Follows the turn that answers the last message, and shows messages of others in between.
pub(super) async fn follow(
    backend: &mut dyn Backend,
    interrupts: &mut Interrupts,
    turn: Option<String>,
) -> Result<End> {
    let mut quiet = Some(Quiet::keep());
    let mut following = Following { turn, screen: Screen::new(style()), stopping: None };
    loop {
        let received = tokio::select! {
            received = backend.next() => received,
            interrupt = interrupts.next() => {
                match interrupt {
                    Interrupt::Resize => following.screen.resize(),
                    _ if following.stopping.is_some() => return Ok(End::Leave),
                    _ => following.stop(backend, interrupt).await?,
                }
                continue;
            }
            () = sleep_until(following.deadline()), if following.stopping.is_some() => {
                return Ok(following.end());
            }
        };
        if let (Some(question), true) = (Question::of(&received.event), following.is_own(&received)) {
            following.screen.question(&question);
            drop(quiet.take());
            let settled = decide(backend, interrupts, &mut following, &question).await?;
            quiet = Some(Quiet::keep());
            if let Some(received) = settled
                && following.show(received)?
            {
                return Ok(following.end());
            }
        } else if following.show(received)? {
            return Ok(following.end());
        }
    }
}

pub(super) struct Following {
    /// The turn, once known.
    turn: Option<String>,
    screen: Screen,
    /// Why and since when the turn is being stopped.
    stopping: Option<(Interrupt, Instant)>,
}

impl Following {
    pub(super) fn is_own(&self, received: &BackendEvent) -> bool {
        self.turn.as_deref() == Some(received.turn.as_str())
    }

    pub(super) async fn stop(&mut self, backend: &mut dyn Backend, why: Interrupt) -> Result<()> {
        self.stopping = Some((why, Instant::now()));
        backend.tell(Request::Stop(self.turn.clone())).await
    }

    fn deadline(&self) -> Instant {
        self.stopping.map_or_else(Instant::now, |(_, since)| since + LEAVE)
    }

    fn end(&self) -> End {
        match self.stopping {
            None => End::Over,
            Some((Interrupt::End, _)) => End::Leave,
            Some(_) => End::Stopped,
        }
    }

    /// Shows an event, and returns whether the turn is over.
    fn show(&mut self, received: BackendEvent) -> Result<bool> {
        match received.event {
            ChatEvent::Lost(why) => anyhow::bail!("{why}"),
            ChatEvent::Accepted { .. } if self.turn.is_none() => self.turn = Some(received.turn),
            ChatEvent::Refused(why) if self.turn.is_none() => {
                self.screen.show(ChatEvent::Error(why));
                self.screen.end();
                return Ok(true);
            }
            event @ (ChatEvent::OthersTurn(_) | ChatEvent::Connection(_)) => drop(self.screen.show(event)),
            // An event of the session, or of our own turn; events of earlier turns that were not waited for are dropped.
            event if received.turn.is_empty() || self.turn.as_deref() == Some(received.turn.as_str()) => {
                return Ok(self.screen.show(event).is_some());
            }
            _ => {}
        }
        Ok(false)
    }
}
