//! Keeps one server connected: reconnects after a failure or an end of the connection, with exponential backoff.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::program::Programs;
use aethon_core::shutdown::Shutdown;
use tokio::time::{Instant, sleep};

use super::board::{Board, ServerState};
use super::connect::{Introduction, Lifecycle, People, connect};
use super::options::{Address, OfferRules};
use super::refusal::sign_in_command;
use super::session::Ended;
use crate::error::Error;

/// Delay before the first retry; it doubles with each further one.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// Maximum delay.
const MAX_WAIT: Duration = Duration::from_secs(120);
/// A connection that lasted this long resets the delay.
const GOOD: Duration = Duration::from_secs(60);
/// How often a server that wants a sign-in is tried. Until someone has signed in, its transport answers for it.
const SIGN_IN_WAIT: Duration = Duration::from_secs(2);

/// Keeps one server connected.
pub(super) struct Keeper {
    pub(super) name: Arc<str>,
    pub(super) address: Arc<Address>,
    pub(super) board: Arc<Board>,
    pub(super) programs: Arc<dyn Programs>,
    pub(super) rules: OfferRules,
    pub(super) version: String,
    pub(super) people: People,
}

impl Keeper {
    /// Runs until the program stops.
    pub(super) async fn run(self, mut shutdown: Shutdown) {
        let mut attempts = 0;
        let mut waits_for_person = false;
        while !shutdown.is_requested() {
            let begun = Instant::now();
            if !waits_for_person {
                self.put(ServerState::Starting);
            }
            let Ended { error, is_refused } = self.connection(attempts, &shutdown).await;
            if shutdown.is_requested() {
                break;
            }
            if error.needs_sign_in() {
                if !std::mem::replace(&mut waits_for_person, true) {
                    tracing::warn!(server = &*self.name, "an MCP server needs a sign-in");
                    self.put(ServerState::NeedsSignIn { command: sign_in_command(&self.name) });
                }
                tokio::select! {
                    () = sleep(SIGN_IN_WAIT) => continue,
                    () = shutdown.requested() => break,
                }
            }
            waits_for_person = false;
            let why = error.to_string();
            if begun.elapsed() >= GOOD {
                attempts = 0;
            }
            // A server that has forgotten the session gets a new one at once, unless it does so again and again.
            let wait = if is_refused && attempts == 0 { Duration::ZERO } else { wait_before(attempts) };
            attempts += 1;
            let (server, seconds) = (&*self.name, wait.as_secs());
            tracing::warn!(server, why, "an MCP server is not connected; trying again in {seconds} s");
            self.put(ServerState::Failing { why });
            tokio::select! {
                () = sleep(wait) => {}
                () = shutdown.requested() => break,
            }
        }
        self.put(ServerState::Idle);
    }

    /// Runs one connection from beginning to end; returns how it ended.
    async fn connection(&self, attempts: u32, shutdown: &Shutdown) -> Ended {
        let mut stop = shutdown.clone();
        let (address, programs) = (self.address.clone(), self.programs.clone());
        let (server, version) = (self.name.clone(), self.version.clone());
        let introduction = Introduction { server, version, people: self.people };
        let connecting = connect(address, programs, introduction, lifecycle(attempts));
        let connected = tokio::select! {
            connected = connecting => connected,
            () = stop.requested() => return Error::new("").into(),
        };
        match connected {
            Ok(session) => session.keep(self.name.clone(), self.board.clone(), self.rules, stop).await,
            Err(error) => error.into(),
        }
    }

    fn put(&self, state: ServerState) {
        self.board.put(&self.name, state, Vec::new());
    }
}

/// Alternates, so that a server of an older revision that chokes on the newest one gets the handshake next time.
fn lifecycle(attempts: u32) -> Lifecycle {
    if attempts.is_multiple_of(2) { Lifecycle::Newest } else { Lifecycle::Handshake }
}

fn wait_before(attempts: u32) -> Duration {
    FIRST_WAIT.saturating_mul(2_u32.saturating_pow(attempts)).min(MAX_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_waits_grow_to_a_limit() {
        let seconds = |attempts| wait_before(attempts).as_secs();
        assert_eq!([0, 1, 2, 6, 7, 60].map(seconds), [1, 2, 4, 64, 120, 120]);
    }
}
