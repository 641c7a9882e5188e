//! One turn of the chat, from the message to the end of its answer.
//!
//! Text typed meanwhile is collected; keys that were pressed before an approval question appeared do not answer it.

use std::time::Duration;

use anyhow::Result;
use tokio::time::{MissedTickBehavior, interval, sleep_until};

use super::backend::Backend;
use super::event::ChatEvent;
use super::following::{End, Following};
use super::footer::Footer;
use super::interrupts::{Interrupt, Interrupts};
use super::keys::Quiet;
use super::question::decide;
use super::screen::{Screen, style};
use super::typed::Typed;

/// How often the keyboard is looked at and the time of the turn is shown.
const TICK: Duration = Duration::from_millis(50);

/// A keyboard with a person at it.
pub(super) struct Keyboard<'a> {
    /// Text typed ahead.
    pub(super) typed: &'a mut Typed,
    /// The prompt of the next message.
    pub(super) prompt: &'a str,
}

impl Keyboard<'_> {
    /// Takes the pressed keys. Returns whether the reply is to be stopped.
    fn look(&mut self, screen: &mut Screen) -> bool {
        if self.typed.take_keys() {
            self.show(screen);
        }
        let is_stop = self.typed.take_stop();
        if is_stop {
            self.show(screen);
        }
        is_stop
    }

    fn show(&self, screen: &mut Screen) {
        if let Some(footer) = screen.footer() {
            footer.set_typed(self.typed, self.prompt);
        }
    }
}

/// Follows the turn that answers the last message, and shows messages of others in between.
pub(super) async fn follow(
    backend: &mut dyn Backend,
    interrupts: &mut Interrupts,
    turn: Option<String>,
    mut keyboard: Option<Keyboard<'_>>,
) -> Result<End> {
    let mut quiet = Some(Quiet::keep());
    let screen = Screen::new(style());
    let screen = if keyboard.is_some() { screen.with_footer(Footer::new()) } else { screen };
    let mut following = Following { turn, screen, stopping: None, is_refused: false };
    if following.turn.is_some() {
        following.note(&ChatEvent::Accepted { queued: 0 });
    }
    if let Some(keyboard) = &keyboard {
        keyboard.show(&mut following.screen);
    }
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
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
            _ = tick.tick(), if keyboard.is_some() => {
                let is_stop = keyboard.as_mut().is_some_and(|keyboard| keyboard.look(&mut following.screen));
                if is_stop && following.stopping.is_none() {
                    following.stop(backend, Interrupt::Stop).await?;
                }
                following.screen.tick();
                continue;
            }
            () = sleep_until(following.deadline()), if following.stopping.is_some() => {
                return Ok(following.end());
            }
        };
        if let ChatEvent::Approval(question) = &received.event
            && following.is_own(&received)
        {
            if let Some(keyboard) = &mut keyboard {
                keyboard.look(&mut following.screen);
            }
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
