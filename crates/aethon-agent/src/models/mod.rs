//! The models of an agent, in order: if one fails before it has sent any output, the next one is called.
//!
//! The responsibility for retries is settled here, so that failures do not multiply. While another model stands by, a
//! model is asked again at most twice, and only after failures that pass within seconds (`patience`); then comes the
//! next one. Only the engine waits for longer, and it retries the whole list. A `breaker` per model remembers failures
//! across requests: a model that keeps failing is left alone for a while, and then a single request tries whether it
//! has recovered. A breaker only decides the order: if no other model answers, a new turn asks those that are left
//! alone too, each once, so that a list never answers less often than one of its models alone would.
//!
//! The reaction to each kind of failure:
//! - overloaded, network, and a rate limit that ends within seconds: the same model again, then the next.
//! - a longer rate limit, timeout, malformed: the next model; the service may recover soon.
//! - auth, quota, not found, and a model that the budget does not pay for: the next model; only a person can fix it, so
//!   the model is left alone for longer.
//! - context length: the next model with a larger window. If there is none, the engine shortens the conversation and
//!   asks again, starting with the first model. A fallback whose window is known to be too small comes after those that
//!   fit, and gets a shortened request (`meter/adapt.rs`).
//! - refused: no other model. An owner does not expect a refusal to lead to a search for a model that does not mind.
//! - invalid request: no other model. The request, or `model.extra`, is wrong, and hiding that would hide the remedy.
//!
//! A failure after output is never retried, here or in the engine: no text is shown twice. The calls themselves are
//! made by the meter (`meter/call.rs`), which pays for each model that is called.

mod breaker;
mod candidate;
mod failed_attempt;
mod list;
mod patience;
#[cfg(test)]
mod tests;

pub(crate) use candidate::{AnswerStream, Candidate, Permit, is_models_fault};
pub(crate) use failed_attempt::{Contact, FailedAttempt, Reason, combine};
pub use list::Models;
pub(crate) use patience::pause_before_retry;
