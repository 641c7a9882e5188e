//! Full-text search: the words of each message, as the program splits them, in an index of the server.
//!
//! They are stored with their message. Typed text never reaches the query language: it is split into runs of letters and
//! digits, and each is quoted. A query word matches the beginning of a word.

use std::collections::BTreeSet;

use aethon_core::finding::{Words, bare, runs, searchable};

use crate::db::{Sql, params};
use crate::error::Error;

/// How many letters of a word are indexed: a little fewer than the server accepts, and more than people type.
const MAX_LETTERS: usize = 120;

/// Stores the words of a message.
pub(crate) fn index(sql: &Sql<'_>, id: i64, role: &str, content: &str) -> Result<(), Error> {
    const ADD: &str = "INSERT INTO message_words (message_id, words) VALUES ($1, $2::text::tsvector)";
    let words = words_of(role, content);
    if !words.is_empty() {
        sql.execute(ADD, params![id, words.into_iter().collect::<Vec<_>>().join(" ")])?;
    }
    Ok(())
}

/// The words of a message, quoted for the index.
pub(crate) fn words_of(role: &str, content: &str) -> BTreeSet<String> {
    if !matches!(role, "user" | "assistant") {
        return BTreeSet::new();
    }
    let text = searchable(content);
    runs(&text).map(|run| lexeme(&bare(&run))).collect()
}

/// Stores the words of many messages.
pub(crate) fn index_many(sql: &Sql<'_>, messages: &[(i64, BTreeSet<String>)]) -> Result<(), Error> {
    const ADD: &str = "INSERT INTO message_words (message_id, words) SELECT id, words::tsvector
        FROM json_to_recordset($1::text::json) AS added (id BIGINT, words TEXT)";
    if messages.is_empty() {
        return Ok(());
    }
    let rows = messages.iter().map(|(id, words)| {
        let words = words.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
        serde_json::json!({ "id": id, "words": words })
    });
    let rows: Vec<serde_json::Value> = rows.collect();
    sql.execute(ADD, [serde_json::Value::Array(rows).to_string()]).map(drop)
}

/// Returns the sessions in which one live message contains all words.
pub(crate) fn sessions(sql: &Sql<'_>, words: &Words) -> Result<BTreeSet<i64>, Error> {
    const FOUND: &str = "SELECT DISTINCT messages.session_key FROM message_words
        JOIN messages ON messages.id = message_words.message_id
        WHERE message_words.words @@ $1::text::tsquery AND messages.superseded_by IS NULL";
    if words.runs().is_empty() {
        return Ok(BTreeSet::new());
    }
    Ok(sql.all(FOUND, [all_of(words.runs())], |row| row.get(0))?.into_iter().collect())
}

/// The query for messages with all of these words.
pub(crate) fn all_of(words: &[String]) -> String {
    words.iter().map(|word| format!("{}:*", lexeme(word))).collect::<Vec<_>>().join(" & ")
}

/// Quotes a word for the index.
pub(crate) fn lexeme(word: &str) -> String {
    let cut: String = word.chars().take(MAX_LETTERS).filter(|c| *c != '\0').collect();
    format!("'{}'", cut.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accents_alone_are_no_words() {
        let greek = "\u{3c9}\u{342}\u{345}";
        assert_eq!(runs(greek).collect::<Vec<_>>(), ["\u{3c9}"]);
        assert_eq!(all_of(Words::of(greek).unwrap().runs()), "'\u{3c9}':*");
    }

    #[test]
    fn any_input_is_quoted_for_the_index() {
        let check = |typed: &str, expected: &str| {
            let query = Words::of(typed).map(|words| all_of(words.runs())).unwrap_or_default();
            assert_eq!(query, expected, "{typed:?}");
        };
        check("Hello  world", "'hello':* & 'world':*");
        check("\" OR 1=1 --", "'or':* & '1':* & '1':*");
        check("a:* & !b | (c <-> d)", "'a':* & 'b':* & 'c':* & 'd':*");
        check("Z\u{fc}rich \u{6771}\u{4eac}", "'zurich':* & '\u{6771}':* & '\u{4eac}':*");
        check("***", "");
        assert_eq!(lexeme("it's\\"), "'it''s\\\\'");
        assert_eq!(lexeme(&"x".repeat(1000)).len(), MAX_LETTERS + 2);
    }
}
