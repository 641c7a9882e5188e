//! A query and how well a text matches it.
//!
//! A word matches itself, the beginning of a longer word, and a shorter form of itself (`databases` finds `database`),
//! in decreasing order of weight. Words of one or two letters match only themselves, or they would match everything.
//! Chinese, Japanese and Korean characters are separate words, as in the index.

use crate::finding::{is_whole_word, runs};

/// Maximum number of words taken from a query.
const MAX_WORDS: usize = 16;

/// Words shorter than this match only themselves.
const SHORT: usize = 3;

/// How many letters a word of the text may lack at its end and still count as a form of the query's word.
const MAX_ENDING: usize = 3;

// Weights of an exact match, a match of the beginning, and a match of a shorter form.
const EXACT: f64 = 1.0;
const BEGINNING: f64 = 0.6;
const FORM: f64 = 0.4;

/// The words and phrases of a query.
pub struct Query {
    words: Vec<String>,
    phrases: Vec<Vec<String>>,
}

/// A text and its words.
pub struct Text<'t> {
    text: &'t str,
    /// Offset of each word, and the word in lower case.
    words: Vec<(usize, String)>,
}

/// An excerpt and how well it matches.
pub struct Excerpt {
    /// The higher, the better.
    pub score: f64,
    /// The excerpt.
    pub text: String,
}

impl Query {
    /// Parses a query; `None` if it contains no word.
    pub fn of(typed: &str) -> Option<Self> {
        let mut words: Vec<String> = Vec::new();
        for run in runs(typed) {
            if words.len() < MAX_WORDS && !words.contains(&run) {
                words.push(run);
            }
        }
        // Every second piece between quotation marks is quoted; an unclosed mark quotes nothing.
        let pieces: Vec<&str> = typed.split(['"', '“', '”', '„']).collect();
        let quoted = pieces.iter().enumerate().filter(|(n, _)| n % 2 == 1 && n + 1 < pieces.len());
        let phrases = quoted.map(|(_, piece)| runs(piece).collect::<Vec<_>>());
        let phrases = phrases.filter(|phrase| phrase.len() > 1).collect();
        (!words.is_empty()).then_some(Self { words, phrases })
    }

    /// Returns how many words it has.
    #[expect(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns whether any words are quoted.
    pub fn has_phrases(&self) -> bool {
        !self.phrases.is_empty()
    }

    /// Tests cheaply, without decoding its JSON, whether a message may match.
    pub fn may_be_in(&self, json: &str) -> bool {
        let json = json.to_ascii_lowercase();
        self.needles().is_none_or(|needles| needles.iter().any(|needle| json.contains(needle)))
    }

    /// Returns pieces of text in small letters of which a message that matches has at least one, whatever the case of its ASCII
    /// letters. `None` where it may have none of them.
    pub fn needles(&self) -> Option<Vec<&str>> {
        let needle = |word: &'_ String| {
            let least = word.len().saturating_sub(MAX_ENDING).max(SHORT).min(word.len());
            word.is_ascii().then_some(least)
        };
        self.words.iter().map(|word| needle(word).map(|least| &word[..least])).collect()
    }

    /// Returns how well each word matches.
    pub fn qualities(&self, text: &Text<'_>) -> Vec<f64> {
        let best =
            |word: &String| text.words.iter().map(|(_, found)| quality(word, found)).fold(0.0, f64::max);
        self.words.iter().map(best).collect()
    }

    /// Returns whether the text contains all phrases.
    pub fn phrases_are_in(&self, text: &Text<'_>) -> bool {
        let stands = |phrase: &Vec<String>| {
            text.words.windows(phrase.len()).any(|words| {
                words.iter().zip(phrase).all(|((_, found), word)| quality(word, found) >= BEGINNING)
            })
        };
        self.has_phrases() && self.phrases.iter().all(stands)
    }

    /// Returns the excerpt of about `chars` characters with the most matching words, with some context on both sides.
    pub fn excerpt(&self, text: &Text<'_>, weights: &[f64], chars: usize) -> Excerpt {
        let hits: Vec<(usize, usize, f64)> = text
            .words
            .iter()
            .flat_map(|(at, found)| {
                let rated = self.words.iter().enumerate().map(|(n, word)| (*at, n, quality(word, found)));
                rated.filter(|(.., quality)| *quality > 0.0)
            })
            .collect();
        let reach = chars / 2;
        let mut best = (0.0, 0);
        for (first, (begin, ..)) in hits.iter().enumerate() {
            let mut found = vec![0.0_f64; self.words.len()];
            for (_, word, quality) in hits[first..].iter().take_while(|(at, ..)| at - begin <= reach) {
                found[*word] = found[*word].max(*quality);
            }
            let score: f64 = found.iter().zip(weights).map(|(quality, weight)| quality * weight).sum();
            if score > best.0 {
                best = (score, *begin);
            }
        }
        Excerpt { score: best.0, text: cut(text.text, best.1, chars) }
    }
}

