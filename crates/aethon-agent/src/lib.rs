//! The engine of the assistant: it takes messages in, keeps their order, asks the model, runs the tools, and stores what
//! came of it.
//!
//! The rooms: `admission` (what may come in, and in which form), `dispatcher` (which turn runs when), `engine` (one turn),
//! `window` (what of a conversation a model sees), `hooks` (one file a concern), `prompt` (the system prompt), `outbox`
//! (delivering replies elsewhere). Models, tools and storage are traits of the core; this crate knows no other leaf.

mod admission;
mod caught;
mod control;
mod dispatcher;
mod engine;
pub mod hooks;
mod options;
pub mod outbox;
mod parts;
pub mod prompt;
mod tasks;
mod toolbox;
mod window;

pub use engine::{Engine, calls_in_words};
pub use hooks::Hooks;
pub use options::{Cache, Options, Resume};
pub use parts::{Parts, Prices};
pub use toolbox::{GuardedToolbox, ToolboxOptions};
