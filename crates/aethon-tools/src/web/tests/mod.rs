//! The web tools against real servers on this machine, which the owner's setting opens to them.

mod bounds;
mod reach;
mod server;
mod services;

use std::sync::Arc;

use aethon_core::document::{DocumentReader, NoDocuments};
use aethon_core::hook::TurnContext;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::Inbound;
use aethon_core::surface::Unattended;
use aethon_core::tool::{Tool, ToolContext, ToolError};
use serde_json::Value;

use super::{WebOptions, web_tools};
use crate::options::Options;

pub(super) use self::server::Server;

/// Options that allow these hosts.
pub(super) fn options(allowed: &[&str], change: impl FnOnce(&mut WebOptions)) -> Options {
    Options::default().with(|options| {
        options.web.allowed_hosts = allowed.iter().map(|rule| rule.parse().unwrap()).collect();
        change(&mut options.web);
    })
}

pub(super) fn no_documents() -> Arc<dyn DocumentReader> {
    Arc::new(NoDocuments::default())
}

pub(super) fn fetcher(options: &Options) -> Arc<dyn Tool> {
    Arc::new(web_tools(options, no_documents()).fetch)
}

pub(super) async fn call(tool: &dyn Tool, input: Value) -> Result<String, ToolError> {
    let inbound = Inbound::say(SessionId::of("webchat", "a").unwrap(), "look it up");
    let turn = TurnContext::of(TurnId::fresh(), &inbound);
    let context = ToolContext::of(&turn, Arc::new(Unattended), 12_000);
    tool.call(&context, input).await.map(|output| output.to_text())
}

/// Fetches a URL with the loopback address allowed.
pub(super) async fn fetch(url: &str) -> Result<String, ToolError> {
    let options = options(&["127.0.0.1"], |_| {});
    call(&*fetcher(&options), serde_json::json!({"url": url})).await
}

#[test]
fn web_tools_declare_untrusted_results_and_their_effects() {
    let options = options(&[], |web| {
        let (service, base) = (super::SearchService::SearXng, Some("http://127.0.0.1:8888".to_owned()));
        web.search = Some(super::SearchOptions { service, base, key: Default::default() });
        let (base, token) = ("https://api.github.com".to_owned(), aethon_core::secret::Secret::new("t"));
        web.github = Some(super::GitHubOptions { base, token });
    });
    let tools = web_tools(&options, no_documents());
    let (search, github) = (tools.search.map_err(drop).unwrap(), tools.github.map_err(drop).unwrap());
    let all: [(&dyn Tool, bool); 4] =
        [(&tools.fetch, true), (&tools.json_rpc, false), (&search, true), (&github, false)];
    for (tool, reads_only) in all {
        let spec = tool.spec();
        assert!(spec.untrusted_output && spec.sends_or_runs(), "{}", spec.name);
        assert_eq!(spec.read_only, reads_only, "{}", spec.name);
        assert!(spec.timeout.is_some(), "{}", spec.name);
    }
}

#[test]
fn unconfigured_tools_are_absent_and_name_their_keys() {
    let tools = web_tools(&options(&[], |_| {}), no_documents());
    assert!(tools.search.err().unwrap().contains("tools.web_search.provider"));
    assert!(tools.github.err().unwrap().contains("tools.github.token"));
    for (service, key) in [
        (super::SearchService::SearXng, "tools.web_search.host"),
        (super::SearchService::Brave, "tools.web_search.api_key"),
        (super::SearchService::Tavily, "tools.web_search.api_key"),
    ] {
        let search = super::SearchOptions { service, base: None, key: Default::default() };
        let tools = web_tools(&options(&[], |web| web.search = Some(search)), no_documents());
        let why = tools.search.err().unwrap();
        assert!(why.contains(key), "{why}");
    }
}
