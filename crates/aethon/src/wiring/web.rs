//! Builds the web tools: the hosts they may reach, the services they use, and their rows on the feature board.

use aethon_config::Config;
use aethon_config::schema::{SearchProvider, WebSearch};
use aethon_core::feature::{Feature, FeatureState};
use aethon_tools::{GitHubOptions, SearchOptions, SearchService, WebOptions};

/// The hosts and services of the web tools.
pub(crate) fn options(config: &Config) -> WebOptions {
    let (security, tools) = (&config.security, &config.tools);
    WebOptions::default().with(|options| {
        // Invalid rules were refused when the configuration was read.
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

/// The rows of the web tools and of the protection against what strangers write there.
pub(crate) fn features(config: &Config) -> Vec<Feature> {
    let (security, tools) = (&config.security, &config.tools);
    let reach = match security.egress_allowed_hosts.as_slice() {
        [] => "public addresses".to_owned(),
        hosts => format!("public addresses, and these hosts: {}", hosts.join(", ")),
    };
    let has_token = !tools.github.token.is_empty();
    let github = if has_token { "reads with the token; changes need approval" } else { "no token is set" };
    let asks = security.taint_requires_approval;
    let taint = match asks {
        true => "sending and running need approval once a turn contains text from outside",
        false => "text from outside is marked, and needs no approval",
    };
    let taint_key = "security.taint_requires_approval";
    vec![
        Feature::on("web", "Web pages", reach, "security.egress_allowed_hosts"),
        searching(&tools.web_search),
        Feature::new(("github", "GitHub"), FeatureState::of_switch(has_token), github, "tools.github.token"),
        Feature::new(
            ("taint", "Approval after text from outside"),
            FeatureState::of_switch(asks),
            taint,
            taint_key,
        ),
    ]
}

fn searching(search: &WebSearch) -> Feature {
    let (host, key) = (search.host.trim(), &search.api_key);
    let (state, detail) = match search.provider {
        SearchProvider::None => (FeatureState::Off, "no provider is set".to_owned()),
        SearchProvider::SearXng if host.is_empty() => {
            (FeatureState::Degraded, "tools.web_search.host is not set".to_owned())
        }
        SearchProvider::Brave | SearchProvider::Tavily if key.is_empty() => {
            (FeatureState::Degraded, "tools.web_search.api_key is not set".to_owned())
        }
        SearchProvider::SearXng => (FeatureState::On, format!("SearXNG at {host}")),
        SearchProvider::Brave => (FeatureState::On, "Brave Search".to_owned()),
        SearchProvider::Tavily => (FeatureState::On, "Tavily".to_owned()),
    };
    Feature::new(("web_search", "Web search"), state, detail, "tools.web_search.provider")
}
