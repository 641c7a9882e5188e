//! Describes why a rule forbids a request, and names the key that governs it.

use std::fmt;

/// The key by which the owner allows hosts.
const KEY: &str = "security.egress_allowed_hosts";

/// A request forbidden by a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal(String);

impl Refusal {
    /// The URL itself is not acceptable.
    pub(super) fn address(why: impl fmt::Display) -> Self {
        Self(format!("the address {why}"))
    }

    /// The host has an address of a class that is not public.
    pub(super) fn not_public(place: &str, address: &str, class: &str) -> Self {
        let is_same = place.starts_with(address);
        let address = if is_same { "which".to_owned() } else { format!("whose address {address}") };
        Self(format!(
            "web tools do not reach {place}, {address} is not public ({class}); the owner can allow the host with `{KEY}`"
        ))
    }

    /// The request would have gone to the assistant's own port.
    pub(super) fn own_port(place: &str) -> Self {
        Self(format!(
            "{place} is the assistant's own port, which its tools never reach, whatever `{KEY}` says"
        ))
    }

    /// A redirect of a request that must not be repeated elsewhere.
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
