//! Mail: IMAP in, SMTP out.
//!
//! `dial` connects, `imap` talks to the mailbox and `frame` delimits its responses, `watch` reads incoming mail,
//! `head` and `proof` decide whether the sender is proven, `letter` converts a mail, `body` separates what others
//! wrote (recognised by `foreign` and `subject`, by the `phrases` of many languages), `files` caches attachments,
//! `thread` remembers threads, `reply` composes a mail and `smtp` sends it, `token` provides access tokens in place of a password.
//!
//! Anyone can put any name in a mail. So a mail is accepted only if the owner's mail server vouches for the sender,
//! and nothing can be approved by mail.

mod body;
mod dial;
mod files;
mod foreign;
mod form;
mod frame;
mod head;
mod imap;
#[cfg(test)]
mod languages;
mod letter;
mod options;
mod phrases;
mod platform;
mod proof;
mod reply;
mod smtp;
mod subject;
mod thread;
mod token;
mod watch;

pub use options::{Options, Server};
pub use platform::{channel, is_address};
pub use token::TokenSource;
