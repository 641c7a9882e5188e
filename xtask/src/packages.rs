//! `cargo xtask packages`: the crates as others get them. Small builds compile without a warning, the core stays small, and every package
//! can be made and has what a registry shows.

use crate::process;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// Builds of the facade that stand for the others: nothing, one provider, a server as storage, and everything but what has large
/// libraries.
const BUILDS: [&[&str]; 4] = [&[], &["openai"], &["openai", "postgres"], &["providers", "channels"]];

/// The packages that an author of a tool, a channel or a storage compiles with `aethon-core`, and itself.
const MAX_CORE: usize = 45;

/// What is in the workspace and not for a registry.
const OURS: [&str; 2] = ["xtask", "aethon-tests"];

/// What every package contains besides its sources.
const FILES: [&str; 2] = ["LICENSE", "README.md"];

/// Checks small builds, the size of the core, and every package.
pub(crate) fn run(root: &Path) -> Result<()> {
    core_is_small(root)?;
    for features in BUILDS {
        builds_without_warnings(root, features)?;
    }
    can_be_packaged(root)
}

fn core_is_small(root: &Path) -> Result<()> {
    let tree = process::output(
        root,
        "cargo",
        &["tree", "--locked", "-p", "aethon-core", "-e", "normal", "--prefix", "none"],
    )?;
    let count = packages_of(&tree);
    if count >= MAX_CORE {
        bail!("aethon-core has {count} packages with its dependencies, and is to stay below {MAX_CORE}");
    }
    println!("packages: aethon-core is {count} packages with its dependencies");
    Ok(())
}

/// Counts the packages that `cargo tree` lists, each once.
fn packages_of(tree: &str) -> usize {
    let packages = tree.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?, words.next()?))
    });
    packages.collect::<BTreeSet<_>>().len()
}

fn builds_without_warnings(root: &Path, features: &[&str]) -> Result<()> {
    let chosen = features.join(",");
    let arguments = [
        "check",
        "--locked",
        "--message-format=json",
        "-p",
        "aethon",
        "--no-default-features",
        "--features",
        &chosen,
    ];
    println!("$ cargo {}", arguments.join(" "));
    let messages = process::output(root, "cargo", &arguments)?;
    let warnings: Vec<String> = messages.lines().filter_map(warning).collect();
    if warnings.is_empty() {
        return Ok(());
    }
    warnings.iter().for_each(|warning| println!("{warning}"));
    bail!("aethon with the features [{chosen}] compiles with {} warnings", warnings.len())
}

/// The text of a message of the compiler.
fn warning(line: &str) -> Option<String> {
    let message: Value = serde_json::from_str(line).ok()?;
    let is_message = message.get("reason")? == "compiler-message";
    let rendered = message.get("message")?.get("rendered")?.as_str()?;
    is_message.then(|| rendered.to_owned())
}

/// Makes every package, without compiling it once more: that needs those below it in a registry.
fn can_be_packaged(root: &Path) -> Result<()> {
    let metadata =
        process::output(root, "cargo", &["metadata", "--locked", "--no-deps", "--format-version", "1"])?;
    let metadata: Value = serde_json::from_str(&metadata).context("cargo describes the workspace")?;
    let packages = metadata.get("packages").and_then(Value::as_array).context("there are packages")?;
    let mut faults = Vec::new();
    let mut count = 0;
    for package in packages {
        let name = package.get("name").and_then(Value::as_str).unwrap_or_default();
        if OURS.contains(&name) {
            continue;
        }
        count += 1;
        faults.extend(missing(package).into_iter().map(|key| format!("{name}: no `{key}`")));
        let list = ["package", "--locked", "--allow-dirty", "--list", "-p", name];
        let files = process::output(root, "cargo", &list)?;
        let has = |wanted: &str| files.lines().any(|file| file == wanted);
        faults.extend(FILES.iter().filter(|file| !has(file)).map(|file| format!("{name}: no file {file}")));
    }
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    let mut arguments = vec!["package", "--locked", "--allow-dirty", "--no-verify", "--quiet", "--workspace"];
    OURS.iter().for_each(|name| arguments.extend(["--exclude", *name]));
    process::run(root, "cargo", &arguments)?;
    println!("packages: {count} can be published");
    Ok(())
}

/// What a package does not say about itself.
fn missing(package: &Value) -> Vec<&'static str> {
    let is_filled = |key: &str| match package.get(key) {
        Some(Value::String(text)) => !text.trim().is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        _ => false,
    };
    ["description", "license", "readme", "keywords", "categories"]
        .into_iter()
        .filter(|key| !is_filled(key))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn packages_are_counted_once() {
        let tree =
            "aethon-core v0.3.0 (/somewhere)\nserde v1.0.0\nsyn v2.0.0\nsyn v3.0.0\nserde v1.0.0 (*)\n\n";
        assert_eq!(packages_of(tree), 4);
    }

    #[test]
    fn a_message_of_the_compiler_is_found_among_others() {
        let found = json!({"reason": "compiler-message", "message": {"rendered": "warning: unused"}});
        assert_eq!(warning(&found.to_string()).as_deref(), Some("warning: unused"));
        for other in [
            "",
            "no json",
            r#"{"reason":"compiler-artifact"}"#,
            r#"{"reason":"build-finished","success":true}"#,
        ] {
            assert_eq!(warning(other), None, "{other}");
        }
    }

    #[test]
    fn what_a_package_lacks_is_named() {
        let whole = json!({"description": "x", "license": "y", "readme": "README.md", "keywords": ["a"], "categories": ["b"]});
        assert!(missing(&whole).is_empty());
        let bare = json!({"description": " ", "license": "y", "readme": null, "keywords": []});
        assert_eq!(missing(&bare), ["description", "readme", "keywords", "categories"]);
    }
}
