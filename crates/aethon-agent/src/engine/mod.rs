//! The engine. `assistant` is its interface, and `submit` stores and enqueues incoming messages.
//!
//! `start` begins a turn and `turn` runs it: `request` decides the content of a request, and whether to send it again
//! after a failure (`retry`); `ask` makes one model call; `fit` and `compaction` make the request fit, and `narrow` makes
//! it fit a smaller fallback; `response` collects the model's output; `steps` decides what follows
//! it, `calls` runs its tools, and `repetition` detects loops; `finish` composes, stores and announces the end (`outcome`), one long
//! answer at a time (`large_reply_gate`). `starting` waits for servers of tools before the first request. `measure` is for telemetry.
//!
//! `agents` are the running agents, `knowledge` is the knowledge about their models, and `delegation` is how one
//! agent delegates to another. `recover` resumes or closes the turns that a crash left behind, `watch` renews the
//! lease and takes over from programs that are gone, and `elsewhere` announces the answers of other programs;
//! `beside` holds the state that these share. `session_ops` holds the operations on sessions.

mod agents;
mod ask;
mod assistant;
mod beside;
mod calls;
mod compaction;
mod delegation;
mod finish;
mod fit;
mod instructions;
mod knowledge;
mod large_reply_gate;
mod measure;
mod narrow;
mod narrow_views;
mod offer;
mod outcome;
mod peer_turns;
mod recover;
mod repetition;
mod request;
mod response;
mod retry;
mod session_ops;
mod shared;
mod start;
mod starting;
mod steps;
mod submit;
mod team;
mod turn;
mod watch;

pub use assistant::Engine;
