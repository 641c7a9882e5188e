//! A LiteLLM proxy: OpenAI's dialect, translated for whatever model is behind it.
//!
//! `profile` lists the differences of the dialect as data, `discovery` asks the proxy what its model can do, and
//! `describe` reads the response. `crate::endpoint` accepts the proxy's address with and without `/v1`.

mod describe;
mod discovery;
mod profile;

pub(crate) use discovery::LiteLlm;
pub(crate) use profile::PROFILE;
