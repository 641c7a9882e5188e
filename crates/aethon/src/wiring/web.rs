//! What the web tools reach and which services they use.

use aethon_config::Config;
use aethon_config::schema::{SearchProvider, WebSearch};
use aethon_tools::{GitHubOptions, SearchOptions, SearchService, WebOptions};

/// The reach of the web tools.
pub(crate) fn options(config: &Config) -> WebOptions {
    let (security, tools) = (&config.security, &config.tools);
    WebOptions::default().with(|options| {
        // What is no rule was refused when the configuration was read.
        options.allowed_hosts =
            security.egress_allowed_hosts.iter().filter_map(|rule| rule.parse().ok()).collect();
        options.search = search(&tools.web_search);
        options.github = (!tools.github.token.is_empty()).then(|| GitHubOptions {
            base: tools.github.api_base.clone(),
            token: tools.github.token.clone(),
        });
    })
}

fn search(search: &WebSearch) -> Option<SearchOptions> {
    let service = match search.provider {
        SearchProvider::None => return None,
        SearchProvider::SearXng => SearchService::SearXng,
        SearchProvider::Brave => SearchService::Brave,
        SearchProvider::Tavily => SearchService::Tavily,
    };
    let base = (!search.host.trim().is_empty()).then(|| search.host.clone());
    Some(SearchOptions { service, base, key: search.api_key.clone() })
}
