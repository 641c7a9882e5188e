//! The dialect of Ollama's own chat interface: local models, answers as lines of JSON.

mod dialect;
mod stream;
#[cfg(test)]
mod tests;
mod wire;

pub(crate) use dialect::{Ollama, SHOW};
