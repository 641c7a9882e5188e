//! A `Cargo.toml` as the rules of `tidy` see it: which package it describes, the package's floor in the architecture, and its
//! dependencies.

use std::collections::BTreeMap;

/// The floor of a package in `docs/architecture.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Floor {
    /// `crates/aethon-core`: words and traits.
    Core,
    /// `crates/aethon-files`: how files are opened.
    Files,
    /// `crates/aethon-guard`, `crates/aethon-archive` and `crates/aethon-markdown`: refusing and masking, ZIP files, and the
    /// dialect of Markdown. They see only the core.
    Guard,
    /// `web`: the embedded pages.
    Web,
    /// The other crates: each sees only the core, and how files are opened.
    Leaf,
    /// `crates/aethon`: configuration in, object graph out.
    Facade,
    /// `bins/*`.
    Program,
    /// `xtask`.
    Chores,
    /// `tests`: black-box tests.
    Suite,
}

impl Floor {
    /// The floor of the package in a folder, by the folder alone.
    pub(crate) fn of(folder: &str) -> Option<Self> {
        match folder {
            "crates/aethon-core" => Some(Self::Core),
            "crates/aethon-files" => Some(Self::Files),
            "crates/aethon-guard" | "crates/aethon-archive" | "crates/aethon-markdown" => Some(Self::Guard),
            "crates/aethon" => Some(Self::Facade),
            "web" => Some(Self::Web),
            "xtask" => Some(Self::Chores),
            "tests" => Some(Self::Suite),
            _ if folder.starts_with("crates/") => Some(Self::Leaf),
            _ if folder.starts_with("bins/") => Some(Self::Program),
            _ => None,
        }
    }
}

/// One package of the workspace.
#[derive(Debug)]
pub(crate) struct Manifest {
    /// Path of the file from the root.
    pub(crate) path: String,
    /// Its folder from the root, without a trailing `/`; empty for the root itself.
    pub(crate) folder: String,
    /// Name of the package.
    pub(crate) name: String,
    /// Its floor.
    pub(crate) floor: Option<Floor>,
    /// Its dependencies by package name, including development and build dependencies.
    pub(crate) dependencies: Vec<Dependency>,
    /// The whole document, for rules with special questions.
    pub(crate) document: toml::Table,
    lines: Vec<String>,
}

/// One dependency.
#[derive(Debug)]
pub(crate) struct Dependency {
    /// Package name, with renames resolved.
    pub(crate) name: String,
    /// Whether it is a development dependency.
    pub(crate) development: bool,
    /// Features enabled here.
    pub(crate) features: Vec<String>,
    /// Line of the manifest.
    pub(crate) line: usize,
}

impl Manifest {
    /// Parses a package's manifest; `None` for a manifest without a package (the root).
    pub(crate) fn parse(path: &str, text: &str) -> Result<Option<Self>, String> {
        let document: toml::Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
        let name = document.get("package").and_then(|package| package.get("name"));
        let Some(name) = name.and_then(toml::Value::as_str).map(str::to_owned) else { return Ok(None) };
        let folder = path.strip_suffix("Cargo.toml").unwrap_or(path).trim_end_matches('/').to_owned();
        let mut manifest = Self {
            path: path.to_owned(),
            floor: Floor::of(&folder),
            folder,
            name,
            dependencies: Vec::new(),
            document,
            lines: text.lines().map(str::to_owned).collect(),
        };
        manifest.dependencies = manifest.read_dependencies();
        Ok(Some(manifest))
    }

    /// The line of a key, or 1.
    pub(crate) fn line_of(&self, key: &str) -> usize {
        let starts = |line: &String| {
            line.trim_start().strip_prefix(key).is_some_and(|rest| rest.starts_with([' ', '.', '=']))
        };
        self.lines.iter().position(starts).map_or(1, |index| index + 1)
    }

    fn read_dependencies(&self) -> Vec<Dependency> {
        let mut tables = vec![&self.document];
        if let Some(targets) = self.document.get("target").and_then(toml::Value::as_table) {
            tables.extend(targets.values().filter_map(toml::Value::as_table));
        }
        let mut found = Vec::new();
        for table in tables {
            for (section, development) in
                [("dependencies", false), ("build-dependencies", false), ("dev-dependencies", true)]
            {
                let Some(entries) = table.get(section).and_then(toml::Value::as_table) else { continue };
                for (key, value) in entries {
                    let renamed = value.get("package").and_then(toml::Value::as_str);
                    found.push(Dependency {
                        name: renamed.unwrap_or(key).to_owned(),
                        development,
                        features: features(value),
                        line: self.line_of(key),
                    });
                }
            }
        }
        found
    }
}

fn features(dependency: &toml::Value) -> Vec<String> {
    let list = dependency.get("features").and_then(toml::Value::as_array);
    list.into_iter().flatten().filter_map(toml::Value::as_str).map(str::to_owned).collect()
}

/// A locked package with its licence.
#[derive(Debug, Clone)]
pub(crate) struct Locked {
    /// `name version`.
    pub(crate) package: String,
    /// SPDX expression from its manifest, if it has one.
    pub(crate) licence: Option<String>,
}

/// The external dependencies of the root manifest with their lines.
pub(crate) fn workspace_dependencies(root: &str) -> BTreeMap<String, usize> {
    let Ok(document) = root.parse::<toml::Table>() else { return BTreeMap::new() };
    let table = document.get("workspace").and_then(|workspace| workspace.get("dependencies"));
    let Some(table) = table.and_then(toml::Value::as_table) else { return BTreeMap::new() };
    let line_of = |key: &str| {
        let starts =
            |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.starts_with([' ', '=', '.']));
        root.lines().position(starts).map_or(1, |index| index + 1)
    };
    table
        .iter()
        .filter(|(_, value)| value.get("path").is_none())
        .map(|(key, _)| (key.clone(), line_of(key)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_of_every_kind_are_read_with_renames_undone() {
        let text = "[package]\nname = \"a\"\n[dependencies]\nb.workspace = true\nx = { package = \"c\" }\n\
                    [dev-dependencies]\nd = \"1\"\n[target.'cfg(unix)'.dependencies]\ne = \"1\"\n";
        let manifest = Manifest::parse("crates/a/Cargo.toml", text).unwrap().unwrap();
        let mut names: Vec<_> =
            manifest.dependencies.iter().map(|found| (found.name.as_str(), found.development)).collect();
        names.sort_unstable();
        assert_eq!(names, [("b", false), ("c", false), ("d", true), ("e", false)]);
        assert_eq!(manifest.dependencies[0].line, 4);
    }

    #[test]
    fn a_folder_tells_the_floor() {
        for (folder, floor) in [
            ("crates/aethon-core", Some(Floor::Core)),
            ("crates/aethon-files", Some(Floor::Files)),
            ("crates/aethon", Some(Floor::Facade)),
            ("crates/aethon-store", Some(Floor::Leaf)),
            ("bins/aethon-cli", Some(Floor::Program)),
            ("elsewhere", None),
        ] {
            assert_eq!(Floor::of(folder), floor, "{folder}");
        }
    }
}
