//! Creates the web tools that the options allow, and says why the others are absent.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::document::DocumentReader;
use aethon_core::egress::HostRule;
use aethon_core::tool::ToolError;

use super::client::WebClient;
use super::fetch::WebFetch;
use super::github::GitHub;
use super::jsonrpc::JsonRpc;
use super::rules::Rules;
use super::search::WebSearch;
use super::target::Target;
use crate::options::Options;

/// Timeout of a call: this many request timeouts, for redirects, plus some time to process the response.
const REQUESTS: u32 = 2;
const LEEWAY: Duration = Duration::from_secs(15);

/// The tools, or why they are absent.
pub(crate) struct WebTools {
    pub(crate) fetch: WebFetch,
    pub(crate) json_rpc: JsonRpc,
    pub(crate) search: Result<WebSearch, String>,
    pub(crate) github: Result<GitHub, String>,
}

/// Creates the web tools. A service that the owner has configured may be reached by the tool that uses it, wherever it
/// is, and by no other tool.
pub(crate) fn web_tools(options: &Options, documents: Arc<dyn DocumentReader>) -> WebTools {
    let web = &options.web;
    let client = |own: Option<&str>| {
        let own = own.and_then(|address| Target::parse(address).ok());
        let own = own.map(|target| HostRule::exactly(target.host(), target.port()));
        let rules = Rules {
            allowed: web.allowed_hosts.iter().cloned().chain(own).collect(),
            own_port: options.port,
            address_file: options.address_file.clone(),
        };
        Arc::new(WebClient::new(rules, web))
    };
    let common = client(None);
    let search = web
        .search
        .as_ref()
        .ok_or_else(|| "no search service is set: set `tools.web_search.provider`".to_owned());
    let github = web.github.as_ref().ok_or_else(|| "there is no token: set `tools.github.token`".to_owned());
    WebTools {
        fetch: WebFetch::new(common.clone(), documents),
        json_rpc: JsonRpc::new(common),
        search: search.and_then(|service| WebSearch::new(client(service.base.as_deref()), service)),
        github: github.and_then(|service| GitHub::new(client(Some(&service.base)), service)),
    }
}

/// Returns the timeout of a call.
pub(super) fn call_timeout(client: &WebClient) -> Duration {
    client.timeout() * REQUESTS + LEEWAY
}

/// Returns the URL of a service with query parameters.
pub(super) fn with_query(address: &str, parameters: &[(&str, &str)]) -> Result<Target, ToolError> {
    Target::parse(address)
        .map(|target| target.with_query(parameters))
        .map_err(|refusal| ToolError::failed(refusal.to_string()))
}
