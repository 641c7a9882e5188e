//! Converts edits to arrivals that replace an earlier one.

use serde_json::Value;

use super::inbound;
use crate::talk::Arrival;

/// Converts the update of a message, if its author edited it. Discord also reports that a preview was loaded, for
/// instance.
pub(super) fn arrival(event: &Value, us: &str) -> Option<Arrival> {
    let edited_at = event["edited_timestamp"].as_str()?;
    let mut arrival = inbound::arrival(event, us, event["guild_id"].is_null())?;
    let edit = format!("{}:edit:{edited_at}", arrival.id);
    arrival.replaces = Some(std::mem::replace(&mut arrival.id, edit));
    Some(arrival)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn edits_by_people_replace_their_message() {
        let event = |edited_at: Value| {
            json!({
                "id": "5", "channel_id": "7", "type": 0, "content": "hi", "timestamp": "2027-01-15T08:00:00+00:00",
                "author": {"id": "1"}, "mentions": [], "attachments": [], "edited_timestamp": edited_at,
            })
        };
        let edit = arrival(&event("2027-01-15T08:00:05+00:00".into()), "99").unwrap();
        assert_eq!((edit.replaces.as_deref(), edit.text.as_str()), (Some("5"), "hi"));
        assert_ne!(edit.id, "5");
        assert!(arrival(&event(Value::Null), "99").is_none(), "a preview was loaded");
        let partial = json!({"id": "5", "channel_id": "7", "edited_timestamp": "2027-01-15T08:00:05+00:00"});
        assert!(arrival(&partial, "99").is_none());
    }
}
