//! Sign-ins: the content of a cookie, its lifetime, and who is notified when it is no longer valid.
//!
//! A cookie holds a random name, an expiry time, and their HMAC under a key derived from the home's key and the
//! token. So it reveals nothing about the token, cannot be forged by guessing the token, survives a restart, and ends
//! when the token changes. A sign-in counts only while it is listed: the list is bounded, so that its owner can look through
//! it, and the oldest makes room for a new one. Revoked sign-ins are remembered until they would have expired, across
//! restarts too, and so is the list of sign-ins (`register`).

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aethon_core::clock::Clock;
use aethon_core::error::Result;
use aethon_core::secret::Secret;
use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::sync::watch;

use super::codes::Codes;
use super::register::{Entry, Register, SignInRecord};
use crate::hex::{hex, unhex};
use crate::options::SignInOptions;
use crate::unix_peer;

/// How many revoked sign-ins are remembered. Past this, those that expire first are dropped.
const MAX_ENDED: usize = 4096;
/// How many sign-ins are listed.
const MAX_LISTED: usize = 256;

/// How a request or socket was admitted.
#[derive(Debug, Clone)]
pub(crate) enum SignIn {
    /// No token is configured.
    Open,
    /// By the token itself, in a header or the query.
    Token(hmac::Tag),
    /// By the token itself in the cookie. The number counts how often such cookies had been revoked by then.
    TokenCookie(u64, hmac::Tag),
    /// By a sign-in of its own.
    Session(Session, hmac::Tag),
}

/// A browser's sign-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) name: String,
    /// In seconds since the epoch.
    ends: i64,
}

/// All sign-ins, whatever their token.
pub(crate) struct SignIns {
    key: hmac::Key,
    clock: Arc<dyn Clock>,
    state: Mutex<SignInState>,
    kept: Register,
    /// How long a new sign-in lasts, in seconds.
    lifetime: i64,
    /// Codes with which a device signs in once.
    codes: Codes,
    /// Signals that a sign-in has ended.
    changes: watch::Sender<()>,
}

#[derive(Default)]
struct SignInState {
    /// Revoked sign-ins, with their expiry times.
    sessions: HashMap<String, i64>,
    /// How often a cookie that held the token itself was revoked.
    token_cookies: u64,
    /// Sign-ins in the order in which they began.
    begun: VecDeque<SignInRecord>,
}

impl SignInState {
    /// Adds a sign-in, and returns the one that makes room for it.
    fn begin(&mut self, begun: SignInRecord, now: i64) -> Option<SignInRecord> {
        self.begun.retain(|begun| begun.ends > now && !self.sessions.contains_key(&begun.name));
        let gone = if self.begun.len() >= MAX_LISTED { self.begun.pop_front() } else { None };
        self.begun.push_back(begun);
        gone
    }

    /// Returns whether the sign-in is listed and was not revoked.
    fn lists(&self, name: &str) -> bool {
        !self.sessions.contains_key(name) && self.begun.iter().rev().any(|begun| begun.name == name)
    }

    fn end(&mut self, name: &str, ends: i64, now: i64) {
        self.sessions.retain(|_, ends| *ends > now);
        if self.sessions.len() >= MAX_ENDED {
            let first = self.sessions.iter().min_by_key(|(_, ends)| **ends).map(|(name, _)| name.clone());
            first.and_then(|first| self.sessions.remove(&first));
        }
        self.sessions.insert(name.to_owned(), ends);
    }
}

impl SignIns {
    /// Creates sign-ins under this key of the home. Without a key, they end with the process. Sign-ins revoked
    /// earlier stay revoked.
    pub(crate) fn new(options: &SignInOptions, clock: Arc<dyn Clock>) -> Self {
        let (key, kept) = (&options.key, Register::new(options));
        let key =
            if key.is_empty() { random::<32>().to_vec() } else { key.expose().trim().as_bytes().to_vec() };
        let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
        let mut state = SignInState::default();
        let now = clock.now().as_second();
        for entry in kept.read(now) {
            match entry {
                Entry::Begun(begun) => drop(state.begin(begun, now)),
                Entry::Ended { name, ends } => drop(state.sessions.insert(name, ends)),
            }
        }
        let state = Mutex::new(state);
        let lifetime = i64::try_from(options.lifetime.as_secs()).unwrap_or(i64::MAX);
        let codes = Codes::new(options.shared());
        Self { key, clock, state, kept, lifetime, codes, changes: watch::Sender::new(()) }
    }

    /// How long a new sign-in lasts, in seconds.
    pub(super) fn lifetime(&self) -> i64 {
        self.lifetime
    }

    /// Derives a key for one purpose.
    pub(super) fn key(&self, purpose: &[u8], token: &[u8]) -> hmac::Key {
        let mut context = hmac::Context::with_key(&self.key);
        context.update(purpose);
        context.update(&[0]);
        context.update(token);
        hmac::Key::new(hmac::HMAC_SHA256, context.sign().as_ref())
    }

    /// Starts a sign-in from this address and returns its cookie. Where the list is full, the oldest one ends, with
    /// everything admitted under it.
    pub(super) async fn begin(&self, cookies: &hmac::Key, address: IpAddr) -> Secret {
        let (name, began) = (hex(&random::<16>()), self.now());
        let ends = began.saturating_add(self.lifetime);
        let named = format!("{name}.{ends}");
        let begun = SignInRecord {
            name,
            ends,
            began,
            token: token_mark(cookies),
            address: unix_peer::shown(address),
        };
        let gone = self.lock().begin(begun.clone(), self.now());
        if let Some(gone) = gone {
            tracing::info!(
                began = gone.began,
                address = gone.address,
                "the oldest sign-in ended, because there are too many"
            );
            self.look_again();
            // A restart reads the lines in their order, which is not always that of the sign-ins.
            self.kept.add(Entry::Ended { name: gone.name, ends: gone.ends }).await;
        }
        // Stored before the cookie is sent: a sign-in that is missing in the register is not valid after a restart.
        self.kept.add(Entry::Begun(begun)).await;
        let mark = hex(hmac::sign(cookies, named.as_bytes()).as_ref());
        Secret::new(format!("{named}.{mark}"))
    }

