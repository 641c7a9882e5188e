//! Chatting: one screen, two ways to the assistant.
//!
//! [`backend::Backend`] is the way: to the running daemon over its chat socket ([`remote`], which survives restarts with
//! [`socket`], [`unsent`], [`reconnect`], [`transcript`] and [`shown_turns`]), or to an assistant in this very process
//! ([`local`]); [`connect`] chooses, and [`handover`] goes over to a daemon that comes later. Both tell what happens as an
//! [`event`]. [`screen`] shows a turn. [`repl`] is the chat: [`prompt`] reads (with [`complete`], [`paste`] and [`editor`]),
//! [`command`] parses a line, [`actions`], [`attach`], [`clipboard`] (which both make a [`named_file`]) [`file_changes`] and [`run`] carry it out,
//! [`turn`] follows one turn, [`keys`] keeps the keyboard quiet meanwhile, [`typed`] collects typed text, and [`footer`] shows it
//! below the reply, with the [`progress`] of the turn. [`ask`] is one turn and nothing else; [`frames`] tells it to a program.

mod actions;
mod approval;
pub(crate) mod ask;
mod attach;
pub(crate) mod backend;
mod background;
mod catch_up;
mod clipboard;
mod command;
mod complete;
mod connect;
mod editor;
mod event;
mod file_changes;
mod following;
mod footer;
mod frames;
mod handover;
mod input;
mod interrupts;
mod keys;
mod local;
mod named_file;
mod output;
mod overview;
mod paste;
mod progress;
mod prompt;
mod question;
mod reconnect;
mod remote;
pub(crate) mod repl;
mod run;
mod screen;
mod shown_turns;
mod socket;
mod transcript;
mod turn;
mod typed;
mod unsent;
mod words;

pub(crate) use backend::OutgoingMessage;
pub(crate) use connect::open;
pub(crate) use prompt::Habits;
pub(crate) use remote::Audience;
pub(crate) use screen::style;
