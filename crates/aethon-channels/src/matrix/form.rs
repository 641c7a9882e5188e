//! Converts styled text to the few HTML tags that every Matrix client supports.

use serde_json::{Value, json};

use crate::text::{Styled, html};

/// Builds the content of a message.
pub(super) fn message(text: &Styled) -> Value {
    let mut content = json!({"msgtype": "m.text", "body": text.text, "m.mentions": {}});
    if !text.spans.is_empty() {
        content["format"] = json!("org.matrix.custom.html");
        content["formatted_body"] = json!(html(text));
    }
    content
}

/// Makes a message a reply to another one, also inside a thread.
pub(super) fn replying(mut content: Value, question: &str) -> Value {
    content["m.relates_to"]["m.in_reply_to"] = json!({"event_id": question});
    if content["m.relates_to"]["rel_type"] == "m.thread" {
        content["m.relates_to"]["is_falling_back"] = json!(false);
    }
    content
}

/// Builds the content of an edit.
pub(super) fn replacement(text: &Styled, of: &str) -> Value {
    json!({
        "msgtype": "m.text", "body": format!("* {}", text.text), "m.mentions": {},
        "m.new_content": message(text),
        "m.relates_to": {"rel_type": "m.replace", "event_id": of},
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::styled;

    #[test]
    fn formatted_body_is_sent_for_styled_text_alone() {
        assert!(message(&styled("plain")).get("format").is_none());
        let bold = message(&styled("**b** <c>"));
        assert_eq!(bold["formatted_body"], "<strong>b</strong> &lt;c&gt;");
        let reply = replying(message(&styled("x")), "$1");
        assert_eq!(reply["m.relates_to"], json!({"m.in_reply_to": {"event_id": "$1"}}));
        assert_eq!(replacement(&styled("x"), "$1")["m.relates_to"]["event_id"], "$1");
    }
}
