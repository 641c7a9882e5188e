//! Finds the definitions in a file, line by line: without grammars, so that any text is harmless and a language costs
//! one row of a table. It misses definitions in unusual places, which a map can afford.

/// Prefixes of lines that define something, by file extension.
const LANGUAGES: &[(&[&str], &[&str])] = &[
    (&["rs"], &["fn ", "struct ", "enum ", "trait ", "type ", "mod ", "union ", "macro_rules! ", "impl"]),
    (&["py", "pyi"], &["def ", "class "]),
    (
        &["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"],
        &["function ", "function* ", "class ", "interface ", "type ", "enum ", "namespace ", "const "],
    ),
    (&["go"], &["func ", "type "]),
    (
        &["java", "kt", "kts", "cs", "swift", "scala", "dart"],
        &[
            "class ",
            "interface ",
            "enum ",
            "record ",
            "fun ",
            "func ",
            "struct ",
            "protocol ",
            "object ",
            "trait ",
            "def ",
        ],
    ),
    (
        &["c", "h", "cc", "cpp", "cxx", "hpp", "hh"],
        &["struct ", "class ", "enum ", "union ", "namespace ", "typedef "],
    ),
    (&["rb"], &["def ", "class ", "module "]),
    (&["php"], &["function ", "class ", "interface ", "trait ", "enum "]),
    (&["ex", "exs"], &["def ", "defp ", "defmodule ", "defmacro "]),
    (&["lua"], &["function ", "local function "]),
    (&["sh", "bash"], &["function "]),
];

/// Words that may precede them.
const MODIFIERS: [&str; 20] = [
    "pub",
    "async",
    "unsafe",
    "const",
    "default",
    "extern",
    "export",
    "declare",
    "abstract",
    "static",
    "final",
    "public",
    "private",
    "protected",
    "internal",
    "sealed",
    "open",
    "data",
    "override",
    "virtual",
];

/// Maximum characters shown of a line.
const SHOWN: usize = 110;
/// Maximum indentation of a definition that counts: the methods of a class.
const MAX_DEPTH: usize = 4;

/// A definition.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Definition {
    /// Its line, counted from 1.
    pub(super) line: usize,
    /// The name that it defines.
    pub(super) name: String,
    /// The start of its text.
    pub(super) text: String,
}

/// Returns whether files with this extension are supported.
pub(super) fn knows(ending: &str) -> bool {
    LANGUAGES.iter().any(|(endings, _)| endings.contains(&ending))
}

/// Returns the definitions in a file with this extension.
pub(super) fn definitions(ending: &str, text: &str) -> Vec<Definition> {
    let Some((_, beginnings)) = LANGUAGES.iter().find(|(endings, _)| endings.contains(&ending)) else {
        return Vec::new();
    };
    let lines = text.lines().enumerate();
    lines.filter_map(|(at, line)| definition(beginnings, at + 1, line)).collect()
}

fn definition(beginnings: &[&str], number: usize, line: &str) -> Option<Definition> {
    let inner = line.trim_start_matches([' ', '\t']);
    if line.len() - inner.len() > MAX_DEPTH {
        return None;
    }
    let is_indented = inner.len() < line.len();
    let bare = without_modifiers(inner);
    let beginning = beginnings.iter().find(|beginning| bare.starts_with(**beginning))?;
    let rest = &bare[beginning.len()..];
    // Local values look like constants of a module.
    if *beginning == "const " && (is_indented || !rest.contains("=>") && !rest.contains("function")) {
        return None;
    }
    let name: String =
        named(rest).chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '$')).collect();
    let text: String = inner.trim_end().trim_end_matches(['{', ':']).trim_end().chars().take(SHOWN).collect();
    (!name.is_empty()).then_some(Definition { line: number, name, text })
}

/// Strips visibility and similar modifiers from a line.
fn without_modifiers(mut line: &str) -> &str {
    loop {
        let bare = line.strip_prefix("pub(").and_then(|rest| Some(rest.split_once(')')?.1));
        let word = || MODIFIERS.iter().find_map(|word| line.strip_prefix(word)?.strip_prefix(' '));
        match bare.map(str::trim_start).or_else(word) {
            // `const` defines something itself unless a function follows.
            Some(rest)
                if line.starts_with("const ") && !rest.starts_with("fn ") && !rest.starts_with("unsafe ") =>
            {
                return line;
            }
            Some(rest) => line = rest.trim_start(),
            None => return line,
        }
    }
}

/// Returns the text that starts with the defined name: for an `impl` its type, for a Go method what follows the
/// receiver.
fn named(rest: &str) -> &str {
    let rest = rest.trim_start();
    let rest = match rest.strip_prefix('<') {
        Some(generic) => generic.split_once("> ").map_or(generic, |(_, rest)| rest),
        None => rest,
    };
    let rest = rest.rsplit_once(" for ").map_or(rest, |(_, of)| of);
    match rest.strip_prefix('(') {
        Some(receiver) => receiver.split_once(") ").map_or(receiver, |(_, rest)| rest),
        None => rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_found_in_their_languages() {
        let check = |ending: &str, line: &str, expected: Option<&str>| {
            let found = definitions(ending, line);
            assert_eq!(found.first().map(|it| it.name.as_str()), expected, "{line}");
        };
        check("rs", "pub(crate) async fn run_it(x: u8) -> u8 {", Some("run_it"));
        check("rs", "impl<T: Clone> Display for Thing<T> {", Some("Thing"));
        check("rs", "    pub const fn new() -> Self {", Some("new"));
        check("rs", "const X: u8 = 1;", None);
        check("rs", "        fn too_deep() {", None);
        check("rs", "let fn_like = 1;", None);
        check("py", "    async def method(self):", Some("method"));
        check("py", "classy = 1", None);
        check("ts", "export default class Page extends Base {", Some("Page"));
        check("ts", "export const load = async () => {", Some("load"));
        check("ts", "const limit = 5;", None);
        check("go", "func (s *Server) Serve(l net.Listener) error {", Some("Serve"));
        check("java", "public abstract class Shape {", Some("Shape"));
        check("cpp", "struct Point {", Some("Point"));
        check("md", "# Title", None);
        assert!(knows("rs") && !knows("txt"));
    }
}
