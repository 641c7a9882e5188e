//! Converts styled text to Discord's Markdown. Characters that are not markup are escaped, and links are put in angle
//! brackets, which suppresses previews. Inline code ends at the first backtick, so a backtick inside is replaced by a
//! look-alike.

use std::cell::Cell;

use serde_json::{Value, json};

use crate::talk::Button;
use crate::text::{MAX_ADDRESS, Style, Styled};

/// Suppresses link previews, which would make requests to foreign servers on our behalf.
pub(super) const NO_PREVIEWS: u64 = 1 << 2;
/// Shows a message to one person only.
pub(super) const ONLY_FOR_YOU: u64 = 1 << 6;

/// Builds the content of a message.
pub(super) fn message(text: &Styled, buttons: &[Button]) -> Value {
    let buttons: Vec<Value> = buttons
        .iter()
        .enumerate()
        .map(|(number, button)| {
            let style = if number == 0 { 3 } else { 4 };
            json!({"type": 2, "style": style, "label": button.label, "custom_id": button.data})
        })
        .collect();
    let rows = if buttons.is_empty() { json!([]) } else { json!([{"type": 1, "components": buttons}]) };
    json!({
        "content": markdown(text), "components": rows, "flags": NO_PREVIEWS, "allowed_mentions": nobody(),
    })
}

/// Disables mentions, whatever the text contains.
pub(super) fn nobody() -> Value {
    json!({"parse": []})
}

pub(super) fn markdown(text: &Styled) -> String {
    let (in_quote, in_address, in_line) = (Cell::new(false), Cell::new(false), Cell::new(false));
    let is_bare = |start: usize, address: &str| text.text[start..].starts_with(address);
    // A link whose text is its address is shown as a bare address.
    let bare = text.spans.iter().filter(|span| match &span.style {
        Style::Link(address) => span.end - span.start == address.len() && is_bare(span.start, address),
        _ => false,
    });
    let bare: Vec<&Style> = bare.map(|span| &span.style).collect();
    text.write(
        |out, text, is_code| {
            let text = match is_code {
                true if in_line.get() => text.replace('`', "\u{2CB}"),
                true => text.replace("```", "`\u{200B}`\u{200B}`"),
                false if in_address.get() => text.to_owned(),
                false => escaped(text, out.is_empty() || out.ends_with('\n')),
            };
            out.push_str(&if in_quote.get() { text.replace('\n', "\n> ") } else { text });
        },
        |style, opens| match style {
            Style::Bold => "**".into(),
            Style::Italic => "*".into(),
            Style::Strike => "~~".into(),
            Style::Code => {
                in_line.set(opens);
                "`".into()
            }
            Style::Quote => {
                in_quote.set(opens);
                if opens { "> ".into() } else { String::new() }
            }
            Style::Block(language) => {
                let line = if in_quote.get() { "\n> " } else { "\n" };
                if opens { format!("```{language}{line}") } else { format!("{line}```") }
            }
            Style::Link(_) if bare.iter().any(|own| std::ptr::eq(*own, style)) => {
                in_address.set(opens);
                if opens { "<" } else { ">" }.into()
            }
            Style::Link(address) if address.len() > MAX_ADDRESS => String::new(),
            Style::Link(_) if opens => "[".into(),
            Style::Link(address) => format!("](<{}>)", address.replace(['<', '>'], "")),
        },
    )
}

/// Escapes text so that nothing in it is markup.
fn escaped(text: &str, begins_line: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut begins_line = begins_line;
    for c in text.chars() {
        let is_mark = matches!(c, '\\' | '*' | '_' | '~' | '`' | '|' | '[' | ']' | '<')
            || (begins_line && matches!(c, '#' | '>' | '-' | '+'));
        if is_mark {
            out.push('\\');
        }
        out.push(c);
        begins_line = c == '\n' || (begins_line && c == ' ');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Fit, Measure, split, styled};

    #[test]
    fn styles_are_marks_and_everything_else_is_escaped() {
        let check =
            |source: &str, expected: &str| assert_eq!(markdown(&styled(source)), expected, "{source}");
        check("a **b** *c* ~~d~~", "a **b** *c* ~~d~~");
        check("`e` ``f`g``", "`e` `f\u{2CB}g`");
        check("snake_case \\*star <@1> a|b", "snake\\_case \\*star \\<@1> a\\|b");
        check("\\# no head\n\\- no list", "\\# no head\n\\- no list");
        check("[t](https://a.b/(c))", "[t](<https://a.b/(c)>)");
        check("see https://a.b/x_y_z", "see <https://a.b/x_y_z>");
        check("```rust\na_b\n```", "```rust\na_b\n```");
        check("> a\n> b\n\nc", "> a\n> b\n\nc");
        check("````\n```\n````", "```\n`\u{200B}`\u{200B}`\n```");
    }

    #[test]
    fn formatted_parts_stay_within_the_limit() {
        let fit = Fit { measure: Measure::Discord, length: 400, spans: 100 };
        let text = "**a*b*c** `d` [l](https://a.b/?a=1&b=2) _|_ https://x.y/z\n\n> q\n> r\n\n# h\n\n- i\n"
            .repeat(60);
        for part in split(&styled(&text), fit) {
            let length = markdown(&part).encode_utf16().count();
            assert!(length <= 400, "{length}");
        }
    }

    #[test]
    fn messages_disable_mentions_and_buttons_carry_their_data() {
        let buttons = [Button { label: "Approve".into(), data: "a:X".into() }];
        let message = message(&styled("@everyone"), &buttons);
        assert_eq!(message["allowed_mentions"], json!({"parse": []}));
        assert_eq!(message["components"][0]["components"][0]["custom_id"], "a:X");
    }
}
