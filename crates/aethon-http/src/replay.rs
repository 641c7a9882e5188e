//! Webhook signatures that were already used, so that a captured request cannot be replayed.
//!
//! A version 2 signature does not cover the address, so the same request could be sent to another address, or to the
//! same one without an `Idempotency-Key`. Each signature is therefore remembered while its timestamp is valid, and
//! accepted once. Only a repetition with the same key at the same address passes; it gets the stored response. The
//! memory is bounded, only holders of the secret can add to it, and it does not survive the process.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use crate::signature::{Refusal, Signed, WINDOW};

/// How many are remembered. When full, no new signature is accepted until the oldest expire.
const MAX_COUNT: usize = 65_536;

/// Used signatures in order of their time, each with the place of its request.
#[derive(Default)]
pub(crate) struct UsedSignatures(Mutex<BTreeMap<Signed, Option<Place>>>);

/// A hash of an idempotency key and the address it was sent to.
pub(crate) type Place = [u8; 32];

impl UsedSignatures {
    /// Uses up a signature for a request, whose place is set if it has an `Idempotency-Key`. Returns whether the
    /// signature is new, and an error if another request used it before.
    pub(crate) fn take(&self, signed: Signed, place: Option<Place>, now: Timestamp) -> Result<bool, Refusal> {
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
    pub(crate) fn give_back(&self, signed: &Signed) {
        self.lock().remove(signed);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Signed, Option<Place>>> {
        // Every statement leaves the map consistent, so a poisoned lock is usable.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        assert_eq!(used.take(signed(1000, 1), here, at(1000)), Ok(true));
        assert_eq!(used.take(signed(1000, 1), here, at(1000)), Ok(false));
        assert_eq!(used.take(signed(1000, 1), there, at(1000)), Err(Refusal::Used));
        assert_eq!(used.take(signed(1000, 1), None, at(1000)), Err(Refusal::Used));
        assert_eq!(used.take(signed(1000, 2), None, at(1000)), Ok(true));
        assert_eq!(used.take(signed(1000, 2), None, at(1000)), Err(Refusal::Used));
        used.give_back(&signed(1000, 2));
        assert_eq!(used.take(signed(1000, 2), None, at(1000)), Ok(true));
        assert_eq!(used.take(signed(1300, 3), None, at(1300)), Ok(true));
        assert_eq!(used.take(signed(1000, 1), there, at(1300)), Err(Refusal::Used), "its time still counts");
        assert_eq!(used.take(signed(1301, 4), None, at(1301)), Ok(true));
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
            assert_eq!(used.take(signed(number, 0), None, now), Ok(true));
        }
        assert_eq!(used.take(signed(MAX_COUNT, 0), None, now), Err(Refusal::Crowded));
        assert_eq!(used.take(signed(0, 0), None, now), Err(Refusal::Used));
        let later = Timestamp::from_second(301).unwrap();
        assert_eq!(used.take(signed(MAX_COUNT, 301), None, later), Ok(true));
    }
}
