//! A Rust source file as the rules of `tidy` see it: its syntax tree, and the paths and string literals it contains, each with
//! its line and whether it is test code.
//!
//! Paths are read from the token stream, not from the tree, so that the contents of macro calls count too; `use a::{b, c::d}`
//! is expanded to `a::b` and `a::c::d`. Comments are not tokens and never match; doc comments are recognised and left out of
//! the literals.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::ops::RangeInclusive;
use std::str::FromStr;
use syn::spanned::Spanned;
use syn::visit::Visit;

/// A parsed Rust file.
pub(crate) struct RustSource {
    /// The syntax tree.
    pub(crate) ast: syn::File,
    /// Every path named, in order: `std::fs::read`, `include_str!`.
    pub(crate) paths: Vec<Named>,
    /// Every string literal that is not a doc comment.
    pub(crate) strings: Vec<Named>,
    tests: Vec<RangeInclusive<usize>>,
}

/// A path or literal with its location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    /// The path with `::`, or the content of the literal.
    pub(crate) text: String,
    /// Its line, from 1.
    pub(crate) line: usize,
    /// Whether it is in code that is built for tests only.
    pub(crate) test: bool,
}

impl Named {
    /// Returns whether this path is `root` or below it.
    pub(crate) fn is_under(&self, root: &str) -> bool {
        self.text.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    }
}

impl RustSource {
    /// Parses a file; `all_tests` marks the whole file as test code.
    pub(crate) fn parse(text: &str, all_tests: bool) -> Result<Self, String> {
        let ast = syn::parse_file(text).map_err(|error| error.to_string())?;
        let tokens = TokenStream::from_str(text).map_err(|error| error.to_string())?;
        let mut ranges = TestRanges::default();
        if all_tests {
            ranges.0.push(0..=usize::MAX);
        } else {
            ranges.visit_file(&ast);
        }
        let mut reader = SourceReader::default();
        reader.read(tokens, "");
        let mut source = Self { ast, paths: Vec::new(), strings: Vec::new(), tests: ranges.0 };
        source.paths = reader.paths.into_iter().map(|(text, line)| source.named(text, line)).collect();
        source.strings = reader.strings.into_iter().map(|(text, line)| source.named(text, line)).collect();
        Ok(source)
    }

    /// Returns whether a line belongs to code that is built for tests only.
    pub(crate) fn is_test(&self, line: usize) -> bool {
        self.tests.iter().any(|range| range.contains(&line))
    }

    fn named(&self, text: String, line: usize) -> Named {
        let test = self.is_test(line);
        Named { text, line, test }
    }
}

/// The lines of items under `#[cfg(test)]` or `#[test]`.
#[derive(Default)]
struct TestRanges(Vec<RangeInclusive<usize>>);

impl<'ast> Visit<'ast> for TestRanges {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if attributes(item).iter().any(is_test_attribute) {
            self.0.push(item.span().start().line..=item.span().end().line);
        } else {
            syn::visit::visit_item(self, item);
        }
    }
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        _ => &[],
    }
}

/// Matches `#[test]`, `#[tokio::test]`, `#[cfg(test)]`, `#[cfg(any(test, ...))]`.
fn is_test_attribute(attribute: &syn::Attribute) -> bool {
    let last = attribute.path().segments.last().map(|segment| segment.ident.to_string());
    match last.as_deref() {
        Some("test") => true,
        Some("cfg") => attribute
            .meta
            .require_list()
            .is_ok_and(|list| !mentions(list.tokens.clone(), "not") && mentions(list.tokens.clone(), "test")),
        _ => false,
    }
}

