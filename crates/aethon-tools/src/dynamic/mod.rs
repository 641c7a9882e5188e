//! Tools that are made while the program runs: a program with a JSON manifest, which always runs in a sandbox.
//!
//! `manifest` is what such a tool says about itself and what makes one valid, `shelf` keeps them as files under the home,
//! `program` runs one, `manage` is the tool by which a model lists, adds, removes and tries them. `source` is where the
//! engine finds them. `security.sandbox` says which sandbox; where it is `none`, it is the one of the kernel.

mod manage;
mod manifest;
mod program;
mod shelf;
mod source;

pub use source::DynamicTools;
