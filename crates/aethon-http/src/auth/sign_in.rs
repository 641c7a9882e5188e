//! Sign-ins: what a cookie names, how long it counts, and who is told when it does not any more.
//!
//! A cookie is a random name, the time of its end, and their HMAC under a key of this home and the token. So it says nothing of
//! the token, a guess at the token makes no cookie, it counts after a restart, and ends with the token. What was taken back
//! is kept until it would have ended by itself, also over a restart, and so is which there are (`register`).

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aethon_core::clock::Clock;
use aethon_core::secret::Secret;
use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::sync::watch;

use super::register::{Begun, Entry, Register};
use crate::hex::{hex, unhex};

/// How long a sign-in counts.
const LIFETIME: i64 = 30 * 24 * 3600;
/// How many that were taken back are kept; beyond that those go first that end first.
const MOST_ENDED: usize = 4096;
/// How many of those that began are listed.
const MOST_LISTED: usize = 256;

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
    pub(crate) name: String,
    /// In seconds since the epoch.
    ends: i64,
}

/// All sign-ins, whatever the token is.
pub(crate) struct SignIns {
    key: hmac::Key,
    clock: Arc<dyn Clock>,
    state: Mutex<SignInState>,
    kept: Register,
    /// Changes whenever one ends.
    changes: watch::Sender<()>,
}

#[derive(Default)]
struct SignInState {
    /// Those that were taken back, with the time at which they end anyway.
    sessions: HashMap<String, i64>,
    /// How often a cookie that held the token itself was taken back.
    token_cookies: u64,
    /// Those that began, in their order.
    begun: VecDeque<Begun>,
}

impl SignInState {
    fn begin(&mut self, begun: Begun) {
        if self.begun.len() >= MOST_LISTED {
            self.begun.pop_front();
        }
        self.begun.push_back(begun);
    }

    fn end(&mut self, name: &str, ends: i64, now: i64) {
        self.sessions.retain(|_, ends| *ends > now);
        if self.sessions.len() >= MOST_ENDED {
            let first = self.sessions.iter().min_by_key(|(_, ends)| **ends).map(|(name, _)| name.clone());
            first.and_then(|first| self.sessions.remove(&first));
        }
        self.sessions.insert(name.to_owned(), ends);
    }
}

impl SignIns {
    /// Sign-ins under this key of the home; without one they do not outlast this process. Those that were taken back before
    /// stay so.
    pub(crate) fn new(key: &Secret, kept: Register, clock: Arc<dyn Clock>) -> Self {
        let key =
            if key.is_empty() { random::<32>().to_vec() } else { key.expose().trim().as_bytes().to_vec() };
        let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
        let mut state = SignInState::default();
        for entry in kept.read(clock.now().as_second()) {
            match entry {
                Entry::Begun(begun) => state.begin(begun),
                Entry::Ended { name, ends } => drop(state.sessions.insert(name, ends)),
            }
        }
        let state = Mutex::new(state);
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

    /// The cookie of a new sign-in from this address.
    pub(super) fn begin(&self, cookies: &hmac::Key, address: IpAddr) -> Secret {
        let (name, began) = (hex(&random::<16>()), self.now());
        let ends = began + LIFETIME;
        let named = format!("{name}.{ends}");
        let begun = Begun { name, ends, began, token: token_mark(cookies), address: address.to_string() };
        self.lock().begin(begun.clone());
        self.kept.add_later(Entry::Begun(begun));
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

    /// Those that began under this token and stand, newest first.
    pub(super) fn standing(&self, cookies: &hmac::Key) -> Vec<Begun> {
        let (token, now) = (token_mark(cookies), self.now());
        let state = self.lock();
        let stands = |begun: &&Begun| {
            begun.token == token && begun.ends > now && !state.sessions.contains_key(&begun.name)
        };
        state.begun.iter().rev().filter(stands).cloned().collect()
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
        match sign_in {
            SignIn::Open | SignIn::Token(_) => return,
            SignIn::TokenCookie(..) => self.lock().token_cookies += 1,
            SignIn::Session(session, _) => self.lock().end(&session.name, session.ends, self.now()),
        }
        self.look_again();
    }

    /// Takes back one that is listed, and has the home remember it.
    pub(crate) async fn revoke(&self, begun: Begun) {
        self.lock().end(&begun.name, begun.ends, self.now());
        self.look_again();
        self.kept.add(Entry::Ended { name: begun.name, ends: begun.ends }).await;
    }

    /// Has the home remember that it was taken back.
    pub(crate) async fn keep(&self, sign_in: &SignIn) {
        if let SignIn::Session(session, _) = sign_in {
            self.kept.add(Entry::Ended { name: session.name.clone(), ends: session.ends }).await;
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

    fn lock(&self) -> MutexGuard<'_, SignInState> {
        // The state is whole after every statement.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What tells one token's sign-ins from another's, and nothing of the token.
fn token_mark(cookies: &hmac::Key) -> String {
    hex(hmac::sign(cookies, b"mark").as_ref()).chars().take(8).collect()
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
