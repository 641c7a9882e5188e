//! Limits the shape of types: methods of a trait, fields of a struct. (clippy counts the lines of functions and their
//! arguments.)

use crate::tidy::finding::Finding;
use crate::tidy::tree::Tree;
use syn::visit::Visit;

/// The maximum number of methods in a trait.
const METHODS: usize = 7;
/// The maximum number of fields in a struct.
const FIELDS: usize = 15;

/// Types that are larger for a reason: path (or folder), name (`*` for all in the folder), reason.
const EXEMPT: &[(&str, &str, &str)] =
    &[("crates/aethon-config/src/schema/", "*", "a section of the configuration has the keys it has")];

/// Checks that traits and structs outside tests stay within the limits.
pub(crate) fn traits_and_structs_are_small(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (file, source) in tree.rust() {
        let mut shapes = Shapes::default();
        shapes.visit_file(&source.ast);
        for shape in shapes.found {
            if !source.is_test(shape.line) && !is_exempt(&file.path, &shape.name) {
                let (what, limit, remedy) = if shape.is_trait {
                    ("methods", METHODS, "split the trait by who calls it")
                } else {
                    ("fields", FIELDS, "group the fields that are used together into a type of their own")
                };
                let message = format!("`{}` has {} {what}, at most {limit}", shape.name, shape.count);
                found.push(Finding::new("shape", &file.path, shape.line, message, remedy));
            }
        }
    }
    found
}

fn is_exempt(path: &str, name: &str) -> bool {
    EXEMPT.iter().any(|(place, item, _reason)| path.starts_with(place) && (*item == "*" || *item == name))
}

struct Shape {
    name: String,
    line: usize,
    count: usize,
    is_trait: bool,
}

/// Collects types over a limit.
#[derive(Default)]
struct Shapes {
    found: Vec<Shape>,
}

impl Shapes {
    fn add(&mut self, ident: &syn::Ident, count: usize, is_trait: bool) {
        let limit = if is_trait { METHODS } else { FIELDS };
        if count > limit {
            let line = ident.span().start().line;
            self.found.push(Shape { name: ident.to_string(), line, count, is_trait });
        }
    }
}

impl<'ast> Visit<'ast> for Shapes {
    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        let methods = item.items.iter().filter(|item| matches!(item, syn::TraitItem::Fn(_))).count();
        self.add(&item.ident, methods, true);
        syn::visit::visit_item_trait(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.add(&item.ident, item.fields.len(), false);
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        self.add(&variant.ident, variant.fields.len(), false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn methods(count: usize) -> String {
        let methods: Vec<_> = (0..count).map(|at| format!("fn m{at}(&self);\n")).collect();
        format!("trait T {{ type A; {} }}", methods.concat())
    }

    fn fields(count: usize) -> String {
        let fields: Vec<_> = (0..count).map(|at| format!("f{at}: u8,\n")).collect();
        format!("struct S {{ {} }}", fields.concat())
    }

    fn check(path: &str, text: &str, expected: usize) {
        let found = traits_and_structs_are_small(&Tree::of(&[(path, text)]));
        assert_eq!(found.len(), expected, "{path}: {found:?}");
    }

    #[test]
    fn the_limits_are_exact() {
        check("crates/aethon-core/src/a.rs", &methods(7), 0);
        check("crates/aethon-core/src/a.rs", &methods(8), 1);
        check("crates/aethon-core/src/a.rs", &fields(15), 0);
        check("crates/aethon-core/src/a.rs", &fields(16), 1);
        check(
            "crates/aethon-core/src/a.rs",
            &fields(16).replace("struct S", "enum E { V").replacen('}', "} }", 1),
            1,
        );
    }

    #[test]
    fn the_schema_and_tests_are_spared() {
        check("crates/aethon-config/src/schema/model.rs", &fields(30), 0);
        check("crates/aethon-config/src/load.rs", &fields(30), 1);
        check("tests/suite/a.rs", &fields(30), 0);
    }
}
