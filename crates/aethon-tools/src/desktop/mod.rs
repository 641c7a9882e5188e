//! The desktop of the person: clipboard, notifications, opening things, and on a Mac the calendar and its like. `program`
//! finds and runs what does it, inside the walls like every child; the rest says what a model can ask for. What the machine
//! lacks is not offered: [`crate::set`] says why.

mod clipboard;
mod mac;
mod notify;
mod open;
mod program;

pub(crate) use clipboard::{ClipboardRead, ClipboardWrite};
pub(crate) use mac::{MAC_TOOLS, mac_tools};
pub(crate) use notify::Notify;
pub(crate) use open::Open;
pub(crate) use program::Programs;
