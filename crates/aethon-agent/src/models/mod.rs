//! The models of an agent, in order: if one fails before it has sent any output, the next one is called.
//!
//! The responsibility for retries is settled here, so that failures do not multiply. Each model is called at most
//! once per request, and the next one immediately; only the engine waits and retries, and it retries the whole list.
//! A `breaker` per model remembers failures across requests: a model that keeps failing is left alone for a while,
//! and then a single request tries whether it has recovered. If every model is left alone, the error carries the
//! shortest wait.
//!
//! The reaction to each kind of failure:
//! - rate limit, overloaded, network, timeout, malformed: the next model; the service may recover soon.
//! - auth, quota, not found, and a model that the budget does not pay for: the next model; only a person can fix it, so
//!   the model is left alone for longer.
//! - context length: the next model with a larger window. If there is none, the engine shortens the conversation and
//!   asks again, starting with the first model. A fallback whose window is known to be too small is skipped.
//! - refused: no other model. An owner does not expect a refusal to lead to a search for a model that does not mind.
//! - invalid request: no other model. The request, or `model.extra`, is wrong, and hiding that would hide the remedy.
//!
//! A failure after output is never retried, here or in the engine: no text is shown twice. The calls themselves are
//! made by the meter (`meter/call.rs`), which pays for each model that is called.

mod breaker;
mod candidate;
mod failed_attempt;
mod list;
#[cfg(test)]
mod tests;

pub(crate) use candidate::{AnswerStream, Candidate, Permit, is_models_fault};
pub(crate) use failed_attempt::{FailedAttempt, Reason, combine};
pub use list::Models;
