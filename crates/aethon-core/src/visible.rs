//! Makes text from models, tools and other people safe to print.
//!
//! Nothing written by another party may control the terminal, hide from the reader or change the order in which the
//! reader sees it. So invisible characters are replaced by their code point, such as `‹U+202E›`. [`exact`] is for what
//! a person decides on, where even an unusual blank matters; [`readable`] is for prose, in which emoji and the marks of
//! several scripts are legitimate.

/// Makes every character of a text visible: for a tool's arguments and output.
pub fn exact(text: &str) -> String {
    marked(text, |c, before| is_driving(c) || is_hiding(c, before))
}

/// Removes from prose what could control a terminal or reorder a line.
pub fn readable(text: &str) -> String {
    marked(text, |c, _| is_driving(c))
}

/// Prepares text for a file or another program, which may end up on a terminal after all: keeps everything but what
/// controls one or reorders a line. Unlike [`readable`], it leaves tabs and the line ends of Windows as they are.
pub fn piped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let is_line_end = c == '\r' && characters.peek() == Some(&'\n');
        match is_driving(c) && !is_line_end {
            true => out.push_str(&code_point(c)),
            false => out.push(c),
        }
    }
    out
}

/// Escapes in JSON what could control a terminal or reorder a line. Such characters stand only in its strings, so the
/// document says the same to a program.
pub fn escaped_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        // Blanks between values.
        if !is_driving(c) || c == '\r' {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            out.push_str(&format!("\\u{unit:04x}"));
        }
    }
    out
}

fn marked(text: &str, is_odd: impl Fn(char, Option<char>) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = None;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            // A Windows line end.
            '\r' if characters.peek() == Some(&'\n') => continue,
            // Only the terminal knows how wide a tab is.
            '\t' => out.push_str("    "),
            _ if is_odd(c, before) => out.push_str(&code_point(c)),
            _ => out.push(c),
        }
        before = Some(c);
    }
    out
}

fn code_point(c: char) -> String {
    format!("‹U+{:04X}›", u32::from(c))
}

/// Characters that control a terminal, or change the order or the line in which text is shown.
fn is_driving(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Characters that take no room, or look like a blank but are not.
fn is_hiding(c: char, before: Option<char>) -> bool {
    match c {
        // Part of an emoji.
        '\u{200d}' | '\u{fe0f}' => !before.is_some_and(is_pictographic),
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' => true,
        '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{206f}' => true,
        '\u{3164}' | '\u{fe00}'..='\u{fe0e}' | '\u{feff}' | '\u{ffa0}' | '\u{1d173}'..='\u{1d17a}' => true,
        // Blanks that a shell treats as letters.
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{205f}' | '\u{2800}' | '\u{3000}' => true,
        _ => false,
    }
}

fn is_pictographic(c: char) -> bool {
    matches!(c, '\u{fe0f}' | '\u{2190}'..='\u{27bf}' | '\u{2900}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_shown() {
        let check = |text: &str, expected: &str| {
            assert_eq!(exact(text), expected, "{text:?}");
            // Applying it twice changes nothing.
            assert_eq!(exact(text), expected, "{text:?}");
        };
        check("echo hi\n", "echo hi\n");
        check("a\u{1b}[2Jb", "a‹U+001B›[2Jb");
        check("a\u{9b}2Jb\u{85}", "a‹U+009B›2Jb‹U+0085›");
        check("rm\u{202e}txt\u{2066}", "rm‹U+202E›txt‹U+2066›");
        check("a\u{200b}b\u{ad}c\u{feff}", "a‹U+200B›b‹U+00AD›c‹U+FEFF›");
        check("rm\u{a0}-rf", "rm‹U+00A0›-rf");
        check("ls\r\nrm\rls", "ls\nrm‹U+000D›ls");
        check("\u{e0041}x", "‹U+E0041›x");
        check("👩\u{200d}🔬 ❤\u{fe0f}", "👩\u{200d}🔬 ❤\u{fe0f}");
        check("a\u{200d}b\u{fe0f}", "a‹U+200D›b‹U+FE0F›");
        check("größer 日本", "größer 日本");
    }

    #[test]
    fn prose_keeps_the_marks_of_its_script() {
        let check = |text: &str, expected: &str| assert_eq!(readable(text), expected, "{text:?}");
        check("می\u{200c}خواهم\u{200f} 10\u{a0}000", "می\u{200c}خواهم\u{200f} 10\u{a0}000");
        check("\u{1b}]0;title\u{7}\u{202e}", "‹U+001B›]0;title‹U+0007›‹U+202E›");
        check("a\tb", "a    b");
    }

    #[test]
    fn piped_text_cannot_control_a_terminal() {
        let check = |text: &str, expected: &str| assert_eq!(piped(text), expected, "{text:?}");
        check("a\tb\nc\r\nd", "a\tb\nc\r\nd");
        check("safe\revil", "safe‹U+000D›evil");
        check("rm\u{202e}txt\u{2066}x\u{2069}", "rm‹U+202E›txt‹U+2066›x‹U+2069›");
        check("\u{1b}[2J\u{9b}2J\u{7}", "‹U+001B›[2J‹U+009B›2J‹U+0007›");
        check("\u{2028}\u{fff9}\u{e0041}", "‹U+2028›‹U+FFF9›‹U+E0041›");
        check("می\u{200c}خواهم 👩\u{200d}🔬", "می\u{200c}خواهم 👩\u{200d}🔬");
    }

    #[test]
    fn escaped_json_says_the_same_and_drives_nothing() {
        let value = serde_json::json!({"a\u{202e}": "x\u{9b}2J \u{e0041} größer\n"});
        let escaped = escaped_json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(!escaped.contains(|c: char| is_driving(c)), "{escaped}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
        assert!(escaped.contains("\\u202e") && escaped.contains("größer"));
    }
}
