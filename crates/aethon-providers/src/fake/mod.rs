//! The model `fake`: a script in the message decides its response.
//!
//! It is stateless. The directives are read again from the message that started the turn. The number of responses the
//! turn has had determines which part of the script is next, and the number of failed attempts of this request
//! determines which errors are still due. `script` parses the directives, `response` converts one part to steps,
//! `provider` plays them.

mod provider;
mod response;
mod script;

pub(crate) use provider::Fake;
