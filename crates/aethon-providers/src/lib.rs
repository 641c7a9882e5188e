//! The models that an assistant can talk to, behind the one trait of the core.
//!
//! A provider translates: a [`aethon_core::model::ModelRequest`] into the service's own JSON, the service's stream into
//! [`aethon_core::model::ModelEvent`]s, and its failures into classes with one sentence for a person. It keeps no
//! conversation, runs no tool and repeats nothing; what is retried, and when, is the engine's decision. What differs
//! between services that speak the same dialect is data, not another copy.
//!
//! [`build`] makes a provider of [`Options`], [`fallback()`] one of several, [`embedder`] an embedder, and [`prices`] knows
//! what models cost. `echo` and `fake` need no network and are for tests, demonstrations and
//! benchmarks. The others share `remote`, which sends over `transport`, reads with `stream`, and tells failures with
//! `classify`; a new wire format is one more `Dialect` and one line in `registry`.

mod anthropic;
mod aws;
mod bedrock;
mod capabilities;
mod classify;
mod echo;
mod embed;
mod endpoint;
mod estimate;
mod facts;
mod fake;
mod fallback;
mod gemini;
mod headers;
mod known;
mod litellm;
mod mistral;
mod ollama;
mod openai;
mod options;
mod prompt;
mod registry;
mod remote;
mod responses;
mod service;
mod settings;
mod stream;
#[cfg(test)]
mod testing;
mod transport;
mod unavailable;

pub use embed::{TextKeys, embedder};
pub use facts::{is_known, prices};
pub use fallback::fallback;
pub use options::{AnthropicVersion, AwsEnvironment, OpenAiApi, Options, Overrides, Provider};
pub use registry::build;
