//! Lint exceptions must give a reason.

use crate::tidy::finding::Finding;
use crate::tidy::tree::Tree;
use syn::visit::Visit;

/// The only file that may contain unsafe code.
const HOME_OF_UNSAFE: &str = "crates/aethon-store/tests/faults/vfs.rs";

/// Checks that `#[allow]` and `#[expect]` have a `reason`.
pub(crate) fn lint_exceptions_have_a_reason(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (file, source) in tree.rust() {
        let mut search = Search::default();
        search.visit_file(&source.ast);
        for line in search.unsafe_code.into_iter().filter(|_| file.path != HOME_OF_UNSAFE) {
            found.push(Finding::new(
                "lint-exception",
                &file.path,
                line,
                "unsafe code",
                "use what is safe; only the failing disk of the store's tests speaks to C",
            ));
        }
        for line in search.found {
            found.push(Finding::new(
                "lint-exception",
                &file.path,
                line,
                "an exception from a lint without a reason",
                "write `#[expect(the_lint, reason = \"why it is right here\")]`",
            ));
        }
    }
    found
}

#[derive(Default)]
struct Search {
    /// Exceptions without a reason.
    found: Vec<usize>,
    /// Exceptions that permit unsafe code.
    unsafe_code: Vec<usize>,
}

impl<'ast> Visit<'ast> for Search {
    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        let path = attribute.path();
        let excepts = path.is_ident("allow") || path.is_ident("expect");
        let reasoned =
            attribute.meta.require_list().is_ok_and(|list| list.tokens.to_string().contains("reason"));
        let names_unsafe =
            attribute.meta.require_list().is_ok_and(|list| list.tokens.to_string().contains("unsafe_code"));
        if excepts && names_unsafe {
            self.unsafe_code.extend(path.get_ident().map(|ident| ident.span().start().line));
        }
        if excepts && !reasoned {
            self.found.extend(path.get_ident().map(|ident| ident.span().start().line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_without_a_reason_is_found() {
        for (text, expected) in [
            ("#[allow(dead_code)]\nfn f() {}", 1),
            ("#![allow(missing_docs)]", 1),
            ("#[expect(dead_code, reason = \"kept for the next release\")]\nfn f() {}", 0),
            ("fn f() { #[expect(clippy::panic)] let a = 1; }", 1),
            ("#[derive(Debug)]\nstruct A;", 0),
        ] {
            let tree = Tree::of(&[("crates/a/src/a.rs", text)]);
            assert_eq!(lint_exceptions_have_a_reason(&tree).len(), expected, "{text}");
        }
    }
}
