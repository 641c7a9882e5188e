//! Converts edits to arrivals that replace an earlier one.

use serde_json::Value;

use super::inbound;
use crate::talk::Arrival;

/// Converts an event, if it is a message by a person or an edit by its author. Slack also reports that a preview was loaded,
/// for instance.
pub(super) fn arrival(event: &Value, us: &str) -> Option<Arrival> {
    if event["subtype"] != "message_changed" {
        return inbound::arrival(event, us);
    }
    let mut message = event["message"].clone();
    let edited_at = message["edited"]["ts"].as_str()?.to_owned();
    let is_by_author = message["edited"]["user"] == message["user"];
    if !is_by_author || message["text"] == event["previous_message"]["text"] {
        return None;
    }
    message["channel"] = event["channel"].clone();
    let mut arrival = inbound::arrival(&message, us)?;
    let edit = format!("{}:edit:{edited_at}", arrival.id);
    arrival.replaces = Some(std::mem::replace(&mut arrival.id, edit));
    Some(arrival)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn changed(text: &str, edited: Value) -> Value {
        json!({
            "type": "message", "subtype": "message_changed", "hidden": true, "channel": "D1", "ts": "1800000009.000200",
            "message": {"type": "message", "user": "U1", "text": text, "ts": "1800000000.000100", "edited": edited},
            "previous_message": {"type": "message", "user": "U1", "text": "old", "ts": "1800000000.000100"},
        })
    }

    #[test]
    fn edits_by_the_author_replace_their_message() {
        let by = |user: &str| json!({"user": user, "ts": "1800000009.000000"});
        let edit = arrival(&changed("new", by("U1")), "UBOT").unwrap();
        assert_eq!(edit.replaces.as_deref(), Some("D1:1800000000.000100"));
        assert_eq!((edit.text.as_str(), edit.chat.as_str()), ("new", "D1"));
        assert!(arrival(&changed("old", by("U1")), "UBOT").is_none(), "a preview was loaded");
        assert!(arrival(&changed("new", Value::Null), "UBOT").is_none());
        assert!(arrival(&changed("new", by("U2")), "UBOT").is_none());
    }
}
