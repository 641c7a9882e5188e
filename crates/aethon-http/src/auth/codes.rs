//! Codes for signing in once: a signed-in person shows one, usually as a QR code, and another device signs in with it instead of
//! typing the token. A code counts once, for five minutes, in this process and under the token of that time.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use aethon_core::secret::Secret;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};

use crate::hex::hex;

/// How long a code counts, in seconds.
const LIFETIME: i64 = 300;
/// How many codes count at a time. A further one ends the oldest.
const MAX_CODES: usize = 8;

/// The codes that count.
#[derive(Default)]
pub(super) struct Codes(Mutex<VecDeque<Code>>);

struct Code {
    /// Only its hash is kept; comparing hashes reveals nothing by its time.
    hash: Vec<u8>,
    /// In seconds since the epoch.
    ends: i64,
    /// The token under which it was made.
    token: String,
}

impl Codes {
    /// Makes a code, and returns it with the second at which it ends. `None` if the system has no randomness.
    pub(super) fn issue(&self, token: String, now: i64) -> Option<(Secret, i64)> {
        let mut bytes = [0; 16];
        SystemRandom::new().fill(&mut bytes).ok()?;
        let (code, ends) = (hex(&bytes), now + LIFETIME);
        let mut codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|code| code.ends > now);
        if codes.len() >= MAX_CODES {
            codes.pop_front();
        }
        codes.push_back(Code { hash: hash(code.as_bytes()), ends, token });
        Some((Secret::new(code), ends))
    }

    /// Returns whether a code counts. From then on it does not; of two that show it at the same time, one is admitted.
    pub(super) fn redeem(&self, code: &[u8], token: &str, now: i64) -> bool {
        let hash = hash(code);
        let mut codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(place) = codes.iter().position(|code| code.hash == hash) else { return false };
        codes.remove(place).is_some_and(|code| code.ends > now && code.token == token)
    }
}

fn hash(code: &[u8]) -> Vec<u8> {
    digest(&SHA256, code).as_ref().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_counts_once_for_a_while_and_under_its_token() {
        let codes = Codes::default();
        let issue = |now| codes.issue("mark".into(), now).unwrap().0;
        let redeem = |code: &Secret, token: &str, now| codes.redeem(code.expose().as_bytes(), token, now);
        let code = issue(0);
        assert_eq!(code.expose().len(), 32);
        assert!(redeem(&code, "mark", LIFETIME - 1));
        assert!(!redeem(&code, "mark", LIFETIME - 1), "once");
        assert!(!redeem(&issue(0), "mark", LIFETIME), "it is over");
        assert!(!redeem(&issue(0), "other", 1), "the token has changed");
        assert!(!codes.redeem(b"", "mark", 1));
    }

    #[test]
    fn code_shown_by_two_devices_admits_one() {
        for _ in 0..50 {
            let codes = Codes::default();
            let code = codes.issue("mark".into(), 0).unwrap().0;
            let show = || usize::from(codes.redeem(code.expose().as_bytes(), "mark", 1));
            let admitted: usize = std::thread::scope(|scope| {
                let racers: Vec<_> = (0..4).map(|_| scope.spawn(show)).collect();
                racers.into_iter().map(|racer| racer.join().unwrap()).sum()
            });
            assert_eq!(admitted, 1);
        }
    }

    #[test]
    fn codes_are_bounded() {
        let codes = Codes::default();
        let first = codes.issue("mark".into(), 0).unwrap().0;
        for _ in 0..MAX_CODES {
            codes.issue("mark".into(), 0).unwrap();
        }
        assert!(!codes.redeem(first.expose().as_bytes(), "mark", 1), "the oldest made room");
    }
}