fn mentions(tokens: TokenStream, word: &str) -> bool {
    tokens.into_iter().any(|tree| match tree {
        TokenTree::Ident(ident) => ident == word,
        TokenTree::Group(group) => mentions(group.stream(), word),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

/// Extracts paths and literals from a token stream.
#[derive(Default)]
struct SourceReader {
    paths: Vec<(String, usize)>,
    strings: Vec<(String, usize)>,
}

impl SourceReader {
    /// Reads a stream; `prefix` is the path before the braces of a `use` group.
    fn read(&mut self, stream: TokenStream, prefix: &str) {
        let trees: Vec<TokenTree> = stream.into_iter().collect();
        let mut at = 0;
        while let Some(tree) = trees.get(at) {
            at = match tree {
                TokenTree::Ident(_) => self.path(&trees, at, prefix),
                TokenTree::Group(group) => {
                    if !is_doc(&trees, at) {
                        self.read(group.stream(), "");
                    }
                    at + 1
                }
                TokenTree::Literal(literal) => {
                    if let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string()) {
                        self.strings.push((text.value(), literal.span().start().line));
                    }
                    at + 1
                }
                TokenTree::Punct(_) => at + 1,
            };
        }
    }

    /// Reads a path that starts at `at`; returns the position after it.
    fn path(&mut self, trees: &[TokenTree], mut at: usize, prefix: &str) -> usize {
        let mut text = prefix.to_owned();
        let mut line = 0;
        while let Some(TokenTree::Ident(ident)) = trees.get(at) {
            if line == 0 {
                line = ident.span().start().line;
            }
            if !text.is_empty() {
                text.push_str("::");
            }
            text.push_str(ident.to_string().trim_start_matches("r#"));
            at += 1;
            if !(is_colon(trees.get(at)) && is_colon(trees.get(at + 1))) {
                break;
            }
            match trees.get(at + 2) {
                Some(TokenTree::Ident(_)) => at += 2,
                Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                    self.read(group.stream(), &text);
                    return at + 3;
                }
                _ => break,
            }
        }
        if is_punct(trees.get(at), '!') && matches!(trees.get(at + 1), Some(TokenTree::Group(_))) {
            text.push('!');
        }
        self.paths.push((text, line));
        at
    }
}

/// Returns whether the group at `at` is the `[doc = "..."]` of a doc comment.
fn is_doc(trees: &[TokenTree], at: usize) -> bool {
    let Some(TokenTree::Group(group)) = trees.get(at) else { return false };
    let attribute = at > 0
        && (is_punct(trees.get(at - 1), '#')
            || (at > 1 && is_punct(trees.get(at - 1), '!') && is_punct(trees.get(at - 2), '#')));
    attribute && matches!(group.stream().into_iter().next(), Some(TokenTree::Ident(ident)) if ident == "doc")
}

fn is_colon(tree: Option<&TokenTree>) -> bool {
    is_punct(tree, ':')
}

fn is_punct(tree: Option<&TokenTree>, wanted: char) -> bool {
    matches!(tree, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        RustSource::parse(text, false).unwrap().paths.into_iter().map(|path| path.text).collect()
    }

    #[test]
    fn a_use_group_is_spelled_out() {
        let found = paths("use std::{fs::{self, File}, io};");
        for wanted in ["std::fs::self", "std::fs::File", "std::io"] {
            assert!(found.iter().any(|path| path == wanted), "{wanted} in {found:?}");
        }
    }

    #[test]
    fn macro_calls_and_their_arguments_are_read() {
        let found = paths("fn f() { assert!(std::fs::read(\"a\").is_ok()); }");
        assert!(found.contains(&"assert!".to_owned()), "{found:?}");
        assert!(found.contains(&"std::fs::read".to_owned()), "{found:?}");
    }

    #[test]
    fn comments_and_doc_comments_name_nothing() {
        let source =
            RustSource::parse("//! `hyper::x`\n// hyper::y\n/// SELECT a FROM b\nfn f() {}", false).unwrap();
        assert!(source.strings.is_empty());
        assert!(!source.paths.iter().any(|path| path.is_under("hyper")));
    }

    #[test]
    fn test_code_is_recognised() {
        let source = RustSource::parse(
            "use a::b;\n#[cfg(test)]\nmod tests {\n    use c::d;\n}\n#[cfg(not(test))]\nuse e::f;",
            false,
        )
        .unwrap();
        let of = |text: &str| source.paths.iter().find(|path| path.text == text).unwrap().test;
        assert!(!of("a::b"));
        assert!(of("c::d"));
        assert!(!of("e::f"));
    }

    #[test]
    fn a_path_is_under_its_root_only_at_a_boundary() {
        let named = |text: &str| Named { text: text.to_owned(), line: 1, test: false };
        assert!(named("hyper::body").is_under("hyper"));
        assert!(named("hyper").is_under("hyper"));
        assert!(!named("hyper_util::rt").is_under("hyper"));
    }
}
