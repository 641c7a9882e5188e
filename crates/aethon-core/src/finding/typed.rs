//! The words that a person looks for in messages, and the text of a message that is looked through.
//!
//! What is typed is split into runs of letters and digits, so that it never reaches the query language of an index. A word
//! matches the beginning of a word. Chinese, Japanese and Korean characters count as separate words.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use unicode_normalization::UnicodeNormalization;

/// Bytes of a message that are indexed. Longer files are found by their beginning.
const MAX_TEXT: usize = 64 * 1024;

/// Maximum number of words taken from a query.
const MAX_WORDS: usize = 12;

/// The words of a query.
pub struct Words {
    /// As typed, for titles and ids.
    typed: Vec<String>,
    /// Runs of letters and digits in lower case, for the index, which takes the accents off Latin letters itself.
    indexed: Vec<String>,
    /// The same without any accents, for texts.
    runs: Vec<String>,
}

impl Words {
    /// Parses a query; `None` if it contains no words.
    pub fn of(query: &str) -> Option<Self> {
        let typed: Vec<String> =
            query.split_whitespace().take(MAX_WORDS).map(str::to_ascii_lowercase).collect();
        let indexed: Vec<String> = runs(query).take(MAX_WORDS).collect();
        let runs = indexed.iter().map(|run| bare(run).into_owned()).collect();
        if typed.is_empty() { None } else { Some(Self { typed, indexed, runs }) }
    }

    /// Returns the words that the title or id must contain, as a JSON list.
    pub fn for_names(&self) -> serde_json::Value {
        self.typed.as_slice().into()
    }

    /// The words that a message must contain; a word of the message may go on after it.
    pub fn runs(&self) -> &[String] {
        &self.runs
    }

    /// The query to the index.
    pub fn for_index(&self) -> String {
        let terms: Vec<String> = self.indexed.iter().map(|run| format!("\"{run}\"*")).collect();
        terms.join(" ")
    }

    /// Returns a word that occurs verbatim in the JSON of a matching message that has no other letters than those of English, to
    /// skip most messages without parsing them.
    pub fn plain(&self) -> &str {
        let plain = self.runs.iter().filter(|run| run.is_ascii());
        plain.max_by_key(|run| run.len()).map_or("", String::as_str)
    }

    /// Returns whether a text contains all words.
    pub fn are_in(&self, text: &str) -> bool {
        let mut missing: Vec<&String> = self.runs.iter().collect();
        for run in runs(text) {
            let run = bare(&run);
            missing.retain(|word| !run.starts_with(word.as_str()));
            if missing.is_empty() {
                return true;
            }
        }
        missing.is_empty()
    }
}

/// Extracts the text of a message and of its files from its JSON.
pub fn searchable(content: &str) -> String {
    #[derive(Deserialize)]
    struct Piece<'a> {
        #[serde(rename = "type", borrow)]
        kind: Cow<'a, str>,
        #[serde(default, borrow)]
        text: Option<&'a RawValue>,
        #[serde(default, borrow)]
        name: Option<&'a RawValue>,
    }
    // Malformed content has no words.
    let pieces: Vec<Piece<'_>> = serde_json::from_str(content).unwrap_or_default();
    let mut all = String::new();
    for piece in &pieces {
        let parts = match &*piece.kind {
            "text" => [None, piece.text],
            "file" => [piece.name, piece.text],
            _ => [None, None],
        };
        for part in parts.into_iter().flatten() {
            let part = beginning(part.get());
            all.push_str(&part[..part.floor_char_boundary(MAX_TEXT.saturating_sub(all.len()))]);
            all.push('\n');
        }
    }
    all
}

/// Decodes a JSON string at least as far as the index reads it; a text of megabytes is not unescaped beyond that.
fn beginning(json: &str) -> String {
    /// A byte of text takes at most six (`\u0041`), a truncated escape at most twelve (two halves of a surrogate pair).
    const MAX_COUNT: usize = 6 * MAX_TEXT + 12;
    if json.len() <= MAX_COUNT {
        return serde_json::from_str(json).unwrap_or_default();
    }
    let cut = json.floor_char_boundary(MAX_COUNT);
    // A truncated escape does not parse; back up to before it.
    let readable = (cut - 12..=cut).rev().filter(|end| json.is_char_boundary(*end));
    let mut read = readable.filter_map(|end| serde_json::from_str(&format!("{}\"", &json[..end])).ok());
    read.next().unwrap_or_default()
}

