//! Rows of values (CSV and its relatives) as a table in Markdown.

use csv::{ReaderBuilder, StringRecord};

use crate::flow::write_row;
use crate::output::Output;

/// What may stand between values.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// How many lines are looked at to find out.
const SAMPLE: usize = 20;

pub(crate) fn read(text: &str, out: &mut Output<'_>) {
    let text = without_declaration(text);
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter(text))
        .from_reader(text.as_bytes());
    let mut row = StringRecord::new();
    let mut is_first = true;
    loop {
        match reader.read_record(&mut row) {
            Ok(true) => {}
            Ok(false) => break,
            Err(fault) => {
                out.note(format!("A row could not be read: {fault}."));
                break;
            }
        }
        let cells: Vec<&str> = row.iter().collect();
        write_row(out, &cells, is_first);
        is_first = false;
        if out.is_full() {
            break;
        }
    }
}

/// Removes the line with which Excel declares the delimiter (`sep=;`).
fn without_declaration(text: &str) -> &str {
    match text.get(..4) {
        Some(head) if head.eq_ignore_ascii_case("sep=") => text.split_once('\n').map_or("", |(_, rest)| rest),
        _ => text,
    }
}

/// Detects the delimiter: the character that occurs equally often in every line, outside of quotes.
fn delimiter(text: &str) -> u8 {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).take(SAMPLE).collect();
    let score = |delimiter: u8| {
        let counts: Vec<usize> = lines.iter().map(|line| outside_quotes(line, delimiter)).collect();
        let first = counts.first().copied().unwrap_or_default();
        let alike = counts.iter().filter(|count| **count == first).count();
        if first == 0 { (0, 0) } else { (alike, first) }
    };
    DELIMITERS.into_iter().rev().max_by_key(|delimiter| score(*delimiter)).unwrap_or(b',')
}

fn outside_quotes(line: &str, delimiter: u8) -> usize {
    let mut is_quoted = false;
    let mut count = 0;
    for byte in line.bytes() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            byte if byte == delimiter && !is_quoted => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> String {
        let mut written = String::new();
        let mut sink = |piece: &str| written.push_str(piece);
        let mut out = Output::new(&mut sink);
        read(text, &mut out);
        out.finish();
        written
    }

    #[test]
    fn delimiter_is_detected() {
        for text in
            ["a,b\n1,2\n", "a;b\n1;2\n", "a\tb\n1\t2", "a|b\r\n1|2", "sep=;\na;b\n1;2", "\"a\",\"b\"\n1,2"]
        {
            assert_eq!(table(text), "| a | b |\n| --- | --- |\n| 1 | 2 |\n", "{text}");
        }
        assert_eq!(
            table("price;what\n1,5;x\n2,5;y"),
            "| price | what |\n| --- | --- |\n| 1,5 | x |\n| 2,5 | y |\n"
        );
        assert_eq!(
            table("a,b\n\"one\ntwo, three\",\"say \"\"hi\"\"\""),
            "| a | b |\n| --- | --- |\n| one two, three | say \"hi\" |\n"
        );
        assert_eq!(table("only\nwords"), "| only |\n| --- |\n| words |\n");
    }
}
