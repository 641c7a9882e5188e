//! Tools that are created at runtime: a program with a JSON manifest, which always runs in a sandbox.
//!
//! `manifest` describes and validates such a tool, `store` stores them as files under the home, `program` runs one,
//! `manage` is the tool by which a model lists, adds, removes and tries them, and `source` offers them to the engine.
//! `security.sandbox` selects the sandbox; if it is `none`, the kernel sandbox is used.

mod manage;
mod manifest;
mod program;
mod source;
mod store;

pub use source::DynamicTools;
