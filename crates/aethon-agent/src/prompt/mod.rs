//! The system prompt: who the assistant is, how it works here, and where it runs.

mod compose;
mod pages;

pub use compose::{Prompt, PromptOptions};
