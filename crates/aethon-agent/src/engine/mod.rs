//! The engine. `assistant` is its interface, and `submit` stores and enqueues incoming messages.
//!
//! `start` begins a turn (`read_window` reads its conversation) and `turn` runs it: `request` decides the content of a
//! request, and whether to send it again after a failure (`retry`); `ask` makes one model call; `fit` and `compaction` make
//! the request fit, and `narrow` makes it fit a smaller fallback; `response` collects the model's output; `steps` decides
//! what follows it; `calls` runs tools, and `repetition` detects loops. `finish` composes, stores and announces the end,
//! one long answer at a time (`large_reply_gate`); `outcome` says how a turn ended, and `ends` stores and announces the
//! ends of all turns, also of those that never ran. `starting` waits for servers of tools before the first request, and
//! `measure` is for telemetry.
//!
//! `agents` are the running agents, `agent_pool` the present ones, `knowledge` is the knowledge about their models, and
//! `delegation` is how one agent delegates to another. `recover` decides what becomes of turns that a crash left behind,
//! and `take_over` has them run here; `leases` tells which owners are gone, `watch` renews the own lease and looks after
//! the others, and `peer_turns` announces the answers of other programs. `session_ops` holds the operations on sessions,
//! and `shared` is what all of these share.

mod agent_pool;
mod agents;
mod ask;
mod assistant;
mod calls;
mod compaction;
mod delegation;
mod ends;
mod finish;
mod fit;
mod instructions;
mod knowledge;
mod large_reply_gate;
mod leases;
mod measure;
mod narrow;
mod narrow_views;
mod offer;
mod outcome;
mod peer_turns;
mod read_window;
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
mod take_over;
mod team;
mod titles;
mod turn;
mod watch;

pub use assistant::Engine;
