//! The guard: which shell commands the assistant refuses to run, and what must not be shown, logged or remembered.
//!
//! [`shell_rules`] judges commands, [`redact`] finds secrets by their values and shapes, and [`memory`] refuses texts with
//! secrets in them. Nothing here performs I/O.

pub mod memory;
pub mod redact;
pub mod shell_rules;
mod words;

pub use memory::MemoryGuard;
