//! `cargo xtask tidy --report`: what a reader of each package has to put up with, as numbers. A guide and not a gate.
//!
//! It counts the phrases of the house's old idiom in comments, the names that carry it, and the functions whose signature
//! hides its parameters in a tuple or leaves a bare `bool` to the caller.

use super::tree::{File, Tree};
use super::{source::RustSource, tree::is_vendored};
use std::collections::BTreeMap;
use std::fmt::Write;
use syn::spanned::Spanned;
use syn::visit::Visit;

/// Phrases in comments that a plain sentence does without.
const PHRASES: [&str; 12] = [
    "told",
    "heard",
    "nobody",
    "somebody",
    "whoever",
    "what is",
    "what was",
    "what it",
    "what they",
    "as it is",
    "goes on",
    "for ever",
];

/// Words in names that do not say the subject.
const NAME_WORDS: [&str; 6] = ["told", "heard", "untold", "nobody", "somebody", "whoever"];

/// Words in constants, in the place of `MAX`, `MIN` or `TIMEOUT`.
const SUPERLATIVES: [&str; 8] =
    ["MOST", "LONGEST", "LEAST", "FEWEST", "LARGEST", "DEEPEST", "SHORTEST", "PATIENCE"];

/// The figures of a package.
#[derive(Debug, Default, PartialEq, Eq)]
struct Figures {
    comment_lines: usize,
    phrases: usize,
    names: usize,
    tuples: usize,
    bools: usize,
}

/// The report as a table, one row per package and one for its tests.
pub(crate) fn report(tree: &Tree) -> String {
    let mut table = format!(
        "{:32} {:>8} {:>7} {:>7} {:>5} {:>6} {:>5}\n",
        "package", "comments", "phrases", "per 100", "names", "tuples", "bools"
    );
    for (package, figures) in figures(tree) {
        let Figures { comment_lines, phrases, names, tuples, bools } = figures;
        let tenths = 1000 * phrases / comment_lines.max(1);
        let share = format!("{}.{}", tenths / 10, tenths % 10);
        // Writing to a string does not fail.
        let _ = writeln!(
            table,
            "{package:32} {comment_lines:8} {phrases:7} {share:>7} {names:5} {tuples:6} {bools:5}"
        );
    }
    table
}

fn figures(tree: &Tree) -> BTreeMap<String, Figures> {
    let mut found: BTreeMap<String, Figures> = BTreeMap::new();
    for (file, source) in tree.rust().filter(|(file, _)| !is_vendored(&file.path)) {
        let Some(package) = tree.package_of(&file.path) else { continue };
        let key = |is_test: bool| {
            let suffix = if is_test && package.folder != "tests" { " tests" } else { "" };
            format!("{}{suffix}", package.name)
        };
        for (is_test, comment) in comments(file, source) {
            let figures = found.entry(key(is_test)).or_default();
            figures.comment_lines += 1;
            figures.phrases += phrases_in(comment);
        }
        let mut reader = SignatureReader { source, signatures: Vec::new() };
        reader.visit_file(&source.ast);
        for signature in reader.signatures {
            let figures = found.entry(key(signature.is_test)).or_default();
            figures.names += usize::from(signature.has_odd_name);
            if !signature.is_test {
                figures.tuples += usize::from(signature.has_tuple);
                figures.bools += usize::from(signature.has_bool);
            }
        }
    }
    found
}

/// The comment lines of a file, each with whether it belongs to test code.
fn comments<'a>(file: &'a File, source: &RustSource) -> impl Iterator<Item = (bool, &'a str)> {
    file.text.lines().enumerate().filter_map(|(index, line)| {
        let comment = line.trim_start().strip_prefix("//")?;
        Some((source.is_test(index + 1), comment))
    })
}

/// The number of phrases in a comment, as whole words.
fn phrases_in(comment: &str) -> usize {
    let comment = comment.to_lowercase();
    let words: Vec<&str> = comment.split(|letter: char| !letter.is_alphanumeric()).collect();
    let count = |phrase: &str| {
        let phrase: Vec<&str> = phrase.split(' ').collect();
        words.windows(phrase.len()).filter(|words| *words == phrase).count()
    };
    PHRASES.into_iter().map(count).sum()
}

/// Whether a function's name hides its subject: `is_metas`, `nobody_asks`, `what_is_said`.
fn is_odd_function(name: &str) -> bool {
    let is_genitive = name.starts_with("is_") && name.ends_with('s') && !name.ends_with("ss");
    is_genitive || name.starts_with("what_") || name.split('_').any(|word| NAME_WORDS.contains(&word))
}

fn is_odd_constant(name: &str) -> bool {
    name.split('_').any(|word| SUPERLATIVES.contains(&word))
}

/// The traits of one function or constant.
struct Signature {
    is_test: bool,
    has_odd_name: bool,
    has_tuple: bool,
    has_bool: bool,
}

/// Collects the signatures of a file.
struct SignatureReader<'a> {
    source: &'a RustSource,
    signatures: Vec<Signature>,
}

impl<'ast> Visit<'ast> for SignatureReader<'_> {
    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        let types = || {
            signature.inputs.iter().filter_map(|input| match input {
                syn::FnArg::Typed(typed) => Some(behind_reference(&typed.ty)),
                syn::FnArg::Receiver(_) => None,
            })
        };
        let is_bool = |kind: &syn::Type| matches!(kind, syn::Type::Path(path) if path.path.is_ident("bool"));
        self.signatures.push(Signature {
            is_test: self.source.is_test(signature.span().start().line),
            has_odd_name: is_odd_function(&signature.ident.to_string()),
            has_tuple: types().any(|kind| matches!(kind, syn::Type::Tuple(tuple) if !tuple.elems.is_empty())),
            has_bool: types().any(is_bool),
        });
        syn::visit::visit_signature(self, signature);
    }

    fn visit_item_const(&mut self, constant: &'ast syn::ItemConst) {
        self.signatures.push(Signature {
            is_test: self.source.is_test(constant.span().start().line),
            has_odd_name: is_odd_constant(&constant.ident.to_string()),
            has_tuple: false,
            has_bool: false,
        });
        syn::visit::visit_item_const(self, constant);
    }
}

fn behind_reference(kind: &syn::Type) -> &syn::Type {
    match kind {
        syn::Type::Reference(reference) => behind_reference(&reference.elem),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_names_and_parameters_are_counted_per_package() {
        let tree = Tree::of(&[
            ("crates/a/Cargo.toml", "[package]\nname = \"a\""),
            (
                "crates/a/src/lib.rs",
                "//! Nobody is told as it is.\nconst MOST_WAITS: u8 = 1;\n// Plain.\n\
                 fn is_metas(pair: &(u8, u8), is_on: bool) {}\nfn is_class() {}",
            ),
            ("crates/a/tests/b.rs", "/// Whoever it was.\nfn who_was_told(both: (u8, u8)) {}"),
        ]);
        let found = figures(&tree);
        let expected = Figures { comment_lines: 2, phrases: 3, names: 2, tuples: 1, bools: 1 };
        assert_eq!(found.get("a"), Some(&expected));
        let expected = Figures { comment_lines: 1, phrases: 1, names: 1, tuples: 0, bools: 0 };
        assert_eq!(found.get("a tests"), Some(&expected));
        assert!(report(&tree).lines().any(|row| row.starts_with("a ") && row.contains("150.0")));
    }

    #[test]
    fn phrases_are_whole_words() {
        assert_eq!(phrases_in(" untold, what isn't, somebody's"), 1);
        assert_eq!(phrases_in(" It goes on and on for ever"), 2);
    }
}
