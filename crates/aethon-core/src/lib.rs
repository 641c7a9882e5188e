//! The words and traits of the Aethon assistant.

pub mod secret;
