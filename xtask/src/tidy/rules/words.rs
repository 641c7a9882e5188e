//! Forbidden words in sources: unfinished work without an issue, leftovers of debugging. The list is data (`data/words.toml`),
//! so adding a word needs no code.

use crate::tidy::finding::Finding;
use crate::tidy::tree::{Tree, is_vendored};
use serde::Deserialize;
use std::sync::LazyLock;

/// The files that spell the words out: the list, and the rules about it.
const EXEMPT: [&str; 2] = ["xtask/src/tidy/", "xtask/data/"];

/// The parsed list.
pub(super) static WORDS: LazyLock<Words> = LazyLock::new(|| {
    // The list is compiled in. A list that does not parse would be empty here; a test fails on it.
    toml::from_str(include_str!("../../../data/words.toml")).unwrap_or_default()
});

/// The file `data/words.toml`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Words {
    /// Words that no file may contain.
    pub(super) text: Vec<Text>,
    /// Endings that no type name may have.
    pub(super) name: Vec<Ending>,
}

/// A word that no file may contain.
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

/// A meaningless ending.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ending {
    pub(super) ending: String,
    pub(super) remedy: String,
}

/// Checks that none of our sources contains one of the words.
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

/// Returns whether the line contains the word as a whole, not followed by an excuse.
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
