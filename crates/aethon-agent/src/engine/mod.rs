//! The engine: `assistant` is its door, `intake` stores and seats what came in, `start` begins a turn and `turn` is the
//! turn, with `request` (asking the model, and again when that fails), `compaction` (so that the request fits), `purse` (so
//! that it can be paid), `speech` (what the model says), `said_calls` (calls that it says in words), `calls` (what it has
//! done), `repetition` (loops) and `ending` (what is stored at last); `recover` takes up what a crash left, `clearing`
//! empties sessions.

mod assistant;
mod calls;
mod clearing;
mod compaction;
mod ending;
mod intake;
mod purse;
mod recover;
mod repetition;
mod request;
mod retry;
mod said_calls;
mod shared;
mod speech;
mod start;
mod turn;

pub use assistant::Engine;
pub use said_calls::calls_in_words;
