//! The right of something that came in (a socket, a download) to be here: it ends with its sign-in.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::live::Live;

use crate::auth::{SignIn, SignIns};
use crate::rules::Rules;

/// How long to wait at most before looking at the clock again, which may have been set.
const LONGEST_LOOK: Duration = Duration::from_secs(3600);

/// The right to be here.
pub(crate) struct Standing {
    rules: Live<Rules>,
    sign_ins: Arc<SignIns>,
    sign_in: SignIn,
}

impl Standing {
    /// That of what came in under this sign-in.
    pub(crate) fn new(rules: Live<Rules>, sign_ins: Arc<SignIns>, sign_in: SignIn) -> Self {
        Self { rules, sign_ins, sign_in }
    }

    /// Waits until it is over: signed out, expired, or the token is another one.
    pub(crate) async fn ended(self) {
        let mut changes = self.sign_ins.changes();
        while self.rules.get().token_auth.stands(&self.sign_in) {
            let left = self.sign_ins.seconds_left(&self.sign_in).map(Duration::from_secs);
            let look = left.map_or(LONGEST_LOOK, |left| left.min(LONGEST_LOOK));
            // Either way there is a reason to look; the sender lives as long as this does.
            let _ = tokio::time::timeout(look, changes.changed()).await;
        }
    }
}
