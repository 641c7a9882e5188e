//! One turn of the chat, from what was said to the end of its answer.

use std::time::Duration;

use anyhow::Result;
use tokio::time::{Instant, sleep_until};

use super::backend::{Backend, Wish};
use super::event::{ChatEvent, Told};
use super::input;
use super::interrupts::{Interrupt, Interrupts};
use super::keys::{Quiet, forget_typed};
use super::screen::{Screen, put, style};

/// How long a stopped turn may take to end before the terminal goes on without it.
pub(super) const LEAVE: Duration = Duration::from_secs(3);

/// How a turn ended for the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// By itself.
    Over,
    /// The person stopped it.
    Stopped,
    /// The person, or the system, wants to leave.
    Leave,
}

/// Follows the turn that answers what was just said; what others say in the session meanwhile is shown between.
pub(super) async fn follow(
    backend: &mut dyn Backend,
    interrupts: &mut Interrupts,
    turn: Option<String>,
) -> Result<End> {
    let mut quiet = Some(Quiet::keep());
    let mut following = Following { turn, screen: Screen::new(style()), stopping: None };
    loop {
        let told = tokio::select! {
            told = backend.next() => told,
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
        if let (ChatEvent::Approval { id, tool, input, summary }, true) =
            (&told.event, following.is_own(&told))
        {
            following.screen.question(tool, input, summary);
            drop(quiet.take());
            let settled = decide(backend, interrupts, &mut following, id).await?;
            quiet = Some(Quiet::keep());
            if let Some(told) = settled
                && following.show(told)?
            {
                return Ok(following.end());
            }
        } else if following.show(told)? {
            return Ok(following.end());
        }
    }
}

struct Following {
    /// The turn, once it is known.
    turn: Option<String>,
    screen: Screen,
    /// Since when it is to end, and why.
    stopping: Option<(Interrupt, Instant)>,
}

impl Following {
    fn is_own(&self, told: &Told) -> bool {
        self.turn.as_deref() == Some(told.turn.as_str())
    }

    async fn stop(&mut self, backend: &mut dyn Backend, why: Interrupt) -> Result<()> {
        self.stopping = Some((why, Instant::now()));
        backend.tell(Wish::Stop(self.turn.clone())).await
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

    /// Shows what happened; whether the turn is over.
    fn show(&mut self, told: Told) -> Result<bool> {
        match told.event {
            ChatEvent::Lost(why) => anyhow::bail!("{why}"),
            ChatEvent::Accepted { .. } if self.turn.is_none() => self.turn = Some(told.turn),
            ChatEvent::Refused(why) if self.turn.is_none() => {
                self.screen.show(ChatEvent::Error(why));
                self.screen.end();
                return Ok(true);
            }
            event @ (ChatEvent::Other(_) | ChatEvent::Link(_)) => drop(self.screen.show(event)),
            // Something about the session, or what is left of an earlier turn that was not waited for.
            event if told.turn.is_empty() || self.turn.as_deref() == Some(told.turn.as_str()) => {
                return Ok(self.screen.show(event).is_some());
            }
            _ => {}
        }
        Ok(false)
    }
}

/// Waits for a yes or a no, or until the question is settled without one; returns what settled it.
async fn decide(
    backend: &mut dyn Backend,
    interrupts: &mut Interrupts,
    following: &mut Following,
    id: &str,
) -> Result<Option<Told>> {
    forget_typed();
    put("  run it? type yes to approve, anything else denies: ");
    let mut answer = std::pin::pin!(input::line());
    loop {
        tokio::select! {
            answer = &mut answer => {
                let approve = answer.is_some_and(|answer| matches!(answer.trim(), "yes" | "y" | "Yes" | "YES"));
                backend.tell(Wish::Decide { id: id.to_owned(), approve }).await?;
                return Ok(None);
            }
            interrupt = interrupts.next() => {
                if interrupt != Interrupt::Resize {
                    put("\n");
                    following.stop(backend, interrupt).await?;
                    return Ok(None);
                }
            }
            told = settled(backend, following, id) => {
                put("\n");
                return Ok(Some(told));
            }
        }
    }
}

/// Waits until the question is settled elsewhere, or cannot be answered any more.
async fn settled(backend: &mut dyn Backend, following: &Following, id: &str) -> Told {
    loop {
        let told = backend.next().await;
        let is_settled = match &told.event {
            ChatEvent::ApprovalDone { id: done, .. } => done == id,
            ChatEvent::Again | ChatEvent::Done(_) => following.is_own(&told),
            ChatEvent::Lost(_) => true,
            _ => false,
        };
        if is_settled {
            return told;
        }
    }
}
