//! Messages that a turn sends to people while it is running.

mod send;

pub(crate) use send::SendMessage;
