//! Reads edits as the messages that they replace.

use std::borrow::Cow;

use serde_json::Value;

/// Returns the part of a call that an edit makes of its message, and the id of that message. Any other part is returned as it
/// is.
pub(super) fn unfolded(part: &Value) -> (Cow<'_, Value>, Option<String>) {
    let (message, edit) = (&part["message"], &part["message"]["edit"]);
    let of = edit["original_message_id"].as_str().filter(|_| message["type"] == "edit");
    let (Some(of), Some(kind)) = (of, edit["message"]["type"].as_str()) else {
        return (Cow::Borrowed(part), None);
    };
    let mut edited = part.clone();
    edited["message"]["type"] = kind.into();
    for name in [kind, "context"] {
        edited["message"][name] = edit["message"][name].clone();
    }
    (Cow::Owned(edited), Some(of.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_edit_is_read_by_its_new_message() {
        let part = json!({"message": {
            "from": "4915112345678", "id": "wamid.2", "timestamp": "1800000000", "type": "edit",
            "edit": {"original_message_id": "wamid.1", "message": {"type": "text", "text": {"body": "new"}}},
        }});
        let (inner, of) = unfolded(&part);
        assert_eq!(
            (of.as_deref(), inner["message"]["text"]["body"].as_str()),
            (Some("wamid.1"), Some("new"))
        );
        let plain = json!({"message": {"id": "wamid.1", "type": "text", "text": {"body": "hi"}}});
        assert_eq!((unfolded(&plain).0.as_ref(), unfolded(&plain).1), (&plain, None));
    }
}
