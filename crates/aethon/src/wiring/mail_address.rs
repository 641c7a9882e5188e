//! The form in which mail addresses of the configuration are compared with those of senders.

/// Returns that form.
#[cfg(feature = "email")]
pub(super) fn compared(address: &str) -> String {
    aethon_channels::email::canonical(address)
}

/// Returns the form in which a program without mail shows an address. It compares none.
#[cfg(not(feature = "email"))]
pub(super) fn compared(address: &str) -> String {
    address.trim().to_lowercase()
}
