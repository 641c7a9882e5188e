//! The money: every call to a model, of whatever kind, goes through the one [`Meter`].
//!
//! Before a call it reserves money for the model that is about to be asked, while the answer comes it reserves more, and
//! afterwards it books what the call really took, once, however the call ended: by its end, an error, a stop, a time-out, a
//! panic or by being dropped. Prices are applied here and nowhere else. Without a ceiling or a price nobody waits for any
//! of it.
//!
//! `metering` is the door and the books, `grant` the permission to make one call, `call` a call to the first of several
//! models that answers. Beside them: `tariff` (what a call costs), `usual` (how long answers are), `counts` (what is
//! believed of a service), `refusal` (the sentences).

mod call;
mod counts;
mod grant;
mod metering;
mod refusal;
mod tariff;
#[cfg(test)]
mod tests;
mod usual;

pub use call::{CallError, ModelCall, Settled, StandIn};
pub use grant::{Booked, Ending, Grant};
pub use metering::{Meter, Prices, Work};
pub(crate) use refusal::in_words;
pub use refusal::pricing_key;
