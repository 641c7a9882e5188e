//! Invariant 4, second half: only `aethon-store` and `aethon-postgres` contain SQL statements.
//!
//! A string literal that starts like a statement counts as one. This is a tripwire; the wall is that no other package may
//! depend on rusqlite or tokio-postgres.

use crate::tidy::finding::Finding;
use crate::tidy::tree::Tree;

/// The beginnings of statements, with whitespace collapsed; the second part must follow somewhere.
const OPENINGS: [(&str, &str); 13] = [
    ("SELECT ", " FROM "),
    ("INSERT INTO ", ""),
    ("INSERT OR ", ""),
    ("REPLACE INTO ", ""),
    ("UPDATE ", " SET "),
    ("DELETE FROM ", ""),
    ("CREATE TABLE ", ""),
    ("CREATE INDEX ", ""),
    ("CREATE VIRTUAL TABLE ", ""),
    ("DROP TABLE ", ""),
    ("ALTER TABLE ", ""),
    ("PRAGMA ", ""),
    ("BEGIN IMMEDIATE", ""),
];

/// The stores, and this program, which must know what a statement looks like.
const HOMES: [&str; 3] = ["crates/aethon-store/", "crates/aethon-postgres/", "xtask/"];

/// Checks that no other string literal is a statement and that there is no `.sql` file elsewhere.
pub(crate) fn statements_stay_in_the_store(tree: &Tree) -> Vec<Finding> {
    let remedy =
        "add a method to the storage trait in aethon-core and its query to aethon-store and aethon-postgres";
    let mut found = Vec::new();
    for file in tree.files.iter().filter(|file| !HOMES.iter().any(|home| file.path.starts_with(home))) {
        if file.path.ends_with(".sql") {
            found.push(Finding::new("one-home", &file.path, 1, "SQL outside the stores", remedy));
        }
        for literal in file.rust.iter().flat_map(|source| &source.strings) {
            if is_statement(&literal.text) {
                let message = "a statement of SQL outside the stores";
                found.push(Finding::new("one-home", &file.path, literal.line, message, remedy));
            }
        }
    }
    found
}

fn is_statement(text: &str) -> bool {
    let mut flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    flat.push(' ');
    OPENINGS.iter().any(|(opening, then)| flat.starts_with(opening) && flat.contains(then))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str, expected: usize) {
        let found = statements_stay_in_the_store(&Tree::of(&[(path, text)]));
        assert_eq!(found.len(), expected, "{path}: {text}");
    }

    #[test]
    fn a_statement_elsewhere_is_found() {
        let select = "const A: &str = \"SELECT id\n  FROM sessions\";";
        check("crates/aethon-agent/src/a.rs", select, 1);
        check("crates/aethon-store/src/a.rs", select, 0);
        check("crates/aethon-agent/src/a.rs", "fn f() { run(\"PRAGMA user_version\") }", 1);
        check("crates/aethon/migrations/1.sql", "x", 1);
    }

    #[test]
    fn prose_and_doc_comments_are_not_statements() {
        check("crates/aethon-agent/src/a.rs", "const A: &str = \"SELECT one of these\";", 0);
        check("crates/aethon-agent/src/a.rs", "/// DELETE FROM nothing\nfn f() {}", 0);
        check("crates/aethon-http/src/a.rs", "const A: &str = \"DELETE\";", 0);
    }
}
