//! The concerns that apply to every turn, one file each. The facade sets their order.

mod agents;
mod approval;
mod chain;
mod input;
mod memory_guard;
mod output_cap;
mod recall;
mod redact;
mod security;
mod strangers;
mod taint;
mod temporary;
mod untrusted_markers;

pub use agents::WatchAgents;
pub use approval::{ApprovalRule, OUTBOUND};
pub use chain::Hooks;
pub use input::InputLimits;
pub use memory_guard::MemorySecretGuard;
pub use output_cap::{OutputCap, cap};
pub use recall::AutoRecall;
pub use redact::RedactOutput;
pub use security::CommandRules;
pub use strangers::StrangerBounds;
pub use taint::Taint;
pub(crate) use taint::bars_search;
pub use temporary::TemporaryBounds;
pub use untrusted_markers::StripUntrustedMarkers;
