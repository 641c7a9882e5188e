//! The loop of every channel that receives: round after round, growing pauses after failures, and an end when it is useless.
//!
//! A round is what a platform makes of it: one call that waits for news, or a connection for as long as it lasts. A failure is
//! told once and tried again, after exactly the pause that the platform has named or after one that grows. What no further
//! round can mend, such as a token that is not taken, ends the channel until the next start.

use std::time::Duration;

use aethon_core::error::{Error, Result};
use aethon_core::shutdown::Shutdown;
use async_trait::async_trait;
use tokio::time::{Instant, sleep};

use super::door::Door;
use super::platform::Fault;

/// The first pause after a failure; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause. A round that went well for longer begins anew with the first.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Why a round came to nothing.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Another round would come to nothing as well. Says what to set.
    Useless(String),
    /// Another one may go well: after exactly this time, where it is known.
    Again { message: String, after: Option<Duration> },
}

impl Stop {
    /// Tried again after a pause that grows.
    pub(crate) fn again(message: impl Into<String>) -> Self {
        Self::Again { message: message.into(), after: None }
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Later { message, after } => Self::Again { message, after },
            Fault::Refused(message) | Fault::Doubtful(message) | Fault::Gone(message) => Self::again(message),
        }
    }
}

/// How a request to a platform ended that was not done.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The token is not taken: no other request will be done either. Says what to set.
    Token(String),
    /// Any other way.
    Fault(Fault),
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Token(message) => Self::Refused(message),
            Failure::Fault(fault) => fault,
        }
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Token(message) => Self::Useless(message),
            Failure::Fault(fault) => fault.into(),
        }
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::again(format!("a message could not be taken in: {error}"))
    }
}

/// What receives.
#[async_trait]
pub(crate) trait Rounds: Send {
    /// Receives for a while. `Ok` goes on at once. Dropped when the program stops.
    async fn round(&mut self, door: &Door) -> std::result::Result<(), Stop>;
}

/// Receives until the program stops, or for as long as it is of use.
pub(crate) async fn receive(rounds: &mut dyn Rounds, door: &Door, mut shutdown: Shutdown) -> Result<()> {
    let (channel, mut failures) = (door.channel(), 0);
    while !shutdown.is_requested() {
        let started = Instant::now();
        let ended = tokio::select! {
            ended = rounds.round(door) => ended,
            () = shutdown.requested() => break,
        };
        let (message, after) = match ended {
            Ok(()) => {
                failures = 0;
                continue;
            }
            Err(Stop::Useless(message)) => {
                door.standing().fails(&message);
                tracing::error!(channel, message, "the channel does not run");
                return Ok(());
            }
            Err(Stop::Again { message, after }) => (message, after),
        };
        if door.standing().fails(&message) {
            tracing::warn!(channel, message, "nothing can be received; trying again");
        }
        failures = if started.elapsed() > LONGEST_PAUSE { 1 } else { failures + 1 };
        tokio::select! {
            () = shutdown.requested() => break,
            () = sleep(after.unwrap_or_else(|| pause_after(failures))) => {}
        }
    }
    Ok(())
}

fn pause_after(failures: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(1 << failures.saturating_sub(1).min(10)).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_minute() {
        let seconds: Vec<u64> = [1, 2, 3, 6, 7, 400].map(|failures| pause_after(failures).as_secs()).to_vec();
        assert_eq!(seconds, [1, 2, 4, 32, 60, 60]);
    }
}