impl<'t> Text<'t> {
    /// Splits a text into its words.
    pub fn of(text: &'t str) -> Self {
        let mut words = Vec::new();
        let mut begin = None;
        for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
            let is_own = is_whole_word(c);
            if begin.is_some() && (is_own || !c.is_alphanumeric()) {
                words.extend(begin.take().map(|begin: usize| (begin, text[begin..at].to_lowercase())));
            }
            if is_own {
                words.push((at, c.to_string()));
            } else if begin.is_none() && c.is_alphanumeric() {
                begin = Some(at);
            }
        }
        Self { text, words }
    }
}

fn quality(word: &str, found: &str) -> f64 {
    if word == found {
        return EXACT;
    }
    let is_short = |text: &str| text.chars().count() < SHORT;
    if is_short(word) || is_short(found) {
        return 0.0;
    }
    if found.starts_with(word) {
        return BEGINNING;
    }
    let is_form = word.starts_with(found) && word.chars().count() - found.chars().count() <= MAX_ENDING;
    if is_form && found.chars().count() > SHORT { FORM } else { 0.0 }
}

/// Cuts out about `chars` characters, a third of them before `at`, at word boundaries.
fn cut(text: &str, at: usize, chars: usize) -> String {
    let text = text.trim_end();
    if text.len() <= chars {
        return text.to_owned();
    }
    let at = text.floor_char_boundary(at);
    let end = text.len().min(at.saturating_sub(chars / 3) + chars);
    let begin = end - chars;
    let mut begin = text.ceil_char_boundary(begin);
    let mut end = text.floor_char_boundary(end);
    if begin > 0 {
        let space = text[begin..at.max(begin)].find(char::is_whitespace);
        begin += space.map_or(0, |space| space + 1);
    }
    if end < text.len() {
        end = text[begin..end]
            .rfind(char::is_whitespace)
            .filter(|space| begin + space > at)
            .map_or(end, |space| begin + space);
    }
    let before = if begin > 0 { "… " } else { "" };
    let behind = if end < text.len() { " …" } else { "" };
    format!("{before}{}{behind}", text[begin..end].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_match_themselves_beginnings_and_shorter_forms() {
        let check = |word: &str, found: &str, expected: f64| {
            assert!((quality(word, found) - expected).abs() < 1e-9, "{word} in {found}");
        };
        check("port", "port", EXACT);
        check("data", "database", BEGINNING);
        check("databases", "database", FORM);
        check("decided", "dec", 0.0);
        check("id", "idea", 0.0);
        check("id", "id", EXACT);
        check("idea", "id", 0.0);
        check("internationalisation", "inter", 0.0);
        check("größe", "größen", BEGINNING);
    }

    #[test]
    fn quoted_words_are_phrases() {
        let phrases = |typed: &str| Query::of(typed).map(|query| query.phrases).unwrap_or_default();
        assert_eq!(phrases(r#"the "blue door" key"#), [["blue", "door"]]);
        assert_eq!(phrases("„rote Tür“ Schlüssel"), [["rote", "tür"]]);
        assert!(phrases(r#"5" pipe"#).is_empty());
        assert!(phrases(r#""one""#).is_empty());
        assert!(Query::of("?! ---").is_none());
    }

    #[test]
    fn an_excerpt_surrounds_its_words_and_is_cut_between_words() {
        let far = "filler ".repeat(200);
        let text = format!("{far}the port of the staging database is 6543 and stays so {far}");
        let query = Query::of("staging port").unwrap();
        let excerpt = query.excerpt(&Text::of(&text), &[1.0, 1.0], 120);
        assert!(excerpt.text.contains("the port of the staging database is 6543"), "{}", excerpt.text);
        assert!(excerpt.text.starts_with("… filler") && excerpt.text.ends_with(" …"), "{}", excerpt.text);
        assert!(excerpt.text.len() <= 130, "{}", excerpt.text.len());
        for at in 0..40 {
            let text = format!("{}東京 word", "ä".repeat(at));
            let _ = query.excerpt(&Text::of(&text), &[1.0, 1.0], 10);
            assert!(cut(&text, at, 10).chars().count() <= 14);
        }
    }
}
