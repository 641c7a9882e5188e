//! Words that the sources do without: unfinished work without an issue, leftovers of debugging. The list is data
//! (`data/words.toml`), so that adding one needs no code.

use crate::tidy::finding::Finding;
use crate::tidy::tree::{Tree, is_vendored};
use serde::Deserialize;
use std::sync::LazyLock;

/// The list and the rules about it have to spell the words out.
const EXEMPT: [&str; 2] = ["xtask/src/tidy/", "xtask/data/"];

/// The parsed list.
pub(super) static WORDS: LazyLock<Words> = LazyLock::new(|| {
    // The list is part of this program, and a test reads it: a mistake in it is ours and stops the chore.
    toml::from_str(include_str!("../../../data/words.toml")).unwrap_or_default()
});

/// The file `data/words.toml`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Words {
    /// Words that must not stand in a file.
    pub(super) text: Vec<Text>,
    /// Endings that names of types must not have.
    pub(super) name: Vec<Ending>,
}

/// A word that must not stand in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Text {
    word: String,
    unless: Option<String>,
    kinds: Vec<String>,
    #[serde(default)]
    except: Vec<String>,
    remedy: String,
}

/// An ending that says nothing.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ending {
    pub(super) ending: String,
    pub(super) remedy: String,
}

/// None of the words stands in a source of ours.
pub(crate) fn forbidden_text(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    let ours = tree
        .files
        .iter()
        .filter(|file| !is_vendored(&file.path) && !EXEMPT.iter().any(|path| file.path.starts_with(path)));
    for file in ours {
        let kind = file.path.rsplit('.').next().unwrap_or_default();
        let concerns =
            |text: &&Text| text.kinds.iter().any(|known| known == kind) && !text.except.contains(&file.path);
        for text in WORDS.text.iter().filter(concerns) {
            for (index, line) in file.text.lines().enumerate() {
                if holds(line, text) {
                    let message = format!("`{}`", text.word);
                    found.push(Finding::new("words", &file.path, index + 1, message, &text.remedy));
                }
            }
        }
    }
    found
}

/// Whether the word stands in the line as a whole, and not followed by what excuses it.
fn holds(line: &str, text: &Text) -> bool {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    line.match_indices(&text.word).any(|(at, word)| {
        let before = line[..at].chars().next_back();
        let after = &line[at + word.len()..];
        let begins = !before.is_some_and(is_word);
        let ends = !(word.ends_with(is_word) && after.starts_with(is_word));
        begins && ends && !text.unless.as_ref().is_some_and(|excuse| after.starts_with(excuse.as_str()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str, expected: usize) {
        assert_eq!(forbidden_text(&Tree::of(&[(path, text)])).len(), expected, "{path}: {text}");
    }

    #[test]
    fn the_list_is_read() {
        assert!(WORDS.text.len() > 5 && !WORDS.name.is_empty());
    }

    #[test]
    fn unfinished_work_needs_an_issue() {
        check("crates/a/src/a.rs", "// TODO later", 1);
        check("crates/a/src/a.rs", "// TODO(#12) later", 0);
        check("crates/a/src/a.rs", "// FIXME", 1);
        check("crates/a/src/a.rs", "const TODOS: u8 = 1;", 0);
        check("docs/a.md", "TODO", 0);
    }

    #[test]
    fn leftovers_are_found_in_our_files_only() {
        check("crates/a/src/a.rs", "fn f() { dbg!(1); }", 1);
        check("web/assets/a.js", "console.log(1)", 1);
        check("web/assets/vendor/a.js", "console.log(1)", 0);
        check("web/assets/a.js", "x.innerHTML = y", 1);
        check("web/assets/js/shared/html.js", "x.innerHTML = y", 0);
    }
}
