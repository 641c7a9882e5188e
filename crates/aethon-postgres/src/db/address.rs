//! Where the database is: the URL of the configuration, judged before anything is connected.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::error::Error;

/// How long a connection attempt may take.
const CONNECT: Duration = Duration::from_secs(5);

/// A database on a server. The password never leaves it: it has no `Debug`.
#[derive(Clone)]
pub(crate) struct Address {
    config: Config,
    /// The file with the authorities to trust in place of those that browsers trust.
    authorities: Option<PathBuf>,
}

impl Address {
    pub(crate) fn parse(url: &str) -> Result<Self, Error> {
        if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
            return Err(Error::setup(
                "`storage.url` must begin with `postgres://`, or be empty for the file in the home",
            ));
        }
        let (url, authorities) = without_ours(url)?;
        let mut config: Config = url.parse().map_err(|_| {
            Error::setup(
                "`storage.url` cannot be read: write it as `postgres://user:password@host:5432/database`",
            )
        })?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(Error::setup(
                "`storage.url` names no host: write `postgres://user:password@host/database`",
            ));
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        // A server on this machine often has a self-signed certificate, and no one can listen in between.
        if !url.contains("sslmode=") {
            // Elsewhere the password and everything that is said would travel in clear.
            let is_near = config.get_hosts().iter().all(is_here) && authorities.is_none();
            config.ssl_mode(if is_near { SslMode::Disable } else { SslMode::Require });
        }
        if config.get_application_name().is_none() {
            config.application_name("aethon");
        }
        config.keepalives_idle(Duration::from_secs(20)).tcp_user_timeout(Duration::from_secs(20));
        Ok(Self { config, authorities })
    }

    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    /// The file of `sslrootcert`.
    pub(super) fn authorities(&self) -> Option<&Path> {
        self.authorities.as_deref()
    }

    /// Names the database for a person, without any secret.
    pub(crate) fn words(&self) -> String {
        let database = self.config.get_dbname().or(self.config.get_user()).unwrap_or("postgres");
        let hosts: Vec<String> = self
            .config
            .get_hosts()
            .iter()
            .map(|host| match host {
                Host::Tcp(name) => name.clone(),
                #[cfg(unix)]
                Host::Unix(path) => path.display().to_string(),
            })
            .collect();
        format!("database {database} on {}", hosts.join(", "))
    }
}

/// Takes out of an address what the client does not know: `sslrootcert`, and the modes that check a certificate, which
/// encrypted connections always do here.
fn without_ours(url: &str) -> Result<(String, Option<PathBuf>), Error> {
    let Some((place, query)) = url.split_once('?') else { return Ok((url.to_owned(), None)) };
    let (mut rest, mut authorities) = (Vec::new(), None);
    for parameter in query.split('&') {
        match parameter.split_once('=') {
            Some(("sslrootcert", path)) => {
                let path = decoded(path);
                let path = path.ok_or_else(|| Error::setup("`sslrootcert` in `storage.url` is no path"))?;
                authorities = (path != "system").then(|| PathBuf::from(path));
            }
            Some(("sslmode", "verify-full" | "verify-ca")) => rest.push("sslmode=require"),
            _ => rest.push(parameter),
        }
    }
    let query = if rest.is_empty() { String::new() } else { format!("?{}", rest.join("&")) };
    Ok((format!("{place}{query}"), authorities))
}

/// Decodes `%2F` and the like.
fn decoded(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        if byte == b'%' {
            let digits = rest.get(..2).and_then(|digits| std::str::from_utf8(digits).ok())?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &rest[2..];
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

fn is_here(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_url_is_refused_without_repeating_its_password() {
        for url in ["mysql://ada:secret@host/x", "postgres://ada:secret@host:port/x", "postgres:///x", ""] {
            let error = Address::parse(url).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.starts_with("`storage.url`") && !error.contains("secret"), "{url}: {error}");
        }
        let address =
            Address::parse("postgres://ada:secret@db.example/home").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(address.config().get_ssl_mode(), SslMode::Require);
        let mode = |url: &str| Address::parse(url).map(|address| address.config().get_ssl_mode()).ok();
        assert_eq!(mode("postgres://ada@localhost/x"), Some(SslMode::Disable));
        assert_eq!(mode("postgres://ada@[::1]/x?sslmode=require"), Some(SslMode::Require));
        assert_eq!(mode("postgres://ada@127.0.0.1,db.example/x"), Some(SslMode::Require));
        assert_eq!(mode("postgres://ada@db.example/x?sslmode=disable"), Some(SslMode::Disable));
        assert_eq!(mode("postgres://ada@db.example/x?sslmode=prefer"), Some(SslMode::Prefer));
        assert_eq!(mode("postgres://ada@db.example/x?sslmode=verify-full"), Some(SslMode::Require));
        assert_eq!(mode("postgres://ada@localhost/x?sslrootcert=/etc/ca.pem"), Some(SslMode::Require));
        let file = |url: &str| Address::parse(url).ok().and_then(|address| address.authorities);
        let found = file("postgres://ada@db/x?connect_timeout=3&sslrootcert=%2Fetc%2Fmy%20ca.pem");
        assert_eq!(found, Some(PathBuf::from("/etc/my ca.pem")));
        assert_eq!(file("postgres://ada@db/x?sslrootcert=system"), None);
        assert_eq!(address.words(), "database home on db.example");
    }
}
