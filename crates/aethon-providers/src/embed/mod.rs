//! Text into vectors: the services that do it, behind the one trait of the core.
//!
//! `build` chooses, `form` is how each service is asked and answers, `batch` how many texts go into one request, `remote`
//! the embedder behind HTTP, `key` what stands for a text in a cache, `fake` one for tests that needs no network.

mod batch;
mod build;
mod fake;
mod form;
mod key;
mod remote;
#[cfg(test)]
mod tests;

pub use build::embedder;
pub use key::TextKeys;
