//! The models of an agent, in order: when one fails before it said anything, the next one is asked.
//!
//! Who repeats what is settled here, so that failures do not multiply. Each model is asked at most once a request, and the
//! next one at once; the engine, which alone waits and repeats, repeats the whole list. A `breaker` for each model
//! remembers its failures from request to request: one that keeps failing is left alone for a while, and then a single
//! request finds out whether it is well again. When every model is left alone, the error carries the shortest wait.
//!
//! What each kind of failure does:
//! - rate limit, overloaded, network, timeout, malformed: the next model; the service may be well again soon.
//! - auth, quota, not found, and a model that the budget does not pay for: the next model; only a person can mend it, so a
//!   model that failed so is left alone for longer.
//! - context length: the next model with a larger window. Where there is none, the engine shortens the conversation and
//!   asks again, the first model first. A fallback whose window is known to be too small is passed over unasked.
//! - refused: no other model. Looking for one that does not mind is not what an owner expects of a refusal.
//! - invalid request: no other model. What is wrong is the request, or `model.extra`, and hiding it would hide the remedy.
//!
//! A failure after output is never repeated, here or in the engine: no text is shown twice. The calls themselves are made
//! by the meter (`meter/call.rs`), which pays for each model that is asked.

mod breaker;
mod candidate;
mod list;
mod miss;
#[cfg(test)]
mod tests;

pub(crate) use candidate::{AnswerStream, Candidate, Permit, is_models_fault};
pub use list::Models;
pub(crate) use miss::{Miss, Reason, together};
