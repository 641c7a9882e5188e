//! Checks the lists of tool names: which calls need approval, which tools are open to guests, and which a specialist has.
//!
//! A name that is no tool's protects, opens or gives nothing, without a sign of it. It is only a warning: an MCP server, the
//! assistant or an embedding program may bring a tool of this name while the program runs.

use crate::echo::quoted;
use crate::path::{KeyPath, Step};
use crate::remark::Remarks;
use crate::schema::Config;

/// The built-in tools that can be opened to guests, and those that everybody has anyway.
const TOOLS: [&str; 32] = [
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

/// Tools reserved for the owner, because they change the assistant itself or run commands from a project's files.
const OWNERS: [&str; 6] =
    ["background_commands", "lsp", "manage_specialists", "manage_tools", "record_learning", "update_context"];

/// The built-in specialists.
const SPECIALISTS: [&str; 5] = ["coder", "researcher", "analyst", "planner", "scout"];

/// The entry of `approval.requires_approval` that is a group of tools.
const OUTBOUND: &str = "outbound";

/// A list of tool names.
struct List<'c> {
    key: KeyPath,
    names: &'c [String],
    purpose: Purpose,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Calls of these need approval.
    Approval,
    /// These are open to people other than the owner.
    Guests,
    /// A specialist has these.
    Specialist,
}

pub(super) fn check(config: &Config, remarks: &mut Remarks) {
    for list in lists(config, remarks) {
        for (index, name) in list.names.iter().enumerate() {
            if let Some(message) = fault(config, name, list.purpose) {
                remarks.warning(list.key.join(Step::Index(index)), message);
            }
        }
    }
}

/// Collects the lists. Warns of those that have no effect as a whole.
fn lists<'c>(config: &'c Config, remarks: &mut Remarks) -> Vec<List<'c>> {
    let mut lists = Vec::new();
    for (name, person) in &config.household.people {
        let key = KeyPath::of(["household", "people", name, "tools"]);
        if name != "owner" {
            lists.push(List { key, names: &person.tools, purpose: Purpose::Guests });
        } else if !person.tools.is_empty() {
            remarks.warning(key, "unnecessary: the owner may use every tool");
        }
    }
    let (guests, approval) = (&config.security.guest_tools, &config.approval.requires_approval);
    let key = KeyPath::of(["security", "guest_tools"]);
    lists.push(List { key, names: guests, purpose: Purpose::Guests });
    let key = KeyPath::of(["approval", "requires_approval"]);
    lists.push(List { key, names: approval, purpose: Purpose::Approval });
    for name in SPECIALISTS {
        let Some(specialist) = config.agent.specialists.get(name) else { continue };
        let key = KeyPath::of(["agent", "specialists", name, "tools"]);
        lists.push(List { key, names: &specialist.tools, purpose: Purpose::Specialist });
    }
    lists
}

/// Returns why an entry has no effect. Patterns and the names of specialists are taken as they are.
fn fault(config: &Config, entry: &str, purpose: Purpose) -> Option<String> {
    let name = entry.trim();
    let is_owners = OWNERS.contains(&name);
    if is_owners && purpose == Purpose::Guests {
        return Some(format!("`{name}` is reserved for the owner"));
    }
    let is_group = purpose == Purpose::Approval && name == OUTBOUND;
    if is_group || is_owners || name.contains('*') || name.starts_with("ask_") || TOOLS.contains(&name) {
        return None;
    }
    match name.split_once("__") {
        Some((server, _)) if config.mcp.servers.contains_key(server) => None,
        Some((server, _)) => Some(format!("there is no MCP server {} in mcp.servers", quoted(server))),
        None => {
            let groups = [OUTBOUND].into_iter().filter(|_| purpose == Purpose::Approval);
            let known = TOOLS.into_iter().chain(OWNERS).chain(groups);
            let nearest = known.min_by_key(|known| strsim::osa_distance(name, known)).unwrap_or_default();
            Some(format!(
                "no such tool is known yet: {}; the nearest known name is {nearest}. Unless the assistant makes a tool of this \
                 name, the entry has no effect",
                quoted(name)
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::HouseholdPerson;
    use crate::validate::Remark;

    #[test]
    fn names_without_effect_for_guests_are_reported() {
        let check = |name: &str, expected: Option<&str>| {
            let mut config = Config::default();
            config.mcp.servers.insert("mail".to_owned(), Default::default());
            config.security.guest_tools = vec![name.to_owned()];
            let ben = HouseholdPerson { tools: vec![name.to_owned()], ..HouseholdPerson::default() };
            config.household.people.insert("ben".to_owned(), ben);
            let mut remarks = Remarks(Vec::new());
            super::check(&config, &mut remarks);
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
        check("shel", Some("the nearest known name is shell"));
        check("male__send", Some("no MCP server"));
        check("update_context", Some("reserved for the owner"));
        check("outbound", Some("no such tool is known yet"));
        check("", Some("no such tool is known yet"));
    }

    #[test]
    fn unknown_tools_in_approvals_are_reported_with_the_nearest() {
        let check = |name: &str, expected: Option<&str>| {
            let mut config = Config::default();
            config.mcp.servers.insert("mail".to_owned(), Default::default());
            config.approval.requires_approval = vec!["shell".to_owned(), name.to_owned()];
            let mut remarks = Remarks(Vec::new());
            super::check(&config, &mut remarks);
            let messages: Vec<String> = remarks
                .0
                .into_iter()
                .map(|remark| match remark {
                    Remark::Warning { key, message } => format!("{key}: {message}"),
                    Remark::Problem { key, .. } => panic!("{key}"),
                })
                .collect();
            match (expected, messages.as_slice()) {
                (None, []) => {}
                (Some(expected), [message]) => assert!(
                    message.starts_with("approval.requires_approval[1]: ") && message.contains(expected),
                    "{name}: {message}"
                ),
                _ => panic!("{name}: {messages:?}"),
            }
        };
        for name in ["outbound", "manage_tools", "mail__send", "file_*", "ask_coder", "web_fetch"] {
            check(name, None);
        }
        check("file-write", Some("the nearest known name is file_write"));
        check("Shell", Some("the nearest known name is shell"));
        check("outbond", Some("the nearest known name is outbound"));
        check("bash", Some("no such tool is known yet: the string \"bash\""));
        check("sk-proj-4f8b2c9d1eAbCdEfGh", Some("is not shown"));
    }

    #[test]
    fn the_owner_needs_no_tools_opened() {
        let mut config = Config::default();
        let owner = HouseholdPerson { tools: vec!["shell".to_owned()], ..HouseholdPerson::default() };
        config.household.people.insert("owner".to_owned(), owner);
        let mut remarks = Remarks(Vec::new());
        super::check(&config, &mut remarks);
        assert_eq!(remarks.0.len(), 1);
    }
}
