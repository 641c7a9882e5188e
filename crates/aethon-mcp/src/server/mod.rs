//! The assistant's tools for MCP clients.
//!
//! `serve` runs one connection from start to end, `arrays` and `lenient` keep messages from ending it, `handler` answers
//! requests, `calls` runs tools, `changes` detects changes of the lists of tools and prompts, `log_feed` sends the log to who wants it, and `wire` converts tools and results to
//! protocol types. `prompts` defines a source of prompts.

mod arrays;
mod calls;
mod changes;
mod handler;
mod lenient;
mod log_feed;
mod prompts;
mod serve;
mod wire;

pub use prompts::{Prompt, PromptArgument, Prompts};
pub use serve::{Options, serve};
