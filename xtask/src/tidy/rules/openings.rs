//! What readers see first: every file says what it is, and `lib.rs` and `mod.rs` contain the map and no logic.

use crate::tidy::finding::Finding;
use crate::tidy::tree::{Tree, is_vendored};
use syn::visit::Visit;

/// Checks that each of our sources opens with a comment on its subject and purpose.
pub(crate) fn every_file_says_what_it_is(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.files.iter().filter(|file| !is_vendored(&file.path) && !file.path.contains("/data/")) {
        let openings: &[&str] = match file.path.rsplit('.').next() {
            Some("rs") => &["//!"],
            Some("js") => &["//", "/*", "#!"],
            Some("css") => &["/*"],
            _ => continue,
        };
        let first = file.text.lines().map(str::trim_start).find(|line| !line.is_empty()).unwrap_or_default();
        if !openings.iter().any(|opening| first.starts_with(opening)) {
            found.push(Finding::new(
                "opening",
                &file.path,
                1,
                format!("does not open with `{}`", openings[0]),
                "say in two to fifteen sentences what this is, why it exists, what it leaves to others",
            ));
        }
    }
    found
}

/// Checks that `lib.rs` and `mod.rs` contain module docs, `mod` lines and few re-exports, but no function bodies outside tests.
pub(crate) fn maps_hold_no_logic(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    let maps = tree.rust().filter(|(file, _)| {
        ["/lib.rs", "/mod.rs"].iter().any(|name| file.path.ends_with(name))
            && !file.path.contains("/testkit/")
    });
    for (file, source) in maps {
        let mut bodies = Bodies::default();
        bodies.visit_file(&source.ast);
        for (name, line) in bodies.found {
            if !source.is_test(line) {
                found.push(Finding::new(
                    "map",
                    &file.path,
                    line,
                    format!("`{name}` has a body in a file that holds the map"),
                    "move it to a file named after what it is about",
                ));
            }
        }
    }
    found
}

/// Checks that `pub mod x { ... }` has a doc comment. (`pub mod x;` is a file with its own module doc.)
pub(crate) fn public_inline_modules_are_documented(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (file, source) in tree.rust() {
        for item in &source.ast.items {
            let syn::Item::Mod(module) = item else { continue };
            let public = matches!(module.vis, syn::Visibility::Public(_)) && module.content.is_some();
            let documented = module.attrs.iter().any(|attribute| attribute.path().is_ident("doc"));
            if public && !documented {
                found.push(Finding::new(
                    "module-doc",
                    &file.path,
                    module.ident.span().start().line,
                    format!("`{}` is public and has no documentation", module.ident),
                    "say what the module is about",
                ));
            }
        }
    }
    found
}

/// Functions with a body.
#[derive(Default)]
struct Bodies {
    found: Vec<(String, usize)>,
}

impl Bodies {
    fn add(&mut self, signature: &syn::Signature) {
        self.found.push((signature.ident.to_string(), signature.ident.span().start().line));
    }
}

impl<'ast> Visit<'ast> for Bodies {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.add(&item.sig);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.add(&item.sig);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if item.default.is_some() {
            self.add(&item.sig);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_its_opening_is_found() {
        for (path, text, expected) in [
            ("crates/a/src/a.rs", "//! What it is.\n", 0),
            ("crates/a/src/a.rs", "// no doc\n", 1),
            ("crates/a/src/a.rs", "use a::b;\n//! too late", 1),
            ("crates/a/src/a.rs", "", 1),
            ("web/assets/a.js", "// What it is.", 0),
            ("web/assets/a.js", "export {};", 1),
            ("web/assets/a.css", "body {}", 1),
            ("web/assets/vendor/a.js", "export {};", 0),
        ] {
            assert_eq!(
                every_file_says_what_it_is(&Tree::of(&[(path, text)])).len(),
                expected,
                "{path}: {text}"
            );
        }
    }

    #[test]
    fn a_body_in_a_map_is_found() {
        for (path, text, expected) in [
            ("crates/a/src/lib.rs", "//! x\npub mod a;\npub use a::B;\ntrait T { fn f(&self); }", 0),
            ("crates/a/src/lib.rs", "fn f() {}", 1),
            ("crates/a/src/a/mod.rs", "impl A { fn f() {} }", 1),
            ("crates/a/src/a/mod.rs", "trait T { fn f() {} }", 1),
            ("crates/a/src/a/mod.rs", "#[cfg(test)]\nmod tests { fn f() {} }", 0),
            ("crates/a/src/a.rs", "fn f() {}", 0),
        ] {
            assert_eq!(maps_hold_no_logic(&Tree::of(&[(path, text)])).len(), expected, "{path}: {text}");
        }
    }

    #[test]
    fn an_undocumented_public_module_is_found() {
        for (text, expected) in
            [("pub mod a { }", 1), ("/// A.\npub mod a { }", 0), ("pub mod a;", 0), ("mod a { }", 0)]
        {
            let tree = Tree::of(&[("crates/a/src/lib.rs", text)]);
            assert_eq!(public_inline_modules_are_documented(&tree).len(), expected, "{text}");
        }
    }
}
