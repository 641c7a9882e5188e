//! Every package follows the workspace: version, edition, licence and lints are inherited from the root, dependencies have a
//! single version, and a crate's folder has its name.

use crate::tidy::finding::Finding;
use crate::tidy::manifest::{Floor, Manifest};
use crate::tidy::tree::Tree;

const RULE: &str = "manifest";

/// Keys of `[package]` that must be inherited.
const INHERITED: [&str; 5] = ["version", "edition", "rust-version", "license", "publish"];

/// Checks the manifest of every package.
pub(crate) fn packages_follow_the_workspace(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for manifest in &tree.manifests {
        let mut tell = |line, message: String, remedy| {
            found.push(Finding::new(RULE, &manifest.path, line, message, remedy));
        };
        // The chores and the black-box tests are for this checkout only.
        let stays_here = matches!(manifest.floor, Some(Floor::Chores | Floor::Suite));
        let package = manifest.document.get("package");
        let is_kept =
            package.and_then(|package| package.get("publish")) == Some(&toml::Value::Boolean(false));
        if stays_here && !is_kept {
            let message = "it could be published".to_owned();
            tell(manifest.line_of("publish"), message, "write `publish = false`");
        }
        let inherited = INHERITED.iter().filter(|key| !(stays_here && **key == "publish"));
        for key in inherited.filter(|key| !inherits(package, key)) {
            let message = format!("`{key}` is not inherited");
            tell(manifest.line_of(key), message, "write `KEY.workspace = true`");
        }
        if !manifest.document.get("lints").is_some_and(|lints| is_workspace(Some(lints))) {
            let message = "the lints of the workspace are not turned on".to_owned();
            tell(1, message, "add `[lints]` with `workspace = true`");
        }
        if !has_description(manifest) {
            let message = "no description".to_owned();
            tell(1, message, "say in one line what the package is");
        }
        if manifest.folder.starts_with("crates/")
            && !manifest.folder.ends_with(&format!("/{}", manifest.name))
        {
            let message = format!("package `{}` in folder `{}`", manifest.name, manifest.folder);
            tell(manifest.line_of("name"), message, "give the folder the name of the crate");
        }
    }
    found
}

fn has_description(manifest: &Manifest) -> bool {
    let description = manifest.document.get("package").and_then(|package| package.get("description"));
    description.and_then(toml::Value::as_str).is_some_and(|text| !text.trim().is_empty())
}

fn inherits(package: Option<&toml::Value>, key: &str) -> bool {
    is_workspace(package.and_then(|package| package.get(key)))
}

fn is_workspace(value: Option<&toml::Value>) -> bool {
    value.and_then(|value| value.get("workspace")).and_then(toml::Value::as_bool) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[package]\nname = \"aethon-store\"\ndescription = \"Storage\"\n\
        version.workspace = true\nedition.workspace = true\nrust-version.workspace = true\n\
        license.workspace = true\npublish.workspace = true\n[lints]\nworkspace = true\n";

    fn check(folder: &str, text: &str, expected: usize) {
        let found = packages_follow_the_workspace(&Tree::of(&[(&format!("{folder}/Cargo.toml"), text)]));
        assert_eq!(found.len(), expected, "{found:?}");
    }

    #[test]
    fn a_package_that_follows_passes() {
        check("crates/aethon-store", GOOD, 0);
    }

    #[test]
    fn the_chores_are_not_published() {
        let chores = GOOD.replace("aethon-store", "xtask");
        check("xtask", &chores, 1);
        check("xtask", &chores.replace("publish.workspace = true", "publish = false"), 0);
    }

    #[test]
    fn a_package_that_does_not_is_found() {
        check("crates/storage", GOOD, 1);
        check(
            "crates/aethon-store",
            &GOOD.replace("version.workspace = true\nedition", "version = \"1.0.0\"\nedition"),
            1,
        );
        check("crates/aethon-store", &GOOD.replace("[lints]\nworkspace = true\n", ""), 1);
        check("crates/aethon-store", &GOOD.replace("\"Storage\"", "\"\""), 1);
    }
}
