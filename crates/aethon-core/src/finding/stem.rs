//! Stems of English words: unites `paying`, `pays` and `paid`, by the Porter algorithm (1980) and a list of the most
//! common irregular forms.
//!
//! Stored texts and questions are stemmed alike, so a stem need not be a word. Words in other scripts, and words with
//! digits, stay as they are.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Returns the stem of a lower-case word.
pub(super) fn stem(word: &str) -> String {
    let is_english = word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    if !is_english {
        return word.to_owned();
    }
    let word = IRREGULAR.get(word).copied().unwrap_or(word);
    let mut stem = Stem(word.as_bytes().to_vec());
    stem.plural();
    stem.past();
    stem.y_to_i();
    stem.replace_one(&DOUBLE_ENDINGS, 0);
    stem.replace_one(&LIGHT_ENDINGS, 0);
    stem.last_ending();
    stem.tidy();
    String::from_utf8(stem.0).unwrap_or_else(|_| word.to_owned())
}

/// Common irregular forms, with the words that they are forms of.
static IRREGULAR: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    let lines = include_str!("irregular_forms.txt").lines().filter(|line| !line.starts_with('#'));
    let words = lines.filter_map(|line| line.split_once(' '));
    words.flat_map(|(word, forms)| forms.split(' ').map(move |form| (form, word))).collect()
});

/// Compound endings and their replacements.
const DOUBLE_ENDINGS: [(&str, &str); 21] = [
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("logi", "log"),
];

const LIGHT_ENDINGS: [(&str, &str); 7] = [
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
];

/// Endings to drop if enough of the word is left; longer ones first.
const LAST_ENDINGS: [&str; 19] = [
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous", "ive", "ize",
    "ion", "al", "er", "ic", "ou",
];

struct Stem(Vec<u8>);

impl Stem {
    fn ends(&self, ending: &str) -> bool {
        self.0.ends_with(ending.as_bytes())
    }

    /// Returns the length without the ending, if the word has it.
    fn without(&self, ending: &str) -> Option<usize> {
        self.ends(ending).then(|| self.0.len() - ending.len())
    }

    fn replace(&mut self, ending: &str, with: &str) {
        self.0.truncate(self.0.len() - ending.len());
        self.0.extend_from_slice(with.as_bytes());
    }

    fn is_consonant(&self, at: usize) -> bool {
        match self.0[at] {
            b'a' | b'e' | b'i' | b'o' | b'u' => false,
            b'y' => at == 0 || !self.is_consonant(at - 1),
            _ => true,
        }
    }

    fn has_vowel(&self, length: usize) -> bool {
        (0..length).any(|at| !self.is_consonant(at))
    }

    /// Returns Porter's measure of the first `length` letters: how often a consonant follows a vowel.
    fn measure(&self, length: usize) -> usize {
        let changes = |at: &usize| *at > 0 && self.is_consonant(*at) && !self.is_consonant(at - 1);
        (0..length).filter(changes).count()
    }

    /// Returns whether the first `length` letters end in consonant, vowel, and a consonant other than w, x or y.
    fn ends_short(&self, length: usize) -> bool {
        length >= 3
            && self.is_consonant(length - 1)
            && !self.is_consonant(length - 2)
            && self.is_consonant(length - 3)
            && !matches!(self.0[length - 1], b'w' | b'x' | b'y')
    }

    fn ends_double(&self) -> bool {
        let length = self.0.len();
        length >= 2 && self.0[length - 1] == self.0[length - 2] && self.is_consonant(length - 1)
    }

    fn plural(&mut self) {
        if self.ends("sses") || self.ends("ies") {
            self.0.truncate(self.0.len() - 2);
        } else if self.ends("s") && !self.ends("ss") {
            self.0.pop();
        }
    }

    fn past(&mut self) {
        if let Some(length) = self.without("eed") {
            if self.measure(length) > 0 {
                self.0.pop();
            }
            return;
        }
        let Some(length) = ["ed", "ing"]
            .iter()
            .find_map(|ending| self.without(ending))
            .filter(|&length| self.has_vowel(length))
        else {
            return;
        };
        self.0.truncate(length);
        if ["at", "bl", "iz"].iter().any(|ending| self.ends(ending)) {
            self.0.push(b'e');
        } else if self.ends_double() && !matches!(self.0.last(), Some(b'l' | b's' | b'z')) {
            self.0.pop();
        } else if self.measure(self.0.len()) == 1 && self.ends_short(self.0.len()) {
            self.0.push(b'e');
        }
    }

    fn y_to_i(&mut self) {
        if let Some(length) = self.without("y").filter(|&length| self.has_vowel(length)) {
            self.0[length] = b'i';
        }
    }

    /// Replaces the first matching ending, if the measure of the remainder exceeds `least`.
    fn replace_one(&mut self, endings: &[(&str, &str)], least: usize) {
        let found = endings.iter().find(|(ending, _)| self.ends(ending));
        if let Some((ending, with)) = found
            && self.measure(self.0.len() - ending.len()) > least
        {
            self.replace(ending, with);
        }
    }

    fn last_ending(&mut self) {
        let Some(ending) = LAST_ENDINGS.iter().find(|ending| self.ends(ending)) else { return };
        let length = self.0.len() - ending.len();
        let is_fit = *ending != "ion" || matches!(self.0[..length].last(), Some(b's' | b't'));
        if is_fit && self.measure(length) > 1 {
            self.0.truncate(length);
        }
    }

    fn tidy(&mut self) {
        if let Some(length) = self.without("e") {
            let measure = self.measure(length);
            if measure > 1 || (measure == 1 && !self.ends_short(length)) {
                self.0.pop();
            }
        }
        if self.ends_double() && self.ends("l") && self.measure(self.0.len()) > 1 {
            self.0.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_have_one_stem() {
        let check = |words: &[&str]| {
            let stems: Vec<String> = words.iter().map(|word| stem(word)).collect();
            assert!(stems.iter().all(|stem| *stem == stems[0]), "{words:?}: {stems:?}");
        };
        check(&["pay", "pays", "paying", "payed", "paid"]);
        check(&["child", "children"]);
        check(&["connect", "connected", "connecting", "connection", "connections"]);
        check(&["allergy", "allergies"]);
        check(&["live", "lives", "living", "lived"]);
        check(&["allergic", "allergics"]);
        check(&["appointment", "appointments"]);
        check(&["run", "running", "runs"]);
        check(&["relate", "relational", "relation"]);
        check(&["happy", "happiness"]);
        check(&["adopt", "adoption"]);
    }

    #[test]
    fn words_of_other_kinds_stay() {
        for word in ["is", "größe", "ipv6", "東京", "5th", ""] {
            assert_eq!(stem(word), word);
        }
        assert_ne!(stem("news"), stem("knew"));
        assert_ne!(stem("port"), stem("portrait"));
    }
}
