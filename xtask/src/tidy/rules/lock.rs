//! Third-party code: few packages, and for each direct dependency a line that justifies it.
//!
//! What only the readers of documents bring in stands behind a feature, so it is counted apart.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::finding::Finding;
use crate::tidy::manifest::workspace_dependencies;
use crate::tidy::tree::Tree;

/// The maximum number of packages in the lock without those of features.
const LIMIT: usize = 446;

/// The packages that stand behind a feature, and how many others they may bring in together.
const FEATURES: [&str; 1] = ["aethon-documents"];
const LIMIT_OF_FEATURES: usize = 110;

/// The document with a line for each direct dependency.
const RECORD: &str = "docs/decisions/dependencies.md";

/// Checks the number of packages in the lock.
pub(crate) fn few_packages(tree: &Tree) -> Vec<Finding> {
    let Some(lock) = tree.text("Cargo.lock") else { return Vec::new() };
    let packages = Packages::of(lock);
    let all = packages.count;
    let plain = packages.without(&FEATURES);
    let mut found = Vec::new();
    for (count, most, which) in
        [(plain, LIMIT, "packages"), (all - plain, LIMIT_OF_FEATURES, "packages of features")]
    {
        if count > most {
            let message = format!("{count} {which}, at most {most}");
            let remedy = "turn off features, or do without the dependency";
            found.push(Finding::new("lock", "Cargo.lock", 1, message, remedy));
        }
    }
    found
}

/// The packages of a lock, and what each depends on.
struct Packages<'l> {
    count: usize,
    /// By name; two versions of a package count as one here.
    dependencies: BTreeMap<&'l str, Vec<&'l str>>,
    names: Vec<&'l str>,
}

impl<'l> Packages<'l> {
    fn of(lock: &'l str) -> Self {
        let mut packages = Self { count: 0, dependencies: BTreeMap::new(), names: Vec::new() };
        for line in lock.lines() {
            if let Some(name) = line.strip_prefix("name = \"") {
                packages.count += 1;
                packages.names.push(name.trim_end_matches('"'));
            } else if let Some(dependency) = line.strip_prefix(" \"")
                && let Some(package) = packages.names.last()
            {
                let name = dependency.split([' ', '"']).next().unwrap_or_default();
                packages.dependencies.entry(package).or_default().push(name);
            }
        }
        packages
    }

    /// Returns how many are left without these and what only they need.
    fn without(&self, features: &[&str]) -> usize {
        let needed: BTreeSet<&str> = self.dependencies.values().flatten().copied().collect();
        let roots = self.names.iter().copied().filter(|name| !needed.contains(name));
        let mut seen = BTreeSet::new();
        let mut open: Vec<&str> = roots.collect();
        while let Some(name) = open.pop() {
            if !features.contains(&name) && seen.insert(name) {
                open.extend(self.dependencies.get(name).into_iter().flatten());
            }
        }
        self.names.iter().filter(|name| seen.contains(*name)).count()
    }
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
    fn packages_of_features_are_counted_apart() {
        for (count, expected) in [(LIMIT_OF_FEATURES - 1, 0), (LIMIT_OF_FEATURES, 1)] {
            let names: Vec<String> = (0..count).map(|at| format!("reader{at}")).collect();
            let needs: String = names.iter().map(|name| format!(" \"{name}\",\n")).collect();
            let readers: String =
                names.iter().map(|name| format!("[[package]]\nname = \"{name}\"\n")).collect();
            let own = format!("[[package]]\nname = \"aethon-documents\"\ndependencies = [\n{needs}]\n");
            let facade = "[[package]]\nname = \"aethon\"\ndependencies = [\n \"aethon-documents\",\n]\n";
            let text = "[[package]]\nname = \"a\"\n".repeat(LIMIT - 1) + facade + &own + &readers;
            assert_eq!(few_packages(&Tree::of(&[("Cargo.lock", &text)])).len(), expected, "{count}");
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
