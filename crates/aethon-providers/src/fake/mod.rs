//! The model `fake`: a script in the message decides what it does.
//!
//! It is stateless. The directives are read anew from the message that started the turn; how many answers the turn has
//! already had tells which part of the script is next, and how often this request failed tells which errors are
//! still due. `script` reads the directives, `response` turns one part into steps, `provider` plays them.

mod provider;
mod response;
mod script;

pub(crate) use provider::Fake;
