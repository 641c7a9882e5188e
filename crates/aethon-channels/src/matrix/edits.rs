//! Reads edits as the messages that they replace.

use std::borrow::Cow;

use serde_json::{Value, json};

/// Returns the event that an edit makes of its message, and the id of that message. Any other event is returned as it is.
pub(super) fn unfolded(event: &Value) -> (Cow<'_, Value>, Option<String>) {
    let (content, relation) = (&event["content"], &event["content"]["m.relates_to"]);
    let of = relation["event_id"].as_str().filter(|_| relation["rel_type"] == "m.replace");
    let Some(of) = of.filter(|_| content["m.new_content"].is_object()) else {
        return (Cow::Borrowed(event), None);
    };
    let mut edited = event.clone();
    edited["content"] = content["m.new_content"].clone();
    if edited["content"]["m.mentions"].is_null() {
        edited["content"]["m.mentions"] = json!({});
    }
    (Cow::Owned(edited), Some(of.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_is_read_by_its_new_content() {
        let event = |content: Value| json!({"event_id": "$2", "content": content});
        let edit = event(json!({
            "msgtype": "m.text", "body": "* new", "m.new_content": {"msgtype": "m.text", "body": "new"},
            "m.relates_to": {"rel_type": "m.replace", "event_id": "$1"},
        }));
        let (inner, of) = unfolded(&edit);
        assert_eq!((of.as_deref(), inner["content"]["body"].as_str()), (Some("$1"), Some("new")));
        let plain = event(json!({"msgtype": "m.text", "body": "hi"}));
        assert_eq!((unfolded(&plain).0.as_ref(), unfolded(&plain).1), (&plain, None));
    }
}
