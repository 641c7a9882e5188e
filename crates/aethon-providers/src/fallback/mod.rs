//! Several models in order: when one fails before it said anything, the next one is asked.
//!
//! Who repeats what is settled here, so that failures do not multiply. The fallback asks each model at most once a
//! request and moves on at once; the engine, which alone waits and repeats, repeats the whole list. A `breaker` for each
//! model remembers its failures from request to request: one that keeps failing is left alone for a while, and then a
//! single request finds out whether it is well again. When every model is left alone, the error carries the shortest wait.
//!
//! What each kind of failure does:
//! - rate limit, overloaded, network, timeout, malformed: the next model; the service may be well again soon.
//! - auth, quota, not found: the next model; only a person can mend it, so the model is left alone for longer.
//! - context length: no other model. The engine shortens the conversation and asks again, the first model first. A model
//!   whose window is known to be too small for a request is passed over instead of being asked.
//! - refused: no other model. Looking for one that does not mind is not what an owner expects of a refusal.
//! - invalid request: no other model. What is wrong is the request, or `model.extra`, and hiding it would hide the remedy.
//!
//! A failure after output is never repeated, here or in the engine: no text is shown twice.

mod breaker;
mod candidate;
mod provider;
#[cfg(test)]
mod tests;

pub use provider::fallback;
