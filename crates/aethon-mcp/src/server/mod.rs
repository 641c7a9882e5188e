//! The assistant's tools for MCP clients.
//!
//! `serve` runs one connection from start to end, `batch` splits batches and collects their answers (tracked in
//! `open_batches`), `startup_filter` drops messages that would end the connection, `handler` answers requests, `calls`
//! runs tools, `changes` detects changes of the tool list, and `wire` converts tools and results to protocol types.
//! `prompts` defines what a source of prompts provides.

mod batch;
mod calls;
mod changes;
mod handler;
mod open_batches;
mod prompts;
mod serve;
mod startup_filter;
mod wire;

pub use prompts::{Prompt, PromptArgument, Prompts};
pub use serve::{Options, serve};
