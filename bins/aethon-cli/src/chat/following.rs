//! A turn that the terminal follows.

use std::time::Duration;

use anyhow::Result;
use tokio::time::Instant;

use super::backend::{Backend, Request};
use super::event::{BackendEvent, ChatEvent};
use super::interrupts::Interrupt;
use super::screen::Screen;

/// How long a stopped turn may take to end before the terminal moves on.
pub(super) const LEAVE: Duration = Duration::from_secs(3);

/// How a turn ended for the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// It ended by itself.
    Over,
    /// The message was refused, so there was no turn.
    Refused,
    /// The user stopped it.
    Stopped,
    /// The user or the system ends the program.
    Leave,
}

pub(super) struct Following {
    /// The turn, once known.
    pub(super) turn: Option<String>,
    pub(super) screen: Screen,
    /// Why and since when the turn is being stopped.
    pub(super) stopping: Option<(Interrupt, Instant)>,
    /// Whether the message was refused.
    pub(super) is_refused: bool,
}

impl Following {
    pub(super) fn is_own(&self, received: &BackendEvent) -> bool {
        self.turn.as_deref() == Some(received.turn.as_str())
    }

    pub(super) async fn stop(&mut self, backend: &mut dyn Backend, why: Interrupt) -> Result<()> {
        self.stopping = Some((why, Instant::now()));
        if let Some(footer) = self.screen.footer() {
            footer.stop();
        }
        backend.tell(Request::Stop(self.turn.clone())).await
    }

    pub(super) fn deadline(&self) -> Instant {
        self.stopping.map_or_else(Instant::now, |(_, since)| since + LEAVE)
    }

    pub(super) fn end(&self) -> End {
        match self.stopping {
            None if self.is_refused => End::Refused,
            None => End::Over,
            Some((Interrupt::End, _)) => End::Leave,
            Some(_) => End::Stopped,
        }
    }

    /// Shows an event, and returns whether the turn is over.
    pub(super) fn show(&mut self, received: BackendEvent) -> Result<bool> {
        match received.event {
            ChatEvent::Lost(why) => anyhow::bail!("{why}"),
            ChatEvent::Accepted { .. } if self.turn.is_none() => {
                self.note(&received.event);
                self.turn = Some(received.turn);
            }
            ChatEvent::Refused(why) if self.turn.is_none() => {
                self.screen.show(ChatEvent::Error(why));
                self.screen.end();
                self.is_refused = true;
                return Ok(true);
            }
            event @ (ChatEvent::OthersTurn(_) | ChatEvent::Connection(_)) => drop(self.screen.show(event)),
            // An event of the session, or of our own turn; events of earlier turns that were not waited for are dropped.
            event if received.turn.is_empty() || self.turn.as_deref() == Some(received.turn.as_str()) => {
                self.note(&event);
                return Ok(self.screen.show(event).is_some());
            }
            _ => {}
        }
        Ok(false)
    }

    /// Updates the line below the reply from an event of the turn.
    pub(super) fn note(&mut self, event: &ChatEvent) {
        if let Some(footer) = self.screen.footer() {
            footer.note(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::screen::style;

    #[test]
    fn a_refused_message_has_no_turn() {
        let mut following =
            Following { turn: None, screen: Screen::new(style()), stopping: None, is_refused: false };
        assert_eq!(following.end(), End::Over);
        let refused = BackendEvent::outside(ChatEvent::Refused("too long".into()));
        assert!(following.show(refused).unwrap());
        assert_eq!(following.end(), End::Refused);
    }
}
