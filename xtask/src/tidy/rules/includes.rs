//! Invariant 5: no package includes a file from outside its own folder, so each can be published and embedded.

use crate::tidy::finding::Finding;
use crate::tidy::manifest::Manifest;
use crate::tidy::tree::Tree;
use std::path::{Component, Path};
use syn::visit::Visit;

const RULE: &str = "own-folder";
const REMEDY: &str = "keep the file in the package that uses it, or hand its content over as an argument";

/// Macros that read a file while building.
const MACROS: [&str; 4] = ["include", "include_str", "include_bytes", "include_dir"];

/// `include!` and its relatives, and `#[path]`, stay inside the package.
pub(crate) fn nothing_from_outside_the_package(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (file, source) in tree.rust() {
        let Some(package) = tree.package_of(&file.path) else { continue };
        let mut search = Search::default();
        search.visit_file(&source.ast);
        for included in search.found {
            let Some(reason) = refusal(package, &file.path, &included) else { continue };
            found.push(Finding::new(RULE, &file.path, included.line, reason, REMEDY));
        }
    }
    found
}

/// The `path` of a library, program, test or example stays inside the package.
pub(crate) fn targets_stay_in_the_package(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for manifest in &tree.manifests {
        for section in ["lib", "bin", "test", "example", "bench"] {
            let tables = match manifest.document.get(section) {
                Some(toml::Value::Array(tables)) => tables.iter().collect(),
                Some(table) => vec![table],
                None => Vec::new(),
            };
            for path in tables.iter().filter_map(|table| table.get("path")?.as_str()) {
                if !stays(&manifest.folder, &manifest.folder, path) {
                    let message = format!("a target of `{}` is built from `{path}`", manifest.name);
                    found.push(Finding::new(RULE, &manifest.path, manifest.line_of("path"), message, REMEDY));
                }
            }
        }
    }
    found
}

/// An inclusion: where from, and how the path is written.
struct Included {
    line: usize,
    target: Target,
}

enum Target {
    /// A path beside the file.
    Beside(String),
    /// A path from the folder of the package.
    FromPackage(String),
    /// Written by the build script.
    BuildOutput,
    /// Something that cannot be followed from here.
    Unknown(String),
}

#[derive(Default)]
struct Search {
    found: Vec<Included>,
}

impl<'ast> Visit<'ast> for Search {
    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let Some(name) = call.path.segments.last() else { return };
        if MACROS.iter().any(|known| name.ident == known) {
            let line = name.ident.span().start().line;
            let target = target(name.ident == "include_dir", &call.tokens.to_string());
            self.found.push(Included { line, target });
        }
        syn::visit::visit_macro(self, call);
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if !attribute.path().is_ident("path") {
            return;
        }
        if let syn::Meta::NameValue(pair) = &attribute.meta
            && let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(path), .. }) = &pair.value
        {
            let line = path.span().start().line;
            self.found.push(Included { line, target: Target::Beside(path.value()) });
        }
    }
}

/// What the argument of a macro points to.
fn target(of_a_folder: bool, argument: &str) -> Target {
    if let Ok(literal) = syn::parse_str::<syn::LitStr>(argument.trim_end_matches([',', ' '])) {
        let path = literal.value();
        return match path.strip_prefix("$CARGO_MANIFEST_DIR") {
            Some(rest) => Target::FromPackage(rest.trim_start_matches('/').to_owned()),
            None if of_a_folder => Target::FromPackage(path),
            None => Target::Beside(path),
        };
    }
    let flat: String = argument.split_whitespace().collect();
    if flat.contains("env!(\"OUT_DIR\")") {
        return Target::BuildOutput;
    }
    let rest =
        flat.strip_prefix("concat!(env!(\"CARGO_MANIFEST_DIR\"),\"").and_then(|rest| rest.split('"').next());
    match rest {
        Some(path) => Target::FromPackage(path.trim_start_matches('/').to_owned()),
        None => Target::Unknown(flat),
    }
}

/// Why an inclusion is refused, if it is.
fn refusal(package: &Manifest, file: &str, included: &Included) -> Option<String> {
    let beside = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let (from, path) = match &included.target {
        Target::Beside(path) => (beside, path),
        Target::FromPackage(path) => (package.folder.as_str(), path),
        Target::BuildOutput => return None,
        Target::Unknown(argument) => return Some(format!("`{argument}` cannot be followed to a file")),
    };
    (!stays(&package.folder, from, path)).then(|| format!("`{path}` is outside `{}`", package.folder))
}

/// Whether `path`, read from the folder `from`, ends inside `folder`.
fn stays(folder: &str, from: &str, path: &str) -> bool {
    let mut parts: Vec<&str> = from.split('/').filter(|part| !part.is_empty()).collect();
    for component in Path::new(path).components() {
        match component {
            Component::Normal(part) => parts.push(part.to_str().unwrap_or_default()),
            Component::ParentDir => {
                if parts.pop().is_none() {
                    return false;
                }
            }
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    parts.join("/").strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expected: usize) {
        let tree = Tree::of(&[
            ("crates/aethon-store/Cargo.toml", "[package]\nname = \"aethon-store\""),
            ("crates/aethon-store/src/migrations/mod.rs", body),
        ]);
        let found = nothing_from_outside_the_package(&tree);
        assert_eq!(found.len(), expected, "{body}: {found:?}");
    }

    #[test]
    fn a_file_of_the_package_may_be_included() {
        check("const A: &str = include_str!(\"0001.sql\");", 0);
        check("const A: &str = include_str!(\"../../Cargo.toml\");", 0);
        check("static A: Dir = include_dir!(\"$CARGO_MANIFEST_DIR/assets\");", 0);
        check("static A: Dir = include_dir::include_dir!(\"assets\");", 0);
        check("include!(concat!(env!(\"OUT_DIR\"), \"/a.rs\"));", 0);
        check("#[path = \"other.rs\"]\nmod a;", 0);
    }

    #[test]
    fn a_file_of_another_package_may_not() {
        check("const A: &str = include_str!(\"../../../aethon-http/a.txt\");", 1);
        check("const A: &[u8] = include_bytes!(\"/etc/passwd\");", 1);
        check("static A: Dir = include_dir!(\"$CARGO_MANIFEST_DIR/../web\");", 1);
        check("const A: &str = include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/../a\"));", 1);
        check("const A: &str = include_str!(SOMETHING);", 1);
        check("fn f() { let a = include_str!(\"../../../a\"); }", 1);
        check("#[path = \"../../../a.rs\"]\nmod a;", 1);
        // A folder whose name merely begins the same is another folder.
        check("const A: &str = include_str!(\"../../../aethon-store-two/a\");", 1);
    }

    #[test]
    fn targets_are_built_from_the_package() {
        for (target, expected) in [
            ("[lib]\npath = \"source/lib.rs\"", 0),
            ("[[test]]\nname = \"suite\"\npath = \"suite/main.rs\"", 0),
            ("[[example]]\nname = \"a\"\npath = \"../../examples/a.rs\"", 1),
        ] {
            let text = format!("[package]\nname = \"aethon\"\n{target}");
            let tree = Tree::of(&[("crates/aethon/Cargo.toml", &text)]);
            assert_eq!(targets_stay_in_the_package(&tree).len(), expected, "{target}");
        }
    }
}
