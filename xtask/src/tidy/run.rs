//! Runs every rule on the workspace and prints the findings.

use super::report::report;
use super::rules::RULES;
use super::tree::Tree;
use super::{finding::Finding, metadata};
use anyhow::{Result, bail};
use std::path::Path;

/// What to print beside the findings.
#[derive(clap::Args, Default)]
pub(crate) struct TidyOptions {
    /// Print the language and the signatures of each package as numbers
    #[arg(long)]
    report: bool,
}

/// Reads the workspace, applies every rule and prints the findings; fails if there are any.
pub(crate) fn run(root: &Path, options: &TidyOptions) -> Result<()> {
    let tree = Tree::read(root, metadata::locked(root)?)?;
    if options.report {
        print!("{}", report(&tree));
    }
    let found = check(&tree);
    for finding in &found {
        println!("{finding}");
    }
    let files = tree.files.len();
    if found.is_empty() {
        println!(
            "tidy: {files} files, {} packages, {} rules, no findings",
            tree.manifests.len(),
            RULES.len()
        );
        return Ok(());
    }
    bail!("tidy: {} findings in {files} files", found.len())
}

/// The findings of all rules, ordered by place.
fn check(tree: &Tree) -> Vec<Finding> {
    let mut found: Vec<Finding> = tree
        .unreadable
        .iter()
        .map(|(path, reason)| Finding::new("parses", path, 1, reason.clone(), "mend the syntax"))
        .collect();
    for rule in RULES {
        found.extend(rule(tree));
    }
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::super::manifest::Locked;
    use super::*;

    #[test]
    fn a_file_that_does_not_parse_is_a_finding_and_not_a_gap() {
        let found = check(&Tree::of(&[("crates/aethon-store/src/db.rs", "fn {")]));
        assert!(found.iter().any(|finding| finding.rule == "parses"), "{found:?}");
    }

    /// A workspace that breaks every rule.
    fn disorder() -> Tree {
        let core = "[package]\nname = \"aethon-core\"\n[dependencies]\nureq = \"3\"\naethon-store = \"1\"";
        let store = "[package]\nname = \"aethon-store\"\n[lib]\npath = \"../a.rs\"";
        let agent = "[package]\nname = \"aethon-agent\"\n[dependencies]\nrusqlite = \"1\"";
        let source = "use hyper::body;\nuse aethon_config::Config;\npub mod inner { }\n\
            const A: &str = include_str!(\"../../../../a\");\nconst B: &str = \"PRAGMA user_version\";\n\
            #[allow(dead_code)]\nstruct SessionManager;\n// TODO\nfn f() {}\n";
        let methods: Vec<_> = (0..8).map(|at| format!("fn m{at}();\n")).collect();
        let large = format!("//! x\ntrait T {{ {} }}\n{}", methods.concat(), "// x\n".repeat(600));
        let lock: String = (0..500).map(|number| format!("[[package]]\nname = \"p{number}\"\n")).collect();
        let mut tree = Tree::of(&[
            ("Cargo.toml", "[workspace.dependencies]\nserde = \"1\""),
            ("Cargo.lock", &lock),
            ("crates/aethon-core/Cargo.toml", core),
            ("crates/aethon-core/src/clock.rs", "use std::fs;"),
            ("crates/aethon-store/Cargo.toml", store),
            ("crates/aethon-agent/Cargo.toml", agent),
            ("crates/aethon-agent/src/lib.rs", source),
            ("crates/aethon-agent/src/large.rs", &large),
            (
                "crates/aethon-agent/src/engine/one.rs",
                "use super::two::Two; use std::fs::File; fn f() { private_file::write(p); }",
            ),
            ("crates/aethon-agent/src/engine/two.rs", "use super::one::One;"),
            ("crates/aethon-files/src/a.rs", "use super::b::B;"),
            ("crates/aethon-files/src/b.rs", "use super::a::A;"),
            ("web/assets/js/a.js", "import \"./b.js\";"),
            ("web/assets/js/b.js", "import \"./a.js\";"),
        ]);
        tree.locked.push(Locked { package: "a 1.0.0".to_owned(), licence: Some("Secret".to_owned()) });
        tree
    }

    #[test]
    fn every_rule_fails_where_everything_is_wrong() {
        let tree = disorder();
        for (index, rule) in RULES.iter().enumerate() {
            assert!(!rule(&tree).is_empty(), "rule {index} of RULES finds nothing");
        }
    }

    #[test]
    fn no_rule_fails_on_an_empty_workspace() {
        assert!(check(&Tree::default()).is_empty());
    }

    #[test]
    fn this_workspace_is_read_whole() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let tree = Tree::read(&root, Vec::new()).unwrap();
        assert!(tree.manifests.iter().any(|manifest| manifest.name == "aethon-core"));
        assert!(tree.rust().count() > 10);
    }
}
