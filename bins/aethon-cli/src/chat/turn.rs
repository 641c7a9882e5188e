//! One turn of the chat, from the message to the end of its answer.

use anyhow::Result;
use tokio::time::sleep_until;

use super::backend::Backend;
use super::event::ChatEvent;
use super::following::{End, Following};
use super::interrupts::{Interrupt, Interrupts};
use super::keys::Quiet;
use super::question::decide;
use super::screen::{Screen, style};

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
        if let ChatEvent::Approval(question) = &received.event
            && following.is_own(&received)
        {
            following.screen.question(question);
            drop(quiet.take());
            let settled = decide(backend, interrupts, &mut following, question).await?;
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
