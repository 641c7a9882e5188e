//! Webhook signatures that were already used, so that a captured request cannot be replayed.
//!
//! A version 2 signature does not cover the address, so the same request could be sent to another address, or to the
//! same one without an `Idempotency-Key`. Each signature is therefore remembered while its timestamp is valid, and
//! accepted once. Only a repetition with the same key at the same address passes; it gets the stored response. The
//! memory is bounded, only holders of the secret can add to it, and it does not survive the process. Where several instances share
//! their sign-ins, a signature is claimed in their storage as well, so that it is accepted by one of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use crate::error::Problem;
use crate::hex::hex;
use crate::options::{AccessJournal, SignInOptions};
use crate::signature::{Refusal, Signed, WINDOW};

/// How many are remembered. When full, no new signature is accepted until the oldest expire.
const MAX_COUNT: usize = 65_536;

/// Used signatures in order of their time, each with the place of its request.
#[derive(Default)]
pub(crate) struct UsedSignatures {
    used: Mutex<BTreeMap<Signed, Option<Place>>>,
    /// Those of all instances.
    journal: Option<Arc<dyn AccessJournal>>,
}

/// A hash of an idempotency key and the address it was sent to.
pub(crate) type Place = [u8; 32];

impl UsedSignatures {
    /// Remembers those of this process, and of all instances that these options name.
    pub(crate) fn new(options: &SignInOptions) -> Self {
        Self { journal: options.shared(), ..Self::default() }
    }

    /// Uses up a signature for a request, whose place is set if it has an `Idempotency-Key`. Returns whether the
    /// signature is new, and a problem if another request used it before, at any instance.
    pub(crate) async fn take(
        &self,
        signed: Signed,
        place: Option<Place>,
        now: Timestamp,
    ) -> Result<bool, Problem> {
        let is_new = self.take_here(signed, place, now).map_err(Refusal::problem)?;
        let Some(journal) = self.journal.as_ref().filter(|_| is_new) else { return Ok(is_new) };
        let request = place.map(|place| hex(&place)).unwrap_or_default();
        let until = Timestamp::from_second(signed.time.saturating_add_unsigned(WINDOW + 1));
        let claimed =
            journal.claim_signature(&signed.name(), &request, until.unwrap_or(Timestamp::MAX)).await;
        match claimed {
            Ok(None) => Ok(true),
            Ok(Some(known)) if place.is_some() && known == request => Ok(false),
            Ok(Some(_)) => Err(Refusal::Used.problem()),
            Err(error) => {
                self.lock().remove(&signed);
                Err(error.into())
            }
        }
    }

    fn take_here(&self, signed: Signed, place: Option<Place>, now: Timestamp) -> Result<bool, Refusal> {
        let mut used = self.lock();
        if let Some(known) = used.get(&signed) {
            return if place.is_some() && *known == place { Ok(false) } else { Err(Refusal::Used) };
        }
        let oldest = now.as_second().saturating_sub_unsigned(WINDOW);
        *used = used.split_off(&Signed { time: oldest, signature: [0; 32] });
        if used.len() >= MAX_COUNT {
            return Err(Refusal::Crowded);
        }
        used.insert(signed, place);
        Ok(true)
    }

    /// Forgets a signature whose request was not accepted, so that it can be sent again.
    pub(crate) async fn give_back(&self, signed: &Signed) {
        self.lock().remove(signed);
        if let Some(journal) = &self.journal
            && let Err(error) = journal.release_signature(&signed.name()).await
        {
            tracing::warn!(%error, "a webhook that was not accepted must be signed anew before it is sent again");
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Signed, Option<Place>>> {
        // Every statement leaves the map consistent, so a poisoned lock is usable.
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_taken_once_but_for_its_own_repetition() {
        let used = UsedSignatures::default();
        let at = |second| Timestamp::from_second(second).unwrap();
        let signed = |time, byte| Signed { time, signature: [byte; 32] };
        let (here, there) = (Some([1; 32]), Some([2; 32]));
        assert_eq!(used.take_here(signed(1000, 1), here, at(1000)), Ok(true));
        assert_eq!(used.take_here(signed(1000, 1), here, at(1000)), Ok(false));
        assert_eq!(used.take_here(signed(1000, 1), there, at(1000)), Err(Refusal::Used));
        assert_eq!(used.take_here(signed(1000, 1), None, at(1000)), Err(Refusal::Used));
        assert_eq!(used.take_here(signed(1000, 2), None, at(1000)), Ok(true));
        assert_eq!(used.take_here(signed(1000, 2), None, at(1000)), Err(Refusal::Used));
        used.lock().remove(&signed(1000, 2));
        assert_eq!(used.take_here(signed(1000, 2), None, at(1000)), Ok(true));
        assert_eq!(used.take_here(signed(1300, 3), None, at(1300)), Ok(true));
        assert_eq!(
            used.take_here(signed(1000, 1), there, at(1300)),
            Err(Refusal::Used),
            "its time still counts"
        );
        assert_eq!(used.take_here(signed(1301, 4), None, at(1301)), Ok(true));
        assert_eq!(used.lock().len(), 2, "what no longer counts is forgotten");
    }

    #[test]
    fn the_number_of_remembered_signatures_is_bounded() {
        let used = UsedSignatures::default();
        let now = Timestamp::from_second(0).unwrap();
        let signed = |number: usize, time| {
            let mut signature = [0; 32];
            signature[..8].copy_from_slice(&number.to_le_bytes());
            Signed { time, signature }
        };
        for number in 0..MAX_COUNT {
            assert_eq!(used.take_here(signed(number, 0), None, now), Ok(true));
        }
        assert_eq!(used.take_here(signed(MAX_COUNT, 0), None, now), Err(Refusal::Crowded));
        assert_eq!(used.take_here(signed(0, 0), None, now), Err(Refusal::Used));
        let later = Timestamp::from_second(301).unwrap();
        assert_eq!(used.take_here(signed(MAX_COUNT, 301), None, later), Ok(true));
    }
}
