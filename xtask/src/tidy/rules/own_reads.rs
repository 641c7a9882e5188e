//! Invariant 6: files in places where tools and commands may write are opened by `aethon-files` and nowhere else. A program
//! that looks at a path and opens it afterwards reads the file that a command put there in between.
//!
//! The rule covers the crates that read the workspace, except for the files in a list, each with the reason why what it opens
//! is out of reach of tools and commands, or is not opened by its path. Test code does not count.

use crate::tidy::finding::Finding;
use crate::tidy::tree::Tree;
use syn::visit::Visit;

const RULE: &str = "own-reads";

/// Where the rule applies.
const AREAS: [&str; 7] = [
    "crates/aethon/src/",
    "crates/aethon-agent/src/",
    "crates/aethon-config/src/",
    "crates/aethon-mcp/src/",
    "crates/aethon-recorder/src/",
    "crates/aethon-tools/src/",
    "crates/aethon-workflows/src/",
];

/// Files in which paths may be opened, or folders of such files, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    (
        "crates/aethon/src/arguments.rs",
        "reads the arguments that this process handed to itself through a pipe",
    ),
    ("crates/aethon/src/audit.rs", "asks whether the database in the home exists"),
    (
        "crates/aethon/src/backup/",
        "files of the home, which is closed, and of the workspace through no link, without waiting, checked after opening",
    ),
    (
        "crates/aethon/src/rows/",
        "files that the owner names on the command line, and those of the home, which is closed",
    ),
    (
        "crates/aethon/src/upgrade.rs",
        "copies of the database in the home, which is closed to tools and commands",
    ),
    ("crates/aethon/src/repair.rs", "the database in the home, which is closed to tools and commands"),
    (
        "crates/aethon/src/uploads.rs",
        "files with random names below run/ of the home, which is closed to tools and commands",
    ),
    (
        "crates/aethon/src/push/vapid.rs",
        "the key of notifications in run/ of the home, which is closed to tools and commands",
    ),
    (
        "crates/aethon/src/push/devices.rs",
        "the list of devices in run/ of the home, which is closed to tools and commands",
    ),
    ("crates/aethon/src/doctor.rs", "looks at places of the home for the owner"),
    (
        "crates/aethon/src/home.rs",
        "locks and runtime files in the home, which is closed to tools and commands",
    ),
    ("crates/aethon/src/logging/sink.rs", "log files in the home, which is closed to tools and commands"),
    ("crates/aethon/src/other_accounts.rs", "`/etc/passwd` and the owners of what lies in `/home`"),
    ("crates/aethon/src/wiring/sandbox.rs", "asks whether the program runs inside a container"),
    ("crates/aethon/src/front.rs", "hands on an open file"),
    (
        "crates/aethon-config/src/credentials.rs",
        "lists the credentials in the home, and reads them by `read_given`",
    ),
    (
        "crates/aethon-config/src/secrets_in_file.rs",
        "the configuration, which is closed to tools and commands",
    ),
    (
        "crates/aethon-config/src/draft.rs",
        "a copy of the configuration, which is closed to tools and commands",
    ),
    ("crates/aethon-config/src/held.rs", "the configuration, which is closed to tools and commands"),
    ("crates/aethon-config/src/layers.rs", "the configuration, which is closed to tools and commands"),
    (
        "crates/aethon-config/src/private_file.rs",
        "private files in the home, which is closed to tools and commands",
    ),
    (
        "crates/aethon-recorder/src/",
        "recordings in the home, which is closed; strangers' are opened through no link",
    ),
    ("crates/aethon-tools/src/confine/", "the walls themselves: what is closed, and mounts"),
    ("crates/aethon-tools/src/desktop/program.rs", "asks where a program is, and opens nothing"),
    (
        "crates/aethon-tools/src/dynamic/store.rs",
        "writes tools in the home, which is closed, and reads by `Directory`",
    ),
    (
        "crates/aethon-tools/src/docker/trial.rs",
        "makes and removes the marker by which the trial knows the workspace",
    ),
    ("crates/aethon-tools/src/docker/owner.rs", "which processes live, by `/proc`"),
    ("crates/aethon-tools/src/files/blocklist.rs", "looks at what is closed, never at its content"),
    ("crates/aethon-tools/src/files/git.rs", "asks what a folder has, and opens nothing"),
    ("crates/aethon-tools/src/files/read.rs", "is handed an open file"),
    ("crates/aethon-tools/src/files/find.rs", "is handed open files"),
    ("crates/aethon-tools/src/files/walk.rs", "looks at what is open already"),
    ("crates/aethon-tools/src/files/workspace.rs", "judges what is open already; opening is up to `beneath`"),
    ("crates/aethon-tools/src/files/writable.rs", "judges what is open already; opening is up to `beneath`"),
    ("crates/aethon-tools/src/lsp/servers.rs", "asks whether a project has its file, and opens nothing"),
    ("crates/aethon-tools/src/outputs/kept.rs", "kept output in the home, which is closed, through no link"),
    ("crates/aethon-tools/src/stamp.rs", "the state of a folder, never its content"),
    ("crates/aethon-tools/src/strangers/", "what is where, to wall it off; opens nothing"),
    ("crates/aethon-tools/src/sockets/", "which sockets exist, and opens nothing"),
    ("crates/aethon-tools/src/protected_paths/", "which places exist, never what is in them"),
    ("crates/aethon-tools/src/protected_paths.rs", "which places exist, never what is in them"),
    ("crates/aethon-tools/src/sandbox.rs", "asks whether the workspace exists"),
    (
        "crates/aethon-tools/src/shell/",
        "what the system says of itself in `/proc`, and where a command starts",
    ),
    ("crates/aethon-tools/src/verify/project.rs", "asks whether a project has its file, and opens nothing"),
    ("crates/aethon-tools/src/web/rules.rs", "the daemon's address in the home, which is closed"),
];

