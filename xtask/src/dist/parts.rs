//! What the programs are made of besides our own code: the packages that cargo links, and the files that the pages embed.

use super::programs::PACKAGES;
use crate::process;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Where the embedded files are listed.
const EMBEDDED: &str = "web/assets/vendor/README.md";

/// Somebody else's part of the programs.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) version: String,
    /// The address of a package as lists of parts have it.
    pub(crate) purl: String,
    /// An SPDX expression.
    pub(crate) licence: String,
    /// Where it comes from, for people.
    pub(crate) origin: String,
    pub(crate) authors: Vec<String>,
    /// The SHA-256 sum of the package as it was published.
    pub(crate) sum: Option<String>,
    /// The texts of its licences.
    pub(crate) texts: Vec<PathBuf>,
    /// The addresses of the parts that it uses.
    pub(crate) uses: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    license_file: Option<PathBuf>,
    repository: Option<String>,
    #[serde(default)]
    authors: Vec<String>,
    source: Option<String>,
    manifest_path: PathBuf,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    dependencies: Vec<String>,
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    checksum: Option<String>,
}

/// Returns all parts, sorted by name.
pub(crate) fn all(root: &Path) -> Result<Vec<Part>> {
    let mut parts = packages(root)?;
    let text = fs::read_to_string(root.join(EMBEDDED)).with_context(|| format!("cannot read {EMBEDDED}"))?;
    parts.extend(embedded(&text, &root.join("web/assets/vendor"))?);
    parts.sort();
    Ok(parts)
}

/// The packages that are linked into the programs on this machine: neither those of tests and chores, nor macros.
fn packages(root: &Path) -> Result<Vec<Part>> {
    let selected = PACKAGES.iter().flat_map(|package| ["-p", package]);
    let tree = ["tree", "--locked", "--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}"];
    let tree = process::output(root, "cargo", &tree.into_iter().chain(selected).collect::<Vec<_>>())?;
    let linked = linked(&tree);
    let metadata = process::output(root, "cargo", &["metadata", "--format-version", "1", "--locked"])?;
    let metadata: Metadata = serde_json::from_str(&metadata).context("cannot read `cargo metadata`")?;
    let lock = fs::read_to_string(root.join("Cargo.lock")).context("cannot read Cargo.lock")?;
    let lock: Lock = toml::from_str(&lock).context("cannot read Cargo.lock")?;
    let sums: BTreeMap<_, _> =
        lock.package.into_iter().map(|one| ((one.name, one.version), one.checksum)).collect();
    let is_linked = |package: &&Package| {
        package.source.is_some() && linked.contains(&(package.name.clone(), package.version.clone()))
    };
    let chosen: Vec<&Package> = metadata.packages.iter().filter(is_linked).collect();
    let purls: BTreeMap<&str, String> = chosen.iter().map(|one| (one.id.as_str(), purl(one))).collect();
    let mut uses: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for node in &metadata.resolve.nodes {
        let used = node.dependencies.iter().filter_map(|id| purls.get(id.as_str()).cloned());
        uses.insert(&node.id, used.collect());
    }
    chosen
        .into_iter()
        .map(|package| {
            Ok(Part {
                name: package.name.clone(),
                version: package.version.clone(),
                purl: purl(package),
                licence: package.license.as_deref().unwrap_or("see its text").replace('/', " OR "),
                origin: package.repository.clone().unwrap_or_else(|| "crates.io".to_owned()),
                authors: package.authors.clone(),
                sum: sums.get(&(package.name.clone(), package.version.clone())).cloned().flatten(),
                texts: texts(package)?,
                uses: uses.remove(package.id.as_str()).unwrap_or_default(),
            })
        })
        .collect()
}

fn purl(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version)
}

/// Reads lines such as `hyper v1.12.0 (*)`.
fn linked(tree: &str) -> BTreeSet<(String, String)> {
    let lines = tree.lines().filter_map(|line| line.split_once(" v"));
    let pairs = lines.filter_map(|(name, rest)| Some((name.to_owned(), rest.split(' ').next()?.to_owned())));
    pairs.collect()
}

/// The licences in the folder of a package.
fn texts(package: &Package) -> Result<Vec<PathBuf>> {
    let folder = package.manifest_path.parent().context("a manifest lies in a folder")?;
    let mut found = BTreeSet::new();
    found.extend(package.license_file.as_ref().map(|name| folder.join(name)).filter(|path| path.is_file()));
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        let marks = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];
        let is_code = [".RS", ".TOML", ".HTML"].iter().any(|end| name.ends_with(end));
        if path.is_file() && !is_code && marks.iter().any(|mark| name.starts_with(mark)) {
            found.insert(path);
        }
    }
    Ok(found.into_iter().collect())
}

/// Reads the table of files that the pages embed.
fn embedded(text: &str, folder: &Path) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [_, what, version, source, licence] = cells[..] else {
            anyhow::bail!("a row of {EMBEDDED} has not five cells: {line}");
        };
        let quoted = |cell: &str| cell.split('`').nth(1).map(str::to_owned);
        let name = quoted(source).with_context(|| format!("no package of npm: {line}"))?;
        let file = quoted(licence).with_context(|| format!("no text of the licence: {line}"))?;
        parts.push(Part {
            purl: format!("pkg:npm/{}@{version}", name.replace('@', "%40")),
            name,
            version: version.to_owned(),
            licence: licence.split(',').next().unwrap_or_default().to_owned(),
            origin: format!("npm; {}", what.split([':', ',']).next().unwrap_or_default()),
            texts: vec![folder.join(file)],
            ..Part::default()
        });
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tree_of_cargo_is_a_set_of_names_and_versions() {
        let tree = "aethon-cli v0.3.0 (/a/b)\nhyper v1.12.0\nhyper v1.12.0 (*)\n\nserde v1.0.0\n";
        let found: Vec<_> =
            linked(tree).into_iter().map(|(name, version)| format!("{name} {version}")).collect();
        assert_eq!(found, ["aethon-cli 0.3.0", "hyper 1.12.0", "serde 1.0.0"]);
    }

    #[test]
    fn everything_that_the_pages_embed_is_a_part_with_a_text() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let text = fs::read_to_string(root.join(EMBEDDED)).unwrap();
        let parts = embedded(&text, &root.join("web/assets/vendor")).unwrap();
        assert_eq!(parts.len(), text.lines().filter(|line| line.starts_with("| `")).count());
        for part in &parts {
            assert!(part.texts.iter().all(|path| path.is_file()), "{part:?}");
            assert!(!part.licence.is_empty() && !part.licence.contains('`'), "{part:?}");
        }
        let katex = parts.iter().find(|part| part.name == "katex").unwrap();
        assert_eq!(katex.purl, format!("pkg:npm/katex@{}", katex.version));
    }
}
