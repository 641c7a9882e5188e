//! The concerns that see every turn, one file each. The facade sets their order.

mod approval;
mod chain;
mod input;
mod output_cap;
mod redact;
mod security;
mod taint;
mod unmarked;

pub use approval::ApprovalRule;
pub use chain::Hooks;
pub use input::InputLimits;
pub use output_cap::{OutputCap, cap};
pub use redact::RedactOutput;
pub use security::CommandRules;
pub use taint::Taint;
pub use unmarked::Unmarked;
