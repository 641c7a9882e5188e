//! Third-party code: few packages, and for each direct dependency a line that justifies it.

use crate::tidy::finding::Finding;
use crate::tidy::manifest::workspace_dependencies;
use crate::tidy::tree::Tree;

/// The maximum number of packages in the lock.
const LIMIT: usize = 440;

/// The document with a line for each direct dependency.
const RECORD: &str = "docs/decisions/dependencies.md";

/// Checks the number of packages in the lock.
pub(crate) fn few_packages(tree: &Tree) -> Vec<Finding> {
    let Some(lock) = tree.text("Cargo.lock") else { return Vec::new() };
    let packages = lock.lines().filter(|line| *line == "[[package]]").count();
    if packages <= LIMIT {
        return Vec::new();
    }
    let message = format!("{packages} packages, at most {LIMIT}");
    vec![Finding::new("lock", "Cargo.lock", 1, message, "turn off features, or do without the dependency")]
}

/// Checks that every external dependency of the workspace is named, in backticks, in the record.
pub(crate) fn every_dependency_has_its_line(tree: &Tree) -> Vec<Finding> {
    let Some(root) = tree.text("Cargo.toml") else { return Vec::new() };
    let record = tree.text(RECORD).unwrap_or_default();
    let missing =
        workspace_dependencies(root).into_iter().filter(|(name, _)| !record.contains(&format!("`{name}`")));
    missing
        .map(|(name, line)| {
            let message = format!("`{name}` has no line in {RECORD}");
            Finding::new("dependency-record", "Cargo.toml", line, message, "say there what it is for")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_grew_too_long_is_found() {
        for (count, expected) in [(LIMIT, 0), (LIMIT + 1, 1)] {
            let text = "[[package]]\nname = \"a\"\n".repeat(count);
            assert_eq!(few_packages(&Tree::of(&[("Cargo.lock", &text)])).len(), expected);
        }
    }

    #[test]
    fn a_dependency_without_its_line_is_found() {
        let root = "[workspace.dependencies]\nours = { path = \"crates/ours\" }\nserde = \"1\"\n\
                    ring = { version = \"0.17\" }\n";
        let tree = Tree::of(&[("Cargo.toml", root), (RECORD, "- `serde`: wire forms\n")]);
        let found = every_dependency_has_its_line(&tree);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].line, 4);
    }
}
