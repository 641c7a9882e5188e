//! Invariants 1 and 3: the permitted dependencies within the workspace.

use crate::tidy::finding::Finding;
use crate::tidy::manifest::{Floor, Manifest};
use crate::tidy::tree::Tree;

const RULE: &str = "layers";

/// Permitted dependencies in addition to the general rule. The suite starts the server that the tests of the storage start.
const ALSO: [(&str, &str); 2] = [("aethon-http", "aethon-web"), ("aethon-tests", "aethon-postgres")];

/// Checks that a package depends only on those below it: a leaf on the core and on how files are opened, the facade
/// on the leaves, a program on the facade. This includes the tests of a leaf; otherwise two leaves could no longer be built apart.
pub(crate) fn leaves_see_only_the_core(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for manifest in &tree.manifests {
        let Some(floor) = manifest.floor else {
            let message = format!("package `{}` stands on no floor of the house", manifest.name);
            found.push(Finding::new(RULE, &manifest.path, 1, message, "move it to crates/ or bins/"));
            continue;
        };
        for dependency in &manifest.dependencies {
            let Some(target) = tree.manifests.iter().find(|other| other.name == dependency.name) else {
                continue;
            };
            if !allowed(manifest, floor, target) {
                let message = format!("`{}` depends on `{}`", manifest.name, target.name);
                found.push(Finding::new(
                    RULE,
                    &manifest.path,
                    dependency.line,
                    message,
                    "put the shared word into aethon-core and the wire between the two into the facade",
                ));
            }
        }
    }
    found
}

/// Checks that only the facade knows the whole `Config`; a leaf takes its own `Options`.
pub(crate) fn only_the_facade_sees_the_configuration(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (file, source) in tree.rust() {
        let Some(package) = tree.package_of(&file.path) else { continue };
        let exempt = matches!(package.floor, Some(Floor::Facade | Floor::Chores | Floor::Suite));
        if exempt || package.name == "aethon-config" {
            continue;
        }
        for path in source.paths.iter().filter(|path| path.is_under("aethon_config")) {
            found.push(Finding::new(
                "one-config",
                &file.path,
                path.line,
                format!("`{}` names `{}`", package.name, path.text),
                "take a small `Options` of your own; the facade fills it from the configuration",
            ));
        }
    }
    found
}

fn allowed(from: &Manifest, floor: Floor, to: &Manifest) -> bool {
    if ALSO.contains(&(from.name.as_str(), to.name.as_str())) || from.name == to.name {
        return true;
    }
    let below: &[Floor] = match floor {
        Floor::Core | Floor::Files | Floor::Web | Floor::Chores => &[],
        Floor::Guard => &[Floor::Core],
        Floor::Leaf => &[Floor::Core, Floor::Files, Floor::Guard],
        Floor::Facade => &[Floor::Core, Floor::Files, Floor::Guard, Floor::Leaf, Floor::Web],
        Floor::Program | Floor::Suite => &[Floor::Core, Floor::Facade],
    };
    to.floor.is_some_and(|floor| below.contains(&floor))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependencies: &[&str]) -> String {
        let lines: Vec<_> = dependencies.iter().map(|name| format!("{name}.workspace = true\n")).collect();
        format!("[package]\nname = \"{name}\"\n[dependencies]\n{}", lines.concat())
    }

    /// Checks how many findings a dependency of `from` on `to` yields.
    fn check(from: (&str, &str), to: (&str, &str), expected: usize) {
        let tree = Tree::of(&[
            (&format!("{}/Cargo.toml", from.0), &package(from.1, &[to.1])),
            (&format!("{}/Cargo.toml", to.0), &package(to.1, &[])),
        ]);
        let found = leaves_see_only_the_core(&tree);
        assert_eq!(found.len(), expected, "{} on {}: {found:?}", from.1, to.1);
    }

    #[test]
    fn every_arrow_points_down() {
        let core = ("crates/aethon-core", "aethon-core");
        let store = ("crates/aethon-store", "aethon-store");
        let agent = ("crates/aethon-agent", "aethon-agent");
        let http = ("crates/aethon-http", "aethon-http");
        let web = ("web", "aethon-web");
        let facade = ("crates/aethon", "aethon");
        let server = ("bins/aethon-server", "aethon-server");
        let config = ("crates/aethon-config", "aethon-config");
        let files = ("crates/aethon-files", "aethon-files");
        let guard = ("crates/aethon-guard", "aethon-guard");
        for (from, to, expected) in [
            (agent, files, 0),
            (facade, files, 0),
            (agent, guard, 0),
            (guard, core, 0),
            (guard, files, 1),
            (guard, store, 1),
            (files, core, 1),
            (core, files, 1),
            (server, files, 1),
            (agent, core, 0),
            (http, web, 0),
            (facade, store, 0),
            (facade, config, 0),
            (server, facade, 0),
            (agent, store, 1),
            (store, web, 1),
            (core, store, 1),
            (agent, facade, 1),
            (server, store, 1),
            (server, config, 1),
            (agent, config, 1),
        ] {
            check(from, to, expected);
        }
    }

    #[test]
    fn a_development_dependency_on_another_leaf_counts() {
        let tree = Tree::of(&[
            (
                "crates/aethon-agent/Cargo.toml",
                "[package]\nname=\"aethon-agent\"\n[dev-dependencies]\naethon-store.workspace = true",
            ),
            ("crates/aethon-store/Cargo.toml", "[package]\nname=\"aethon-store\""),
        ]);
        let found = leaves_see_only_the_core(&tree);
        assert_eq!((found.len(), found[0].line), (1, 4));
    }

    #[test]
    fn a_package_elsewhere_is_found() {
        let tree = Tree::of(&[("misc/thing/Cargo.toml", "[package]\nname=\"thing\"")]);
        assert_eq!(leaves_see_only_the_core(&tree).len(), 1);
    }

    #[test]
    fn a_leaf_or_program_never_names_the_configuration() {
        let source = "//! x\nuse aethon_config::Config;\n";
        for (folder, expected) in
            [("crates/aethon-store", 1), ("bins/aethon-cli", 1), ("crates/aethon", 0), ("tests", 0)]
        {
            let manifest = format!("[package]\nname = \"{}\"", folder.rsplit('/').next().unwrap());
            let tree = Tree::of(&[
                (&format!("{folder}/Cargo.toml"), &manifest),
                (&format!("{folder}/src/lib.rs"), source),
            ]);
            assert_eq!(only_the_facade_sees_the_configuration(&tree).len(), expected, "{folder}");
        }
    }
}
