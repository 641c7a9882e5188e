//! The tools as the engine sees them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests and what they share"
)]

mod common;

use std::sync::Arc;

use aethon_core::tool::Tool;
use aethon_tools::Options;
use serde_json::{Value, json};
use tempfile::TempDir;

struct Set {
    workspace: TempDir,
    tools: Vec<Arc<dyn Tool>>,
}

impl Set {
    fn new() -> Self {
        let workspace = tempfile::tempdir().unwrap();
        let options = Options::default().with(|options| {
            options.workspace = workspace.path().into();
            options.workspace_only = true;
        });
        Self { tools: common::all(&options), workspace }
    }

    async fn call(&self, name: &str, input: Value) -> Result<String, String> {
        common::named(&self.tools, name)
            .call(&common::context(1_000), input)
            .await
            .map(|output| output.to_text())
            .map_err(|error| error.to_string())
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.workspace.path().join(name), content).unwrap();
    }
}

#[tokio::test]
async fn no_tool_may_take_as_long_as_it_likes() {
    for tool in Set::new().tools {
        let spec = tool.spec();
        // A command has its own limit within that of the turn.
        let longest = if spec.name == "shell" { 3600 } else { 300 };
        let limit = spec.timeout.unwrap_or_else(|| panic!("{} has no limit", spec.name));
        assert!((1..=longest).contains(&limit.as_secs()), "{}: {limit:?}", spec.name);
    }
}

#[tokio::test]
async fn current_time_knows_the_local_zone_and_others() {
    let set = Set::new();
    let there = set.call("current_time", json!({"timezone": "Asia/Tokyo"})).await.unwrap();
    assert_eq!(there, "Tuesday, 2026-02-03, 13:05:06 (Asia/Tokyo, UTC+09:00)");
    assert!(set.call("current_time", json!({})).await.unwrap().contains("2026-02-0"));
    let wrong = set.call("current_time", json!({"timezone": "Middle/Earth"})).await.unwrap_err();
    assert!(wrong.contains("Middle/Earth"), "{wrong}");
}

#[tokio::test]
async fn a_file_is_read_in_pieces() {
    let set = Set::new();
    set.write("short.txt", "one\ntwo\n");
    assert_eq!(set.call("file_read", json!({"path": "short.txt"})).await.unwrap(), "one\ntwo\n");
    let long: String = (1..=500).map(|n| format!("line {n}\n")).collect();
    set.write("long.txt", long);
    let first = set.call("file_read", json!({"path": "long.txt"})).await.unwrap();
    assert!(first.starts_with("line 1\nline 2\n") && first.len() <= 1_000, "{first}");
    let next = first.split("offset ").nth(1).unwrap().trim_end_matches("]\n").parse::<usize>().unwrap();
    let second =
        set.call("file_read", json!({"path": "long.txt", "offset": next, "limit": 2})).await.unwrap();
    assert!(second.starts_with(&format!("line {next}\nline {}\n[", next + 1)), "{second}");
}

#[tokio::test]
async fn unknown_time_zones_are_reported() {
    let set = Set::new();
    set.write("program", b"\x7fELF\0\0");
    set.write("latin.txt", b"caf\xe9");
    set.write("empty", "");
    for (input, expected) in [
        (json!({"path": "program"}), "is not a UTF-8 text file (6 bytes), beginning with 7f 45 4c 46"),
        (json!({"path": "latin.txt"}), "is not a UTF-8 text file"),
        (json!({"path": "absent"}), "there is no file"),
        (json!({"path": "empty", "offset": 7}), "has only 0 lines"),
        (json!({"path": 7}), "arguments"),
        (json!({"path": "/etc/passwd"}), "security.workspace_only"),
    ] {
        let error = set.call("file_read", input.clone()).await.unwrap_err();
        assert!(error.contains(expected), "{input}: {error}");
    }
    assert_eq!(set.call("file_read", json!({"path": "empty"})).await.unwrap(), "[the file is empty]");
}

#[test]
fn every_tool_describes_itself() {
    for tool in Set::new().tools {
        let spec = tool.spec();
        assert!(spec.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{}", spec.name);
        assert!(!spec.description.is_empty());
        assert_eq!(spec.parameters["type"], "object");
        for name in spec.roles.keys() {
            assert!(spec.parameters["properties"].get(name).is_some(), "{name}");
        }
    }
}

#[tokio::test]
async fn every_argument_is_explained_and_every_role_has_its_argument() {
    for tool in &Set::new().tools {
        let spec = tool.spec();
        let parameters = spec.parameters.as_object().unwrap();
        assert_eq!(parameters["type"], "object", "{}", spec.name);
        assert_eq!(parameters["additionalProperties"], false, "{}", spec.name);
        let properties = parameters["properties"].as_object().unwrap();
        for (name, schema) in properties {
            let is_plain = schema["type"].is_string() && schema.get("format").is_none();
            let is_explained = schema["description"].as_str().is_some_and(|text| text.ends_with('.'));
            assert!(is_plain && is_explained, "{} {name}: {schema}", spec.name);
        }
        let without: Vec<_> = spec.roles.keys().filter(|name| !properties.contains_key(*name)).collect();
        assert!(without.is_empty(), "{}: {without:?}", spec.name);
    }
}

#[tokio::test]
async fn an_argument_of_the_wrong_type_is_named() {
    let check = async |name: &str, input: Value, expected: &str| {
        let error = Set::new().call(name, input).await.unwrap_err();
        assert!(error.starts_with(&format!("the arguments of `{name}` are wrong: {expected}")), "{error}");
    };
    check("file_read", json!({"path": "a", "offset": "b"}), "`offset`: invalid type").await;
    check("shell", json!({"command": ["ls"]}), "`command`: invalid type").await;
    check("current_time", json!({"timezone": 1}), "`timezone`: invalid type").await;
}
