//! Shortened messages, for the model only: the transcript keeps the full text.

use std::borrow::Cow;

use aethon_core::message::{Block, Message};
use serde_json::Value;

use super::estimate;

/// How much is kept of an old tool output.
const OLD_OUTPUT: usize = 400;

/// Texts below this length are not cut any further.
const MIN_COUNT: usize = 80;

/// Returns the message with its tool outputs shortened; `None` if they are short already.
pub(super) fn outputs(message: &Message) -> Option<Message> {
    let is_long =
        |block: &Block| matches!(block, Block::ToolResult(result) if result.output.len() > OLD_OUTPUT * 2);
    if !message.content.iter().any(is_long) {
        return None;
    }
    let mut message = message.clone();
    for block in &mut message.content {
        if let Block::ToolResult(result) = block {
            cut(&mut result.output, OLD_OUTPUT);
        }
    }
    Some(message)
}

/// The treatment of the pictures of a message that is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pictures {
    /// They stay, because the question is about them.
    Stay,
    /// They are replaced by a note.
    Go,
}

/// Returns the message cut to about this many tokens; `None` if it cannot get any shorter. What must go back to a
/// provider unchanged (signed reasoning) stays.
pub(super) fn to_tokens(message: &Message, tokens: u64, pictures: Pictures) -> Option<Message> {
    let before = estimate::message(message);
    let mut chars = usize::try_from(tokens.saturating_mul(4)).unwrap_or(usize::MAX);
    while chars >= MIN_COUNT {
        let shorter = to_chars(message, chars, pictures);
        let now = estimate::message(&shorter);
        if now <= tokens || chars / 2 < MIN_COUNT {
            return (now < before).then_some(shorter);
        }
        chars /= 2;
    }
    None
}

fn to_chars(message: &Message, chars: usize, pictures: Pictures) -> Message {
    let mut message = message.clone();
    let long = message.content.iter().filter(|block| length(block) > MIN_COUNT).count().max(1);
    let each = (chars / long).max(MIN_COUNT);
    for block in &mut message.content {
        match block {
            Block::Text { text, .. } | Block::File { text, .. } | Block::Context { text, .. } => {
                cut(text, each)
            }
            Block::Folded { summary, .. } => cut(summary, each),
            Block::ToolResult(result) => cut(&mut result.output, each),
            Block::ToolCall(call) => cut_strings(&mut call.input, each),
            Block::Image { mime, .. } if pictures == Pictures::Go => {
                *block = left_out_picture(mime);
            }
            Block::Image { .. } | Block::Reasoning { .. } | Block::Search(_) | Block::Notice { .. } => {}
        }
    }
    message
}

/// Returns the message with a note in place of its last picture; `None` if it has none.
pub(super) fn without_last_picture(message: &Message) -> Option<Message> {
    let place = message.content.iter().rposition(|block| matches!(block, Block::Image { .. }))?;
    let mut message = message.clone();
    let block = message.content.get_mut(place)?;
    if let Block::Image { mime, .. } = block {
        *block = left_out_picture(mime);
    }
    Some(message)
}

fn left_out_picture(mime: &str) -> Block {
    Block::text(format!("[A picture ({mime}) is left out here, because it does not fit.]"))
}

fn length(block: &Block) -> usize {
    match block {
        Block::Text { text, .. } | Block::File { text, .. } | Block::Context { text, .. } => text.len(),
        Block::Folded { summary, .. } => summary.len(),
        Block::ToolResult(result) => result.output.len(),
        Block::ToolCall(call) => call.input.to_string().len(),
        Block::Image { .. } | Block::Reasoning { .. } | Block::Search(_) | Block::Notice { .. } => 0,
    }
}

fn cut_strings(value: &mut Value, chars: usize) {
    match value {
        Value::String(text) => cut(text, chars),
        Value::Array(items) => items.iter_mut().for_each(|item| cut_strings(item, chars)),
        Value::Object(fields) => fields.values_mut().for_each(|field| cut_strings(field, chars)),
        _ => {}
    }
}

fn cut(text: &mut String, chars: usize) {
    if let Cow::Owned(shorter) = in_chars(text, chars) {
        *text = shorter;
    }
}

/// Cuts a text to about this many bytes: its beginning and its end stay, with a note in between on how much is left
/// out.
pub(crate) fn in_chars(text: &str, chars: usize) -> Cow<'_, str> {
    // Cutting would save less than the note takes.
    if text.len() <= chars.saturating_add(80) {
        return Cow::Borrowed(text);
    }
    let head = text.floor_char_boundary(chars * 2 / 3);
    let tail = text.ceil_char_boundary(text.len() - (chars - chars * 2 / 3));
    let left_out = text[head..tail].chars().count();
    Cow::Owned(format!(
        "{}\n[... {left_out} characters are left out here ...]\n{}",
        &text[..head],
        &text[tail..]
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use aethon_core::message::{Role, ToolCall, ToolResult};
    use jiff::Timestamp;
    use serde_json::json;

    fn message(content: Vec<Block>) -> Message {
        Message::new(Role::Tool, content, Timestamp::UNIX_EPOCH)
    }

    fn result(output: String) -> Block {
        let call = ToolCall { id: "c".into(), name: "t".into(), input: json!({}), opaque: None };
        Block::ToolResult(ToolResult::ok(&call, output))
    }

    #[test]
    fn long_outputs_keep_their_beginning_and_end() {
        let long = format!("begin {} end", "ä".repeat(2000));
        let shorter = outputs(&message(vec![result(long), result("short".into())])).unwrap();
        let Block::ToolResult(first) = &shorter.content[0] else { panic!() };
        assert!(first.output.starts_with("begin ä") && first.output.ends_with("ä end"), "{}", first.output);
        assert!(first.output.len() < 600 && first.output.contains("characters are left out here"));
        assert_eq!(shorter.content[1], result("short".into()));
        assert!(outputs(&message(vec![result("x".repeat(700))])).is_none());
    }

    #[test]
    fn message_is_cut_to_the_size_that_fits() {
        let call = ToolCall {
            id: "1".into(),
            name: "file_write".into(),
            input: json!({"path": "a.txt", "content": "x".repeat(9000)}),
            opaque: None,
        };
        let image = Block::image("image/png", "A".repeat(9000));
        for content in [
            vec![Block::text("word ".repeat(3000))],
            vec![Block::ToolCall(call)],
            vec![image],
            vec![result("y".repeat(9000)), result("z".repeat(9000))],
        ] {
            let cut = to_tokens(&message(content), 200, Pictures::Go).unwrap();
            assert!(estimate::message(&cut) <= 260, "{} {cut:?}", estimate::message(&cut));
        }
        assert!(to_tokens(&message(vec![Block::text("short")]), 20, Pictures::Go).is_none());
        let asked = vec![Block::image("image/png", "A".repeat(9000))];
        assert!(to_tokens(&message(asked), 200, Pictures::Stay).is_none());
    }
}
