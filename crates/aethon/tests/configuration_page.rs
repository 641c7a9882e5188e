//! `docs/configuration.md` lists every key, and is written by this file: `cargo test -p aethon --test configuration_page --
//! --ignored` rewrites it after a change of the configuration.

#![allow(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "in tests a failed expectation is the result"
)]

use std::fmt::Write;
use std::path::PathBuf;

use aethon::config::{KnownKey, NAME, SecretKeys, known_keys};
use serde_json::Value;

const HEAD: &str = "# Configuration: every key

`config.toml` in the home, read once at the start; `aethon-cli config set KEY VALUE` changes it and keeps your comments. Variables
(`AETHON_BUDGET__DAILY_USD=2` sets `budget.daily_usd`) stand above the file, and `--set KEY=VALUE` above both. In any text
`${NAME}` is a variable of the environment, `${credential:NAME}` a secret stored by `aethon-cli secrets set NAME`, and
`${file:/run/secrets/NAME}` the content of a file that a container or service manager provides; an empty one is an error.

`aethon-cli config explain KEY` tells the same of one key, with its value here and where that comes from, and `aethon-cli config
list --set` lists what you have set. `NAME` in a key stands for a name of your choice. Keys with *reload* are applied by a running
server when it reloads (`aethon-cli config reload`, or SIGHUP), the others at its next start.

This page is generated from the configuration itself.
";

#[test]
fn the_page_lists_every_key() {
    let written = std::fs::read_to_string(path()).expect("docs/configuration.md");
    assert!(
        written == page(),
        "docs/configuration.md is not what the configuration is: \
         `cargo test -p aethon --test configuration_page -- --ignored` rewrites it"
    );
}

#[test]
#[ignore = "rewrites docs/configuration.md"]
fn write_the_page() {
    std::fs::write(path(), page()).expect("docs/configuration.md");
}

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md")
}

fn page() -> String {
    let (mut page, secrets, mut section) = (HEAD.to_owned(), SecretKeys::default(), "");
    let known = known_keys();
    for key in &known {
        let of = key.name.split('.').next().unwrap_or_default();
        if of != section {
            writeln!(page, "\n## {of}\n").expect("text");
            section = of;
        }
        writeln!(page, "- `{}`{}  \n  {}", key.name, facts(key, &secrets), key.description).expect("text");
    }
    page
}

/// The default, the allowed words, and when a change takes effect.
fn facts(key: &KnownKey, secrets: &SecretKeys) -> String {
    let mut facts = Vec::new();
    match &key.default {
        Value::Null => {}
        Value::String(text) if text.is_empty() => {}
        default => facts.push(format!("`{default}`")),
    }
    if !key.words.is_empty() {
        facts.push(format!("one of {}", key.words.join(", ")));
    }
    if !key.name.contains(NAME) && secrets.may_hold(&key.name, "x") {
        facts.push("secret".to_owned());
    }
    if aethon::is_reloadable(&key.name) {
        facts.push("*reload*".to_owned());
    }
    if facts.is_empty() { String::new() } else { format!(": {}", facts.join("; ")) }
}
