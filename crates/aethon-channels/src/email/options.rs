//! Settings of mail besides the rules, and what follows from them.

use std::time::Duration;

use aethon_core::secret::Secret;

use super::address::canonical;
use super::token::{TokenSource, Tokens};

/// Settings of mail besides the rules.
pub struct Options {
    /// The IMAP server.
    pub imap: Server,
    /// The SMTP server.
    pub smtp: Server,
    /// Whether connections are encrypted. Plain ones are allowed to this machine only.
    pub tls: bool,
    /// The account's user name.
    pub username: String,
    /// The account's password, ignored if there are tokens.
    pub password: Secret,
    /// The source of access tokens that replace the password.
    pub tokens: Option<TokenSource>,
    /// The sender of replies. If empty, the account's user name.
    pub from: String,
    /// The server whose `Authentication-Results` are trusted. If empty, none are.
    pub authserv_id: String,
    /// Whether to believe the From field without proof.
    pub trust_from: bool,
    /// How often to poll if the server cannot push.
    pub poll: Duration,
    /// The folder that is read.
    pub folder: String,
}

/// A server.
#[derive(Debug, Clone)]
pub struct Server {
    /// Its host name.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Options {
    /// Returns the address of replies, without a display name.
    pub(super) fn address(&self) -> String {
        let from = if self.from.trim().is_empty() { &self.username } else { &self.from };
        let inner = from.rsplit_once('<').map_or(from.as_str(), |(_, address)| address.trim_end_matches('>'));
        canonical(inner)
    }

    /// Returns whether any mail can be accepted at all.
    pub(super) fn proves_senders(&self) -> bool {
        self.trust_from || !self.authserv_id.trim().is_empty()
    }
}

/// The credentials of an account. Cheap to clone; clones share cached tokens.
#[derive(Clone)]
pub(super) struct Account {
    pub(super) name: String,
    pub(super) proof: Proof,
}

/// How an account authenticates.
#[derive(Clone)]
pub(super) enum Proof {
    Password(Secret),
    Tokens(Tokens),
}

impl Account {
    /// Creates the account from the options, taking the tokens out of them.
    pub(super) fn of(options: &mut Options) -> Self {
        let proof = match options.tokens.take() {
            Some(source) => Proof::Tokens(Tokens::new(source)),
            None => Proof::Password(options.password.clone()),
        };
        Self { name: options.username.clone(), proof }
    }

    /// Removes the credentials from a text of a server or library.
    pub(super) fn redacted(&self, text: &str) -> String {
        match &self.proof {
            Proof::Password(password) if password.is_empty() => text.to_owned(),
            Proof::Password(password) => text.replace(password.expose(), "***"),
            Proof::Tokens(tokens) => tokens.redacted(text),
        }
    }

    /// Returns the configuration keys to check when a sign-in is refused.
    pub(super) fn keys(&self) -> &'static str {
        match self.proof {
            Proof::Password(_) => "set channels.email.username and channels.email.password",
            Proof::Tokens(_) => {
                "set channels.email.username and channels.email.oauth_command (or oauth_token) to what gives a token for mail"
            }
        }
    }
}

/// The error while no sender can be proven.
pub(super) const UNPROVEN: &str = "channels.email.authserv_id is empty, so no sender can be proven and no mail is heard; set it to the name at the \
     beginning of the Authentication-Results that your mail server adds";
