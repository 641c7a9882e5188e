//! Makes the connections of all tools: resolves the host once, checks every address, and connects only to those that
//! passed. The name is not resolved again in between, so DNS rebinding has no effect. The chain contains no proxy.

use std::sync::Arc;

use ureq::Error;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    ConnectionDetails, Connector, NextTimeout, RustlsConnector, TcpConnector, Transport,
};

use super::options::Names;
use super::rules::Rules;

/// Maximum number of addresses taken per host; the library's capacity.
const MAX_ADDRESSES: usize = 16;

/// Resolves hosts.
#[derive(Debug, Default)]
pub(super) struct HostResolver {
    pub(super) names: Option<Arc<dyn Names>>,
}

impl Resolver for HostResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let Some(names) = &self.names else {
            return DefaultResolver::default().resolve(uri, config, timeout);
        };
        let is_tls = uri.scheme_str() == Some("https");
        let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let known = names.addresses(uri.host().unwrap_or_default(), port)?;
        if known.is_empty() {
            return Err(Error::HostNotFound);
        }
        let mut addresses = self.empty();
        known.into_iter().take(MAX_ADDRESSES).for_each(|address| addresses.push(address));
        Ok(addresses)
    }
}

/// Connects only to addresses that the rules allow.
#[derive(Debug)]
pub(super) struct FilteredConnector {
    pub(super) rules: Arc<Rules>,
    pub(super) tcp: TcpConnector,
}

impl Connector<()> for FilteredConnector {
    type Out = <TcpConnector as Connector<()>>::Out;

    fn connect(&self, details: &ConnectionDetails, chained: Option<()>) -> Result<Option<Self::Out>, Error> {
        let host = details.uri.host().unwrap_or_default();
        for address in &details.addrs {
            self.rules.check(host, *address).map_err(|refusal| Error::Other(Box::new(refusal)))?;
        }
        self.tcp.connect(details, chained)
    }
}

/// TLS whose root certificates are loaded once for all requests.
#[derive(Debug, Clone, Default)]
pub(super) struct Tls(Arc<RustlsConnector>);

impl<In: Transport> Connector<In> for Tls {
    type Out = <RustlsConnector as Connector<In>>::Out;

    fn connect(&self, details: &ConnectionDetails, chained: Option<In>) -> Result<Option<Self::Out>, Error> {
        self.0.connect(details, chained)
    }
}
