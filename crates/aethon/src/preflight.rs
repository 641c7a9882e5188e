//! Every reason to refuse a start, in one place, reported all at once.
//!
//! Problems visible in the configuration alone are rejected when it is loaded. This module checks the machine and the
//! combination of settings: a public address without a token, a sandbox that is not there.

use aethon_agent::pricing_key;
use aethon_config::Config;
use aethon_config::schema::{Budget, Unpriced};
use aethon_core::live::Live;
use aethon_core::sandbox::Sandbox;
use aethon_core::schedule::zone_warning;
use aethon_core::secret::Secret;
use aethon_guard::MemoryGuard;
use aethon_http::is_loopback_host;
use aethon_http::options::Network;
use aethon_tools::Protection;
use jiff::tz::TimeZone;

use crate::flags::Flags;
use crate::sandbox_reach;

/// The shortest token or secret that counts as hard to guess, in characters.
const MIN_SECRET_LENGTH: usize = 16;

/// Collects every reason not to start, one sentence each, naming the key, the value and the remedy.
pub(crate) async fn problems(config: &Config, flags: &Flags) -> Vec<String> {
    let mut problems = Vec::new();
    if config.channels.webchat.enabled && config.channels.webchat.tcp_port().is_some() {
        problems.extend(exposed_bind(config, flags).await);
    }
    let server = &config.server;
    for (key, networks) in
        [("server.trusted_proxies", &server.trusted_proxies), ("server.health_from", &server.health_from)]
    {
        for network in networks.iter().filter(|network| Network::parse(network).is_none()) {
            problems.push(format!(
                "{key} has {:?}, which is not an address or network; write it as \"10.0.0.2\" or \"10.0.0.0/8\"",
                aethon_config::shown(network)
            ));
        }
    }
    if let Err(error) = MemoryGuard::new(Live::default(), &config.memory.guard_patterns) {
        problems.push(format!("memory.guard_patterns: {error}; correct or remove it"));
    }
    problems.extend(sandbox_reach::problems(config).await);
    problems.extend(crate::backup::problem(config));
    problems
}

/// Reports tokens and secrets that can be guessed, one sentence each with the remedy.
pub(crate) fn short_secrets(config: &Config) -> Vec<String> {
    let keys =
        [("dashboard.auth_token", &config.dashboard.auth_token), ("webhook.secret", &config.webhook.secret)];
    let is_short = |secret: &Secret| !secret.is_empty() && length(secret) < MIN_SECRET_LENGTH;
    let short = keys.into_iter().filter(|(_, secret)| is_short(secret));
    short
        .map(|(key, secret)| {
            let length = length(secret);
            let characters = if length == 1 { "character" } else { "characters" };
            format!(
                "{key} has only {length} {characters} and can be guessed: use at least {MIN_SECRET_LENGTH}, for example the output of \
                 `openssl rand -hex 24`"
            )
        })
        .collect()
}

fn length(secret: &Secret) -> usize {
    secret.expose().trim().chars().count()
}

/// Warns of guessable secrets and of an address that others can reach.
pub(crate) async fn warnings(config: &Config) -> Vec<String> {
    let webchat = &config.channels.webchat;
    let mut warnings = short_secrets(config);
    warnings.extend(zone_warning(&TimeZone::system()));
    let protection = Protection::of_this_machine();
    if config.security.sandbox == Sandbox::None && !protection.missing().is_empty() {
        warnings.push(protection.describe());
    }
    warnings.extend(sandbox_reach::warnings(config).await);
    if protection.is_root {
        warnings.push(
            "Aethon runs as root, so no account limits what its commands and files can reach; run it as a user of its own"
                .into(),
        );
    }
    let has_port = webchat.enabled && webchat.tcp_port().is_some();
    if !has_port || !matches!(is_loopback_host(&webchat.host).await, Ok(false)) {
        return warnings;
    }
    if config.dashboard.auth_token.is_empty() {
        warnings.push(format!(
            "{:?} is reachable from other machines and there is no token: only an authenticating proxy protects it",
            webchat.host
        ));
    }
    if config.webhook.enabled && config.webhook.secret.is_empty() {
        warnings.push(
            "webhooks are off, because webhook.secret is empty and other machines reach the address".into(),
        );
    }
    warnings
}

/// Describes in a few words how the daily ceiling treats models without a known price.
pub(crate) fn budget(budget: &Budget, unpriced: &[String]) -> String {
    if budget.daily_usd <= 0.0 {
        return "no daily limit".into();
    }
    let ceiling = format!("{} USD a day", budget.daily_usd);
    match unpriced_models(budget, unpriced) {
        Some(sentence) => format!("{ceiling}; {sentence}"),
        None => ceiling,
    }
}

