//! The access of a socket or download after it was admitted: it ends with its sign-in.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::live::Live;

use crate::auth::{SignIn, SignIns};
use crate::rules::Rules;

/// The longest wait between looks at the clock, which may be adjusted.
const MAX_LOOK: Duration = Duration::from_secs(3600);

/// Access that was granted under a sign-in and ends with it.
pub(crate) struct AccessLease {
    rules: Live<Rules>,
    sign_ins: Arc<SignIns>,
    sign_in: SignIn,
}

impl AccessLease {
    /// Creates the lease of whatever was admitted under this sign-in.
    pub(crate) fn new(rules: Live<Rules>, sign_ins: Arc<SignIns>, sign_in: SignIn) -> Self {
        Self { rules, sign_ins, sign_in }
    }

    /// Waits until access ends: the sign-in was revoked or expired, or the token changed.
    pub(crate) async fn ended(self) {
        let mut changes = self.sign_ins.changes();
        while self.rules.get().token_auth.stands(&self.sign_in) {
            let left = self.sign_ins.seconds_left(&self.sign_in).map(Duration::from_secs);
            let look = left.map_or(MAX_LOOK, |left| left.min(MAX_LOOK));
            // Either outcome is a reason to check; the sender outlives this loop.
            let _ = tokio::time::timeout(look, changes.changed()).await;
        }
    }
}
