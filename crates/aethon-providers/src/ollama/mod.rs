//! The dialect of Ollama's own chat API: local models, responses as lines of JSON.

mod describe;
mod dialect;
mod stream;
#[cfg(test)]
mod tests;
mod wire;

pub(crate) use dialect::Ollama;
