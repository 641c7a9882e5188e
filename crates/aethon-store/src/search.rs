//! Full-text search: an index that follows the writes, and the queries on it.
//!
//! Indexing costs more than storing, so it happens in idle moments, in the order of message ids, up to a mark that
//! moves in the same transaction. Messages past the mark are scanned, so a search finds everything at any time; after a
//! crash, more has to be scanned until the index has caught up.
//!
//! User input never reaches the query language of the index: it is split into runs of letters and digits, and each is
//! quoted. A query word matches the beginning of a word. Chinese, Japanese and Korean characters count as separate
//! words.

use std::borrow::Cow;
use std::collections::BTreeSet;

use rusqlite::params;
use serde::Deserialize;
use serde_json::value::RawValue;
use unicode_normalization::UnicodeNormalization;

use crate::db::Sql;
use crate::error::Error;
use crate::lenient;

/// Messages indexed per step: the most that a job may have to wait for.
const STEP: i64 = 32;

/// Bytes of a message that are indexed. Longer files are found by their beginning.
const MAX_TEXT: usize = 64 * 1024;

/// Maximum number of words taken from a query.
const MAX_WORDS: usize = 12;

/// Up to which message the index has got.
pub(crate) const MARK: &str = "SELECT indexed_through FROM search_mark";

/// The words of a query.
pub(crate) struct Words {
    /// As typed, for titles and ids.
    typed: Vec<String>,
    /// Runs of letters and digits in lower case, for the index, which takes the accents off Latin letters itself.
    indexed: Vec<String>,
    /// The same without any accents, for texts.
    runs: Vec<String>,
}

impl Words {
    /// Parses a query; `None` if it contains no words.
    pub(crate) fn of(query: &str) -> Option<Self> {
        let typed: Vec<String> =
            query.split_whitespace().take(MAX_WORDS).map(str::to_ascii_lowercase).collect();
        let indexed: Vec<String> = runs(query).take(MAX_WORDS).collect();
        let runs = indexed.iter().map(|run| bare(run).into_owned()).collect();
        if typed.is_empty() { None } else { Some(Self { typed, indexed, runs }) }
    }

    /// Returns the words that the title or id must contain, as a JSON list.
    pub(crate) fn for_names(&self) -> serde_json::Value {
        self.typed.as_slice().into()
    }

    /// The words that a message must contain; a word of the message may go on after it.
    pub(crate) fn runs(&self) -> &[String] {
        &self.runs
    }

    /// The query to the index.
    pub(crate) fn for_index(&self) -> String {
        let terms: Vec<String> = self.indexed.iter().map(|run| format!("\"{run}\"*")).collect();
        terms.join(" ")
    }

    /// Returns a word that occurs verbatim in the JSON of a matching message that has no other letters than those of English, to
    /// skip most messages without parsing them.
    pub(crate) fn plain(&self) -> &str {
        let plain = self.runs.iter().filter(|run| run.is_ascii());
        plain.max_by_key(|run| run.len()).map_or("", String::as_str)
    }