/// Paths that open or look at what a path names.
const FORBIDDEN: [&str; 14] = [
    "std::fs::File",
    "std::fs::OpenOptions",
    "std::fs::metadata",
    "std::fs::symlink_metadata",
    "std::fs::read",
    "std::fs::read_dir",
    "std::fs::read_to_string",
    "std::fs::write",
    "std::fs::copy",
    "std::fs::rename",
    "std::fs::remove_file",
    "std::fs::canonicalize",
    "tokio::fs",
    "File::open",
];

/// Methods of a path that look at what it names.
const METHODS: [&str; 7] =
    ["exists", "try_exists", "is_file", "is_dir", "is_symlink", "symlink_metadata", "read_dir"];

/// Checks that files where tools and commands may write are opened by `aethon-files`.
pub(crate) fn files_are_opened_by_one_crate(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (file, source) in tree.rust() {
        let applies = AREAS.iter().any(|area| file.path.starts_with(area));
        if !applies || EXCEPTIONS.iter().any(|(place, _)| file.path.starts_with(place)) {
            continue;
        }
        let mut tell = |line, what: &str| {
            found.push(Finding::new(
                RULE,
                &file.path,
                line,
                format!("`{what}` opens or looks at a path"),
                "open it by `aethon_files`, or say in `tidy/rules/own_reads.rs` why no tool or command can swap it",
            ));
        };
        let named = source.paths.iter().filter(|path| !path.test);
        for path in named.filter(|path| is_forbidden(&path.text)) {
            tell(path.line, &path.text);
        }
        let mut calls = Calls::default();
        calls.visit_file(&source.ast);
        for (name, line) in calls.0.into_iter().filter(|(_, line)| !source.is_test(*line)) {
            tell(line, &format!(".{name}()"));
        }
    }
    found
}

/// `fs::read` after `use std::fs` is the same.
fn is_forbidden(path: &str) -> bool {
    let is_under =
        |root: &str| path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"));
    FORBIDDEN.iter().any(|root| is_under(root) || is_under(root.trim_start_matches("std::")))
}

#[derive(Default)]
struct Calls(Vec<(String, usize)>);

impl<'ast> Visit<'ast> for Calls {
    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let name = call.method.to_string();
        if METHODS.contains(&name.as_str()) && call.args.is_empty() {
            self.0.push((name, call.method.span().start().line));
        }
        syn::visit::visit_expr_method_call(self, call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str, expected: usize) {
        let found = files_are_opened_by_one_crate(&Tree::of(&[(path, text)]));
        assert_eq!(found.len(), expected, "{path}: {text}: {found:?}");
    }

    #[test]
    fn opening_a_path_is_found_however_it_is_written() {
        let pages = "crates/aethon-agent/src/prompt/pages.rs";
        for text in [
            "use std::fs::File;",
            "use std::{fs::{self, read_to_string}};",
            "use std::fs;\nfn f() { fs::metadata(\"a\"); }",
            "fn f() { std::fs::read(\"a\"); }",
            "fn f() { tokio::fs::read(\"a\"); }",
            "fn f(path: &Path) -> bool { path.is_file() }",
            "fn f(path: &Path) { if path.join(\"a\").exists() {} }",
        ] {
            check(pages, text, 1);
        }
    }

    #[test]
    fn listed_files_and_test_code_are_fine() {
        let pages = "crates/aethon-agent/src/prompt/pages.rs";
        check(pages, "use aethon_files::Directory;\nfn f(d: &Directory) { d.read(\"a\", 1); }", 0);
        check(
            pages,
            "#[cfg(test)]\nmod tests { fn f(path: &Path) { std::fs::read(path); path.exists(); } }",
            0,
        );
        check("crates/aethon/src/home.rs", "use std::fs::File;", 0);
        check("crates/aethon-store/src/db.rs", "use std::fs::File;", 0);
        check("crates/aethon-files/src/beneath.rs", "use std::fs::File;", 0);
    }
}
