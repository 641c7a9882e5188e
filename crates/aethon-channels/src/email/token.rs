//! Access tokens, for signing in where the mail service accepts no passwords.
//!
//! A token is valid for about an hour. The owner's command prints a fresh one. It runs before a sign-in; its output
//! is reused for a few minutes, and dropped as soon as a server rejects it. How the command obtains a token (a
//! refresh token, a key ring) is its own business. A token never appears in a message.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_core::program::{Program, Programs};
use aethon_core::secret::Secret;
use tokio::io::AsyncReadExt as _;
use tokio::time::{Instant, timeout};

/// How long the command may take.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How many bytes of its output are read.
const MAX_LEN: u64 = 64 << 10;
/// How long a token is reused. Tokens are valid for longer, but only the command knows how long.
const FRESH_FOR: Duration = Duration::from_secs(240);

/// The source of tokens.
pub enum TokenSource {
    /// A fixed token.
    Given(Secret),
    /// A program prints a token.
    Command {
        /// The program.
        program: Program,
        /// Starts the program.
        programs: Arc<dyn Programs>,
    },
}

/// No token was available. A later attempt may succeed.
#[derive(Debug)]
pub(super) struct NoToken(pub(super) String);

/// The tokens of an account. Cheap to clone; clones share the cache.
#[derive(Clone)]
pub(super) struct Tokens {
    source: Arc<TokenSource>,
    last: Arc<Mutex<Option<Known>>>,
}

/// A token that the command printed.
#[derive(Clone)]
struct Known {
    token: Secret,
    since: Instant,
    /// Whether it was used more than once.
    is_used: bool,
}

impl Tokens {
    pub(super) fn new(source: TokenSource) -> Self {
        Self { source: Arc::new(source), last: Arc::default() }
    }

    /// Returns a token that should be valid now.
    pub(super) async fn current(&self) -> Result<Secret, NoToken> {
        let (program, programs) = match &*self.source {
            TokenSource::Given(token) => return Ok(token.clone()),
            TokenSource::Command { program, programs } => (program, programs),
        };
        if let Some(known) = self.last().as_mut().filter(|known| known.since.elapsed() < FRESH_FOR) {
            known.is_used = true;
            return Ok(known.token.clone());
        }
        let token = timeout(TIMEOUT, printed(program, &**programs)).await;
        let token = token.map_err(|_| said("did not answer in time"))??;
        *self.last() = Some(Known { token: token.clone(), since: Instant::now(), is_used: false });
        Ok(token)
    }

    /// Drops a token that a server rejected. Returns whether requesting another one makes sense, because this one was
    /// not fresh.
    pub(super) fn refused(&self, token: &Secret) -> bool {
        let mut last = self.last();
        let refused = last.take_if(|known| known.token.expose() == token.expose());
        refused.is_some_and(|known| known.is_used)
    }

    /// Removes the last token from a text.
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
        // Every statement leaves the value consistent, so a poisoned lock is usable.
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the output of the command.
async fn printed(program: &Program, programs: &dyn Programs) -> Result<Secret, NoToken> {
    let started = programs.start(program).await;
    let mut running = started.map_err(|error| said(&format!("could not be started: {error}")))?;
    // It gets no input, and its stderr is ignored because it may contain anything.
    drop(running.input);
    let mut text = Vec::new();
    let mut complaints = tokio::io::sink();
    let mut answer = running.output.take(MAX_LEN);
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
