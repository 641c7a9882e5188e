//! Signing in to remote MCP servers, and where the tokens of it are kept: with the other credentials of the home, as
//! `mcp.NAME.oauth`.

use std::any::Any;
use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use aethon_config::credentials;
use aethon_config::schema::McpServer;
use aethon_core::async_trait::async_trait;
use aethon_core::exchange::Exchange;
use aethon_core::live::Live;
use aethon_core::secret::Secret;
use aethon_files::Lock;
use aethon_guard::redact::Redactor;
use aethon_mcp::oauth::{self, GrantStore, Login, LoginOptions, Preset, Redirect, Returned};
use tokio::sync::mpsc::Receiver;
use tokio::task::spawn_blocking;

use crate::error::{Error, Result};
use crate::prepared::Prepared;
use crate::wiring::tool_options;

/// How many grants of a server stay masked: a token that was renewed may be good for some time yet.
const MASKED: usize = 4;

/// Held while the redactor gets further values.
static MASKING: Mutex<()> = Mutex::new(());

/// Has the redactor mask these values from now on, and the tokens of sign-ins as before.
pub(crate) fn mask_anew(live: &Live<Redactor>, values: impl IntoIterator<Item = Secret>) {
    let _masking = MASKING.lock().unwrap_or_else(PoisonError::into_inner);
    live.set(Redactor::new(values).with_changing_of(&live.get()));
}

/// Returns whether the owner has configured a token of another source.
pub(crate) fn has_own_token(server: &McpServer) -> bool {
    server.headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"))
}

/// Returns the transport for requests about a sign-in. The server says where they go, so the rules for the tools hold.
pub(crate) fn outside(prepared: &Prepared, url: &str) -> Arc<dyn Exchange> {
    Arc::new(aethon_tools::outside(&tool_options::options(prepared), oauth::hosts(url)))
}

/// Returns where the tokens for a server are kept.
pub(crate) fn store(prepared: &Prepared, name: &str) -> Arc<dyn GrantStore> {
    let seen = Arc::default();
    let place =
        Place { folder: prepared.home.credentials(), run: prepared.home.run(), name: credential(name) };
    Arc::new(CredentialStore { place, seen, redactor: prepared.shared.redactor.clone() })
}

fn credential(server: &str) -> String {
    format!("mcp.{server}.oauth")
}

struct CredentialStore {
    place: Place,
    seen: Arc<Mutex<VecDeque<Secret>>>,
    redactor: Live<Redactor>,
}

#[derive(Clone)]
struct Place {
    folder: PathBuf,
    run: PathBuf,
    name: String,
}

impl CredentialStore {
    /// Masks a document in everything that is logged, recorded and shown.
    fn mask(&self, document: &Secret) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.iter().any(|known| known.expose() == document.expose()) {
            return;
        }
        seen.push_back(document.clone());
        while seen.len() > MASKED {
            seen.pop_front();
        }
        let values = seen.iter().flat_map(|document| credentials::parts(document.expose())).collect();
        let _masking = MASKING.lock().unwrap_or_else(PoisonError::into_inner);
        self.redactor.set(self.redactor.get().with_changing(&self.place.name, values));
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(Place) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let place = self.place.clone();
        spawn_blocking(move || work(place)).await.unwrap_or_else(|error| Err(io::Error::other(error)))
    }
}

#[async_trait]
impl GrantStore for CredentialStore {
    async fn load(&self) -> io::Result<Option<Secret>> {
        let document = self.blocking(|place| credentials::load(&place.folder, &place.name)).await?;
        document.iter().for_each(|document| self.mask(document));
        Ok(document)
    }

    async fn save(&self, document: &Secret) -> io::Result<()> {
        self.mask(document);
        let document = document.clone();
        self.blocking(move |place| credentials::store(&place.folder, &place.name, &document)).await
    }

    async fn remove(&self) -> io::Result<bool> {
        self.blocking(|place| credentials::remove(&place.folder, &place.name)).await
    }

    async fn lock(&self) -> io::Result<Box<dyn Any + Send>> {
        let lock = self.blocking(|place| {
            std::fs::create_dir_all(&place.run)?;
            Lock::take(&place.run, &place.name)
        });
        Ok(Box::new(lock.await?))
    }
}

