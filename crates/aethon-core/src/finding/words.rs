//! Splits text into words the way the memory index knows them (lower case, without accents, with their stems), and
//! tells which of them carry meaning.

use super::stem::stem;
use super::stop_words::stop_word;
use crate::finding::is_whole_word;

/// Maximum number of terms per question; anything longer is a document.
const MAX_TERMS: usize = 48;

/// Longer runs of letters are not words.
const MAX_WORD: usize = 48;

/// Weight of a word that belongs to the asking rather than to the subject.
const ASKING_WEIGHT: f64 = 0.25;

/// Weight of a word after a possessive.
const OWN_WEIGHT: f64 = 2.0;

/// A word and its stem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// In lower case and without accents.
    pub plain: String,
    /// What its forms have in common.
    pub stem: String,
}

/// A word of a question.
#[derive(Debug, Clone)]
pub struct Term {
    /// The word.
    pub word: Word,
    /// Its weight, apart from its rarity.
    pub weight: f64,
}

/// Returns all words of a text in order.
pub fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut plain = String::new();
    let mut before = ' ';
    let end = |plain: &mut String, words: &mut Vec<Word>| {
        let ended = std::mem::take(plain);
        let ended = ended.strip_suffix("'s").unwrap_or(&ended).replace('\'', "");
        if !ended.is_empty() && ended.len() <= MAX_WORD {
            words.push(Word { stem: stem(&ended), plain: ended });
        }
    };
    for c in text.chars() {
        if is_whole_word(c) {
            end(&mut plain, &mut words);
            words.push(Word { plain: c.to_string(), stem: c.to_string() });
        } else if c.is_alphanumeric() {
            fold(c, &mut plain);
        } else if matches!(c, '\'' | '’') && before.is_alphanumeric() {
            plain.push('\'');
        } else {
            end(&mut plain, &mut words);
        }
        before = c;
    }
    end(&mut plain, &mut words);
    words
}

/// Returns whether a word carries meaning by itself.
pub fn is_telling(word: &Word) -> bool {
    !stop_word(&word.plain).is_ignored
}

/// Returns the words of a question to look for, each once. Words of asking weigh little, and so decide only if there
/// are no others.
pub fn terms(question: &str) -> Vec<Term> {
    let words = words(question);
    let mut terms: Vec<Term> = Vec::new();
    for (at, word) in words.iter().enumerate().filter(|(_, word)| is_telling(word)) {
        let is_own = at > 0 && stop_word(&words[at - 1].plain).is_possessive;
        let is_asking = stop_word(&word.plain).is_asking;
        let weight = match (is_own, is_asking) {
            (true, _) => OWN_WEIGHT,
            (false, true) => ASKING_WEIGHT,
            (false, false) => 1.0,
        };
        match terms.iter().position(|term| term.word.stem == word.stem) {
            Some(known) => terms[known].weight = terms[known].weight.max(weight),
            None if terms.len() < MAX_TERMS => terms.push(Term { word: word.clone(), weight }),
            None => {}
        }
    }
    terms
}

/// Appends a character in lower case and without accents.
fn fold(c: char, to: &mut String) {
    for c in c.to_lowercase() {
        let plain = match c {
            'à'..='å' | 'ā' | 'ă' | 'ą' => "a",
            'æ' => "ae",
            'ç' | 'ć' | 'ĉ' | 'ċ' | 'č' => "c",
            'ď' | 'đ' | 'ð' => "d",
            'è'..='ë' | 'ē' | 'ĕ' | 'ė' | 'ę' | 'ě' => "e",
            'ĝ' | 'ğ' | 'ġ' | 'ģ' => "g",
            'ì'..='ï' | 'ĩ' | 'ī' | 'ĭ' | 'į' | 'ı' => "i",
            'ĺ' | 'ļ' | 'ľ' | 'ł' => "l",
            'ñ' | 'ń' | 'ņ' | 'ň' => "n",
            'ò'..='ö' | 'ø' | 'ō' | 'ŏ' | 'ő' => "o",
            'œ' => "oe",
            'ŕ' | 'ŗ' | 'ř' => "r",
            'ś' | 'ŝ' | 'ş' | 'š' | 'ș' => "s",
            'ß' => "ss",
            'ţ' | 'ť' | 'ț' => "t",
            'ù'..='ü' | 'ũ' | 'ū' | 'ŭ' | 'ů' | 'ű' | 'ų' => "u",
            'ý' | 'ÿ' => "y",
            'ź' | 'ż' | 'ž' => "z",
            // A combining accent.
            '\u{300}'..='\u{36f}' => "",
            other => {
                to.push(other);
                continue;
            }
        };
        to.push_str(plain);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_contain_only_significant_words() {
        let check = |question: &str, expected: &[&str]| {
            let found: Vec<String> = terms(question).into_iter().map(|term| term.word.plain).collect();
            assert_eq!(found, expected, "{question:?}");
        };
        check("When is the rent due?", &["rent", "due"]);
        check("What's Ada's address?", &["ada", "address"]);
        check("Wann ist die Miete fällig?", &["miete", "fallig"]);
        check("rent RENT Rents", &["rent"]);
        check("東京", &["東", "京"]);
        check("is it?", &[]);
        check("", &[]);
    }

    #[test]
    fn possessives_weigh_more_and_question_words_less() {
        let weight = |question: &str, word: &str| {
            terms(question).into_iter().find(|term| term.word.plain == word).map(|term| term.weight)
        };
        assert_eq!(weight("write a poem about my cat", "cat"), Some(OWN_WEIGHT));
        assert_eq!(weight("write a poem about my cat", "poem"), Some(1.0));
        assert_eq!(weight("please tell a joke", "tell"), Some(ASKING_WEIGHT));
    }

    #[test]
    fn long_questions_are_bounded() {
        let text: String = (0..500).map(|number| format!("word{number} ")).collect();
        assert_eq!(terms(&text).len(), MAX_TERMS);
        assert!(words(&"x".repeat(1000)).is_empty());
    }
}
