//! The receive loop of every channel: round after round, with growing pauses after failures, until it becomes
//! pointless.
//!
//! A platform defines what a round is: one long poll, or a connection for as long as it lasts. A failure is reported
//! once and retried, after the pause the platform asks for or after a growing one. If the platform does not accept us, the
//! rounds continue once it says that it knows us. A problem that no further round can fix, such as a token that is not set, ends
//! the channel until the next start.

use std::time::Duration;

use aethon_core::error::{Error, Result};
use aethon_core::shutdown::Shutdown;
use async_trait::async_trait;
use tokio::time::{Instant, sleep};

use super::intake::Intake;
use super::platform::Fault;

/// The first pause after a failure. It doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause. A successful round that lasted longer resets the pause to the first.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// The longest pause while the platform cannot be reached, because deliveries wait until it can.
const MAX_PAUSE_IN_OUTAGES: Duration = Duration::from_secs(15);
/// The first and the longest pause while the platform knows us but does not let us receive.
const FIRST_PAUSE_REFUSED: Duration = Duration::from_secs(60);
const MAX_PAUSE_REFUSED: Duration = Duration::from_secs(1800);

/// Why a round failed.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Another round would fail as well. Says what to configure.
    Useless(String),
    /// The platform does not accept us. Says what to configure, if it stays like that.
    Refused(String),
    /// The platform could not be reached.
    Outage(String),
    /// The platform answers. Another round may succeed: after exactly this time, if it is known.
    Again { message: String, after: Option<Duration> },
}

impl Stop {
    /// The platform could not be reached, or broke off.
    pub(crate) fn outage(message: impl Into<String>) -> Self {
        Self::Outage(message.into())
    }

    /// Retried after a growing pause.
    pub(crate) fn again(message: impl Into<String>) -> Self {
        Self::Again { message: message.into(), after: None }
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Later { message, after: Some(after) } => Self::Again { message, after: Some(after) },
            Fault::Later { message, after: None } | Fault::Doubtful(message) => Self::Outage(message),
            Fault::Identity(message) => Self::Refused(message),
            Fault::Refused(message) | Fault::Unclear(message) | Fault::Gone(message) => Self::again(message),
        }
    }
}

/// How a request to a platform failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The token is rejected, so every other request would probably fail too. Says what to configure.
    Token(String),
    /// Any other failure.
    Fault(Fault),
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Token(message) => Self::Identity(message),
            Failure::Fault(fault) => fault,
        }
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Token(message) => Self::Refused(message),
            Failure::Fault(fault) => fault.into(),
        }
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::again(format!("a message could not be accepted: {error}"))
    }
}

/// Something that receives in rounds.
#[async_trait]
pub(crate) trait ReceiveLoop: Send {
    /// Receives for a while. `Ok` continues at once. Dropped at shutdown.
    async fn round(&mut self, intake: &Intake) -> std::result::Result<(), Stop>;
}

/// Receives until shutdown, or until it becomes pointless.
pub(crate) async fn receive(
    rounds: &mut dyn ReceiveLoop,
    intake: &Intake,
    mut shutdown: Shutdown,
) -> Result<()> {
    let (channel, mut failures, mut refusals) = (intake.channel(), 0, 0);
    while !shutdown.is_requested() {
        let started = Instant::now();
        let ended = tokio::select! {
            ended = rounds.round(intake) => ended,
            () = shutdown.requested() => break,
        };
        failures = if started.elapsed() > MAX_PAUSE { 1 } else { failures + 1 };
        let pause = match ended {
            Ok(()) => {
                (failures, refusals) = (0, 0);
                continue;
            }
            Err(Stop::Useless(message)) => {
                intake.health().fails(&message);
                tracing::error!(channel, message, "the channel does not run");
                return Ok(());
            }
            Err(Stop::Refused(message)) => {
                if intake.health().refuses_receiver(&message) {
                    tracing::error!(
                        channel,
                        message,
                        "nothing can be received until the platform accepts us"
                    );
                }
                if !intake.health().is_refusal_of_receiver() {
                    tokio::select! {
                        () = shutdown.requested() => break,
                        () = intake.health().not_refused() => continue,
                    }
                }
                refusals += 1;
                growing(FIRST_PAUSE_REFUSED, refusals, MAX_PAUSE_REFUSED)
            }
            Err(Stop::Outage(message)) => {
                if intake.health().breaks_off(&message) {
                    tracing::warn!(channel, message, "the platform cannot be reached; trying again");
                }
                pause_after(failures, MAX_PAUSE_IN_OUTAGES)
            }
            Err(Stop::Again { message, after }) => {
                if intake.health().limps(&message) {
                    tracing::warn!(channel, message, "nothing can be received; trying again");
                }
                after.unwrap_or_else(|| pause_after(failures, MAX_PAUSE))
            }
        };
        tokio::select! {
            () = shutdown.requested() => break,
            () = sleep(pause) => {}
        }
    }
    Ok(())
}

fn pause_after(failures: u32, longest: Duration) -> Duration {
    growing(FIRST_PAUSE, failures, longest)
}

fn growing(first: Duration, failures: u32, longest: Duration) -> Duration {
    first.saturating_mul(1 << failures.saturating_sub(1).min(10)).min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_minute() {
        let seconds = [1, 2, 3, 6, 7, 400].map(|failures| pause_after(failures, MAX_PAUSE).as_secs());
        assert_eq!(seconds, [1, 2, 4, 32, 60, 60]);
    }
}
