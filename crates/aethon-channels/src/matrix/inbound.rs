//! Converts room events to arrivals.

use jiff::Timestamp;
use serde_json::Value;

use crate::talk::{Arrival, RemoteFile, Sender};

/// Converts an event, if it is a message by someone else. Edits and bot messages are ignored.
pub(super) fn arrival(
    event: &Value,
    room: &str,
    us: &str,
    (is_private, is_reply_to_us): (bool, bool),
) -> Option<Arrival> {
    let content = &event["content"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let sender = event["sender"].as_str().filter(|sender| *sender != us)?;
    let kind = content["msgtype"].as_str()?;
    let is_edit = content["m.relates_to"]["rel_type"] == "m.replace";
    if event["type"] != "m.room.message" || is_edit || kind == "m.notice" {
        return None;
    }
    let mut body = text(&content["body"]).unwrap_or_default();
    let mut files = Vec::new();
    if matches!(kind, "m.image" | "m.file" | "m.audio" | "m.video") {
        let name = text(&content["filename"]).unwrap_or_else(|| body.clone());
        let info = &content["info"];
        let mime = text(&info["mimetype"]).unwrap_or_else(|| "application/octet-stream".into());
        // A file name is not a message, but a caption is.
        if name == body {
            body.clear();
        }
        // Files of encrypted rooms have no address.
        let size = info["size"].as_u64().unwrap_or(0);
        let seconds = info["duration"].as_u64().map(|milliseconds| milliseconds.div_ceil(1000));
        files.push(RemoteFile {
            handle: text(&content["url"])?,
            name,
            mime,
            size,
            seconds,
            is_quoted: false,
        });
    }
    let quoted = content["m.relates_to"]["m.in_reply_to"].is_object().then(|| fallback(&mut body)).flatten();
    // Our own words are already in the conversation.
    let quoted = quoted.filter(|_| !is_reply_to_us);
    let mentions = content["m.mentions"]["user_ids"].as_array();
    let is_named =
        mentions.is_some_and(|mentions| mentions.iter().any(|user| user == us)) || body.contains(us);
    let millis = event["origin_server_ts"].as_i64()?;
    Some(Arrival {
        is_private,
        is_addressed: is_private || is_named || is_reply_to_us,
        text: body.replace(us, "").trim().to_owned(),
        quoted,
        files,
        ..Arrival::new(
            text(&event["event_id"])?,
            room.to_owned(),
            Sender { id: sender.to_owned(), name: None, group: (!is_private).then(|| room.to_owned()) },
            Timestamp::from_millisecond(millis).ok()?,
        )
    })
}

/// Returns the message that this one answers. Inside a thread, that is the previous message, given for clients
/// without threads.
pub(super) fn answered(event: &Value) -> Option<&str> {
    let relation = &event["content"]["m.relates_to"];
    let is_thread = relation["rel_type"] == "m.thread" && relation["is_falling_back"] == true;
    relation["m.in_reply_to"]["event_id"].as_str().filter(|_| !is_thread)
}

/// Removes the reply fallback of older clients, which repeat the answered message as lines beginning with `>`, and
/// returns it. However its first line continues, which depends on the kind of message, the words are someone else's.
fn fallback(body: &mut String) -> Option<String> {
    let lines: Vec<&str> = body.lines().collect();
    let count = lines.iter().take_while(|line| line.starts_with('>')).count();
    let (above, below) = lines.split_at(count);
    let quoted: Vec<&str> = above.iter().map(|line| line.trim_start_matches(['>', ' '])).collect();
    let (quoted, rest) = (quoted.join("\n"), below.join("\n"));
    (count > 0).then(|| {
        *body = rest;
        quoted
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const US: &str = "@bot:hs";

    fn read(content: Value, is_private: bool) -> Option<Arrival> {
        let event = json!({
            "type": "m.room.message", "event_id": "$1", "sender": "@ada:hs", "origin_server_ts": 1_800_000_000_000i64,
            "content": content,
        });
        arrival(&event, "!r:hs", US, (is_private, false))
    }

    #[test]
    fn messages_of_people_arrive_and_nothing_else() {
        let hi = read(json!({"msgtype": "m.text", "body": "hi"}), true).unwrap();
        assert_eq!((hi.id.as_str(), hi.chat.as_str(), hi.sender.id.as_str()), ("$1", "!r:hs", "@ada:hs"));
        assert!(read(json!({"msgtype": "m.notice", "body": "hi"}), true).is_none());
        let edit = json!({"msgtype": "m.text", "body": "* hi", "m.relates_to": {"rel_type": "m.replace", "event_id": "$0"}});
        assert!(read(edit, true).is_none());
        let own = json!({"type": "m.room.message", "event_id": "$1", "sender": US, "origin_server_ts": 1, "content": {"msgtype": "m.text", "body": "x"}});
        assert!(arrival(&own, "!r:hs", US, (true, false)).is_none());
    }

    #[test]
    fn a_group_needs_a_mention() {
        assert!(!read(json!({"msgtype": "m.text", "body": "hi"}), false).unwrap().is_addressed);
        let named = json!({"msgtype": "m.text", "body": "hi bot", "m.mentions": {"user_ids": [US]}});
        assert!(read(named, false).unwrap().is_addressed);
        let written = read(json!({"msgtype": "m.text", "body": "@bot:hs hi"}), false).unwrap();
        assert!(written.is_addressed && written.text == "hi");
    }

    #[test]
    fn reply_fallback_is_read_as_a_quote() {
        let reply = json!({"msgtype": "m.text", "body": "> <@eve:hs> obey\n> me\n\nwhat is this?", "m.relates_to": {"m.in_reply_to": {"event_id": "$0"}}});
        let reply = read(reply, true).unwrap();
        assert_eq!(
            (reply.text.as_str(), reply.quoted.as_deref()),
            ("what is this?", Some("<@eve:hs> obey\nme"))
        );
        for (body, own, quoted) in [
            ("> * <@eve:hs> obeys\n\nwhat is this?", "what is this?", "* <@eve:hs> obeys"),
            ("> obey\n>\n> me\nwhat?", "what?", "obey\n\nme"),
            (">obey", "", "obey"),
        ] {
            let reply = json!({"msgtype": "m.text", "body": body, "m.relates_to": {"m.in_reply_to": {"event_id": "$0"}}});
            let reply = read(reply, true).unwrap();
            assert_eq!((reply.text.as_str(), reply.quoted.as_deref()), (own, Some(quoted)), "{body:?}");
        }
        let own = read(json!({"msgtype": "m.text", "body": "> a poem\n\nNice."}), true).unwrap();
        assert_eq!((own.text.as_str(), own.quoted), ("> a poem\n\nNice.", None), "no reply");
        let file = json!({"msgtype": "m.image", "body": "a.png", "url": "mxc://hs/1", "info": {"mimetype": "image/png", "size": 5}});
        let file = read(file, true).unwrap();
        assert!(file.text.is_empty() && file.files[0].handle == "mxc://hs/1");
    }
}
