//! No import cycles between the files of a crate: whoever reads a file can read its dependencies first and is never sent back.
//!
//! The graph consists of the paths that a file names: `crate::`, `super::`, `self::`, those of its child modules, and those of
//! modules that it imported. A re-export is resolved to the file it names, so `lib.rs` and `mod.rs`, which only hold the map,
//! are never part of a cycle. Test code does not count.

use crate::tidy::finding::Finding;
use crate::tidy::source::{Named, RustSource};
use crate::tidy::tree::Tree;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The crates subject to this rule, with the folder of sources it applies to: all of `src/`, or one below it.
const AREAS: &[(&str, &str)] = &[
    ("crates/aethon-http", "src/"),
    ("crates/aethon-agent", "src/engine/"),
    ("crates/aethon-archive", "src/"),
    ("crates/aethon-files", "src/"),
    ("crates/aethon-recorder", "src/"),
    ("crates/aethon-store", "src/"),
    ("crates/aethon-workflows", "src/"),
    ("crates/aethon-mcp", "src/"),
    ("crates/aethon-providers", "src/"),
    ("crates/aethon-tools", "src/"),
    ("bins/aethon-mcp", "src/"),
    ("bins/aethon-server", "src/"),
    ("web", "src/"),
    ("xtask", "src/"),
];

/// Checks that the files of the listed areas have no import cycles.
pub(crate) fn files_import_without_cycles(tree: &Tree) -> Vec<Finding> {
    let cycles = |(package, area): &(&str, &str)| {
        cycles_through(&format!("{package}/{area}"), &Modules::read(tree, package).imports())
    };
    AREAS.iter().flat_map(cycles).collect()
}

fn cycles_through(area: &str, graph: &BTreeMap<&str, BTreeSet<&str>>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut told: BTreeSet<&str> = BTreeSet::new();
    for &start in graph.keys().filter(|file| file.starts_with(area)) {
        let Some(cycle) = shortest_cycle(graph, start).filter(|_| !told.contains(start)) else { continue };
        told.extend(&cycle);
        let message = format!("closes a circle of imports: {} -> {start}", cycle.join(" -> "));
        let remedy = "move what two of them share into a file of its own, or hand it over as an argument";
        found.push(Finding::new("circles", start, 1, message, remedy));
    }
    found
}

/// The shortest path from a file through its imports back to itself.
fn shortest_cycle<'a>(graph: &BTreeMap<&'a str, BTreeSet<&'a str>>, start: &'a str) -> Option<Vec<&'a str>> {
    let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(file) = queue.pop_front() {
        for &next in graph.get(file).into_iter().flatten() {
            if next == start {
                let mut way = vec![file];
                while let Some(before) =
                    way.last().filter(|last| **last != start).and_then(|last| came_from.get(last))
                {
                    way.push(before);
                }
                way.reverse();
                return Some(way);
            }
            if !came_from.contains_key(next) {
                came_from.insert(next, file);
                queue.push_back(next);
            }
        }
    }
    None
}

/// A module's path from the root of its crate.
type ModulePath = Vec<String>;

/// The modules of a crate that have files of their own.
struct Modules<'a>(BTreeMap<ModulePath, (&'a str, &'a RustSource)>);

impl<'a> Modules<'a> {
    fn read(tree: &'a Tree, folder: &str) -> Self {
        let mut modules = BTreeMap::new();
        for (file, source) in tree.rust() {
            let inside = file.path.strip_prefix(folder).and_then(|rest| rest.strip_prefix("/src/"));
            let Some(name) = inside.and_then(|rest| rest.strip_suffix(".rs")) else { continue };
            let mut module: ModulePath = name.split('/').map(str::to_owned).collect();
            if module.last().is_some_and(|last| last == "mod") || name == "lib" || name == "main" {
                module.pop();
            }
            modules.insert(module, (file.path.as_str(), source));
        }
        Self(modules)
    }

