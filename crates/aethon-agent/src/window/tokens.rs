//! The size of messages, for planning.

use aethon_core::message::Role;

/// The role and the size of a message, which is all that the planner needs of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct MessageTokens {
    pub(super) role: Role,
    pub(super) tokens: u64,
}
