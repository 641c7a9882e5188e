//! Shared by the tests of the tools: the tools of a folder, and a call's context.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    unreachable_pub,
    dead_code,
    reason = "tests and what they share"
)]

use std::sync::Arc;

use aethon_core::hook::TurnContext;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::Inbound;
use aethon_core::surface::{Surface, Unattended};
use aethon_core::testkit::{ManualClock, MemoryStore};
use aethon_core::tool::{Tool, ToolContext};
use aethon_tools::{Needs, Options, sets, tools};

/// The requirements of the tools, in memory.
pub fn needs() -> Needs {
    let clock = Arc::new(ManualClock::at("2026-02-03T04:05:06Z".parse().unwrap()));
    let store = Arc::new(MemoryStore::default());
    Needs::new(clock, store.clone(), store)
}

/// The tools of these options.
pub fn all(options: &Options) -> Vec<Arc<dyn Tool>> {
    tools(&sets(options, &needs()))
}

/// All tools, with these changes of what they need.
pub fn all_with(options: &Options, change: impl FnOnce(&mut Needs)) -> Vec<Arc<dyn Tool>> {
    let mut needs = needs();
    change(&mut needs);
    tools(&sets(options, &needs))
}

/// The tool of this name.
pub fn tool(options: &Options, name: &str) -> Arc<dyn Tool> {
    named(&all(options), name)
}

/// The tool of this name among these.
pub fn named(tools: &[Arc<dyn Tool>], name: &str) -> Arc<dyn Tool> {
    tools.iter().find(|tool| tool.spec().name == name).unwrap_or_else(|| panic!("no tool {name}")).clone()
}

/// An unattended call.
pub fn context(chars: usize) -> ToolContext {
    watched(chars, Arc::new(Unattended))
}

/// A call that this surface watches.
pub fn watched(chars: usize, surface: Arc<dyn Surface>) -> ToolContext {
    let inbound = Inbound::say(SessionId::of("webchat", "a").unwrap(), "use it");
    let turn = TurnContext::of(TurnId::fresh(), &inbound);
    ToolContext::of(&turn, surface, chars)
}