    /// The import graph of the files.
    fn imports(&self) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
        let mut graph = BTreeMap::new();
        for (module, (file, source)) in self.0.iter().filter(|(_, (file, _))| !is_map(file)) {
            let mut imported = BTreeMap::new();
            let mut targets = BTreeSet::new();
            // A lone `crate` or `super` is that of `pub(crate)` or `pub(super)`.
            let named = |path: &&Named| !path.test && !matches!(path.text.as_str(), "crate" | "super");
            for path in source.paths.iter().filter(named) {
                let segments: Vec<&str> = path.text.split("::").filter(|part| *part != "self").collect();
                let target = self.absolute(module, &segments, &imported);
                let Some(target) = target else { continue };
                if let Some(name) = target.last().filter(|_| self.0.contains_key(&target)) {
                    imported.insert(name.clone(), target.clone());
                }
                targets.extend(self.home_of(&target, 0));
            }
            targets.retain(|target| target != file && !is_map(target));
            graph.insert(*file, targets);
        }
        graph
    }

    /// Resolves path segments in a module to a path from the crate's root; `None` for other crates.
    fn absolute(
        &self,
        module: &ModulePath,
        segments: &[&str],
        imported: &BTreeMap<String, ModulePath>,
    ) -> Option<ModulePath> {
        let (first, rest) = segments.split_first()?;
        let mut path = match *first {
            "crate" => Vec::new(),
            "super" => module.split_last()?.1.to_vec(),
            name => {
                let child = || self.child(module, name);
                if rest.is_empty() { child()? } else { child().or_else(|| imported.get(name).cloned())? }
            }
        };
        for segment in rest {
            if *segment == "super" {
                path.pop();
            } else {
                path.push((*segment).to_owned());
            }
        }
        Some(path)
    }

    fn child(&self, module: &ModulePath, name: &str) -> Option<ModulePath> {
        let mut path = module.clone();
        path.push(name.to_owned());
        self.0.contains_key(&path).then_some(path)
    }

    /// The file that contains an item: that of the longest module prefix, or the one it is re-exported from.
    fn home_of(&self, path: &ModulePath, depth: usize) -> Option<&'a str> {
        let length = (0..=path.len()).rev().find(|&length| self.0.contains_key(&path[..length]))?;
        let module = path[..length].to_vec();
        let (file, source) = self.0.get(&module)?;
        // Bounded, because re-exports could form a loop, which is not an import cycle between files.
        let name = path.get(length).filter(|_| depth < 8);
        let exported = name.and_then(|name| exports(source).remove(name));
        let exported = exported.and_then(|path| {
            let segments: Vec<&str> =
                path.iter().map(String::as_str).filter(|part| *part != "self").collect();
            self.absolute(&module, &segments, &BTreeMap::new())
        });
        exported.and_then(|path| self.home_of(&path, depth + 1)).or(Some(file))
    }
}

/// The re-exports of a file: each name, and the path it stands for.
fn exports(source: &RustSource) -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    for item in &source.ast.items {
        if let syn::Item::Use(item) = item
            && !matches!(item.vis, syn::Visibility::Inherited)
        {
            spell_out(&item.tree, &mut Vec::new(), &mut found);
        }
    }
    found
}

fn spell_out(tree: &syn::UseTree, before: &mut Vec<String>, found: &mut BTreeMap<String, Vec<String>>) {
    let mut add = |name: &syn::Ident, alias: &syn::Ident| {
        let path = before.iter().cloned().chain([name.to_string()]).collect();
        found.insert(alias.to_string(), path);
    };
    match tree {
        syn::UseTree::Name(leaf) => add(&leaf.ident, &leaf.ident),
        syn::UseTree::Rename(leaf) => add(&leaf.ident, &leaf.rename),
        syn::UseTree::Path(path) => {
            before.push(path.ident.to_string());
            spell_out(&path.tree, before, found);
            before.pop();
        }
        syn::UseTree::Group(group) => group.items.iter().for_each(|tree| spell_out(tree, before, found)),
        syn::UseTree::Glob(_) => {}
    }
}

