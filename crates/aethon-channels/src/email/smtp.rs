//! Sends mails through the SMTP server, with one connection each, and reports the outcome.
//!
//! The SMTP library blocks, so it runs on the blocking pool.

use std::time::Duration;

use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::transport::smtp::{Error, SmtpTransport};
use lettre::{Message, Transport as _};
use tokio::time::timeout;

use super::options::{Account, Proof};
use super::token::NoToken;
use super::{Options, Server, dial};
use crate::talk::Fault;

/// How long each step of the server may take.
const STEP: Duration = Duration::from_secs(30);
/// How long sending a mail may take in total.
const TIMEOUT: Duration = Duration::from_secs(180);
/// The port on which connections are encrypted from the start.
const TLS_PORT: u16 = 465;

/// The SMTP server.
pub(super) struct Smtp {
    server: Server,
    tls: bool,
    account: Account,
}

impl Smtp {
    pub(super) fn new(options: &Options, account: &Account) -> Self {
        Self { server: options.smtp.clone(), tls: options.tls, account: account.clone() }
    }

    /// Sends a mail.
    pub(super) async fn send(&self, message: Message) -> Result<(), Fault> {
        self.ask(move |transport| transport.send(&message).map(drop)).await
    }

    /// Signs in and does nothing else.
    pub(super) async fn look(&self) -> Result<(), Fault> {
        let looked = self.ask(|transport| transport.test_connection().map(drop));
        looked.await
    }

    async fn ask(
        &self,
        ask: impl FnOnce(&SmtpTransport) -> Result<(), Error> + Send + 'static,
    ) -> Result<(), Fault> {
        let proof = match &self.account.proof {
            Proof::Password(password) => password.clone(),
            Proof::Tokens(tokens) => tokens.current().await.map_err(|NoToken(why)| Fault::later(why))?,
        };
        let transport = self.transport(proof.expose()).await?;
        let asked = tokio::task::spawn_blocking(move || ask(&transport));
        match timeout(TIMEOUT, asked).await {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(Ok(Err(error))) => Err(match (self.fault(&error), &self.account.proof) {
                (Fault::Refused(message) | Fault::Identity(message), Proof::Tokens(tokens))
                    if tokens.refused(&proof) =>
                {
                    Fault::later(message)
                }
                (fault, _) => fault,
            }),
            Ok(Err(_)) => Err(Fault::Doubtful("sending the mail was broken off".into())),
            Err(_) => Err(Fault::Doubtful("the SMTP server did not answer in time".into())),
        }
    }

    async fn transport(&self, proof: &str) -> Result<SmtpTransport, Fault> {
        let host = self.server.host.trim_matches(['[', ']']);
        let builder = if self.tls {
            let parameters = TlsParameters::new(host.to_owned());
            let parameters =
                parameters.map_err(|error| Fault::Refused(format!("the SMTP server: {error}")))?;
            let tls = if self.server.port == TLS_PORT {
                Tls::Wrapper(parameters)
            } else {
                Tls::Required(parameters)
            };
            SmtpTransport::builder_dangerous(host).tls(tls)
        } else {
            // Connect to exactly the address that was checked.
            let found = tokio::net::lookup_host((host, self.server.port)).await;
            let mut found = found.map_err(|error| Fault::later(format!("the SMTP server: {error}")))?;
            let here = found.find(|address| address.ip().to_canonical().is_loopback());
            let here = here.ok_or_else(|| Fault::Refused(dial::NOT_HERE.into()))?;
            SmtpTransport::builder_dangerous(here.ip().to_string()).tls(Tls::None)
        };
        let credentials = Credentials::new(self.account.name.clone(), proof.to_owned());
        let builder = match self.account.proof {
            Proof::Password(_) => builder,
            Proof::Tokens(_) => builder.authentication(vec![Mechanism::Xoauth2]),
        };
        Ok(builder.port(self.server.port).timeout(Some(STEP)).credentials(credentials).build())
    }

    fn fault(&self, error: &Error) -> Fault {
        let mut text = error.to_string();
        let mut source = std::error::Error::source(error);
        while let Some(cause) = source {
            // The operating system's error is sufficient, and the library already includes it.
            if let Some(cause) = cause.downcast_ref::<std::io::Error>() {
                text = dial::words(cause);
                break;
            }
            text = format!("{text}: {cause}");
            source = cause.source();
        }
        let text = self.account.redacted(&text);
        let message = format!("the SMTP server: {text}");
        let is_sign_in = ["530", "534", "535", "538"].iter().any(|code| text.contains(&format!("({code})")));
        // The library's messages when a server sends a challenge, and when it does not support tokens.
        let is_about_tokens = matches!(self.account.proof, Proof::Tokens(_))
            && ["challenge", "authentication mechanism"].iter().any(|word| text.contains(word));
        if is_sign_in || is_about_tokens {
            return Fault::Identity(format!("{message}; {}", self.account.keys()));
        }
        match error {
            error if error.is_permanent() || error.is_client() => Fault::Refused(message),
            error if error.is_transient() => Fault::later(message),
            // Unknown whether it was accepted. The next attempt uses the same id.
            _ => Fault::Doubtful(message),
        }
    }
}
