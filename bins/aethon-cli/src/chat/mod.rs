//! Chatting: one screen, two ways to the assistant.
//!
//! [`backend::Backend`] is the way: to the running daemon over its chat socket ([`remote`]), or to an assistant in this
//! very process ([`local`]); [`connect`] chooses. Both tell what happens as an [`event`]. [`screen`] shows a turn; [`repl`] is the loop of prompt and turn; [`ask`] is one turn.

pub(crate) mod ask;
pub(crate) mod backend;
mod connect;
mod event;
mod input;
mod interrupts;
mod local;
mod remote;
pub(crate) mod repl;
mod screen;

pub(crate) use connect::open;
pub(crate) use screen::style;
