//! Sign-ins: what a cookie names, how long it counts, and who is told when it does not any more.
//!
//! A cookie is a random name, the time of its end, and their HMAC under a key of this home and the token. So it says nothing of
//! the token, a guess at the token makes no cookie, it counts after a restart, and ends with the token. What was taken back
//! is kept until it would have ended by itself, also over a restart (`sign_outs`).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aethon_core::clock::Clock;
use aethon_core::secret::Secret;
use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::sync::watch;

use super::sign_outs::SignOuts;
use crate::hex::{hex, unhex};

/// How long a sign-in counts.
const LIFETIME: i64 = 30 * 24 * 3600;
/// How many that were taken back are kept; beyond that those go first that end first.
const MOST_ENDED: usize = 4096;

/// Under what something came in.
#[derive(Debug, Clone)]
pub(crate) enum SignIn {
    /// No token was asked for.
    Open,
    /// The token itself, in a header or an address.
    Token(hmac::Tag),
    /// The token itself in the cookie, when cookies like this had been taken back so often.
    TokenCookie(u64, hmac::Tag),
    /// A sign-in of its own.
    Session(Session, hmac::Tag),
}

/// A sign-in of a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Session {
    name: String,
    /// In seconds since the epoch.
    ends: i64,
}

/// All sign-ins, whatever the token is.
pub(crate) struct SignIns {
    key: hmac::Key,
    clock: Arc<dyn Clock>,
    state: Mutex<Ended>,
    kept: SignOuts,
    /// Changes whenever one ends.
    changes: watch::Sender<()>,
}

#[derive(Default)]
struct Ended {
    /// Those that were taken back, with the time at which they end anyway.
    sessions: HashMap<String, i64>,
    /// How often a cookie that held the token itself was taken back.
    token_cookies: u64,
}

impl SignIns {
    /// Sign-ins under this key of the home; without one they do not outlast this process. Those that were taken back before
    /// stay so.
    pub(crate) fn new(key: &Secret, kept: SignOuts, clock: Arc<dyn Clock>) -> Self {
        let key =
            if key.is_empty() { random::<32>().to_vec() } else { key.expose().trim().as_bytes().to_vec() };
        let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
        let sessions = kept.read(clock.now().as_second()).into_iter().collect();
        let state = Mutex::new(Ended { sessions, token_cookies: 0 });
        Self { key, clock, state, kept, changes: watch::Sender::new(()) }
    }

    /// A key for one purpose.
    pub(super) fn key(&self, purpose: &[u8], token: &[u8]) -> hmac::Key {
        let mut context = hmac::Context::with_key(&self.key);
        context.update(purpose);
        context.update(&[0]);
        context.update(token);
        hmac::Key::new(hmac::HMAC_SHA256, context.sign().as_ref())
    }

    /// The cookie of a new sign-in.
    pub(super) fn begin(&self, cookies: &hmac::Key) -> Secret {
        let name = hex(&random::<16>());
        let named = format!("{name}.{}", self.now() + LIFETIME);
        let mark = hex(hmac::sign(cookies, named.as_bytes()).as_ref());
        Secret::new(format!("{named}.{mark}"))
    }

    /// The sign-in that a cookie names, if it is one and stands.
    pub(super) fn named(&self, cookies: &hmac::Key, cookie: &[u8]) -> Option<Session> {
        let (named, mark) = std::str::from_utf8(cookie).ok()?.rsplit_once('.')?;
        hmac::verify(cookies, named.as_bytes(), &unhex::<32>(mark.as_bytes())?).ok()?;
        let (name, ends) = named.split_once('.')?;
        let session = Session { name: name.to_owned(), ends: ends.parse().ok()? };
        self.stands(&session).then_some(session)
    }

    /// How often a cookie that held the token itself was taken back.
    pub(super) fn token_cookies(&self) -> u64 {
        self.lock().token_cookies
    }

    /// Whether it has neither ended nor been taken back.
    pub(super) fn stands(&self, session: &Session) -> bool {
        self.now() < session.ends && !self.lock().sessions.contains_key(&session.name)
    }

    /// Takes a sign-in back: what came in under it ends. A token in a header is nobody's sign-in and stays.
    pub(crate) fn end(&self, sign_in: &SignIn) {
        let now = self.now();
        let mut state = self.lock();
        match sign_in {
            SignIn::Open | SignIn::Token(_) => return,
            SignIn::TokenCookie(..) => state.token_cookies += 1,
            SignIn::Session(session, _) => {
                state.sessions.retain(|_, ends| *ends > now);
                if state.sessions.len() >= MOST_ENDED {
                    let first =
                        state.sessions.iter().min_by_key(|(_, ends)| **ends).map(|(name, _)| name.clone());
                    first.and_then(|first| state.sessions.remove(&first));
                }
                state.sessions.insert(session.name.clone(), session.ends);
            }
        }
        drop(state);
        self.look_again();
    }

    /// Has the home remember that it was taken back.
    pub(crate) async fn keep(&self, sign_in: &SignIn) {
        if let SignIn::Session(session, _) = sign_in {
            self.kept.add(session.name.clone(), session.ends).await;
        }
    }

    /// Has everything that came in look whether its sign-in still stands; called when the token may have changed.
    pub(crate) fn look_again(&self) {
        self.changes.send_replace(());
    }

    /// Changes whenever something that came in should look whether its sign-in still stands.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// How many seconds a sign-in has left; `None` where it does not end by itself.
    pub(crate) fn seconds_left(&self, sign_in: &SignIn) -> Option<u64> {
        let SignIn::Session(session, _) = sign_in else { return None };
        Some(u64::try_from(session.ends.saturating_sub(self.now())).unwrap_or(0))
    }

    fn now(&self) -> i64 {
        self.clock.now().as_second()
    }

    fn lock(&self) -> MutexGuard<'_, Ended> {
        // The state is whole after every statement.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    if SystemRandom::new().fill(&mut bytes).is_err() {
        // Without the system's random source there are still version 4 and 7 ids, made of the time and a counter.
        for chunk in bytes.chunks_mut(16) {
            let id = aethon_core::ids::unique();
            chunk.iter_mut().zip(id.bytes().rev()).for_each(|(byte, random)| *byte = random);
        }
    }
    bytes
}
