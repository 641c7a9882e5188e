//! Converts styled text to Slack's `mrkdwn`, and to blocks where there are buttons.
//!
//! Slack escapes only `&`, `<` and `>`, which also keeps `<!channel>` from notifying anyone. Markup counts only at
//! the edge of a word, so a zero-width space is inserted next to a mark inside one. Markup cannot be escaped, so in
//! code it is replaced by a look-alike.

use std::cell::Cell;

use serde_json::{Value, json};

use crate::talk::Button;
use crate::text::{Fit, MAX_ADDRESS, Measure, Style, Styled, split};

/// The longest text of a section.
const MAX_SECTION: usize = 2900;
/// Placeholders before and after a mark until its neighbours are known.
const OPENS: char = '\u{F8F0}';
const CLOSES: char = '\u{F8F1}';
const NO_WIDTH: char = '\u{200B}';

/// Returns the text of a message.
pub(super) fn mrkdwn(text: &Styled) -> String {
    let (in_quote, in_line) = (Cell::new(false), Cell::new(false));
    let written = text.write(
        |out, text, is_code| {
            let text = escaped(text);
            let text = match is_code {
                true if in_line.get() => text.replace('`', "\u{2CB}"),
                // Outside of code, it would open a code block and turn the code that follows inside out.
                _ => text.replace("```", "`\u{200B}`\u{200B}`"),
            };
            out.push_str(&if in_quote.get() { text.replace('\n', "\n> ") } else { text });
        },
        |style, opens| {
            let word = |mark: &str| match opens {
                true => format!("{OPENS}{mark}"),
                false => format!("{mark}{CLOSES}"),
            };
            match style {
                Style::Bold => word("*"),
                Style::Italic => word("_"),
                Style::Strike => word("~"),
                Style::Code => {
                    in_line.set(opens);
                    word("`")
                }
                Style::Quote => {
                    in_quote.set(opens);
                    if opens { "> ".into() } else { String::new() }
                }
                Style::Block(_) => {
                    let line = if in_quote.get() { "\n> " } else { "\n" };
                    if opens { format!("```{line}") } else { format!("{line}```") }
                }
                Style::Link(address) if address.len() > MAX_ADDRESS => String::new(),
                Style::Link(address) if opens => format!("<{}|", escaped(address).replace('|', "%7C")),
                Style::Link(_) => ">".into(),
            }
        },
    );
    at_edges(&written)
}

/// Inserts a zero-width space where a mark would be inside a word.
fn at_edges(written: &str) -> String {
    let mut out = String::with_capacity(written.len());
    let mut characters = written.chars().peekable();
    while let Some(c) = characters.next() {
        let beside = match c {
            OPENS => out.chars().next_back(),
            CLOSES => characters.peek().copied(),
            _ => {
                out.push(c);
                continue;
            }
        };
        if beside.is_some_and(char::is_alphanumeric) {
            out.push(NO_WIDTH);
        }
    }
    out
}

fn escaped(text: &str) -> String {
    let text = text.replace([OPENS, CLOSES], "");
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// What makes Slack notify someone or link a channel, in Markdown too.
const CALLS: [&str; 9] =
    ["<!channel", "<!here", "<!everyone", "<!group", "<!subteam", "<@U", "<@W", "<@B", "<#C"];

/// Returns the model's Markdown in Slack's form, with mentions disabled.
pub(super) fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        out.push(c);
        if c == '<' && CALLS.iter().any(|call| text[at..].starts_with(call)) {
            out.push(NO_WIDTH);
        }
    }
    out
}

/// Does the same for a growing text, without an end that could still change: streams only append.
pub(super) fn settled(text: &str) -> String {
    let end = text.rfind('<').filter(|at| CALLS.iter().any(|call| call.starts_with(&text[*at..])));
    // Trailing whitespace may be dropped at the end of a text.
    markdown(text[..end.unwrap_or(text.len())].trim_end())
}

/// Returns a text with buttons below it.
pub(super) fn blocks(text: &Styled, buttons: &[Button]) -> Value {
    let fit = Fit { measure: Measure::Slack, length: MAX_SECTION, spans: 1000 };
    let section =
        |part: &Styled| json!({"type": "section", "text": {"type": "mrkdwn", "text": mrkdwn(part)}});
    let mut blocks: Vec<Value> = split(text, fit).iter().map(section).collect();
    let elements: Vec<Value> = buttons
        .iter()
        .enumerate()
        .map(|(number, button)| {
            json!({
                "type": "button", "action_id": format!("aethon_{number}"), "value": button.data,
                "text": {"type": "plain_text", "text": button.label},
                "style": if number == 0 { "primary" } else { "danger" },
            })
        })
        .collect();
    blocks.push(json!({"type": "actions", "elements": elements}));
    json!(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::styled;

    #[test]
    fn styles_are_marks_and_nothing_calls_anybody() {
        let check = |markdown: &str, expected: &str| assert_eq!(mrkdwn(&styled(markdown)), expected);
        check("a **b** *c* ~~d~~ `e`", "a *b* _c_ ~d~ `e`");
        check("1 < 2 & <!channel> <@U1>", "1 &lt; 2 &amp; &lt;!channel&gt; &lt;@U1&gt;");
        check("[t](https://a.b/?x=1&y=2)", "<https://a.b/?x=1&amp;y=2|t>");
        check("```rust\na < b\n```", "```\na &lt; b\n```");
        check("> a\n> b\n\nc", "> a\n> b\n\nc");
        check("in**side**word", "in\u{200B}*side*\u{200B}word");
        check("````\n```\n````", "```\n`\u{200B}`\u{200B}`\n```");
    }

    #[test]
    fn streamed_markdown_neutralises_mentions_and_grows_at_its_end() {
        let check = |text: &str, expected: &str| assert_eq!(markdown(text), expected);
        check("**a** < b & <!DOCTYPE html> Vec<T>", "**a** < b & <!DOCTYPE html> Vec<T>");
        check("<!channel> <@U1> <#C1|x>", "<\u{200B}!channel> <\u{200B}@U1> <\u{200B}#C1|x>");
        let text = "Ask <!here> and <@U2>, if a < b. \n\nThen <#C3>.";
        let mut shown = String::new();
        for (at, _) in text.char_indices() {
            let now = settled(&text[..at]);
            assert!(now.starts_with(&shown), "{now:?} after {shown:?}");
            shown = now;
        }
        assert!(markdown(text).starts_with(&shown));
    }

    #[test]
    fn formatted_parts_stay_within_the_limit() {
        let fit = Fit { measure: Measure::Slack, length: 500, spans: 100 };
        let text = "**&<>** `<&>` [l](https://a.b/?a=1&b=2) > q\n\n> a & b\n> c\n\n".repeat(60);
        for part in split(&styled(&text), fit) {
            let length = mrkdwn(&part).encode_utf16().count();
            assert!(length <= 500, "{length}");
        }
    }

    #[test]
    fn a_question_is_sections_and_buttons() {
        let buttons = [Button { label: "Approve".into(), data: "a:X".into() }];
        let blocks = blocks(&styled(&"word & word ".repeat(400)), &buttons);
        let blocks = blocks.as_array().unwrap();
        assert!(blocks.len() > 2 && blocks.last().unwrap()["elements"][0]["value"] == "a:X", "{blocks:?}");
        assert!(blocks[0]["text"]["text"].as_str().unwrap().len() <= 3000);
    }
}
