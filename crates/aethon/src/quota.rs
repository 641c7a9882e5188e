//! What the database and the one-shot sessions may take, and the warning before they have taken it.
//!
//! At the limit the storage itself refuses: SQLite makes no page more, which is told as a full disk. One-shot sessions have no
//! such end; the longest unused ones go.

use std::path::PathBuf;

use aethon_config::Config;
use aethon_core::error::Result;
use aethon_core::storage::Upkeep;

use crate::home::Home;
use crate::wiring;

/// The limits, and what was warned of.
#[derive(Default)]
pub(crate) struct Quota {
    /// The database, and how large it may become.
    database: Option<(PathBuf, u64)>,
    /// How many one-shot sessions are kept.
    oneshots: Option<u32>,
    /// Whether the owner was warned of the one and of the other, until there is room again.
    warned: (bool, bool),
}

impl Quota {
    /// Those of the configuration.
    pub(crate) fn of(config: &Config, home: &Home) -> Self {
        let database = wiring::store::max_bytes(config).map(|most| (home.database(), most));
        Self { database, oneshots: Some(config.session.oneshot_keep), warned: (false, false) }
    }

    /// Looks how much there is, warns once when it comes near the limit, and removes what is too much.
    pub(crate) async fn look(&mut self, storage: &dyn Upkeep) -> Result<()> {
        if let Some(message) = self.database_warning() {
            if !std::mem::replace(&mut self.warned.0, true) {
                tracing::warn!("{message}");
            }
        } else {
            self.warned.0 = false;
        }
        let Some(most) = self.oneshots else { return Ok(()) };
        let found = storage.limit_oneshots(most).await?;
        if found.removed > 0 {
            tracing::warn!(
                removed = found.removed,
                "more one-shot sessions than `session.oneshot_keep`; the longest unused ones were removed"
            );
        }
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

    /// What to tell of a database that comes near its limit.
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

/// Four fifths.
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
