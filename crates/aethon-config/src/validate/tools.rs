//! Checks what tools can reach: allowed hosts, the services they use, and which tools are open to guests.

use aethon_core::egress::HostRule;

use super::{Remarks, address};
use crate::echo::quoted;
use crate::path::{KeyPath, Step};
use crate::schema::{Config, SearchProvider};

/// The kinds of sockets that `security.allowed_sockets` can open.
const SOCKETS: [&str; 8] =
    ["ssh-agent", "gpg-agent", "docker", "dbus", "wayland", "x11", "sound", "terminals"];
/// The built-in tools that can be opened to guests, and those that everybody has anyway.
const TOOLS: [&str; 33] = [
    "calculator",
    "calendar",
    "clipboard_read",
    "clipboard_write",
    "current_time",
    "file_edit",
    "file_list",
    "file_read",
    "file_search",
    "file_write",
    "github",
    "jsonrpc",
    "list_scheduled_jobs",
    "lsp",
    "mail_draft",
    "manage_memory",
    "manage_messages",
    "notes",
    "notify",
    "open",
    "reminders",
    "remove_scheduled_job",
    "repo_map",
    "schedule_task",
    "search_history",
    "send_message",
    "shell",
    "shortcuts",
    "sop_step",
    "tasks",
    "think",
    "web_fetch",
    "web_search",
];

/// Those that change the assistant itself.
const OWNERS: [&str; 4] = ["manage_specialists", "manage_tools", "record_learning", "update_context"];

/// Warns of names in the lists of opened tools that open nothing.
fn opened(config: &Config, remarks: &mut Remarks) {
    let own = config.household.people.iter().map(|(name, person)| {
        (KeyPath::of(["household", "people", name, "tools"]), person.tools.as_slice(), name == "owner")
    });
    let guests = (KeyPath::of(["security", "guest_tools"]), config.security.guest_tools.as_slice(), false);
    for (key, names, is_owner) in own.chain([guests]) {
        if is_owner && !names.is_empty() {
            remarks.warning(key, "the owner has every tool anyway");
            continue;
        }
        for (index, name) in names.iter().enumerate() {
            if let Some(message) = opens_nothing(config, name.trim()) {
                remarks.warning(key.join(Step::Index(index)), message);
            }
        }
    }
}

/// Returns why an entry opens nothing. Patterns and the names of specialists are taken as they are.
fn opens_nothing(config: &Config, name: &str) -> Option<String> {
    if OWNERS.contains(&name) {
        return Some(format!(
            "`{name}` changes the assistant itself and is never open to others than the owner"
        ));
    }
    if name.contains('*') || name.starts_with("ask_") || TOOLS.contains(&name) {
        return None;
    }
    match name.split_once("__") {
        Some((server, _)) if config.mcp.servers.contains_key(server) => None,
        Some((server, _)) => Some(format!("there is no MCP server {server:?} in mcp.servers")),
        None => Some(format!(
            "no built-in tool is called {name:?}; unless the assistant makes one of this name, nothing is opened"
        )),
    }
}

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
    opened(config, remarks);
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
        let message = format!("there is no web_search until {} is set", key.key(missing));
        remarks.warning(key.key("provider"), message);
    }
    address::service(KeyPath::of(["tools", "github", "api_base"]), &config.tools.github.api_base, remarks);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::HouseholdPerson;
    use crate::validate::Remark;

    #[test]
    fn names_that_open_no_tool_to_guests_are_told() {
        let check = |name: &str, expected: Option<&str>| {
            let mut config = Config::default();
            config.mcp.servers.insert("mail".to_owned(), Default::default());
            config.security.guest_tools = vec![name.to_owned()];
            let ben = HouseholdPerson { tools: vec![name.to_owned()], ..HouseholdPerson::default() };
            config.household.people.insert("ben".to_owned(), ben);
            let mut remarks = Remarks(Vec::new());
            opened(&config, &mut remarks);
            let told = remarks.0.into_iter().map(|remark| match remark {
                Remark::Warning { key, message } => format!("{key}: {message}"),
                Remark::Problem { key, .. } => panic!("{key}"),
            });
            let told: Vec<String> = told.collect();
            assert_eq!(told.len(), if expected.is_some() { 2 } else { 0 }, "{told:?}");
            let keys = ["household.people.ben.tools", "security.guest_tools"];
            for ((told, expected), key) in told.iter().zip(expected.into_iter().cycle()).zip(keys) {
                assert!(told.starts_with(key) && told.contains(expected), "{told}");
            }
        };
        for name in ["shell", "mail__send", "mail__*", "*", "ask_analyst", " shell "] {
            check(name, None);
        }
        check("shel", Some("no built-in tool"));
        check("male__send", Some("no MCP server"));
        check("update_context", Some("never open"));
        check("", Some("no built-in tool"));
    }

    #[test]
    fn the_owner_needs_no_tools_opened() {
        let mut config = Config::default();
        let owner = HouseholdPerson { tools: vec!["shell".to_owned()], ..HouseholdPerson::default() };
        config.household.people.insert("owner".to_owned(), owner);
        let mut remarks = Remarks(Vec::new());
        opened(&config, &mut remarks);
        assert_eq!(remarks.0.len(), 1);
    }
}
