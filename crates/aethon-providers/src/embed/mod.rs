//! Text embeddings: the services that provide them, behind the one trait of the core.
//!
//! `build` chooses the embedder, `form` has the request and response formats, `batch` groups texts into requests,
//! `remote` is the embedder over HTTP, `learned_limit` what it learnt of a service, `key` the cache key of a text, `fake` an offline embedder for tests.

mod batch;
mod build;
mod fake;
mod form;
mod key;
mod learned_limit;
mod remote;
#[cfg(test)]
mod tests;

pub use build::embedder;
pub use key::TextKeys;
