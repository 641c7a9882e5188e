//! Text into vectors: the services that do it, behind the one trait of the core.
//!
//! `build` chooses, `form` is how each service is asked and answers, `batch` how many texts go into one request, `remote`
//! the embedder behind HTTP, `fake` one for tests that needs no network.

mod batch;
mod build;
mod fake;
mod form;
mod remote;
#[cfg(test)]
mod tests;

pub use build::embedder;