/// A sign-in at an MCP server, for the person at a terminal.
pub struct McpSignIn {
    login: Login,
    redirect: Redirect,
}

impl McpSignIn {
    /// Prepares a sign-in at the configured server of this name.
    ///
    /// # Errors
    ///
    /// There is no such server, or one cannot sign in there.
    pub async fn begin(prepared: &Prepared, name: &str) -> Result<Self> {
        let (server, url) = remote(prepared, name)?;
        let failed = |error: String| Error::failed(format!("{name}: {error}"));
        if has_own_token(server) {
            return Err(Error::refused(format!(
                "mcp.servers.{name}.headers has an Authorization already; remove it to sign in instead"
            )));
        }
        let redirect = Redirect::open(server.oauth.redirect_port).await.map_err(|error| {
            failed(format!("port {} for the browser to come back to: {error}", server.oauth.redirect_port))
        })?;
        let headers = server.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let options = LoginOptions {
            url: url.to_owned(),
            headers,
            preset: preset(server),
            exchange: outside(prepared, url),
            store: store(prepared, name),
            clock: prepared.clock(),
            redirect: redirect.address().to_owned(),
        };
        let login = Login::begin(options).await.map_err(|error| failed(error.to_string()))?;
        Ok(Self { login, redirect })
    }

    /// Returns the address that the person opens in a browser.
    pub fn address(&self) -> &str {
        self.login.address()
    }

    /// Returns the host at which the person signs in.
    pub fn host(&self) -> &str {
        self.login.host()
    }

    /// Waits until the person comes back, by the browser on this machine or by an address that they paste, and keeps the
    /// tokens. `note` gets a sentence about useless pasted text.
    ///
    /// # Errors
    ///
    /// The sign-in was refused, or gave no tokens.
    pub async fn complete(&self, pasted: &mut Receiver<String>, note: impl Fn(&str)) -> Result<()> {
        let returned = self.redirect.wait(|returned| self.login.is_answered_by(returned));
        let mut returned = std::pin::pin!(returned);
        let returned = loop {
            tokio::select! {
                returned = &mut returned => break returned,
                Some(line) = pasted.recv() => match Returned::parse(&line) {
                    Some(returned) if self.login.is_answered_by(&returned) => break returned,
                    Some(_) => note("that address belongs to another sign-in; paste the one of this sign-in"),
                    None => note("that is not the address that the browser ended at"),
                },
            }
        };
        self.login.finish(&returned).await.map_err(|error| Error::failed(error.to_string()))
    }

    /// Signs out of a server: gives its tokens back and forgets them. Returns `false` if there were none.
    ///
    /// # Errors
    ///
    /// There is no such server, or the tokens cannot be removed.
    pub async fn sign_out(prepared: &Prepared, name: &str) -> Result<bool> {
        let (_, url) = remote(prepared, name)?;
        let (exchange, store) = (outside(prepared, url), store(prepared, name));
        let out = oauth::sign_out(exchange, prepared.clock(), &*store).await;
        out.map_err(|error| Error::failed(error.to_string()))
    }
}

fn remote<'p>(prepared: &'p Prepared, name: &str) -> Result<(&'p McpServer, &'p str)> {
    let servers = &prepared.config.mcp.servers;
    let Some(server) = servers.get(name) else {
        let names: Vec<_> = servers.iter().filter(|(_, server)| server.url.is_some()).collect();
        let names: Vec<&str> = names.into_iter().map(|(name, _)| name.as_str()).collect();
        let known = if names.is_empty() { "none is configured".to_owned() } else { names.join(", ") };
        return Err(Error::refused(format!("there is no MCP server {name:?}; with an address: {known}")));
    };
    match server.url.as_deref().filter(|url| !url.trim().is_empty()) {
        Some(url) => Ok((server, url)),
        None => Err(Error::refused(format!(
            "mcp.servers.{name} is a program, which gets its credentials in `env`; only servers with a `url` are signed in to"
        ))),
    }
}

fn preset(server: &McpServer) -> Preset {
    let oauth = &server.oauth;
    let filled = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    Preset {
        client_id: filled(&oauth.client_id),
        client_secret: Some(oauth.client_secret.clone()).filter(|secret| !secret.is_empty()),
        scopes: oauth.scopes.clone(),
        issuer: filled(&oauth.issuer),
    }
}