    /// Returns whether a text contains all words.
    pub(crate) fn are_in(&self, text: &str) -> bool {
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

/// Returns the sessions in which one live message contains all words.
pub(crate) fn sessions(sql: &Sql<'_>, words: &Words) -> Result<BTreeSet<i64>, Error> {
    const INDEXED: &str = "SELECT DISTINCT messages.session_key FROM message_words
        CROSS JOIN messages ON messages.id = message_words.rowid
        WHERE message_words MATCH ?1 AND messages.superseded_by IS NULL";
    const BEHIND: &str = "SELECT session_key, content FROM messages
        WHERE id > ?1 AND superseded_by IS NULL AND role IN ('user', 'assistant')
        AND (instr(lower(content), ?2) > 0 OR content GLOB '*[^ -~]*')";
    if words.runs.is_empty() {
        return Ok(BTreeSet::new());
    }
    let mark: i64 = sql.one(MARK, [], |row| row.get(0))?;
    let mut found: BTreeSet<i64> =
        sql.all(INDEXED, [words.for_index()], |row| row.get(0))?.into_iter().collect();
    let behind = sql.all(BEHIND, params![mark, words.plain()], |row| {
        let session: i64 = row.get(0)?;
        Ok(words.are_in(&searchable(&lenient::text(row, 1)?)).then_some(session))
    })?;
    found.extend(behind.into_iter().flatten());
    Ok(found)
}

/// Indexes some more messages. Returns `true` if there may be more.
pub(crate) fn index_some(sql: &Sql<'_>) -> Result<bool, Error> {
    const NEXT: &str = "SELECT id, role, content FROM messages WHERE id > ?1 ORDER BY id LIMIT ?2";
    const ADD: &str = "INSERT INTO message_words (rowid, text) VALUES (?1, ?2)";
    const MOVE: &str = "UPDATE search_mark SET indexed_through = ?1";
    let mark: i64 = sql.one(MARK, [], |row| row.get(0))?;
    let next = sql.all(NEXT, [mark, STEP], |row| {
        let text = text_for_index(&lenient::text(row, 1)?, &lenient::text(row, 2)?);
        Ok((row.get::<_, i64>(0)?, text))
    })?;
    let Some((last, _)) = next.last() else { return Ok(false) };
    let last = *last;
    let is_full = i64::try_from(next.len()).is_ok_and(|found| found == STEP);
    for (id, text) in next.iter().filter(|(_, text)| !text.is_empty()) {
        sql.execute(ADD, params![id, text])?;
    }
    sql.execute(MOVE, [last])?;
    Ok(is_full)
}

/// Physically removes some of the deleted words: until its segments are merged, FTS5 only marks them as deleted.
/// Returns `true` if more is left.
pub(crate) fn erase_some(sql: &Sql<'_>) -> Result<bool, Error> {
    const ERASING: &str = "SELECT erasing FROM search_mark";
    const SET: &str = "UPDATE search_mark SET erasing = ?1";
    const BEGIN: &str = "INSERT INTO message_words (message_words, rank) VALUES ('merge', -16)";
    const GO_ON: &str = "INSERT INTO message_words (message_words, rank) VALUES ('merge', 16)";
    match sql.one(ERASING, [], |row| row.get::<_, i64>(0))? {
        0 => Ok(false),
        1 => {
            sql.execute(BEGIN, [])?;
            sql.execute(SET, [2])?;
            Ok(true)
        }
        _ => {
            let before = sql.connection().total_changes();
            sql.execute(GO_ON, [])?;
            // The statement itself counts as one change; more means that something was merged.
            let more = sql.connection().total_changes() - before >= 2;
            if !more {
                sql.execute(SET, [0])?;
            }
            Ok(more)
        }
    }
}

/// Removes a message from the index, which needs the exact text that was added.
pub(crate) fn forget(sql: &Sql<'_>, id: i64, role: &str, content: &str) -> Result<(), Error> {
    const FORGET: &str = "INSERT INTO message_words (message_words, rowid, text) VALUES ('delete', ?1, ?2)";
    const ERASE: &str = "UPDATE search_mark SET erasing = 1 WHERE erasing <> 1";
    let mark: i64 = sql.one(MARK, [], |row| row.get(0))?;
    let text = if id <= mark { text_for_index(role, content) } else { String::new() };
    if !text.is_empty() {
        sql.execute(FORGET, params![id, text])?;
        sql.execute(ERASE, [])?;
    }
    Ok(())
}

/// Returns the text to index for a message. A change here needs a migration that empties the index and resets the mark.
fn text_for_index(role: &str, content: &str) -> String {
    if matches!(role, "user" | "assistant") {
        spread(&searchable(content)).into_owned()
    } else {
        String::new()
    }
}

/// Extracts the text of a message and of its files from its JSON.
pub(crate) fn searchable(content: &str) -> String {
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
fn spread(text: &str) -> Cow<'_, str> {
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
pub(crate) fn runs(text: &str) -> impl Iterator<Item = String> {
    let text = spread(text);
    let runs: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|run| !run.is_empty())
        .map(str::to_lowercase)
        .collect();
    runs.into_iter()
}

/// Removes the accents of a word in lower case, as the index does.
pub(crate) fn bare(word: &str) -> Cow<'_, str> {
    if word.is_ascii() {
        return word.into();
    }
    let is_accent = |c: &char| matches!(c, '\u{300}'..='\u{36f}');
    word.nfd().filter(|c| !is_accent(c)).nfc().collect::<String>().into()
}

/// Returns whether a character is a word by itself, without spaces around it.
pub(crate) fn is_whole_word(c: char) -> bool {
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
