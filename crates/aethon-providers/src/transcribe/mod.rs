//! Spoken words into text, by OpenAI's interface for it, which other services and servers of one's own have too.
//!
//! `remote` is the client of a service, `form` how that is asked and answers. Nothing is repeated here: who waits for the words
//! decides about that.

mod form;
mod remote;
#[cfg(test)]
mod tests;

pub use remote::transcriber;
