//! Where the HTTP application of a daemon is: behind a listener of its own, in the server of the embedding program, or nowhere.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use aethon_core::secret::Secret;
use aethon_core::shutdown::Shutdown;
use aethon_http::mount::Mount;
use aethon_http::options::SharedSignIns;
use aethon_http::{App, Deps, Options, Server};

use crate::aethon::Aethon;
use crate::error::{Error, Result};
use crate::wiring;

/// The way into the HTTP application.
pub(crate) enum Front {
    /// There is no application.
    None,
    /// It has its own listener.
    Listener(Server),
    /// The embedding program hands requests to it.
    Mounted(Arc<App>),
}

/// The sign-ins of browsers, which outlive a restart.
pub(crate) struct SignIns {
    /// Signs the cookies.
    pub(crate) key: Secret,
    /// The list of sign-ins, if it can be stored.
    pub(crate) register: Option<File>,
    /// The list of all instances, in place of the home's.
    pub(crate) journal: Option<SharedSignIns>,
}

impl Front {
    /// Makes the application and binds its listener, as far as the configuration and the program want them.
    pub(crate) async fn open(aethon: &Aethon, sign_ins: SignIns, deps: Deps) -> Result<Self> {
        if !aethon.config.channels.webchat.enabled {
            return Ok(Self::None);
        }
        let mut options = wiring::http::options(&aethon.config, aethon.is_demo);
        options.sign_ins.key = sign_ins.key;
        options.sign_ins.register = sign_ins.register.map(Arc::new);
        options.sign_ins.journal = sign_ins.journal;
        if aethon.source.is_mounted {
            // The program listens, and the configuration says where: that decides what may be done without a token.
            let is_near = matches!(aethon_http::is_loopback_host(&options.listen.host).await, Ok(true));
            let address = if is_near { Ipv4Addr::LOCALHOST } else { Ipv4Addr::UNSPECIFIED };
            return Ok(Self::Mounted(App::new(options, deps, (address, 0).into())));
        }
        options.listen.socket = wiring::http::socket(&aethon.config, &aethon.home);
        listen(options, deps).await.map(Self::Listener)
    }

    pub(crate) fn app(&self) -> Option<Arc<App>> {
        match self {
            Self::None => None,
            Self::Listener(server) => Some(server.app()),
            Self::Mounted(app) => Some(app.clone()),
        }
    }

    pub(crate) fn mount(&self) -> Option<Mount> {
        match self {
            Self::Mounted(app) => Some(Mount::new(app.clone())),
            Self::None | Self::Listener(_) => None,
        }
    }

    pub(crate) fn local_addr(&self) -> Option<SocketAddr> {
        match self {
            Self::Listener(server) => server.local_addr(),
            Self::None | Self::Mounted(_) => None,
        }
    }

    pub(crate) fn socket_path(&self) -> Option<&Path> {
        match self {
            Self::Listener(server) => server.socket_path(),
            Self::None | Self::Mounted(_) => None,
        }
    }

    /// Serves until the shutdown, and until what was begun has ended.
    pub(crate) async fn serve(self, shutdown: Shutdown) {
        match self {
            Self::None => {}
            Self::Listener(server) => server.serve(shutdown).await,
            Self::Mounted(app) => Mount::new(app).sweep(shutdown).await,
        }
    }
}

/// Binds the listener.
async fn listen(options: Options, deps: Deps) -> Result<Server> {
    let (host, port) = (options.listen.host.clone(), options.listen.port.unwrap_or_default());
    match Server::bind(options, deps).await {
        Ok(server) => Ok(server),
        Err(error) if error.is_address_in_use() => Err(Error::refused(format!(
            "the address {host}:{port} is in use: stop the program that uses it, or set channels.webchat.port to another port (0 takes a free one)"
        ))
        .because(error)),
        Err(error) => {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
            Err(Error::refused(format!("{error}{cause}")).because(error))
        }
    }
}
