//! No import cycles between the page's scripts, for the same reason as between the files of a crate.

use super::import_cycles::cycles_through;
use crate::tidy::finding::Finding;
use crate::tidy::tree::{Tree, is_vendored};
use std::collections::{BTreeMap, BTreeSet};

/// The folder of the scripts.
const SCRIPTS: &str = "web/assets/js/";

/// Checks that the ES modules of the pages have no import cycles. Imports that a module makes when it needs them count too.
pub(crate) fn scripts_import_without_cycles(tree: &Tree) -> Vec<Finding> {
    let scripts = tree.files.iter().filter(|file| {
        file.path.starts_with(SCRIPTS) && file.path.ends_with(".js") && !is_vendored(&file.path)
    });
    let paths: BTreeSet<&str> = scripts.clone().map(|file| file.path.as_str()).collect();
    let graph: BTreeMap<&str, BTreeSet<&str>> = scripts
        .map(|file| {
            let targets =
                imports(&file.text).filter_map(|name| paths.get(resolve(&file.path, name)?.as_str()));
            (file.path.as_str(), targets.copied().collect())
        })
        .collect();
    cycles_through(SCRIPTS, &graph)
}

/// The names in `from "NAME"`, `import "NAME"` and `import("NAME")`; comments may name a module for its types.
fn imports(text: &str) -> impl Iterator<Item = &str> {
    let is_code = |line: &&str| !["*", "/*", "//"].iter().any(|mark| line.trim_start().starts_with(mark));
    let words = |line| ["from", "import"].into_iter().flat_map(move |word| str::split(line, word).skip(1));
    text.lines().filter(is_code).flat_map(words).filter_map(|rest| {
        let rest = rest.trim_start();
        let rest = rest.strip_prefix('(').unwrap_or(rest);
        let quote = rest.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
        rest[1..].split(quote).next()
    })
}

/// The path of a module named in a file; `None` for modules outside the scripts.
fn resolve(file: &str, name: &str) -> Option<String> {
    let mut parts: Vec<&str> = if name.starts_with('.') {
        let folder = file.rsplit_once('/')?.0;
        folder.split('/').collect()
    } else {
        name.starts_with('/').then(|| vec!["web"])?
    };
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks how many cycles these scripts form.
    fn check(files: &[(&str, &str)], expected: usize) {
        let files: Vec<(String, &str)> =
            files.iter().map(|(name, text)| (format!("{SCRIPTS}{name}"), *text)).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), *text)).collect();
        let found = scripts_import_without_cycles(&Tree::of(&files));
        assert_eq!(found.len(), expected, "{files:?}: {found:?}");
    }

    #[test]
    fn cycles_are_found_through_every_form_of_import() {
        check(&[("a.js", "import { b } from \"./b.js\";"), ("b.js", "import './a.js';")], 1);
        check(&[("a.js", "export { b } from './x/b.js';"), ("x/b.js", "await import(\"../a.js\")")], 1);
        check(&[("a.js", "import \"/assets/js/b.js\";"), ("b.js", "import \"./a.js\";")], 1);
    }

    #[test]
    fn types_in_comments_are_no_imports() {
        let types = "/** @import { A } from \"./a.js\" */\n * @param {import(\"./a.js\").A} a";
        check(&[("a.js", "import \"./b.js\";"), ("b.js", types)], 0);
    }

    #[test]
    fn imports_in_one_direction_and_words_are_fine() {
        check(&[("a.js", "import \"./b.js\";"), ("b.js", "// imported from a\nconst from = \"./c.js\";")], 0);
        check(&[("a.js", "import \"./vendor/b.js\";"), ("vendor/b.js", "import \"../a.js\";")], 0);
    }
}
