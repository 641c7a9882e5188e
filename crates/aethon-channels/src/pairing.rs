//! Pairing codes, by which people gain access, and the people who were paired.
//!
//! A code consists of eight characters that cannot be confused with one another, and works once, for ten minutes.
//! With `invite`, the owner creates it and hands it out; with `request`, a stranger receives it and the owner
//! confirms it. All state is in the database, so that the daemon and the command line see the same.

use aethon_core::channel::ChannelRecords;
use aethon_core::clock::Clock;
use aethon_core::error::{Error, Result};
use aethon_core::pairing::PairingCode;
use jiff::SignedDuration;
use ring::rand::{SecureRandom as _, SystemRandom};

/// Letters and digits without I, O, 0 and 1: exactly 32, so that a random byte selects one without bias.
const ALPHABET: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
/// How long a code is.
const LENGTH: usize = 8;
/// How long a code is valid.
pub(crate) const VALIDITY: SignedDuration = SignedDuration::from_mins(10);
/// The period in which wrong codes are counted, and in which a stranger may ask once.
const HOUR: SignedDuration = SignedDuration::from_hours(1);
/// How many wrong codes are accepted in that period.
const MAX_TRIES: u32 = 5;
/// How many requests may wait for the owner.
const MAX_REQUESTS: usize = 3;
/// How many pairings are listed.
const MAX_LISTED: usize = 1000;

/// The outcome of a code that someone sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Redeemed {
    /// They are paired.
    Paired,
    /// There is no such code.
    Wrong,
    /// Too many attempts; ignored.
    TooManyAttempts,
}

/// Creates a code for the owner to hand out.
pub async fn invite(records: &dyn ChannelRecords, clock: &dyn Clock, channel: &str) -> Result<PairingCode> {
    let code = PairingCode { code: fresh_code()?, expires_at: clock.now() + VALIDITY };
    records.put(channel, &format!("invite:{}", code.code), "", Some(code.expires_at)).await?;
    Ok(code)
}

/// Confirms the request with this code. Returns who was paired.
pub async fn approve(records: &dyn ChannelRecords, channel: &str, code: &str) -> Result<Option<String>> {
    let Some(code) = read(code) else { return Ok(None) };
    let Some(sender) = records.take(channel, &format!("request:{code}")).await? else { return Ok(None) };
    pair(records, channel, &sender).await?;
    Ok(Some(sender))
}

/// Lists who is paired with a channel.
pub async fn paired(records: &dyn ChannelRecords, channel: &str) -> Result<Vec<String>> {
    let listed = records.list(channel, "paired:", MAX_LISTED).await?;
    Ok(listed.into_iter().filter_map(|(name, _)| Some(name.strip_prefix("paired:")?.to_owned())).collect())
}

/// Revokes a pairing. Returns `false` if there was none.
pub async fn revoke(records: &dyn ChannelRecords, channel: &str, sender: &str) -> Result<bool> {
    Ok(records.take(channel, &format!("paired:{sender}")).await?.is_some())
}

pub(crate) async fn is_paired(records: &dyn ChannelRecords, channel: &str, sender: &str) -> Result<bool> {
    Ok(records.get(channel, &format!("paired:{sender}")).await?.is_some())
}

/// Redeems a code that someone sends.
pub(crate) async fn redeem(
    records: &dyn ChannelRecords,
    clock: &dyn Clock,
    (channel, sender): (&str, &str),
    code: &str,
) -> Result<Redeemed> {
    let tries = format!("tries:{sender}");
    let before: u32 = records.get(channel, &tries).await?.and_then(|tries| tries.parse().ok()).unwrap_or(0);
    if before >= MAX_TRIES {
        return Ok(Redeemed::TooManyAttempts);
    }
    let found = match read(code) {
        Some(code) => records.take(channel, &format!("invite:{code}")).await?.is_some(),
        None => false,
    };
    if found {
        pair(records, channel, sender).await?;
        return Ok(Redeemed::Paired);
    }
    records.put(channel, &tries, &(before + 1).to_string(), Some(clock.now() + HOUR)).await?;
    Ok(Redeemed::Wrong)
}

/// Returns whether a code created by the owner is valid now.
pub(crate) async fn is_code_open(records: &dyn ChannelRecords, channel: &str) -> Result<bool> {
    Ok(!records.list(channel, "invite:", 1).await?.is_empty())
}

/// Returns whether a request of this sender waits for the owner.
pub(crate) async fn has_asked(records: &dyn ChannelRecords, channel: &str, sender: &str) -> Result<bool> {
    let requests = records.list(channel, "request:", MAX_REQUESTS).await?;
    Ok(requests.iter().any(|(_, asking)| asking == sender))
}

/// Returns whether a stranger who asked now would get a code.
pub(crate) async fn may_ask(records: &dyn ChannelRecords, channel: &str, sender: &str) -> Result<bool> {
    let is_full = records.list(channel, "request:", MAX_REQUESTS).await?.len() >= MAX_REQUESTS;
    Ok(!is_full && records.get(channel, &format!("asked:{sender}")).await?.is_none())
}

