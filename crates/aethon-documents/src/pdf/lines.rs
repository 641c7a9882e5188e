//! Puts the characters of a page into lines, in the order in which they were drawn: that keeps columns apart, which the
//! places alone do not. Only what stands on the line before, to its right, joins it.

use super::canvas::Character;

/// Distances as fractions of the font height: within a line, for a space, and between columns of a table.
const SAME_LINE: f64 = 0.35;
const SPACE: f64 = 0.17;
const GAP: f64 = 1.6;
/// How far the next character may stand before the end of the one before.
const BACK: f64 = 0.6;

/// Returns the text of a page, each line with its end.
pub(super) fn text(characters: &[Character]) -> String {
    let mut text = String::new();
    let mut last: Option<&Character> = None;
    for character in characters {
        if let Some(last) = last {
            text.push_str(between(last, character));
        }
        let is_double = text.ends_with(' ') && character.text == " ";
        if !is_double {
            text.push_str(&character.text);
        }
        last = Some(character);
    }
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let mut text = lines.join("\n");
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// Returns what separates two characters.
fn between(last: &Character, next: &Character) -> &'static str {
    let size = last.size.max(next.size);
    let down = next.y - last.y;
    if down.abs() > size * SAME_LINE {
        // Small characters above or below the line belong to it.
        let is_script = last.size.min(next.size) < size * 0.8 && down.abs() < size * 0.6;
        if !is_script || next.x < last.x {
            return if down.abs() > size * 2.2 || down < 0.0 { "\n\n" } else { "\n" };
        }
    }
    let gap = next.x - last.end;
    if gap < -size * BACK && next.x < last.x - size * BACK {
        return "\n";
    }
    let is_blank = last.text.ends_with([' ', '\u{3000}']) || next.text.starts_with([' ', '\u{3000}']);
    let is_wide = |text: &str| text.chars().any(|c| ('\u{2e80}'..'\u{ffef}').contains(&c));
    match gap {
        gap if gap > size * GAP => "\t",
        _ if is_blank => "",
        gap if gap > size * SPACE && !(is_wide(&last.text) && is_wide(&next.text) && gap < size * 0.7) => " ",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(line: &mut Vec<Character>, x: f64, y: f64, text: &str) {
        for (number, character) in text.chars().enumerate() {
            let x = x + number as f64 * 6.0;
            line.push(Character { text: character.to_string(), x, y, end: x + 6.0, size: 12.0 });
        }
    }

    #[test]
    fn characters_become_words_and_lines() {
        let mut line = Vec::new();
        draw(&mut line, 10.0, 100.0, "To");
        draw(&mut line, 25.0, 100.0, "you");
        draw(&mut line, 90.0, 100.0, "42");
        draw(&mut line, 10.0, 114.0, "next");
        draw(&mut line, 10.0, 180.0, "far");
        assert_eq!(text(&line), "To you\t42\nnext\n\nfar\n");
        assert_eq!(text(&[]), "");
    }
}
