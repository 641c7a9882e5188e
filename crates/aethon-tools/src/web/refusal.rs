//! Why a request was not made: a rule's word, which names the key that governs it.

use std::fmt;

/// The key with which the owner opens hosts.
const KEY: &str = "security.egress_allowed_hosts";

/// A rule against a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal(String);

impl Refusal {
    /// The address itself is not one that tools ask for.
    pub(super) fn address(why: impl fmt::Display) -> Self {
        Self(format!("the address {why}"))
    }

    /// The host of this place turned out to have an address of this kind.
    pub(super) fn not_public(place: &str, address: &str, class: &str) -> Self {
        let is_same = place.starts_with(address);
        let address = if is_same { "which".to_owned() } else { format!("whose address {address}") };
        Self(format!(
            "web tools do not reach {place}, {address} is not public ({class}); the owner can allow the host with `{KEY}`"
        ))
    }

    /// It would have been the assistant's own door.
    pub(super) fn own_port(place: &str) -> Self {
        Self(format!(
            "{place} is the assistant's own port, which its tools never reach, whatever `{KEY}` says"
        ))
    }

    /// A redirect of a request that is not repeated elsewhere.
    pub(super) fn redirect(from: &str, to: &str) -> Self {
        Self(format!(
            "{from} redirects to {to}, which is not followed, because the request carries data; name the final address"
        ))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}
