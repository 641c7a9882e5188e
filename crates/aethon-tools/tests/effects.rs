//! What each built-in tool declares of its effects: the ways out of the machine are the group `outbound`, and those that
//! send, run or act later wait in a turn that text from outside has entered. A new tool needs a row here.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use aethon_core::channel::{Courier, NewDelivery};
use aethon_core::error::Result;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::sandbox::Sandbox;
use aethon_core::secret::Secret;
use aethon_core::testkit::MemoryStore;
use aethon_core::tool::Tool;
use aethon_tools::{GitHubOptions, Options, SearchOptions, SearchService, sets, tools};
use async_trait::async_trait;

/// The effects of a tool, as far as guards are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It sends something out of this machine.
    Sends,
    /// It runs code, writes files or decides what later turns do.
    Acts,
    /// Neither.
    Harmless,
}

use Kind::{Acts, Harmless, Sends};

const EXPECTED: [(&str, Kind); 30] = [
    ("background_commands", Harmless),
    ("calculator", Harmless),
    ("calendar", Harmless),
    ("clipboard_read", Harmless),
    ("clipboard_write", Harmless),
    ("current_time", Harmless),
    ("file_edit", Acts),
    ("file_list", Harmless),
    ("file_read", Harmless),
    ("file_search", Harmless),
    ("file_write", Acts),
    ("github", Sends),
    ("jsonrpc", Sends),
    ("mail_draft", Harmless),
    // It changes memories, which stay on this machine; the strangers' limits are its own.
    ("manage_memory", Harmless),
    ("manage_messages", Harmless),
    ("notes", Harmless),
    ("notify", Harmless),
    ("open", Sends),
    ("record_learning", Acts),
    ("reminders", Harmless),
    ("repo_map", Harmless),
    ("search_history", Harmless),
    ("send_message", Sends),
    ("shell", Sends),
    ("shortcuts", Sends),
    ("think", Harmless),
    ("update_context", Acts),
    ("web_fetch", Sends),
    ("web_search", Sends),
];

struct Nowhere;

#[async_trait]
impl Courier for Nowhere {
    fn channels(&self) -> Vec<String> {
        Vec::new()
    }

    async fn send(&self, _session: &SessionId, _turn: &TurnId, _content: NewDelivery) -> Result<()> {
        Ok(())
    }
}

/// Every built-in tool, on a desktop of the one kind or the other.
fn every(is_mac: bool) -> Vec<Arc<dyn Tool>> {
    let folder = tempfile::tempdir().unwrap();
    for program in [
        "open",
        "xdg-open",
        "notify-send",
        "osascript",
        "pbcopy",
        "pbpaste",
        "wl-copy",
        "wl-paste",
        "shortcuts",
    ] {
        let path = folder.path().join(program);
        fs::write(&path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let options = Options::default().with(|options| {
        options.map_chars = 1_000;
        options.desktop.is_mac = is_mac;
        options.desktop.path = Some(folder.path().display().to_string());
        options.desktop.variables =
            vec![("WAYLAND_DISPLAY".into(), ":0".into()), ("DISPLAY".into(), ":0".into())];
        let base = Some("https://search.example".to_owned());
        options.web.search =
            Some(SearchOptions { service: SearchService::SearXng, base, key: Secret::new("") });
        let base = "https://api.example".to_owned();
        options.web.github = Some(GitHubOptions { base, token: Secret::new("t") });
    });
    let mut needs = common::needs();
    needs.courier = Some(Arc::new(Nowhere));
    needs.memory = Some(Arc::new(MemoryStore::default()));
    tools(&sets(&options, &needs))
}

#[test]
fn each_built_in_tool_declares_whether_it_sends_or_acts() {
    let expected = BTreeMap::from(EXPECTED);
    let mut seen = 0;
    for tool in every(false).into_iter().chain(every(true)) {
        let spec = tool.spec();
        let kind = match (spec.sends(), spec.sends_or_runs()) {
            (true, true) => Sends,
            (false, true) => Acts,
            (false, false) => Harmless,
            (true, false) => panic!("{} sends and does not wait", spec.name),
        };
        let expected = expected.get(spec.name.as_str()).unwrap_or_else(|| panic!("{} has no row", spec.name));
        assert_eq!(kind, *expected, "{}", spec.name);
        seen += 1;
    }
    assert!(seen > 40, "{seen} tools of two desktops");
}

#[test]
fn a_command_is_a_way_out_unless_its_sandbox_has_no_network() {
    for (sandbox, network, expected) in [
        (Sandbox::None, "none", true),
        (Sandbox::Kernel, "none", false),
        (Sandbox::Kernel, "host", true),
        (Sandbox::Docker, "none", false),
        (Sandbox::Docker, "bridge", true),
    ] {
        let options = Options::default().with(|options| {
            options.shell.sandbox = sandbox;
            options.shell.limits.network = network.to_owned();
        });
        let shell = common::tool(&options, "shell");
        assert_eq!(shell.spec().sends(), expected, "{sandbox:?} {network}");
        assert!(shell.spec().sends_or_runs());
    }
}
