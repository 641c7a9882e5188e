//! The person's desktop: clipboard, notifications, opening things, and on a Mac calendar and similar applications.
//! `program` finds and runs the programs that do it, inside the walls like every child; the other modules define the
//! tools that a model can call. A tool that the machine cannot run is not offered: [`crate::set`] says why.

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
