//! Mail: IMAP in, SMTP out.
//!
//! `dial` connects, `imap` speaks to the mailbox and `frame` finds the answers in what it says, `watch` reads what comes,
//! `head` and `proof` decide whether a mail counts as written by whom it names, `letter` makes an arrival of one and `body`
//! leaves out what others wrote, `files` has what came with it at hand, `thread` remembers what an answer belongs to, `reply` writes one and `smtp` sends it,
//! `token` has what an account signs in by in place of a password.
//!
//! Anybody can write any name into a mail. So it is heard only when the owner's mail server vouches for the sender, and
//! nothing is approved over mail.

mod body;
mod dial;
mod files;
mod form;
mod frame;
mod head;
mod imap;
mod letter;
mod options;
mod platform;
mod proof;
mod reply;
mod smtp;
mod thread;
mod token;
mod watch;

pub use options::{Options, Server};
pub use platform::{channel, is_address};
pub use token::TokenSource;
