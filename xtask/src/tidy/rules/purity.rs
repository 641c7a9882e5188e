//! Invariant 2: the core contains types and traits; it opens no file and no socket and spawns no task.

use crate::tidy::finding::Finding;
use crate::tidy::manifest::Floor;
use crate::tidy::source::Named;
use crate::tidy::tree::Tree;

const RULE: &str = "pure-core";

/// Paths that open files, connect, spawn, or read the environment.
const FORBIDDEN: [&str; 17] = [
    "std::fs",
    "std::env",
    "std::process",
    "std::thread",
    "std::io::stdin",
    "std::io::stdout",
    "std::io::stderr",
    "std::os::unix::net",
    "tokio::fs",
    "tokio::net",
    "tokio::process",
    "tokio::runtime",
    "tokio::signal",
    "tokio::spawn",
    "tokio::task",
    "fs::read",
    "thread::spawn",
];

/// The part of `std::net` that is not addresses.
const SOCKETS: [&str; 4] = ["TcpStream", "TcpListener", "UdpSocket", "ToSocketAddrs"];

/// The permitted dependencies of the core. Anything that does I/O or runs tasks is left out on purpose.
const ALLOWED: [&str; 18] = [
    "async-trait",
    "base64",
    "bytes",
    "futures-core",
    "jiff",
    "percent-encoding",
    "regex-lite",
    "schemars",
    "serde",
    "serde_json",
    "serde_path_to_error",
    "thiserror",
    "tokio",
    "tracing",
    "unicode-normalization",
    "url",
    "uuid",
    "zeroize",
];

/// Features of tokio that bring neither a runtime nor I/O.
const TOKIO: [&str; 3] = ["sync", "macros", "time"];

/// Checks that no source of the core names anything that opens, connects or spawns.
pub(crate) fn core_does_no_io(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (file, source) in tree.rust().filter(|(file, _)| file.path.starts_with("crates/aethon-core/src/")) {
        for path in source.paths.iter().filter(|path| !path.test && does_io(path)) {
            found.push(Finding::new(
                RULE,
                &file.path,
                path.line,
                format!("the core names `{}`", path.text),
                "declare a trait here and do the work in a leaf",
            ));
        }
    }
    found
}

/// Checks that the core's dependencies do no I/O and run no tasks.
pub(crate) fn core_depends_on_nothing_that_does_io(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for manifest in tree.manifests.iter().filter(|manifest| manifest.floor == Some(Floor::Core)) {
        for dependency in manifest.dependencies.iter().filter(|dependency| !dependency.development) {
            let remedy = "declare a trait in the core and use this dependency in a leaf";
            let mut tell = |message| {
                found.push(Finding::new(RULE, &manifest.path, dependency.line, message, remedy));
            };
            if !ALLOWED.contains(&dependency.name.as_str()) {
                tell(format!("the core depends on `{}`", dependency.name));
            }
            if dependency.name == "tokio" {
                for feature in dependency.features.iter().filter(|name| !TOKIO.contains(&name.as_str())) {
                    tell(format!("the core turns on tokio's `{feature}`"));
                }
            }
        }
    }
    found
}

fn does_io(path: &Named) -> bool {
    FORBIDDEN.iter().any(|root| path.is_under(root))
        || path.text.split("::").any(|part| SOCKETS.contains(&part) || part == "spawn_blocking")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expected: usize) {
        let tree = Tree::of(&[("crates/aethon-core/src/clock.rs", body)]);
        let found = core_does_no_io(&tree);
        assert_eq!(found.len(), expected, "{body}: {found:?}");
    }

    #[test]
    fn opening_connecting_and_spawning_are_found_however_they_are_written() {
        check("use std::fs;", 1);
        check("use std::{collections::HashMap, fs::File};", 1);
        check("fn f() { std::thread::spawn(|| ()); }", 1);
        check("fn f() { tokio::spawn(async {}); }", 1);
        check("use std::net::TcpStream;", 1);
        check("m!(std::env::var(\"A\"));", 1);
    }

    #[test]
    fn words_traits_addresses_and_tests_are_fine() {
        check("use std::net::IpAddr;\nuse std::io::Error;\nuse tokio::sync::mpsc;", 0);
        check("//! opens no `std::fs`\n#[cfg(test)]\nmod tests { use std::fs; }", 0);
    }

    #[test]
    fn another_crate_may_open_files() {
        let tree = Tree::of(&[("crates/aethon-store/src/db.rs", "use std::fs;")]);
        assert!(core_does_no_io(&tree).is_empty());
    }

    #[test]
    fn dependencies_that_do_io_are_found() {
        for (dependencies, expected) in [
            ("serde = \"1\"", 0),
            ("tokio = { version = \"1\", features = [\"sync\"] }", 0),
            ("tokio = { version = \"1\", features = [\"sync\", \"net\", \"rt\"] }", 2),
            ("ureq = \"3\"", 1),
        ] {
            let text = format!("[package]\nname = \"aethon-core\"\n[dependencies]\n{dependencies}\n");
            let tree = Tree::of(&[("crates/aethon-core/Cargo.toml", &text)]);
            let found = core_depends_on_nothing_that_does_io(&tree);
            assert_eq!(found.len(), expected, "{dependencies}: {found:?}");
        }
    }
}
