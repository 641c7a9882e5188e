//! The models that an assistant can talk to, behind the one trait of the core.
//!
//! A provider translates: a [`aethon_core::model::ModelRequest`] to the service's own JSON, the service's stream to
//! [`aethon_core::model::ModelEvent`]s, and its failures to classes with one sentence for a person. It keeps no
//! conversation, runs no tools and repeats nothing; retries are up to the engine. Differences
//! between services that speak the same dialect are data, not another copy.
//!
//! [`build`] makes a provider from [`Options`], [`embedder`] an embedder, [`transcriber`] a transcriber, and
//! [`Catalog`] knows models: their sizes, prices and abilities. The engine decides which model is called and how much a
//! call costs. `echo` and `fake` need no network and serve tests, demonstrations and benchmarks. The others share
//! `remote`, which sends through `transport`, reads with `stream`, and classifies failures with `classify`; a new
//! wire format is one more `Dialect`, two lines in `registry` and a row in `aethon_core::provider`. `tool_schema` fits the tools of a request to its service. On top, `text_calls` handles models that write their
//! calls into their text.

// What several services share may be unused where some of them are left out.
#![cfg_attr(
    not(all(
        feature = "anthropic",
        feature = "bedrock",
        feature = "gemini",
        feature = "litellm",
        feature = "mistral",
        feature = "ollama",
        feature = "openai"
    )),
    allow(
        dead_code,
        unreachable_code,
        unused_imports,
        unused_variables,
        reason = "it is used by services that are left out"
    )
)]

mod answer_format;
mod anthropic;
mod api_key;
mod aws;
mod bedrock;
mod capabilities;
mod catalog;
mod classify;
mod counted;
mod dialect;
mod echo;
mod embed;
mod endpoint;
mod estimate;
mod failure_watch;
mod fake;
mod gemini;
mod headers;
mod learned;
mod listing;
#[cfg(feature = "litellm")]
mod litellm;
mod media_type;
#[cfg(feature = "mistral")]
mod mistral;
#[cfg(feature = "ollama")]
mod ollama;
#[cfg(any(feature = "openai", feature = "litellm", feature = "mistral"))]
mod openai;
mod options;
mod policy;
mod prompt;
mod registry;
mod remote;
mod request_id;
mod response_stream;
#[cfg(any(feature = "openai", feature = "litellm"))]
mod responses;
mod restrictions;
mod rules;
mod section;
mod service;
mod settings;
#[cfg(test)]
mod shapes;
mod stream;
#[cfg(test)]
mod testing;
mod text_calls;
mod tool_schema;
mod transcribe;
mod transport;
mod unavailable;

pub use catalog::{
    Catalog, CatalogModel, EffortWord, Efforts, MAX_BYTES, MAX_TABLE_BYTES, ModelFacts, PromptCaching,
    ServiceFacts, TierFactors, built_in_catalog, trim_models,
};
pub use embed::{TextKeys, embedder};
pub use endpoint::is_local;
pub use options::{
    AnthropicVersion, AwsEnvironment, Connection, OpenAiApi, Options, Overrides, Provider, RequestExtras,
};
pub use registry::{build, is_built};
pub use text_calls::{calls_in_words, is_text_call};
pub use tool_schema::documented_limit as documented_tool_limit;
pub use transcribe::transcriber;
pub use transport::exchange;
