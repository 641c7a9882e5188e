//! What mail needs besides the rules, and what follows from it.

use std::time::Duration;

use aethon_core::secret::Secret;

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
    /// The account's password.
    pub password: Secret,
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

    /// A text of a server or a library, without the password.
    pub(super) fn redacted(&self, text: &str) -> String {
        let password = self.password.expose();
        if password.is_empty() { text.to_owned() } else { text.replace(password, "***") }
    }
}

/// What is said while nobody's mail can be heard.
pub(super) const UNPROVEN: &str = "channels.email.authserv_id is empty, so no sender can be proven and no mail is heard; set it to the name at the \
     beginning of the Authentication-Results that your mail server adds";
