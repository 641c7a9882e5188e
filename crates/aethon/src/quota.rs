//! Limits the size of the database, and the number and size of one-shot sessions, and warns before the first two are reached.
//!
//! The storage itself keeps the size of the database: at its limit it removes one-shot sessions first and then refuses
//! writes. It also removes one-shot sessions that grow too large together; what is checked here is what it cannot notice.

use std::path::PathBuf;

use aethon_config::Config;
use aethon_core::error::Result;
use aethon_core::storage::{OneshotLimit, Upkeep};

use crate::home::Home;
use crate::wiring;

/// The limits, and the warnings given.
#[derive(Default)]
pub(crate) struct Quota {
    /// The database and its maximum size.
    database: Option<(PathBuf, u64)>,
    /// How many one-shot sessions to keep.
    oneshots: Option<OneshotLimit>,
    /// Whether the owner was warned of the first and of the second limit; reset once there is room again.
    warned: (bool, bool),
}

impl Quota {
    /// The limits in the configuration.
    pub(crate) fn of(config: &Config, home: &Home) -> Self {
        let database = wiring::store::max_bytes(config).map(|most| (home.database(), most));
        let oneshots = OneshotLimit::of(config.session.oneshot_keep)
            .with_bytes(wiring::store::max_oneshot_bytes(config));
        Self { database, oneshots: Some(oneshots), warned: (false, false) }
    }

    /// Checks the usage, warns once near the limit, and removes one-shot sessions in excess.
    pub(crate) async fn look(&mut self, storage: &dyn Upkeep) -> Result<()> {
        if let Some(message) = self.database_warning() {
            if !std::mem::replace(&mut self.warned.0, true) {
                tracing::warn!("{message}");
            }
        } else {
            self.warned.0 = false;
        }
        let Some(limit) = self.oneshots else { return Ok(()) };
        let found = storage.limit_oneshots(limit).await?;
        if found.removed > 0 {
            tracing::warn!(
                removed = found.removed,
                "one-shot sessions beyond `session.oneshot_keep` or `session.oneshot_max_mb`; those of webhooks and the longest unused went"
            );
        }
        let most = limit.sessions;
        let is_near = is_near(found.left, most.into());
        if is_near && !self.warned.1 {
            tracing::warn!(
                sessions = found.left,
                most,
                "one-shot sessions come near `session.oneshot_keep`; beyond it the longest unused ones are removed"
            );
        }
        self.warned.1 = is_near;
        Ok(())
    }

    /// The warning for a database near its limit.
    pub(crate) fn database_warning(&self) -> Option<String> {
        let (path, most) = self.database.as_ref()?;
        let size = path.metadata().map_or(0, |metadata| metadata.len());
        is_near(size, *most).then(|| {
            format!(
                "the database has {} of {} MiB (`storage.max_mb`); beyond that new messages are refused: remove conversations, \
                 or raise the limit",
                size >> 20,
                most >> 20
            )
        })
    }
}

/// Returns whether four fifths of the limit are used.
fn is_near(there_are: u64, most: u64) -> bool {
    there_are >= most - most / 5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_near_its_limit_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("aethon.db");
        let quota = |most| Quota { database: Some((path.clone(), most)), ..Quota::default() };
        assert_eq!(quota(1 << 20).database_warning(), None, "there is none yet");
        std::fs::write(&path, vec![0; 80]).unwrap();
        assert_eq!(quota(101).database_warning(), None);
        assert!(quota(100).database_warning().unwrap().contains("storage.max_mb"));
        assert_eq!(Quota::default().database_warning(), None, "there is no limit");
    }
}
