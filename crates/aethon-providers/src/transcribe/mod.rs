//! Transcription, through OpenAI's API for it, which other services and self-hosted servers offer too.
//!
//! `remote` is the client of a service, `form` has the request and response formats. Nothing is retried here; that is
//! up to the caller.

mod form;
mod remote;
#[cfg(test)]
mod tests;

pub use remote::transcriber;