    /// Makes a code for a sign-in under the token of these cookies.
    pub(super) async fn issue_code(&self, cookies: &hmac::Key) -> Result<Option<(Secret, i64)>> {
        self.codes.issue(token_mark(cookies), self.now()).await
    }

    /// Returns whether a code counts, which ends it.
    pub(super) async fn redeem(&self, cookies: &hmac::Key, code: &[u8]) -> bool {
        self.codes.redeem(code, &token_mark(cookies), self.now()).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "a code for a sign-in cannot be looked up, so it is refused");
            false
        })
    }

    /// Returns the sign-in that a cookie names, if the cookie is genuine and the sign-in is active.
    pub(super) fn named(&self, cookies: &hmac::Key, cookie: &[u8]) -> Option<Session> {
        let (named, mark) = std::str::from_utf8(cookie).ok()?.rsplit_once('.')?;
        hmac::verify(cookies, named.as_bytes(), &unhex::<32>(mark.as_bytes())?).ok()?;
        let (name, ends) = named.split_once('.')?;
        let session = Session { name: name.to_owned(), ends: ends.parse().ok()? };
        self.stands(&session).then_some(session)
    }

    /// Returns the active sign-ins under this token, newest first.
    pub(super) fn active(&self, cookies: &hmac::Key) -> Vec<SignInRecord> {
        let (token, now) = (token_mark(cookies), self.now());
        let state = self.lock();
        let stands = |begun: &&SignInRecord| {
            begun.token == token && begun.ends > now && !state.sessions.contains_key(&begun.name)
        };
        state.begun.iter().rev().filter(stands).cloned().collect()
    }

    /// Returns how often a cookie that held the token itself was revoked.
    pub(super) fn token_cookies(&self) -> u64 {
        self.lock().token_cookies
    }

    /// Returns whether the sign-in has neither expired nor been revoked.
    pub(super) fn stands(&self, session: &Session) -> bool {
        self.now() < session.ends && self.lock().lists(&session.name)
    }

    /// Revokes a sign-in and ends everything admitted under it. A token in a header is not a sign-in and stays valid.
    pub(crate) fn end(&self, sign_in: &SignIn) {
        match sign_in {
            SignIn::Open | SignIn::Token(_) => return,
            SignIn::TokenCookie(..) => self.lock().token_cookies += 1,
            SignIn::Session(session, _) => self.lock().end(&session.name, session.ends, self.now()),
        }
        self.look_again();
    }

    /// Revokes a listed sign-in and stores the revocation.
    pub(crate) async fn revoke(&self, begun: SignInRecord) {
        self.lock().end(&begun.name, begun.ends, self.now());
        self.look_again();
        self.kept.add(Entry::Ended { name: begun.name, ends: begun.ends }).await;
    }

    /// Takes in a line of another instance: a browser that has signed in there, or whose sign-in was revoked.
    pub(crate) fn take_in(&self, line: &str) {
        let now = self.now();
        match Entry::parse(line.trim_end()) {
            Some(Entry::Begun(begun)) if begun.ends > now => {
                let mut state = self.lock();
                if !state.begun.iter().any(|known| known.name == begun.name) {
                    drop(state.begin(begun, now));
                }
            }
            Some(Entry::Ended { name, ends }) if ends > now => {
                let is_new = {
                    let mut state = self.lock();
                    let is_new = !state.sessions.contains_key(&name);
                    state.end(&name, ends, now);
                    is_new
                };
                if is_new {
                    self.look_again();
                }
            }
            _ => {}
        }
    }

    /// Stores the revocation of a sign-in.
    pub(crate) async fn keep(&self, sign_in: &SignIn) {
        if let SignIn::Session(session, _) = sign_in {
            self.kept.add(Entry::Ended { name: session.name.clone(), ends: session.ends }).await;
        }
    }

    /// Makes everything that was admitted recheck its sign-in. Called when the token may have changed.
    pub(crate) fn look_again(&self) {
        self.changes.send_replace(());
    }

    /// Signals whenever sign-ins should be rechecked.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Returns how many seconds a sign-in has left, or `None` if it does not expire.
    pub(crate) fn seconds_left(&self, sign_in: &SignIn) -> Option<u64> {
        let SignIn::Session(session, _) = sign_in else { return None };
        Some(u64::try_from(session.ends.saturating_sub(self.now())).unwrap_or(0))
    }

    fn now(&self) -> i64 {
        self.clock.now().as_second()
    }

    fn lock(&self) -> MutexGuard<'_, SignInState> {
        // Every statement leaves the state consistent, so a poisoned lock is usable.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns a fingerprint that tells one token's sign-ins from another's without revealing the token.
pub(super) fn token_mark(cookies: &hmac::Key) -> String {
    hex(hmac::sign(cookies, b"mark").as_ref()).chars().take(8).collect()
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    if SystemRandom::new().fill(&mut bytes).is_err() {
        // If the system's random source fails, fall back to version 4 and 7 ids, made of the time and a counter.
        for chunk in bytes.chunks_mut(16) {
            let id = aethon_core::ids::unique();
            chunk.iter_mut().zip(id.bytes().rev()).for_each(|(byte, random)| *byte = random);
        }
    }
    bytes
}
