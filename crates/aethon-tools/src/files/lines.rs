//! Reads a piece of a text file: whole lines, starting at a given one, up to a limit.

use std::io::{BufRead, BufReader, Read};

/// Maximum bytes skipped to reach the first wanted line.
const MAX_SKIPPED: u64 = 256 * 1024 * 1024;

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) text: String,
    /// The line at which the next piece begins, if there is one.
    pub(super) next: Option<usize>,
}

/// Why there is no piece.
#[derive(Debug)]
pub(super) enum PieceError {
    /// The text has only this many lines.
    BeyondTheEnd(usize),
    /// The line is too far from the start.
    TooFar,
    /// It is not UTF-8 text.
    NotText,
    /// It cannot be read.
    Unreadable(std::io::Error),
}

impl From<std::io::Error> for PieceError {
    fn from(error: std::io::Error) -> Self {
        Self::Unreadable(error)
    }
}

/// Reads from line `first` (counted from 1), at most `lines` lines and `chars` characters. A longer single line is cut.
pub(super) fn read_piece(
    file: impl Read,
    first: usize,
    lines: usize,
    chars: usize,
) -> Result<Piece, PieceError> {
    let mut reader = BufReader::with_capacity(64 * 1024, file);
    skip(&mut reader, first.saturating_sub(1))?;
    // A character takes at most four bytes; one more byte tells whether anything follows.
    let most = (chars as u64).saturating_mul(4).saturating_add(1);
    let mut bytes = Vec::new();
    let read = reader.take(most).read_to_end(&mut bytes)? as u64;
    let text = text_of(bytes, read == most)?;

    let mut end = 0;
    let mut taken = 0;
    let mut left = chars;
    for line in text.split_inclusive('\n').take(lines) {
        let length = line.chars().count();
        if length > left {
            break;
        }
        left -= length;
        end += line.len();
        taken += 1;
    }
    if taken == 0 && !text.is_empty() && lines > 0 {
        let cut = text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
        let text = format!(
            "{}\n[line {first} is longer than can be shown; the rest of it was left out]\n",
            &text[..cut]
        );
        return Ok(Piece { text, next: Some(first + 1) });
    }
    let follows = end < text.len() || read == most;
    let mut text = text;
    text.truncate(end);
    Ok(Piece { text, next: follows.then_some(first + taken) })
}

fn skip(reader: &mut impl BufRead, lines: usize) -> Result<(), PieceError> {
    let mut skipped = 0u64;
    let mut seen = 0;
    while seen < lines {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Err(PieceError::BeyondTheEnd(seen));
        }
        let mut used = buffer.len();
        for (at, _) in buffer.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
            seen += 1;
            if seen == lines {
                used = at + 1;
                break;
            }
        }
        reader.consume(used);
        skipped += used as u64;
        if skipped > MAX_SKIPPED {
            return Err(PieceError::TooFar);
        }
    }
    Ok(())
}

/// Decodes the bytes. Only the last character may be incomplete, where reading stopped.
fn text_of(bytes: Vec<u8>, is_cut: bool) -> Result<String, PieceError> {
    if bytes.contains(&0) {
        return Err(PieceError::NotText);
    }
    String::from_utf8(bytes).or_else(|error| {
        let cut_in_a_character = is_cut && error.utf8_error().error_len().is_none();
        let valid = error.utf8_error().valid_up_to();
        let mut bytes = error.into_bytes();
        bytes.truncate(valid);
        if cut_in_a_character {
            String::from_utf8(bytes).map_err(|_| PieceError::NotText)
        } else {
            Err(PieceError::NotText)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_whole_lines_and_say_what_follows() {
        let check =
            |text: &str, (first, lines, chars): (usize, usize, usize), expected: (&str, Option<usize>)| {
                let piece = read_piece(text.as_bytes(), first, lines, chars).unwrap();
                assert_eq!((piece.text.as_str(), piece.next), expected, "{text:?} {first} {lines} {chars}");
            };
        check("a\nb\nc\n", (1, 10, 100), ("a\nb\nc\n", None));
        check("a\nb\nc", (2, 1, 100), ("b\n", Some(3)));
        check("a\nb\nc", (3, 5, 100), ("c", None));
        check("aa\nbb\ncc\n", (1, 10, 7), ("aa\nbb\n", Some(3)));
        check("äöü\näöü\n", (1, 10, 4), ("äöü\n", Some(2)));
        check("", (1, 10, 100), ("", None));
        let long = read_piece("x".repeat(50).as_bytes(), 1, 10, 5).unwrap();
        assert!(long.text.starts_with("xxxxx\n[line 1 is longer"), "{}", long.text);
        assert_eq!(long.next, Some(2));
    }

    #[test]
    fn binary_files_and_missing_lines_are_reported() {
        assert!(matches!(read_piece(&b"a\xffb"[..], 1, 9, 9), Err(PieceError::NotText)));
        assert!(matches!(read_piece(&b"a\0b"[..], 1, 9, 9), Err(PieceError::NotText)));
        assert!(matches!(read_piece(&b"a\nb\n"[..], 9, 9, 9), Err(PieceError::BeyondTheEnd(2))));
    }
}
