//! What mail needs besides the rules, and what follows from it.

use std::time::Duration;

use aethon_core::secret::Secret;

use super::token::{TokenSource, Tokens};

/// What mail needs besides the rules.
pub struct Options {
    /// The IMAP server.
    pub imap: Server,
    /// The SMTP server.
    pub smtp: Server,
    /// Whether connections are encrypted. Plain ones are made to this machine only.
    pub tls: bool,
    /// The account's name.
    pub username: String,
    /// The account's password; without a meaning where there are tokens.
    pub password: Secret,
    /// Where access tokens come from, by which the account signs in in place of a password.
    pub tokens: Option<TokenSource>,
    /// The sender of replies; empty for the account's name.
    pub from: String,
    /// Whose `Authentication-Results` count; empty for nobody's.
    pub authserv_id: String,
    /// Whether a mail is taken at its word about who wrote it.
    pub trust_from: bool,
    /// How often to look where the server cannot tell by itself.
    pub poll: Duration,
    /// The folder that is read.
    pub folder: String,
}

/// A server.
#[derive(Debug, Clone)]
pub struct Server {
    /// Its name.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Options {
    /// The address that replies come from, without a name before it.
    pub(super) fn address(&self) -> String {
        let from = if self.from.trim().is_empty() { &self.username } else { &self.from };
        let inner = from.rsplit_once('<').map_or(from.as_str(), |(_, address)| address.trim_end_matches('>'));
        inner.trim().to_ascii_lowercase()
    }

    /// Whether anybody's mail can be heard at all.
    pub(super) fn proves_senders(&self) -> bool {
        self.trust_from || !self.authserv_id.trim().is_empty()
    }
}

/// How an account signs in. Cheap to clone; clones share what they know of tokens.
#[derive(Clone)]
pub(super) struct Account {
    pub(super) name: String,
    pub(super) proof: Proof,
}

/// By what an account signs in.
#[derive(Clone)]
pub(super) enum Proof {
    Password(Secret),
    Tokens(Tokens),
}

impl Account {
    /// The account of these options, whose tokens it takes over.
    pub(super) fn of(options: &mut Options) -> Self {
        let proof = match options.tokens.take() {
            Some(source) => Proof::Tokens(Tokens::new(source)),
            None => Proof::Password(options.password.clone()),
        };
        Self { name: options.username.clone(), proof }
    }

    /// A text of a server or a library, without what the account signs in by.
    pub(super) fn redacted(&self, text: &str) -> String {
        match &self.proof {
            Proof::Password(password) if password.is_empty() => text.to_owned(),
            Proof::Password(password) => text.replace(password.expose(), "***"),
            Proof::Tokens(tokens) => tokens.redacted(text),
        }
    }

    /// What to set where a server does not take the sign-in.
    pub(super) fn keys(&self) -> &'static str {
        match self.proof {
            Proof::Password(_) => "set channels.email.username and channels.email.password",
            Proof::Tokens(_) => {
                "set channels.email.username and channels.email.oauth_command (or oauth_token) to what gives a token for mail"
            }
        }
    }
}

/// What is said while nobody's mail can be heard.
pub(super) const UNPROVEN: &str = "channels.email.authserv_id is empty, so no sender can be proven and no mail is heard; set it to the name at the \
     beginning of the Authentication-Results that your mail server adds";
