//! The assistant's tools for MCP clients.
//!
//! `serve` runs one connection from its first byte to its last, `batch` takes batches apart and puts their answers together (with
//! the account in `parts`), `screen` keeps messages out that would end it, `handler`
//! answers requests, `calls` runs tools, `changes` tells that the list of tools is another one, and `wire` puts tools and
//! results into the forms of the protocol. `prompts` is what a source of prompts has to do.

mod batch;
mod calls;
mod changes;
mod handler;
mod parts;
mod prompts;
mod screen;
mod serve;
mod wire;

pub use prompts::{Prompt, PromptArgument, Prompts};
pub use serve::{Options, serve};
