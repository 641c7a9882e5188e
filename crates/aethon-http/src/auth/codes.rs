//! Codes for signing in once: a signed-in person shows one, usually as a QR code, and another device signs in with it instead of
//! typing the token. A code counts once, for five minutes and under the token of that time: in this process, or at any instance
//! where several share their sign-ins.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use aethon_core::error::Result;
use aethon_core::secret::Secret;
use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};

use crate::hex::hex;
use crate::options::AccessJournal;

/// How long a code counts, in seconds.
const LIFETIME: i64 = 300;
/// How many codes of a process count at a time. A further one ends the oldest.
const MAX_CODES: usize = 8;

/// The codes that count.
pub(super) enum Codes {
    /// Those of this process.
    Own(Mutex<VecDeque<Code>>),
    /// Those of all instances, in their storage. They end by themselves, and only who is signed in makes any.
    Shared(Arc<dyn AccessJournal>),
}

/// What is known of a code. Of the code itself only a hash is kept; comparing hashes reveals nothing by its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Code {
    hash: String,
    /// In seconds since the epoch.
    ends: i64,
    /// The token under which it was made.
    token: String,
}

impl Codes {
    /// Returns the codes of this process, or those of this journal.
    pub(super) fn new(journal: Option<Arc<dyn AccessJournal>>) -> Self {
        journal.map_or_else(|| Self::Own(Mutex::default()), Self::Shared)
    }

    /// Makes a code, and returns it with the second at which it ends. `None` if the system has no randomness.
    pub(super) async fn issue(&self, token: String, now: i64) -> Result<Option<(Secret, i64)>> {
        let mut bytes = [0; 16];
        if SystemRandom::new().fill(&mut bytes).is_err() {
            return Ok(None);
        }
        let (code, ends) = (hex(&bytes), now + LIFETIME);
        self.keep(Code { hash: hash(code.as_bytes()), ends, token }, now).await?;
        Ok(Some((Secret::new(code), ends)))
    }

    async fn keep(&self, code: Code, now: i64) -> Result<()> {
        match self {
            Self::Own(codes) => {
                let mut codes = codes.lock().unwrap_or_else(PoisonError::into_inner);
                codes.retain(|code| code.ends > now);
                if codes.len() >= MAX_CODES {
                    codes.pop_front();
                }
                codes.push_back(code);
                Ok(())
            }
            Self::Shared(journal) => {
                let until = Timestamp::from_second(code.ends).unwrap_or(Timestamp::MAX);
                journal.offer_code(&code.hash, &format!("{} {}", code.ends, code.token), until).await
            }
        }
    }

    /// Returns whether a code counts. From then on it does not; of two that show it at the same time, one is admitted.
    pub(super) async fn redeem(&self, code: &[u8], token: &str, now: i64) -> Result<bool> {
        let taken = self.take(hash(code)).await?;
        Ok(taken.is_some_and(|code| code.ends > now && code.token == token))
    }

    async fn take(&self, hash: String) -> Result<Option<Code>> {
        match self {
            Self::Own(codes) => {
                let mut codes = codes.lock().unwrap_or_else(PoisonError::into_inner);
                let place = codes.iter().position(|code| code.hash == hash);
                Ok(place.and_then(|place| codes.remove(place)))
            }
            Self::Shared(journal) => {
                let known = journal.take_code(&hash).await?;
                Ok(known.and_then(|known| {
                    let (ends, token) = known.split_once(' ')?;
                    Some(Code { hash, ends: ends.parse().ok()?, token: token.to_owned() })
                }))
            }
        }
    }
}

fn hash(code: &[u8]) -> String {
    hex(digest(&SHA256, code).as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::tests::Journal;

    async fn issue(codes: &Codes, now: i64) -> Secret {
        codes.issue("mark".into(), now).await.unwrap().unwrap().0
    }

    async fn redeem(codes: &Codes, code: &Secret, token: &str, now: i64) -> bool {
        codes.redeem(code.expose().as_bytes(), token, now).await.unwrap()
    }

    #[tokio::test]
    async fn code_counts_once_for_a_while_and_under_its_token() {
        let storage: Arc<dyn AccessJournal> = Arc::new(Journal::default());
        let here = Codes::new(Some(storage.clone()));
        let there = Codes::new(Some(storage));
        let own = Codes::new(None);
        for (maker, reader) in [(&own, &own), (&here, &there)] {
            let code = issue(maker, 0).await;
            assert_eq!(code.expose().len(), 32);
            assert!(redeem(reader, &code, "mark", LIFETIME - 1).await);
            assert!(!redeem(maker, &code, "mark", LIFETIME - 1).await, "once");
            assert!(!redeem(reader, &issue(maker, 0).await, "mark", LIFETIME).await, "it is over");
            assert!(!redeem(reader, &issue(maker, 0).await, "other", 1).await, "the token has changed");
            assert!(!reader.redeem(b"", "mark", 1).await.unwrap());
        }
    }

    #[test]
    fn code_shown_by_two_devices_admits_one() {
        let wait = |work: std::pin::Pin<Box<dyn Future<Output = bool>>>| {
            tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
        };
        for _ in 0..50 {
            let codes = Arc::new(Codes::new(None));
            let (code, _) = futures_util::FutureExt::now_or_never(codes.issue("mark".into(), 0))
                .unwrap()
                .unwrap()
                .unwrap();
            let show = || {
                let (codes, code) = (codes.clone(), code.clone());
                usize::from(wait(Box::pin(async move { redeem(&codes, &code, "mark", 1).await })))
            };
            let admitted: usize = std::thread::scope(|scope| {
                let racers: Vec<_> = (0..4).map(|_| scope.spawn(show)).collect();
                racers.into_iter().map(|racer| racer.join().unwrap()).sum()
            });
            assert_eq!(admitted, 1);
        }
    }

    #[tokio::test]
    async fn codes_of_a_process_are_bounded() {
        let codes = Codes::new(None);
        let first = issue(&codes, 0).await;
        for _ in 0..MAX_CODES {
            issue(&codes, 0).await;
        }
        assert!(!redeem(&codes, &first, "mark", 1).await, "the oldest made room");
    }
}
