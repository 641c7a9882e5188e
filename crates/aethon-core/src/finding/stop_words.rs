//! Words that say nothing about the subject of a question, from `stop_words.txt`.

use std::collections::HashMap;
use std::sync::LazyLock;

const TEXT: &str = include_str!("stop_words.txt");

/// What each stop word means for a question. A possessive is ignored as well.
static KINDS: LazyLock<HashMap<&'static str, StopWord>> = LazyLock::new(|| {
    let mut kinds: HashMap<_, StopWord> = HashMap::new();
    let mut section = "";
    for line in TEXT.lines().filter(|line| !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[') {
            section = name;
            continue;
        }
        for word in line.split_whitespace() {
            let kind = kinds.entry(word).or_default();
            match section {
                "asking]" => kind.is_asking = true,
                "possessive]" => kind.is_possessive = true,
                _ => kind.is_ignored = true,
            }
        }
    }
    kinds
});

/// The role of a word in a question.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StopWord {
    /// It is a function or question word.
    pub(super) is_ignored: bool,
    /// It belongs to the asking.
    pub(super) is_asking: bool,
    /// A possessive: the next word belongs to a person.
    pub(super) is_possessive: bool,
}

/// Returns the role of a word, in lower case and without accents, in a question.
pub(super) fn stop_word(word: &str) -> StopWord {
    KINDS.get(word).copied().unwrap_or_default()
}
