//! Checks what tools can reach: allowed hosts and the services they use.

use aethon_core::egress::HostRule;

use super::address;
use crate::echo::quoted;
use crate::path::{KeyPath, Step};
use crate::remark::Remarks;
use crate::schema::{Config, SearchProvider};

/// The kinds of sockets that `security.allowed_sockets` can open.
const SOCKETS: [&str; 8] =
    ["ssh-agent", "gpg-agent", "docker", "dbus", "wayland", "x11", "sound", "terminals"];
pub(super) fn check(config: &Config, remarks: &mut Remarks) {
    let security = KeyPath::of(["security"]);
    for (index, entry) in config.security.egress_allowed_hosts.iter().enumerate() {
        if let Err(allowed) = entry.parse::<HostRule>() {
            let key = security.key("egress_allowed_hosts").join(Step::Index(index));
            remarks.problem(key, quoted(entry), allowed.to_string());
        }
    }
    for (index, entry) in config.security.allowed_sockets.iter().enumerate() {
        let is_path = entry.starts_with('/') || entry.starts_with("~/");
        if !is_path && !SOCKETS.contains(&entry.as_str()) {
            let key = security.key("allowed_sockets").join(Step::Index(index));
            let allowed = format!("one of {}, or a path that begins with / or ~/", SOCKETS.join(", "));
            remarks.problem(key, format!("the string {entry:?}"), allowed);
        }
    }
    if config.security.taint_requires_approval && !config.security.mark_untrusted_content {
        remarks.warning(
            security.key("taint_requires_approval"),
            "with security.mark_untrusted_content off, text from outside is noticed in the turn that brings it and not in \
             later ones",
        );
    }
    let (search, key) = (&config.tools.web_search, KeyPath::of(["tools", "web_search"]));
    if !search.host.trim().is_empty() {
        address::service(key.key("host"), &search.host, remarks);
    }
    let missing = match search.provider {
        SearchProvider::SearXng => search.host.trim().is_empty().then_some("host"),
        SearchProvider::Brave | SearchProvider::Tavily => search.api_key.is_empty().then_some("api_key"),
        SearchProvider::None => None,
    };
    if let Some(missing) = missing {
        let message = format!("web_search is unavailable until {} is set", key.key(missing));
        remarks.warning(key.key("provider"), message);
    }
    address::service(KeyPath::of(["tools", "github", "api_base"]), &config.tools.github.api_base, remarks);
}
