//! Temporary conversations: what is said in them is kept in the memory of this process and nowhere else.
//!
//! The id of a session tells whether it is one ([`SessionId::is_temporary`](aethon_core::ids::SessionId::is_temporary)). A storage
//! of its own holds these sessions, in front of the lasting one (`storage`); what both write of a turn beside its messages loses
//! its words (`records`). They end when the page leaves them, after an hour in which nobody uses or watches them (`idle`), and with
//! the program.

mod idle;
mod reading;
mod records;
mod storage;
#[cfg(test)]
mod tests;
mod turns;

pub(crate) use idle::end_idle;
pub(crate) use storage::{Temporary, with_temporary};
