//! The terminal.

mod chat_commands;
mod commands;
mod completion;
mod first_hour;
mod handbook;
mod interactive;
mod restart;
mod screen;
mod service;
mod setup;
mod slips;
mod typing;
