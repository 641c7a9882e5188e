//! The pages in a real browser, against the built server. Each module is a thing that the owner does.
//!
//! Where Chromium or chromedriver is missing the tests say so and do nothing; with `CI=true` they fail. With
//! `AETHON_SHOTS=DIR` pictures of the pages are written there, to be looked at.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "in tests a failed expectation is the result"
)]

mod accessibility;
mod approvals;
mod away;
mod chat;
mod config_confirm;
mod conversations;
mod editing;
mod effort;
mod elsewhere;
mod focus;
mod heavy;
mod hidden;
mod hostile;
mod kept;
mod keyboard;
mod layout;
mod lived_in;
mod long;
mod page;
mod panels_channels;
mod panels_live;
mod panels_mind;
mod panels_recorded;
mod panels_sessions;
mod panels_shell;
mod panels_work;
mod recovery;
mod restart;
mod shots;
mod sign_in;
mod signed_out;
mod taken_back;
mod told;
mod unsaved;
mod weight;
