//! The tools of the desktop against programs that record their arguments.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests and what they share"
)]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use aethon_core::tool::Tool;
use aethon_tools::{DesktopOptions, Options, ToolSet, sets};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Records its arguments, each ended by a NUL, and its standard input.
const RECORDER: &str = r#"#!/bin/sh
printf '%s\0' "$@" > "$0.arguments"
cat > "$0.input"
env > "$0.environment"
echo "an answer"
"#;

struct Desktop {
    folder: TempDir,
    options: Options,
}

impl Desktop {
    fn new(programs: &[&str], is_mac: bool, variables: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in programs {
            let path = folder.path().join(name);
            fs::write(&path, RECORDER).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut desktop = DesktopOptions::default();
        desktop.is_mac = is_mac;
        desktop.path = Some(folder.path().display().to_string());
        desktop.variables = variables.iter().map(|name| ((*name).to_owned(), ":0".to_owned())).collect();
        let workspace = folder.path().join("workspace");
        fs::create_dir(&workspace).unwrap();
        let options = Options::default().with(|options| {
            options.workspace = workspace;
            options.desktop = desktop;
        });
        Self { folder, options }
    }

    fn set(&self) -> ToolSet {
        sets(&self.options, &common::needs()).into_iter().find(|set| set.id == "desktop").unwrap()
    }

    fn tool(&self, name: &str) -> Arc<dyn Tool> {
        common::named(&self.set().tools, name)
    }

    async fn call(&self, name: &str, input: Value) -> Result<String, String> {
        let output = self.tool(name).call(&common::context(8_000), input).await;
        output.map(|output| output.to_text()).map_err(|error| error.to_string())
    }

    fn arguments(&self, program: &str) -> Vec<String> {
        let bytes = fs::read(self.folder.path().join(format!("{program}.arguments"))).unwrap();
        let words = bytes.split(|byte| *byte == 0).map(|word| String::from_utf8(word.to_vec()).unwrap());
        let mut words: Vec<String> = words.collect();
        words.pop();
        words
    }

    fn written(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }
}

/// Text that would do harm if it became part of a script.
const HOSTILE: &str = "x\" & (do shell script \"touch /tmp/owned\") & \"'; $(id) `id`\n\\";

#[tokio::test]
async fn model_input_reaches_a_mac_as_arguments_and_never_as_script() {
    let mac = Desktop::new(&["osascript", "pbcopy", "pbpaste", "open"], true, &[]);
    assert!(mac.set().absent.is_empty(), "{:?}", mac.set().absent);
    for (name, input, expected) in [
        (
            "calendar",
            json!({"action": "add", "from": "2026-05-04T09:00:00Z", "to": "2026-05-04T10:00:00Z", "title": HOSTILE}),
            vec!["add", "2026-05-04T09:00:00Z", "2026-05-04T10:00:00Z", HOSTILE, "", "", ""],
        ),
        ("reminders", json!({"action": "complete", "title": HOSTILE}), vec!["complete", HOSTILE, "", "", ""]),
        ("notes", json!({"action": "search", "text": HOSTILE}), vec!["search", "", HOSTILE]),
        (
            "mail_draft",
            json!({"to": "a@example.org", "subject": HOSTILE, "body": "b"}),
            vec!["a@example.org", HOSTILE, "b", ""],
        ),
        ("shortcuts", json!({"action": "run", "name": HOSTILE}), vec!["run", HOSTILE, ""]),
        ("notify", json!({"title": "hi", "text": HOSTILE.trim()}), vec!["hi", HOSTILE.trim()]),
    ] {
        mac.call(name, input).await.unwrap();
        let words = mac.arguments("osascript");
        assert_eq!(words[..3], ["-l", "JavaScript", "-e"], "{name}");
        assert!(words[3].starts_with("function run(") && !words[3].contains("owned"), "{name}: {}", words[3]);
        assert_eq!(words[4..], expected, "{name}");
    }
    let environment = mac.written("osascript.environment");
    assert!(!environment.contains("CARGO"), "nothing of the program's own: {environment}");
    let wrong = mac.call("notes", json!({"action": "erase"})).await.unwrap_err();
    assert!(wrong.contains("search, read, add"), "{wrong}");
    let wrong = mac.call("notes", json!({"action": "read", "title": 7})).await.unwrap_err();
    assert!(wrong.contains("`title` is no text"), "{wrong}");
    assert_eq!(mac.call("clipboard_read", json!({})).await.unwrap(), "an answer\n");
    mac.call("clipboard_write", json!({"text": HOSTILE})).await.unwrap();
    assert_eq!(mac.written("pbcopy.input"), HOSTILE);
}

#[tokio::test]
async fn a_linux_desktop_has_what_its_programs_give() {
    let linux = Desktop::new(
        &["wl-copy", "wl-paste", "notify-send", "xdg-open"],
        false,
        &["WAYLAND_DISPLAY", "XDG_RUNTIME_DIR"],
    );
    let names: Vec<&str> =
        linux.set().absent.iter().flat_map(|absence| absence.tools.iter().copied()).collect();
    assert_eq!(names, ["calendar", "reminders", "notes", "mail_draft", "shortcuts"]);
    linux.call("clipboard_write", json!({"text": "--help"})).await.unwrap();
    assert_eq!(linux.arguments("wl-copy"), [""], "no argument");
    assert_eq!(linux.written("wl-copy.input"), "--help");
    linux.call("notify", json!({"title": "--urgency=critical", "text": "b"})).await.unwrap();
    assert_eq!(linux.arguments("notify-send"), ["--app-name=Aethon", "--", "--urgency=critical", "b"]);
    linux.call("open", json!({"target": "https://example.org/?q=a;b"})).await.unwrap();
    assert_eq!(linux.arguments("xdg-open"), ["https://example.org/?q=a;b"]);
    let workspace = &linux.options.workspace;
    fs::write(workspace.join("a.txt"), "x").unwrap();
    fs::write(workspace.join("run.desktop"), "x").unwrap();
    fs::write(workspace.join("tool"), "x").unwrap();
    fs::set_permissions(workspace.join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
    linux.call("open", json!({"target": "a.txt"})).await.unwrap();
    assert!(Path::new(&linux.arguments("xdg-open")[0]).ends_with("workspace/a.txt"));
    for target in [
        "file:///etc/passwd",
        "javascript:alert(1)",
        "run.desktop",
        "tool",
        "/etc/passwd",
        "-h",
        "vscode://x",
    ] {
        assert!(linux.call("open", json!({"target": target})).await.is_err(), "{target}");
    }
}

#[test]
fn desktop_tools_without_their_program_are_absent_with_a_reason() {
    let check = |desktop: &Desktop, tool: &str, expected: &str| {
        let set = desktop.set();
        let absence = set.absent.iter().find(|absence| absence.tools.contains(&tool));
        let why = absence.map_or_else(|| panic!("{tool} is there"), |absence| absence.why.clone());
        assert!(why.contains(expected), "{tool}: {why}");
    };
    let bare = Desktop::new(&[], false, &[]);
    assert!(bare.set().tools.is_empty());
    check(&bare, "clipboard_read", "no graphical session");
    check(&bare, "notify", "no desktop session");
    check(&bare, "calendar", "macOS");
    let without_programs = Desktop::new(&[], false, &["DISPLAY", "DBUS_SESSION_BUS_ADDRESS"]);
    check(&without_programs, "clipboard_write", "install xclip");
    check(&without_programs, "open", "install xdg-utils");
    check(&without_programs, "notify", "install libnotify");
    check(&Desktop::new(&[], true, &[]), "calendar", "osascript");
}

#[tokio::test]
async fn a_program_that_fails_says_why() {
    let mac = Desktop::new(&["osascript"], true, &[]);
    let path = mac.folder.path().join("osascript");
    fs::write(&path, "#!/bin/sh\necho 'execution error: not allowed (-1743)' >&2\nexit 1\n").unwrap();
    let failed = mac.call("shortcuts", json!({"action": "list"})).await.unwrap_err();
    assert!(failed.contains("osascript failed: execution error: not allowed (-1743)"), "{failed}");
}
