//! Asking a person before something happens.
//!
//! `request` has the question and its answer; `pending` holds the open requests, so that any surface (the chat, the dashboard,
//! the API) can answer, and the asker waits there; `grants` holds what a person has allowed for the rest of a conversation.

mod grants;
mod pending;
mod request;

pub use grants::{Grant, Grants, Pattern};
pub use pending::{AnswerError, PendingApproval, PendingApprovals, ProposedAnswer};
pub use request::{Answer, ApprovalRequest, Decision, Resolution, ResolutionReason, Scope};
