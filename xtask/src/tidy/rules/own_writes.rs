//! Files that several programs change are changed under a lock, by `HeldFile` or `Draft` of `aethon-config` for the
//! configuration. Every direct write of a private file is listed here, with its protection of a second writer's change.
//!
//! That files of the workspace are not written by their path is the rule `own-reads`.

use crate::tidy::finding::Finding;
use crate::tidy::tree::Tree;

const RULE: &str = "own-writes";

/// Files that write private files directly, and why none loses what another program wrote.
const WRITERS: &[(&str, &str)] = &[
    ("crates/aethon-config/src/private_file.rs", "defines it"),
    ("crates/aethon-config/src/held.rs", "the configuration, under its lock"),
    ("crates/aethon-config/src/draft.rs", "a draft, under the lock of drafts"),
    ("crates/aethon-config/src/credentials.rs", "one secret each, which is replaced and not edited"),
    ("crates/aethon/src/models.rs", "the table of models, under its lock"),
    ("crates/aethon/src/home.rs", "the key of sign-ins, under its lock, and the address of the one daemon"),
    ("crates/aethon/src/push/vapid.rs", "the key of notifications, made by the one daemon"),
    ("crates/aethon/src/push/devices.rs", "the list of devices of the one daemon, under its lock"),
    ("bins/aethon-cli/src/commands/chat.rs", "the history of the prompt, when it is made"),
];

/// Checks that private files are written where a second writer was thought of.
pub(crate) fn shared_files_are_changed_under_a_lock(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (file, source) in tree.rust() {
        let is_program = file.path.starts_with("crates/") || file.path.starts_with("bins/");
        if !is_program || WRITERS.iter().any(|(place, _)| file.path == *place) {
            continue;
        }
        let writes = |text: &str| text == "private_file::write" || text.ends_with("::private_file::write");
        for path in source.paths.iter().filter(|path| !path.test && writes(&path.text)) {
            found.push(Finding::new(
                RULE,
                &file.path,
                path.line,
                "`private_file::write` replaces what another program may have changed".to_owned(),
                "change the configuration by `HeldFile`, hold an `aethon_files::Lock`, or say in `tidy/rules/own_writes.rs` why nothing is lost",
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str, expected: usize) {
        let found = shared_files_are_changed_under_a_lock(&Tree::of(&[(path, text)]));
        assert_eq!(found.len(), expected, "{path}: {text}: {found:?}");
    }

    #[test]
    fn a_writer_that_is_not_listed_is_found() {
        let text = "use aethon_config::private_file;\nfn f() { private_file::write(p, b\"\"); }";
        check("crates/aethon/src/doctor.rs", text, 1);
        check(
            "bins/aethon-cli/src/commands/init.rs",
            "fn f() { aethon::config::private_file::write(p, b\"\"); }",
            1,
        );
        check("crates/aethon/src/models.rs", text, 0);
        check("crates/aethon/src/doctor.rs", &format!("#[cfg(test)]\nmod tests {{ {text} }}"), 0);
        check("tests/suite/x.rs", text, 0);
    }
}
