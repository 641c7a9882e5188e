//! Asking a person before something happens.
//!
//! A request is bound to the exact arguments that the person sees, is answered once, and expires. `pending` holds the
//! open requests, so that any door (the chat, the dashboard, the API) can answer, and the asker waits there. `grants`
//! holds what a person has allowed for the rest of a conversation.

mod grants;
mod pending;
mod request;

pub use grants::{Grant, Grants, Pattern};
pub use pending::{AnswerError, PendingApproval, PendingApprovals, ProposedAnswer};
pub use request::{Answer, ApprovalRequest, Decision, Resolution, ResolutionReason, Scope};
