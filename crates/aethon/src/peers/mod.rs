//! This instance among those that serve the same storage.
//!
//! `news` is what they tell each other about conversations; `state` what this one knows of the others from it. `asking` puts a
//! question to others and waits for the answers. `assistant` stands in front of the engine: what it stops, it stops everywhere.
//! `task` hears and tells. `sign_ins` has browsers signed in at all of them. The frames of running turns take their own way, the relay of `aethon-http`.

mod asking;
mod assistant;
mod joining;
mod news;
mod sign_ins;
mod state;
mod task;

pub(crate) use joining::{Joined, join};
