//! The engine: `assistant` is its door, `submit` stores and seats what came in, `start` begins a turn and `turn` is the
//! turn, with `request` (what is sent, and again when that fails, as `retry` says), `ask` (asking once), `fit` and
//! `compaction` (so that the request fits), `response` (what the model says), `calls` (what it has done), `repetition`
//! (loops) and `outcome` (what is stored at last, long ones one by one: `long_ends`); `measure` is for telemetry; `agents` are those who answer, `delegation` is how one asks another, `knowledge` is what was learnt of their models, `recover` takes up what a
//! crash left, `watch` renews the lease and takes over from programs that are gone, `elsewhere` tells those who look on what other
//! programs have said (what they share is in `beside`), `session_ops` empties sessions.

mod agents;
mod ask;
mod assistant;
mod beside;
mod calls;
mod compaction;
mod delegation;
mod elsewhere;
mod fit;
mod knowledge;
mod long_ends;
mod measure;
mod offer;
mod outcome;
mod recover;
mod repetition;
mod request;
mod response;
mod retry;
mod session_ops;
mod shared;
mod start;
mod submit;
mod team;
mod turn;
mod watch;

pub use assistant::Engine;