/// Explains how models without a known price are treated, with the keys to set. `None` without such models.
pub(crate) fn unpriced_models(budget: &Budget, unpriced: &[String]) -> Option<String> {
    let keys: Vec<String> = unpriced.iter().map(|model| pricing_key(model)).collect();
    if keys.is_empty() {
        return None;
    }
    let (models, keys) = (unpriced.join(", "), keys.join(", "));
    Some(match budget.unpriced {
        Unpriced::Refuse => format!(
            "calls to {models} are refused, because the price is unknown: set {keys}, or budget.unpriced = \"allow\""
        ),
        Unpriced::Allow => {
            format!(
                "the price of {models} is unknown, so its calls do not count against the budget: set {keys}"
            )
        }
    })
}

async fn exposed_bind(config: &Config, flags: &Flags) -> Option<String> {
    let host = &config.channels.webchat.host;
    match is_loopback_host(host).await {
        Ok(true) => None,
        Ok(false) if flags.insecure_bind => None,
        // A short token causes a warning, not a refusal: the specification asks for a token of any length.
        Ok(false) if !config.dashboard.auth_token.is_empty() => None,
        Ok(false) => Some(format!(
            "channels.webchat.host is {host:?}, which other machines can reach, and dashboard.auth_token is empty: set a token \
             (for example `aethon-cli secrets set dashboard` and dashboard.auth_token = \"${{credential:dashboard}}\"), \
             or bind 127.0.0.1, or start with --insecure-bind behind your own authenticating proxy"
        )),
        Err(_) => Some(format!(
            "channels.webchat.host is {host:?}, which does not resolve to an address of this machine; use 127.0.0.1, or 0.0.0.0 with a dashboard.auth_token"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn problems_of(change: impl FnOnce(&mut Config), flags: &Flags) -> String {
        let mut config = Config::default();
        change(&mut config);
        problems(&config, flags).await.join("\n")
    }

    #[tokio::test]
    async fn an_exposed_bind_needs_a_token_or_the_flag() {
        let expose = |config: &mut Config| config.channels.webchat.host = "0.0.0.0".into();
        let refusal = problems_of(expose, &Flags::default()).await;
        for word in ["channels.webchat.host", "0.0.0.0", "dashboard.auth_token", "--insecure-bind"] {
            assert!(refusal.contains(word), "{word} is not in {refusal}");
        }
        assert_eq!(problems_of(expose, &Flags { insecure_bind: true, ..Flags::default() }).await, "");
        let mut config = Config::default();
        // A missing kernel feature is reported whatever the address.
        let said = warnings(&config).await.join("; ");
        assert!(!said.contains("token"), "nobody else reaches it: {said}");
        expose(&mut config);
        let said = warnings(&config).await.join("; ");
        assert!(said.contains("no token") && said.contains("webhook.secret"), "{said}");
        let with_token = |config: &mut Config| {
            expose(config);
            config.dashboard.auth_token = Secret::new("a token that nobody guesses");
        };
        assert_eq!(problems_of(with_token, &Flags::default()).await, "");
    }

    #[tokio::test]
    async fn a_short_token_is_a_warning_and_does_not_prevent_a_start() {
        let short = |config: &mut Config| config.dashboard.auth_token = Secret::new("fifteen letters");
        let mut config = Config::default();
        short(&mut config);
        config.webhook.secret = Secret::new("s3cret");
        let said = warnings(&config).await.join("; ");
        assert!(
            said.contains("auth_token has only 15") && said.contains("webhook.secret has only 6"),
            "{said}"
        );
        let exposed = |config: &mut Config| {
            short(config);
            config.channels.webchat.host = "0.0.0.0".into();
        };
        assert_eq!(problems_of(exposed, &Flags::default()).await, "");
    }

    #[tokio::test]
    async fn startup_reports_every_problem() {
        let refusal = problems_of(
            |config| {
                config.channels.webchat.host = "::".into();
                config.server.trusted_proxies = vec!["proxy".into()];
                config.security.sandbox = Sandbox::Docker;
                config.security.sandbox_network = "host".into();
            },
            &Flags::default(),
        )
        .await;
        for word in ["channels.webchat.host", "server.trusted_proxies", "security.sandbox_network"] {
            assert!(refusal.contains(word), "{word} is not in {refusal}");
        }
    }
}
