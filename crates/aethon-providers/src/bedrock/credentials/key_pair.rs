//! What every source of credentials provides.

use aethon_core::secret::Secret;
use jiff::Timestamp;

/// A key pair, with a session token if it is temporary.
#[derive(Debug, Clone)]
pub(crate) struct Credentials {
    pub(crate) access_key_id: String,
    pub(crate) secret_access_key: Secret,
    pub(crate) session_token: Secret,
    pub(crate) expires: Option<Timestamp>,
}

impl Credentials {
    pub(super) fn lasts(&self, until: Timestamp) -> bool {
        self.expires.is_none_or(|expires| expires > until)
    }
}
