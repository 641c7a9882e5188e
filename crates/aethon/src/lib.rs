//! Aethon: a self-hosted personal assistant, to embed.

pub mod logging;
