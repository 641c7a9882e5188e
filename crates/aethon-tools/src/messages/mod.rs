//! Messages that a turn sends to people while it runs.

mod send;

pub(crate) use send::SendMessage;
