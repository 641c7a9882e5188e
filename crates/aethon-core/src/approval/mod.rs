//! Asking a person before something happens.
//!
//! `request` has the question and its answer; `pending` holds the open requests (`elsewhere` those of other instances), so that any surface (the chat, the dashboard,
//! the API) can answer, and the asker waits there; `grants` holds what a person has allowed for the rest of a conversation.

mod elsewhere;
mod grants;
mod pending;
mod request;

pub use elsewhere::{AnswerElsewhere, RequestsElsewhere};
pub use grants::{Grant, Grants, Pattern};
pub use pending::{PendingApproval, PendingApprovals, ProposedAnswer};
pub use request::{Answer, AnswerError, ApprovalRequest, Decision, Resolution, ResolutionReason, Scope};
