//! Mail: IMAP in, SMTP out.
//!
//! `dial` connects, `imap` talks to the mailbox and `frame` delimits its responses, `watch` reads incoming mail,
//! `head`, `address`, `machine` and `proof` decide whether the sender is proven and a person, and `ledger` bounds how often one
//! is answered. `letter` converts a mail: `mime` takes it apart (with `transfer`, `charset` and `encoded_words`), `parts` gathers
//! its words and files, which `lines`, `page` (with `marks`) and `cards` read, and `body` separates other people's words (recognised by
//! `foreign` and `subject`, by the `phrases` of many languages). `files` caches attachments, `thread` remembers threads, `notes`
//! keeps remarks for the next reply, `reply` composes a mail and `smtp` sends it, `token` provides access tokens in place of a password.
//!
//! Anyone can put any name in a mail. So a mail is accepted only if the owner's mail server vouches for the sender,
//! and nothing can be approved by mail.

mod address;
mod body;
mod cards;
mod charset;
#[cfg(test)]
mod corpus;
mod dial;
mod encoded_words;
mod files;
mod foreign;
mod form;
mod frame;
mod head;
mod imap;
#[cfg(test)]
mod languages;
mod ledger;
mod letter;
mod lines;
mod machine;
mod marks;
mod mime;
mod notes;
mod options;
mod page;
mod parts;
mod phrases;
mod platform;
mod proof;
mod reply;
mod smtp;
mod subject;
#[cfg(test)]
mod thirty;
mod thread;
mod token;
mod transfer;
mod watch;

pub use address::canonical;
pub use options::{Options, Server};
pub use platform::{channel, is_address};
pub use token::TokenSource;
