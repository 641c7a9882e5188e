//! Reports damage of the database.

use aethon_core::storage::StorageHealth;

use crate::error::Error;

/// Reports that the database is damaged to all who use it, and to the log once.
pub(crate) fn note_damage(health: &StorageHealth, error: &Error) {
    if error.is_damaged() && health.damaged(error.to_string()) {
        tracing::error!(
            error = error as &dyn std::error::Error,
            "the database is damaged; new messages are refused until it is mended and aethon started again"
        );
    }
}