/// Creates a request for access. Returns `None` if the stranger asked within the last hour, or too many requests
/// wait.
pub(crate) async fn request(
    records: &dyn ChannelRecords,
    clock: &dyn Clock,
    (channel, sender): (&str, &str),
) -> Result<Option<String>> {
    let now = clock.now();
    if records.list(channel, "request:", MAX_REQUESTS).await?.len() >= MAX_REQUESTS
        || !records.claim(channel, &format!("asked:{sender}"), "", Some(now + HOUR)).await?
    {
        return Ok(None);
    }
    let code = fresh_code()?;
    records.put(channel, &format!("request:{code}"), sender, Some(now + VALIDITY)).await?;
    Ok(Some(code))
}

async fn pair(records: &dyn ChannelRecords, channel: &str, sender: &str) -> Result<()> {
    records.put(channel, &format!("paired:{sender}"), "", None).await
}

/// Parses a code as typed by a person.
fn read(code: &str) -> Option<String> {
    let code: String = code.chars().filter(|c| !c.is_whitespace() && *c != '-').collect();
    let code = code.to_ascii_uppercase();
    (code.len() == LENGTH && code.bytes().all(|byte| ALPHABET.contains(&byte))).then_some(code)
}

/// Generates an unguessable code.
pub(crate) fn fresh_code() -> Result<String> {
    let mut bytes = [0; LENGTH];
    SystemRandom::new().fill(&mut bytes).map_err(|_| Error::internal("the system gives no random bytes"))?;
    Ok(bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use aethon_core::testkit::{ManualClock, MemoryStore};
    use jiff::Timestamp;

    use super::*;

    const ADA: (&str, &str) = ("telegram", "1");

    fn stage() -> (Arc<ManualClock>, MemoryStore) {
        let clock = Arc::new(ManualClock::at(Timestamp::UNIX_EPOCH));
        (clock.clone(), MemoryStore::new(clock))
    }

    #[tokio::test]
    async fn a_code_pairs_once_and_for_ten_minutes() {
        let (clock, records) = stage();
        let code = invite(&records, &*clock, "telegram").await.unwrap().code;
        assert_eq!(redeem(&records, &*clock, ("matrix", "1"), &code).await.unwrap(), Redeemed::Wrong);
        let written = format!("{}-{}", code[..4].to_lowercase(), &code[4..]);
        assert_eq!(redeem(&records, &*clock, ADA, &written).await.unwrap(), Redeemed::Paired);
        assert!(is_paired(&records, "telegram", "1").await.unwrap());
        assert_eq!(redeem(&records, &*clock, ("telegram", "2"), &code).await.unwrap(), Redeemed::Wrong);
        let late = invite(&records, &*clock, "telegram").await.unwrap().code;
        clock.advance(SignedDuration::from_mins(10));
        assert_eq!(redeem(&records, &*clock, ("telegram", "2"), &late).await.unwrap(), Redeemed::Wrong);
        assert_eq!(paired(&records, "telegram").await.unwrap(), ["1"]);
        assert!(revoke(&records, "telegram", "1").await.unwrap());
        assert!(!is_paired(&records, "telegram", "1").await.unwrap());
    }

    #[tokio::test]
    async fn guessing_locks_pairing_for_an_hour_even_with_the_right_code() {
        let (clock, records) = stage();
        for _ in 0..5 {
            assert_eq!(redeem(&records, &*clock, ADA, "AAAAAAAA").await.unwrap(), Redeemed::Wrong);
        }
        let code = invite(&records, &*clock, "telegram").await.unwrap().code;
        assert_eq!(redeem(&records, &*clock, ADA, &code).await.unwrap(), Redeemed::TooManyAttempts);
        clock.advance(SignedDuration::from_hours(1));
        let code = invite(&records, &*clock, "telegram").await.unwrap().code;
        assert_eq!(redeem(&records, &*clock, ADA, &code).await.unwrap(), Redeemed::Paired);
    }

    #[tokio::test]
    async fn a_request_waits_for_the_owner_and_three_wait_at_most() {
        let (clock, records) = stage();
        let code = request(&records, &*clock, ADA).await.unwrap().unwrap();
        assert_eq!(request(&records, &*clock, ADA).await.unwrap(), None, "one an hour");
        for sender in ["2", "3"] {
            assert!(request(&records, &*clock, ("telegram", sender)).await.unwrap().is_some());
        }
        assert_eq!(request(&records, &*clock, ("telegram", "4")).await.unwrap(), None, "three at once");
        assert_eq!(approve(&records, "telegram", "ZZZZZZZZ").await.unwrap(), None);
        assert_eq!(approve(&records, "telegram", &code).await.unwrap().as_deref(), Some("1"));
        assert_eq!(approve(&records, "telegram", &code).await.unwrap(), None, "once");
        assert!(is_paired(&records, "telegram", "1").await.unwrap());
    }
}
