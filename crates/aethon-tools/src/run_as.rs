//! The user and group as which commands run.

use aethon_core::sandbox::NOBODY;
use serde::{Deserialize, Serialize};

/// A user and a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunAs {
    pub(crate) user: u32,
    pub(crate) group: u32,
}

impl RunAs {
    pub(crate) const NOBODY: Self = Self { user: NOBODY, group: NOBODY };
    pub(crate) const ROOT: Self = Self { user: 0, group: 0 };

    /// Returns the service's own user, but never root.
    pub(crate) fn service_or_nobody() -> Self {
        let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        if user == 0 { Self::NOBODY } else { Self { user, group } }
    }
}
