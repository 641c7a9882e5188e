//! The lines of a mail, with the marks that the sending program gave them.

use super::mime::Flow;

/// The longest line to which a text is reduced, in characters.
const MAX_LINE: usize = 200;

/// A line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// Its text; quoted lines begin with `>`.
    pub(super) text: String,
    /// What its program marks it as.
    pub(super) mark: Mark,
}

/// The mark that a mail program gives a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Mark {
    /// Nothing.
    #[default]
    None,
    /// It is quoted, by a form that people use for the words of others in general.
    Quoted,
    /// It says whom the lines below quote.
    Attribution,
    /// Not a line: another mail begins, up to [`Mark::End`] or the end.
    Begin,
    /// Not a line: a forwarded mail begins, up to [`Mark::End`] or the end.
    BeginForwarded,
    /// Not a line: the other mail ends.
    End,
    /// Not a line: another part of the mail begins.
    Part,
}

impl Line {
    /// A line without a mark.
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), mark: Mark::None }
    }

    /// A mark between lines.
    pub(super) fn mark(mark: Mark) -> Self {
        Self { text: String::new(), mark }
    }
}

/// Returns the lines of a plain text.
pub(super) fn of_text(text: &str, flow: Option<Flow>) -> Vec<Line> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n").replace('\0', "");
    match flow {
        None => text.lines().map(Line::plain).collect(),
        Some(flow) => flowed(&text, flow).into_iter().map(Line::plain).collect(),
    }
}

/// Joins lines that end with a blank with the next one of the same quote (RFC 3676).
fn flowed(text: &str, flow: Flow) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut open: Option<usize> = None;
    for line in text.lines() {
        let depth = line.bytes().take_while(|byte| *byte == b'>').count();
        let content = &line[depth..];
        let content = content.strip_prefix(' ').unwrap_or(content);
        let is_signature = content == "-- ";
        let continues = open == Some(depth) && !is_signature;
        match lines.last_mut().filter(|_| continues) {
            Some(last) => {
                if flow == Flow::DeleteBlank {
                    last.pop();
                }
                last.push_str(content);
            }
            None if depth > 0 => lines.push(format!("{} {content}", ">".repeat(depth))),
            None => lines.push(content.to_owned()),
        }
        open = (content.ends_with(' ') && !is_signature).then_some(depth);
    }
    lines
}

/// Returns whether a text has anything that a person sees.
pub(super) fn has_words(text: &str) -> bool {
    text.chars().any(|c| {
        let is_blank = c.is_whitespace() || c.is_control();
        let is_invisible = matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}');
        !is_blank && !is_invisible && c != '>'
    })
}

/// Reduces a text to one line without invisible characters.
pub(super) fn one_line(text: &str) -> String {
    let blanked: String =
        text.chars().map(|c| if c.is_control() || c.is_whitespace() { ' ' } else { c }).collect();
    let words: Vec<&str> = blanked.split_whitespace().collect();
    words.join(" ").chars().take(MAX_LINE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flowed_lines_are_joined() {
        let check =
            |text: &str, flow: Flow, expected: &[&str]| assert_eq!(flowed(text, flow), expected, "{text:?}");
        check("one \ntwo\nthree", Flow::KeepBlank, &["one two", "three"]);
        check("我们 \n明天", Flow::DeleteBlank, &["我们明天"]);
        check("> old \n> rest\nnew", Flow::KeepBlank, &["> old rest", "new"]);
        check("> old \nnew", Flow::KeepBlank, &["> old ", "new"]);
        check("text\n-- \nAda", Flow::KeepBlank, &["text", "-- ", "Ada"]);
        check("text \n-- \nAda", Flow::KeepBlank, &["text ", "-- ", "Ada"]);
        check(" From me\n >no quote", Flow::KeepBlank, &["From me", ">no quote"]);
    }
}
