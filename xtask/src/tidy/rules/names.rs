//! No empty names: types with an ending listed in `data/words.toml`, or modules of odds and ends.

use super::words::WORDS;
use crate::tidy::finding::Finding;
use crate::tidy::tree::Tree;
use syn::visit::Visit;

/// Checks that types and modules have meaningful names.
pub(crate) fn names_say_something(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (file, source) in tree.rust() {
        let mut names = Names::default();
        names.visit_file(&source.ast);
        for (name, line) in names.found {
            if let Some(ending) = WORDS.name.iter().find(|ending| ends_with(&name, &ending.ending)) {
                let message = format!("`{name}` says nothing");
                found.push(Finding::new("names", &file.path, line, message, &ending.remedy));
            }
        }
    }
    found
}

/// Matches both `SessionManager` and the module `util`.
fn ends_with(name: &str, ending: &str) -> bool {
    name.ends_with(ending) || name.rsplit('_').next() == Some(ending.to_lowercase().as_str())
}

#[derive(Default)]
struct Names {
    found: Vec<(String, usize)>,
}

impl Names {
    fn add(&mut self, ident: &syn::Ident) {
        self.found.push((ident.to_string(), ident.span().start().line));
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.add(&item.ident);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.add(&item.ident);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.add(&item.ident);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.add(&item.ident);
        syn::visit::visit_item_mod(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_names_are_found() {
        for (text, expected) in [
            ("struct SessionManager;", 1),
            ("trait Helper {}", 1),
            ("mod util;", 1),
            ("mod string_utils;", 1),
            ("struct Dispatcher;", 0),
            ("mod futile;", 0),
            ("fn manage_memory() {}", 0),
        ] {
            let tree = Tree::of(&[("crates/a/src/a.rs", text)]);
            assert_eq!(names_say_something(&tree).len(), expected, "{text}");
        }
    }
}