fn is_map(file: &str) -> bool {
    ["/lib.rs", "/mod.rs"].iter().any(|name| file.ends_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks how many cycles these files of a crate form.
    fn check(files: &[(&str, &str)], expected: usize) {
        let files: Vec<(String, &str)> =
            files.iter().map(|(name, text)| (format!("crates/aethon-http/src/{name}"), *text)).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), *text)).collect();
        let found = files_import_without_cycles(&Tree::of(&files));
        assert_eq!(found.len(), expected, "{files:?}: {found:?}");
    }

    #[test]
    fn a_cycle_is_found_however_it_is_written() {
        check(&[("a.rs", "use crate::b::B;"), ("b.rs", "use crate::a::A;")], 1);
        check(&[("a.rs", "fn f() { crate::b::g(); }"), ("b.rs", "type A = super::a::A;")], 1);
        check(&[("a.rs", "use crate::{b::{self}};"), ("b.rs", "use crate::a;\nfn f() { a::g() }")], 1);
        check(&[("a.rs", "use crate::b::B;"), ("b.rs", "use crate::c::C;"), ("c.rs", "use super::a::A;")], 1);
        check(&[("a.rs", "mod b;\nuse b::B;"), ("a/b.rs", "use super::A;")], 1);
        check(&[("a.rs", "mod b;\nfn f() { b::g() }"), ("a/b.rs", "use crate::a::A;")], 1);
        check(&[("a.rs", "m!(crate::b::B);"), ("b.rs", "use crate::a::A;")], 1);
    }

    #[test]
    fn a_re_export_is_followed_to_its_file() {
        let map = ("x/mod.rs", "mod b;\nmod c;\npub use b::B;\npub(crate) use c::{self as d, C};");
        check(&[("a.rs", "use crate::x::B;"), map, ("x/b.rs", "use crate::a::A;"), ("x/c.rs", "")], 1);
        check(&[("a.rs", "use crate::x::B;"), map, ("x/b.rs", ""), ("x/c.rs", "use crate::a::A;")], 0);
        let through = ("a.rs", "use crate::x;\nfn f() { x::C::new(); }");
        check(&[through, map, ("x/b.rs", ""), ("x/c.rs", "use crate::a::A;")], 1);
    }

    #[test]
    fn what_goes_one_way_or_is_for_tests_is_fine() {
        check(&[("a.rs", "use crate::b::B;"), ("b.rs", "use std::a::A;\nuse other::a;")], 0);
        check(&[("a.rs", "use crate::b::B;"), ("b.rs", "#[cfg(test)]\nmod tests { use crate::a::A; }")], 0);
        check(&[("a.rs", "// crate::b\nuse crate::a::A;"), ("b.rs", "use crate::a::A;")], 0);
        check(&[("lib.rs", "mod a;\npub use a::A;\npub struct B;"), ("a.rs", "use crate::B;")], 0);
        check(&[("a.rs", "mod b;\nmod c;"), ("a/b.rs", "use super::c::C;"), ("a/c.rs", "")], 0);
        check(&[("a.rs", "mod b;\nuse b::B;"), ("a/b.rs", "pub(super) struct B;\npub(crate) struct C;")], 0);
    }

    #[test]
    fn a_cycle_is_told_once_and_in_order() {
        let tree = Tree::of(&[
            ("crates/aethon-http/src/a.rs", "use crate::b::B;"),
            ("crates/aethon-http/src/b.rs", "use crate::c::C;"),
            ("crates/aethon-http/src/c.rs", "use crate::a::A;"),
        ]);
        let found = files_import_without_cycles(&tree);
        let file = |name: &str| format!("crates/aethon-http/src/{name}.rs");
        let way = ["a", "b", "c", "a"].map(file).join(" -> ");
        assert_eq!(found.len(), 1);
        assert!(found[0].message.ends_with(&way), "{}", found[0].message);
    }
}
