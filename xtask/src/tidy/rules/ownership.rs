//! Invariant 4: some names belong to one place. hyper is used in `aethon-http` only, SQLite in `aethon-store` only, PostgreSQL in `aethon-postgres` only; only
//! programs read their arguments, exit the process or install a subscriber.

use crate::tidy::finding::Finding;
use crate::tidy::source::Named;
use crate::tidy::tree::Tree;

const RULE: &str = "one-home";

/// A name and where it may be used.
struct Home {
    /// The path, or the package of a dependency.
    name: &'static str,
    /// The folders in which it may be used.
    folders: &'static [&'static str],
    /// The alternative elsewhere.
    remedy: &'static str,
}

/// The application, and what stands for programs of others: benchmarks, tests, and the example of a server around it.
const IN_HTTP: &[&str] = &[
    "crates/aethon-http/",
    "crates/aethon/examples/",
    "crates/aethon/tests/",
    "crates/aethon/Cargo.toml",
    "xtask/",
    "tests/",
];
const HTTP: &str = "speak of requests in words of your own; hyper stays in aethon-http";
const STORE: &str =
    "add a method to the storage trait in aethon-core and its query to aethon-store and aethon-postgres";
const PROGRAM: &str = "return a value and let the program in bins/ decide";

/// The folders of programs, including examples.
const PROGRAMS: &[&str] = &["bins/", "xtask/", "/examples/", "tests/src/bin/"];

/// Paths in sources. `xtask` and `tests` are programs too, and contain the bare server that `bench` compares with.
const PATHS: &[Home] = &[
    Home { name: "hyper", folders: IN_HTTP, remedy: HTTP },
    Home { name: "hyper_util", folders: IN_HTTP, remedy: HTTP },
    Home { name: "rusqlite", folders: &["crates/aethon-store/"], remedy: STORE },
    Home { name: "tokio_postgres", folders: &["crates/aethon-postgres/"], remedy: STORE },
    Home { name: "std::env::args", folders: PROGRAMS, remedy: PROGRAM },
    Home { name: "std::env::args_os", folders: PROGRAMS, remedy: PROGRAM },
    Home { name: "env::args", folders: PROGRAMS, remedy: PROGRAM },
    Home { name: "env::args_os", folders: PROGRAMS, remedy: PROGRAM },
    Home { name: "std::process::exit", folders: PROGRAMS, remedy: PROGRAM },
    Home { name: "std::process::abort", folders: PROGRAMS, remedy: PROGRAM },
    Home { name: "process::exit", folders: PROGRAMS, remedy: PROGRAM },
    Home { name: "process::abort", folders: PROGRAMS, remedy: PROGRAM },
    Home { name: "clap", folders: PROGRAMS, remedy: PROGRAM },
];

/// Calls that install a subscriber, looked for in files that name `tracing` or `tracing_subscriber`.
const INSTALLS: [&str; 4] = ["set_global_default", "set_default", "init", "try_init"];

/// Dependencies in manifests.
const DEPENDENCIES: &[Home] = &[
    Home { name: "hyper", folders: IN_HTTP, remedy: HTTP },
    Home { name: "hyper-util", folders: IN_HTTP, remedy: HTTP },
    Home { name: "rusqlite", folders: &["crates/aethon-store/"], remedy: STORE },
    Home { name: "tokio-postgres", folders: &["crates/aethon-postgres/"], remedy: STORE },
    Home { name: "clap", folders: PROGRAMS, remedy: PROGRAM },
];

/// Checks that no source uses a name that belongs elsewhere. This includes unit tests, except that they may install their own
/// subscriber.
pub(crate) fn names_stay_in_their_home(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (file, source) in tree.rust() {
        let program = in_one_of(PROGRAMS, &file.path);
        let traces = source.paths.iter().any(|path| path.is_under("tracing_subscriber"));
        for path in &source.paths {
            let away =
                PATHS.iter().find(|home| path.is_under(home.name) && !in_one_of(home.folders, &file.path));
            if let Some(home) = away {
                let message = format!("`{}` is named outside its home", path.text);
                found.push(Finding::new(RULE, &file.path, path.line, message, home.remedy));
            } else if !program && !path.test && installs(path, traces) {
                let message = "a library installs a tracing subscriber";
                found.push(Finding::new(RULE, &file.path, path.line, message, PROGRAM));
            }
        }
    }
    found
}

