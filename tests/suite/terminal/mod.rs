//! The terminal.

mod chat_commands;
mod clipboard;
mod commands;
mod completion;
mod events;
mod first_hour;
mod handbook;
mod interactive;
mod restart;
mod screen;
mod service;
mod setup;
mod slips;
mod typing;