/// Puts spaces around characters that are words by themselves, since the index splits words at spaces.
pub fn spread(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_whole_word) {
        return text.into();
    }
    let mut spread = String::with_capacity(text.len() * 2);
    for c in text.chars() {
        if is_whole_word(c) {
            spread.extend([' ', c, ' ']);
        } else {
            spread.push(c);
        }
    }
    spread.into()
}

/// Returns the runs of letters and digits in a text, in lower case.
pub fn runs(text: &str) -> impl Iterator<Item = String> {
    let text = spread(text);
    let runs: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|run| !run.is_empty())
        .map(str::to_lowercase)
        // An accent that counts as a letter is no word by itself.
        .filter(|run| !bare(run).is_empty())
        .collect();
    runs.into_iter()
}

/// Removes the accents of a word in lower case, as the index does.
pub fn bare(word: &str) -> Cow<'_, str> {
    if word.is_ascii() {
        return word.into();
    }
    let is_accent = |c: &char| matches!(c, '\u{300}'..='\u{36f}');
    word.nfd().filter(|c| !is_accent(c)).nfc().collect::<String>().into()
}

/// Returns whether a character is a word by itself, without spaces around it.
pub fn is_whole_word(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_input_is_quoted_for_the_index() {
        let check = |typed: &str, expected: &str| {
            let query = Words::of(typed).map(|words| words.for_index()).unwrap_or_default();
            assert_eq!(query, expected, "{typed:?}");
        };
        check("", "");
        check("Hello  world", "\"hello\"* \"world\"*");
        check("\" OR 1=1 --", "\"or\"* \"1\"* \"1\"*");
        check("a* NEAR(b, c) ^d {e f}: g", "\"a\"* \"near\"* \"b\"* \"c\"* \"d\"* \"e\"* \"f\"* \"g\"*");
        check("***", "");
        check("東京 x", "\"東\"* \"京\"* \"x\"*");
    }

    #[test]
    fn text_behind_the_mark_is_matched_by_the_beginnings_of_words() {
        let check = |text: &str, typed: &str, expected: bool| {
            let found = Words::of(typed).is_some_and(|words| words.are_in(text));
            assert_eq!(found, expected, "{typed:?} in {text:?}");
        };
        check("The quick brown fox", "qui FOX", true);
        check("The quick brown fox", "uick", false);
        check("Grüße aus Köln", "grüß köl", true);
        check("Grüße aus Köln", "GRUẞ kol", true);
        check("Cafe\u{301} in Zürich", "CAFÉ zuri", true);
        check("今日は東京へ", "東京", true);
        check("fox", "fox wolf", false);
    }

    #[test]
    fn a_long_text_is_cut_at_the_index_limit_despite_escapes() {
        for piece in ["plain ", "\"", "\u{1}", "é", "\u{1F600}x", "\\"] {
            for shift in [0, 1, 2, 3, 5, 7, 11] {
                let text = "a".repeat(shift) + &piece.repeat(6 * MAX_TEXT / piece.len() + 14);
                let escaped = serde_json::to_string(&text).unwrap();
                let ascii: String = escaped
                    .chars()
                    .flat_map(|c| match c.is_ascii() {
                        true => c.to_string().chars().collect::<Vec<_>>(),
                        false => {
                            let units = c.encode_utf16(&mut [0; 2]).to_vec();
                            units
                                .iter()
                                .flat_map(|unit| format!("\\u{unit:04x}").chars().collect::<Vec<_>>())
                                .collect()
                        }
                    })
                    .collect();
                for json in [escaped, ascii] {
                    let kept = searchable(&format!(r#"[{{"type":"text","text":{json}}}]"#));
                    assert_eq!(
                        kept,
                        format!("{}\n", &text[..text.floor_char_boundary(MAX_TEXT)]),
                        "{piece:?} {shift}"
                    );
                }
            }
        }
    }

    #[test]
    fn search_covers_text_and_files_of_messages() {
        let content = r#"[{"type":"text","text":"alpha \"quoted\""},{"type":"file","name":"n.txt","mime":"m","text":"beta"},
            {"type":"reasoning","text":"gamma"},{"type":"tool_call","id":"1","name":"shell","input":{}}]"#;
        assert_eq!(searchable(content), "alpha \"quoted\"\nn.txt\nbeta\n");
        assert_eq!(searchable("not json"), "");
    }
}
