//! `service install|uninstall|status`: the daemon as a service of your account, started with your session.
//!
//! [`systemd`] and [`launchd`] write the files of their service managers; [`supervisor`] runs their commands. A file that was not
//! written here is never replaced or removed.

mod install;
mod launchd;
mod supervisor;
mod systemd;
mod unit;

pub(crate) use install::{LAST_SECONDS, run};
pub(crate) use systemd::of_a_package;
