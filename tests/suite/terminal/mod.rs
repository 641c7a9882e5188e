//! The terminal.

mod commands;
mod interactive;
mod restart;
mod screen;
mod setup;