/// Checks that no manifest has a dependency that belongs elsewhere.
pub(crate) fn dependencies_stay_in_their_home(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for manifest in &tree.manifests {
        for dependency in &manifest.dependencies {
            let away = DEPENDENCIES
                .iter()
                .find(|home| home.name == dependency.name && !in_one_of(home.folders, &manifest.path));
            if let Some(home) = away {
                let message = format!("`{}` depends on `{}`", manifest.name, dependency.name);
                found.push(Finding::new(RULE, &manifest.path, dependency.line, message, home.remedy));
            }
        }
    }
    found
}

/// Returns whether a path is in one of the folders; a folder with a leading `/` matches anywhere in the path.
fn in_one_of(folders: &[&str], path: &str) -> bool {
    folders
        .iter()
        .any(|folder| path.starts_with(folder) || (folder.starts_with('/') && path.contains(folder)))
}

fn installs(path: &Named, traces: bool) -> bool {
    let last = path.text.rsplit("::").next().unwrap_or_default();
    let named = path.is_under("tracing") || path.is_under("tracing_subscriber");
    INSTALLS.contains(&last) && (named || (traces && path.text == last && last != "init"))
        || (traces && path.text == "init")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str, expected: usize) {
        let found = names_stay_in_their_home(&Tree::of(&[(path, text)]));
        assert_eq!(found.len(), expected, "{path}: {text}: {found:?}");
    }

    #[test]
    fn hyper_and_sqlite_are_named_at_home_only() {
        check("crates/aethon-http/src/server.rs", "use hyper::body::Bytes;", 0);
        check("xtask/src/bench/bare.rs", "use hyper::body::Bytes;", 0);
        check("crates/aethon-agent/src/turn.rs", "use hyper::body::Bytes;", 1);
        check("crates/aethon-agent/src/turn.rs", "fn f() { hyper_util::rt::TokioIo::new(x); }", 1);
        check("crates/aethon-store/src/db.rs", "use rusqlite::Connection;", 0);
        check("crates/aethon-postgres/src/db/pool.rs", "use tokio_postgres::Client;", 0);
        check("crates/aethon-store/src/db.rs", "use tokio_postgres::Client;", 1);
        check("crates/aethon/src/doctor.rs", "#[cfg(test)]\nmod tests { use rusqlite::Connection; }", 1);
    }

    #[test]
    fn arguments_and_exit_belong_to_programs() {
        check("bins/aethon-cli/src/main.rs", "fn f() { std::process::exit(1) }", 0);
        check("crates/aethon/examples/tool.rs", "fn main() { std::process::exit(1) }", 0);
        check("crates/aethon/src/builder.rs", "fn f() { std::process::exit(1) }", 1);
        check("crates/aethon/src/builder.rs", "use std::process; fn f() { process::exit(1) }", 1);
        check("crates/aethon/src/builder.rs", "use std::env::{args, var};", 1);
        check("crates/aethon/src/builder.rs", "use std::process::ExitCode;", 0);
    }

    #[test]
    fn subscribers_belong_to_programs() {
        let layer = "use tracing_subscriber::layer::Layer; fn f() { x.with(y); }";
        check("crates/aethon/src/logging.rs", layer, 0);
        let install = "use tracing_subscriber::prelude::*; fn f() { x.with(y).init(); }";
        check("crates/aethon/src/logging.rs", install, 1);
        check("bins/aethon-server/src/main.rs", install, 0);
        check("crates/aethon/src/logging.rs", "fn f() { tracing::subscriber::set_global_default(x); }", 1);
        check("crates/aethon-store/src/db.rs", "fn f() { db.init(); }", 0);
    }

    #[test]
    fn a_manifest_away_from_home_is_found() {
        let text = "[package]\nname = \"aethon-agent\"\n[dependencies]\nrusqlite.workspace = true\n";
        assert_eq!(
            dependencies_stay_in_their_home(&Tree::of(&[("crates/aethon-agent/Cargo.toml", text)])).len(),
            1
        );
        assert!(
            dependencies_stay_in_their_home(&Tree::of(&[("crates/aethon-store/Cargo.toml", text)]))
                .is_empty()
        );
    }
}
