//! Access tokens, by which an account signs in where the mail service takes no passwords.
//!
//! A token holds for an hour or so. The owner's command prints a fresh one; it is asked before a sign-in, its answer is used
//! again for a few minutes, and dropped as soon as a server refuses it. How the command gets it (a refresh token, a key ring)
//! is its own business. A token never stands in a message.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_core::program::{Program, Programs};
use aethon_core::secret::Secret;
use tokio::io::AsyncReadExt as _;
use tokio::time::{Instant, timeout};

/// How long the command may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How much of its answer is read, in bytes.
const LONGEST: u64 = 64 << 10;
/// How long an answer is used again. Tokens hold longer, and whoever hands them out knows how long.
const FRESH_FOR: Duration = Duration::from_secs(240);

/// Where tokens come from.
pub enum TokenSource {
    /// This one, for as long as it holds.
    Given(Secret),
    /// A program prints one.
    Command {
        /// The program.
        program: Program,
        /// What starts it.
        programs: Arc<dyn Programs>,
    },
}

/// A token could not be had. Another time it may.
#[derive(Debug)]
pub(super) struct NoToken(pub(super) String);

/// The tokens of an account. Cheap to clone; clones share what they know.
#[derive(Clone)]
pub(super) struct Tokens {
    source: Arc<TokenSource>,
    last: Arc<Mutex<Option<Known>>>,
}

/// A token that the command has printed.
#[derive(Clone)]
struct Known {
    token: Secret,
    since: Instant,
    /// Whether it was handed out more than once.
    is_used: bool,
}

impl Tokens {
    pub(super) fn new(source: TokenSource) -> Self {
        Self { source: Arc::new(source), last: Arc::default() }
    }

    /// A token that should hold now.
    pub(super) async fn current(&self) -> Result<Secret, NoToken> {
        let (program, programs) = match &*self.source {
            TokenSource::Given(token) => return Ok(token.clone()),
            TokenSource::Command { program, programs } => (program, programs),
        };
        if let Some(known) = self.last().as_mut().filter(|known| known.since.elapsed() < FRESH_FOR) {
            known.is_used = true;
            return Ok(known.token.clone());
        }
        let token = timeout(PATIENCE, printed(program, &**programs)).await;
        let token = token.map_err(|_| said("did not answer in time"))??;
        *self.last() = Some(Known { token: token.clone(), since: Instant::now(), is_used: false });
        Ok(token)
    }

    /// A server has refused this token. `true` when another one may be had, because this one was not quite fresh.
    pub(super) fn refused(&self, token: &Secret) -> bool {
        let mut last = self.last();
        let refused = last.take_if(|known| known.token.expose() == token.expose());
        refused.is_some_and(|known| known.is_used)
    }

    /// A text without the token that was used last.
    pub(super) fn redacted(&self, text: &str) -> String {
        let last = self.last().as_ref().map(|known| known.token.clone());
        let given = match &*self.source {
            TokenSource::Given(token) => Some(token.clone()),
            TokenSource::Command { .. } => None,
        };
        let tokens = last.into_iter().chain(given).filter(|token| !token.is_empty());
        tokens.fold(text.to_owned(), |text, token| text.replace(token.expose(), "***"))
    }

    fn last(&self) -> MutexGuard<'_, Option<Known>> {
        // It is whole after every statement, so a panic elsewhere does not make it unusable.
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the command prints.
async fn printed(program: &Program, programs: &dyn Programs) -> Result<Secret, NoToken> {
    let started = programs.start(program).await;
    let mut running = started.map_err(|error| said(&format!("could not be started: {error}")))?;
    // It gets nothing to read, and what it says to its operator may hold anything.
    drop(running.input);
    let mut text = Vec::new();
    let mut complaints = tokio::io::sink();
    let mut answer = running.output.take(LONGEST);
    let (read, _) =
        tokio::join!(answer.read_to_end(&mut text), tokio::io::copy(&mut running.errors, &mut complaints));
    read.map_err(|error| said(&format!("could not be read: {error}")))?;
    let ended = running.life.ended().await;
    let text = String::from_utf8_lossy(&text);
    let token = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if ended != "with exit status 0" {
        return Err(said(&format!("ended {ended}")));
    }
    if token.is_empty() || token.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(said("printed no token; it has to print the access token alone"));
    }
    Ok(Secret::new(token))
}

fn said(what: &str) -> NoToken {
    NoToken(format!("the command of channels.email.oauth_command {what}"))
}
