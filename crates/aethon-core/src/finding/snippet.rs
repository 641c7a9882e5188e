//! The part of a message that shows why it was found.

use std::ops::Range;

use crate::history::SnippetPart;

use crate::finding::{bare, is_whole_word};

/// How many characters stand before the first word that was looked for, so that one sees what it is about.
const LEAD: usize = 50;

/// Returns the part of a text around the words, in pieces; at most `most` characters. Line breaks and runs of blanks become one
/// blank each, and `…` stands where the text goes on.
pub fn around(text: &str, words: &[String], most: usize) -> Vec<SnippetPart> {
    let hits = hits(text, words);
    let range = window(text, &hits, most);
    let mut parts = Vec::new();
    let mut from = range.start;
    if range.start > 0 {
        push(&mut parts, "…", false);
    }
    for hit in hits.iter().map(|(hit, _)| hit).filter(|hit| hit.start >= range.start && hit.end <= range.end)
    {
        push(&mut parts, &text[from..hit.start], false);
        push(&mut parts, &text[hit.clone()], true);
        from = hit.end;
    }
    push(&mut parts, text[from..range.end].trim_end(), false);
    if !text[range.end..].trim().is_empty() {
        push(&mut parts, "…", false);
    }
    parts
}

/// Adds a piece with its blanks collapsed; to the piece before it, if that is of the same kind.
fn push(parts: &mut Vec<SnippetPart>, piece: &str, hit: bool) {
    let mut text = String::with_capacity(piece.len());
    let ends_blank = parts.last().is_none_or(|part| part.text.ends_with(' '));
    for c in piece.chars() {
        match c.is_whitespace() || c.is_control() {
            false => text.push(c),
            true if text.ends_with(' ') || text.is_empty() && ends_blank => {}
            true => text.push(' '),
        }
    }
    match parts.last_mut() {
        _ if text.is_empty() => {}
        Some(last) if last.hit == hit => last.text.push_str(&text),
        _ => parts.push(SnippetPart { text, hit }),
    }
}

/// Returns the words of a text that begin with one of those looked for, each with the number of that one.
fn hits(text: &str, words: &[String]) -> Vec<(Range<usize>, usize)> {
    let mut hits = Vec::new();
    let mut begin = None;
    let mut close = |begin: &mut Option<usize>, end: usize| {
        let Some(start) = begin.take() else { return };
        let word = text[start..end].to_lowercase();
        let word = bare(&word);
        if let Some(index) = words.iter().position(|looked_for| word.starts_with(looked_for.as_str())) {
            hits.push((start..end, index));
        }
    };
    for (at, c) in text.char_indices() {
        if is_whole_word(c) {
            close(&mut begin, at);
            begin = Some(at);
            close(&mut begin, at + c.len_utf8());
        } else if c.is_alphanumeric() || begin.is_some() && is_combining(c) {
            begin.get_or_insert(at);
        } else {
            close(&mut begin, at);
        }
    }
    close(&mut begin, text.len());
    hits
}

/// An accent that follows its letter.
fn is_combining(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

/// Returns the stretch with the most different words, which begins a little before the first of them.
fn window(text: &str, hits: &[(Range<usize>, usize)], most: usize) -> Range<usize> {
    let reach = most.saturating_sub(LEAD);
    let different = |from: usize| {
        let first = hits[from].0.start;
        let end = forward(text, first, reach);
        let inside = hits[from..].iter().take_while(|(hit, _)| hit.end <= end);
        let mut seen: Vec<usize> = inside.map(|(_, word)| *word).collect();
        seen.sort_unstable();
        seen.dedup();
        seen.len()
    };
    // The first of the best, and of many hits only the beginning is looked at: a snippet is a hint, not an analysis.
    let best = (0..hits.len().min(64)).rev().max_by_key(|from| different(*from));
    let start = best.map_or(0, |best| backward(text, hits[best].0.start, LEAD));
    start..forward(text, start, most.saturating_sub(2))
}

/// Goes up to `count` characters on, and ends at the end of a word if one ends near.
fn forward(text: &str, from: usize, count: usize) -> usize {
    let Some((end, _)) = text[from..].char_indices().nth(count) else { return text.len() };
    let end = from + end;
    let cut = text[from..end].rfind(char::is_whitespace).filter(|cut| (end - from - cut) < 40 && *cut > 0);
    cut.map_or(end, |cut| from + cut)
}

/// Goes up to `count` characters back, to the beginning of a word.
fn backward(text: &str, from: usize, count: usize) -> usize {
    let Some((start, _)) = text[..from].char_indices().rev().nth(count.saturating_sub(1)) else { return 0 };
    if start == 0 {
        return 0;
    }
    let word = text[start..from].char_indices().find(|(_, c)| c.is_whitespace());
    word.map_or(start, |(at, c)| start + at + c.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str, words: &[&str], most: usize) -> String {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let parts = around(text, &words, most);
        parts
            .iter()
            .map(|part| if part.hit { format!("[{}]", part.text) } else { part.text.clone() })
            .collect()
    }

    #[test]
    fn words_are_marked_where_they_begin_with_what_was_looked_for() {
        assert_eq!(
            told("Der Rhein fließt durch Köln", &["kol", "rhe"], 200),
            "Der [Rhein] fließt durch [Köln]"
        );
        assert_eq!(
            told("Cafe\u{301}, cafés und\n\n Kaffee", &["cafe"], 200),
            "[Cafe\u{301}], [cafés] und Kaffee"
        );
        assert_eq!(told("今日は東京へ", &["東", "京"], 200), "今日は[東京]へ");
        assert_eq!(told("nothing of it", &["x"], 200), "nothing of it");
        assert_eq!(told("", &["x"], 200), "");
    }

    #[test]
    fn a_long_text_is_cut_around_the_words() {
        let text = format!("{} needle in the {}", "hay ".repeat(1000), "stack ".repeat(1000));
        let cut = told(&text, &["needle"], 120);
        assert!(
            cut.starts_with("…hay") && cut.contains("[needle] in the stack") && cut.ends_with('…'),
            "{cut}"
        );
        assert!(cut.chars().count() <= 122, "{cut}");
        let text = format!("one {} one two three {}", "x ".repeat(500), "y ".repeat(500));
        assert!(told(&text, &["one", "two", "three"], 120).contains("[one] [two] [three]"));
        for most in [0, 1, 2, 3, 10] {
            told(&"é€😀 word ".repeat(50), &["word"], most);
        }
    }
}
