//! Runs every rule over the workspace and prints what they find.

use super::rules::RULES;
use super::tree::Tree;
use super::{finding::Finding, metadata};
use anyhow::{Result, bail};
use std::path::Path;

/// Reads the workspace, applies every rule, prints the findings; fails when there are any.
pub(crate) fn run(root: &Path) -> Result<()> {
    let tree = Tree::read(root, metadata::locked(root)?)?;
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

/// What all rules find, by place.
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
    use super::*;

    #[test]
    fn a_file_that_does_not_parse_is_a_finding_and_not_a_gap() {
        let found = check(&Tree::of(&[("crates/aethon-store/src/db.rs", "fn {")]));
        assert!(found.iter().any(|finding| finding.rule == "parses"), "{found:?}");
    }

    #[test]
    fn this_workspace_is_read_whole() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let tree = Tree::read(&root, Vec::new()).unwrap();
        assert!(tree.manifests.iter().any(|manifest| manifest.name == "aethon-core"));
        assert!(tree.rust().count() > 10);
    }
}
