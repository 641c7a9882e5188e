//! The money: every call to a model, of whatever kind, goes through the one [`Meter`].
//!
//! The meter reserves money for the model that is about to be called, reserves more while the answer arrives, and
//! afterwards books the actual cost of the call. It books exactly once, however the call ended: normally, by an
//! error, a stop, a time-out, a panic or by being dropped. Prices are applied here and nowhere else. Without a
//! ceiling or a price, no call waits for any of this.
//!
//! `metering` books calls, `reserving` admits them, `grant` is the permission to make one call, and `call` is a call
//! to the first of several models that answers. Beside them: `tariff` (the cost of a call), `usual` (how long answers
//! are), `counts` (which figures of a service are credible), `refusal` (the messages), `announcer` (reports settled
//! calls to the watchers),
//! `adapt` (requests that are shortened for a fallback).

mod adapt;
mod announcer;
mod call;
mod counts;
mod ending;
mod error;
mod grant;
mod metering;
mod note;
mod refusal;
mod reserving;
mod tariff;
#[cfg(test)]
mod tests;
mod usual;

pub(crate) use adapt::{Adapt, Adapted, Shortening};
pub use call::{Fallback, ModelCall, Settled};
pub use ending::Ending;
pub use error::CallError;
pub use grant::{Booked, Grant};
pub use metering::{Meter, Prices, Work};
pub(crate) use refusal::in_words;
pub use refusal::pricing_key;
