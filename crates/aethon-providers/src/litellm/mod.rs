//! A LiteLLM proxy: OpenAI's dialect, translated for whichever model is behind it.
//!
//! `profile` says as data in what the dialect differs, `discovery` asks the proxy what its model can do, and `describe` reads
//! the answer. That the proxy's address is taken with and without `/v1` is in `crate::endpoint`.

mod describe;
mod discovery;
mod profile;

pub(crate) use discovery::LiteLlm;
pub(crate) use profile::PROFILE;
