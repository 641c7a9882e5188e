//! The pages in a real browser, against the built server. Each module is a thing that the owner does.
//!
//! Where Chromium or chromedriver is missing the tests say so and do nothing; with `CI=true` they fail. `cargo
//! xtask shots DIR` writes pictures of the pages there, to be looked at.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "in tests a failed expectation is the result"
)]

mod accessibility;
mod approvals;
mod artefacts;
mod background_commands;
mod base_path;
mod bin;
mod channel_setup;
mod chat;
mod concurrent_edits;
mod config_confirm;
mod conversations;
mod desk_views;
mod dictation;
mod drafts;
mod editing;
mod effort;
mod finding_messages;
mod first_hour_pictures;
mod first_model;
mod focus;
mod form_drafts;
mod formulas_and_diagrams;
mod handbook;
mod heavy_replies;
mod hidden_characters;
mod hostile_text;
mod installed;
mod job_editing;
mod keyboard;
mod languages;
mod layout;
mod long_conversation;
mod model_choice;
mod news;
mod page;
mod page_weight;
mod panel_outages;
mod panels_channels;
mod panels_live;
mod panels_mind;
mod panels_recorded;
mod panels_sessions;
mod panels_shell;
mod panels_work;
mod phone;
mod put_back;
mod reading;
mod readme_pictures;
mod recovery;
mod restart;
mod same_everywhere;
mod screenshots;
mod several;
mod sign_in;
mod signed_out;
mod slash_menu;
mod slow_model;
mod spoken_names;
mod tables;
mod temporary;
mod transcript_blocks;
mod unreadable_files;
mod unsaved_text;
mod used_server;
mod voice;
mod withdrawn_messages;
