//! Where the database is: the URL of the configuration, judged before anything is connected.

use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::error::Error;

/// How long a connection attempt may take.
const CONNECT: Duration = Duration::from_secs(5);

/// A database on a server. The password never leaves it: it has no `Debug`.
#[derive(Clone)]
pub(crate) struct Address(Config);

impl Address {
    pub(crate) fn parse(url: &str) -> Result<Self, Error> {
        if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
            return Err(Error::setup(
                "`storage.url` must begin with `postgres://`, or be empty for the file in the home",
            ));
        }
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
        if !url.contains("sslmode=") && config.get_hosts().iter().all(is_here) {
            config.ssl_mode(SslMode::Disable);
        }
        if config.get_application_name().is_none() {
            config.application_name("aethon");
        }
        config.keepalives_idle(Duration::from_secs(20)).tcp_user_timeout(Duration::from_secs(20));
        Ok(Self(config))
    }

    pub(super) fn config(&self) -> &Config {
        &self.0
    }

    /// Names the database for a person, without any secret.
    pub(crate) fn words(&self) -> String {
        let database = self.0.get_dbname().or(self.0.get_user()).unwrap_or("postgres");
        let hosts: Vec<String> = self
            .0
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
        assert_eq!(address.config().get_ssl_mode(), SslMode::Prefer);
        let mode = |url: &str| Address::parse(url).map(|address| address.config().get_ssl_mode()).ok();
        assert_eq!(mode("postgres://ada@localhost/x"), Some(SslMode::Disable));
        assert_eq!(mode("postgres://ada@[::1]/x?sslmode=require"), Some(SslMode::Require));
        assert_eq!(mode("postgres://ada@127.0.0.1,db.example/x"), Some(SslMode::Prefer));
        assert_eq!(address.words(), "database home on db.example");
    }
}
