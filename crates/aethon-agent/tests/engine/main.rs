//! The engine at its trait boundary: real queues, turns, tools and hooks, with a scripted model and a storage in memory.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    unreachable_pub,
    reason = "tests, and the functions that they share"
)]

mod added;
mod agents;
mod ahead;
mod approvals;
mod budget;
mod compaction;
mod continuing;
mod delivery;
mod documents;
mod failures;
mod fallback;
mod harness;
mod order;
mod outage;
mod outcomes;
mod overdue;
mod pipeline;
mod prefix;
mod recovery;
mod schema;
mod side_by_side;
mod specialists;
mod stopping;
mod submit;
mod together;
mod tools;
mod web_search;
mod window;
