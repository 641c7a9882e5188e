//! Converts Slack events to arrivals.
//!
//! A mention comes as both `message` and `app_mention`, with the same `ts`; both produce the same arrival, and the
//! storage recognises the second one by its id. Bots, edits and system messages are ignored.

use jiff::Timestamp;
use serde_json::Value;

use crate::talk::{Arrival, RemoteFile, Sender};

/// Converts an event, if it is a message by a person.
pub(super) fn arrival(event: &Value, us: &str) -> Option<Arrival> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let is_message = matches!(event["type"].as_str(), Some("message" | "app_mention"));
    let is_plain = matches!(event["subtype"].as_str(), None | Some("file_share" | "thread_broadcast"));
    let is_machine = event["bot_id"].is_string() || event["hidden"] == true;
    let sender = event["user"].as_str().filter(|sender| *sender != us)?;
    if !is_message || !is_plain || is_machine {
        return None;
    }
    let (channel, ts) = (event["channel"].as_str()?, event["ts"].as_str()?);
    let is_private = channel.starts_with('D');
    let thread = thread_of(event)?;
    let raw = event["text"].as_str().unwrap_or_default();
    let mention = format!("<@{us}>");
    let is_named = raw.contains(&mention);
    let is_reply_to_us = event["parent_user_id"] == us;
    let files: Vec<RemoteFile> = event["files"].as_array().into_iter().flatten().filter_map(offer).collect();
    let words = plain(&raw.replace(&mention, "")).trim().to_owned();
    let quoted = shared(event, sender);
    if words.is_empty() && files.is_empty() && quoted.is_none() {
        return None;
    }
    // A message that was only forwarded has no text of its own.
    let is_forwarded = words.is_empty() && files.is_empty();
    let (said, quoted) = if is_forwarded { (quoted.unwrap_or_default(), None) } else { (words, quoted) };
    let chat = if is_private { channel.to_owned() } else { format!("{channel}:{thread}") };
    let author = Sender { id: text(&event["user"])?, name: None, group: None };
    Some(Arrival {
        is_private,
        is_addressed: is_private || is_named || is_reply_to_us,
        text: said,
        quoted,
        is_forwarded,
        files,
        ..Arrival::new(format!("{channel}:{ts}"), chat, author, at(ts)?)
    })
}

/// Returns the thread that a message is in, or would start when answered in a thread.
pub(super) fn thread_of(event: &Value) -> Option<&str> {
    event["thread_ts"].as_str().or(event["ts"].as_str())
}

/// Converts a slash command. `now` is needed because Slack does not send the time.
pub(super) fn command(payload: &Value, now: Timestamp) -> Option<Arrival> {
    const OURS: [&str; 5] = ["/new", "/stop", "/help", "/start", "/pair"];
    let (channel, sender) = (payload["channel_id"].as_str()?, payload["user_id"].as_str()?);
    let (command, words) =
        (payload["command"].as_str()?, payload["text"].as_str().unwrap_or_default().trim());
    // Another name, such as `/aethon`, addresses us, and the text is the command or the message.
    let first = words.split_whitespace().next().unwrap_or_default().trim_start_matches('/');
    let text = if OURS.contains(&command) {
        format!("{command} {words}")
    } else if OURS.contains(&format!("/{first}").as_str()) {
        format!("/{}", words.trim_start_matches('/'))
    } else {
        words.to_owned()
    };
    let is_private = channel.starts_with('D');
    Some(Arrival {
        is_private,
        text: text.trim().to_owned(),
        ..Arrival::new(
            format!("command:{}", payload["trigger_id"].as_str()?),
            channel.to_owned(),
            Sender { id: sender.to_owned(), name: None, group: None },
            now,
        )
    })
}

/// Returns the chat of a message with buttons.
pub(super) fn chat_of(payload: &Value) -> String {
    let (message, container) = (&payload["message"], &payload["container"]);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let channel = text(&payload["channel"]["id"]).or_else(|| text(&container["channel_id"]));
    let channel = channel.unwrap_or_default();
    let thread = text(&message["thread_ts"])
        .or_else(|| text(&container["thread_ts"]))
        .or_else(|| text(&message["ts"]))
        .or_else(|| text(&container["message_ts"]));
    match thread.filter(|_| !channel.starts_with('D')) {
        Some(thread) => format!("{channel}:{thread}"),
        None => channel,
    }
}

/// Returns other people's words that a message shares.
fn shared(event: &Value, sender: &str) -> Option<String> {
    let attachments = event["attachments"].as_array().into_iter().flatten();
    let shared = attachments.filter(|attachment| {
        (attachment["is_share"] == true || attachment["is_msg_unfurl"] == true)
            && attachment["author_id"] != sender
    });
    let texts: Vec<String> = shared
        .filter_map(|attachment| attachment["text"].as_str().or(attachment["fallback"].as_str()))
        .map(plain)
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn offer(file: &Value) -> Option<RemoteFile> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let address = text(&file["url_private_download"]).or_else(|| text(&file["url_private"]))?;
    Some(RemoteFile {
        handle: address,
        name: text(&file["name"]).unwrap_or_else(|| "file".into()),
        mime: text(&file["mimetype"]).unwrap_or_else(|| "application/octet-stream".into()),
        size: file["size"].as_u64().unwrap_or(0),
        seconds: file["duration_ms"].as_u64().map(|milliseconds| milliseconds.div_ceil(1000)),
        is_quoted: false,
    })
}

/// Parses a timestamp such as `1700000000.000100`.
fn at(ts: &str) -> Option<Timestamp> {
    Timestamp::from_second(ts.split('.').next()?.parse().ok()?).ok()
}

/// Returns a text as the person saw it, without Slack's markup for people, channels and links.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let Some(length) = rest[start..].find('>') else { break };
        out.push_str(&rest[..start]);
        out.push_str(&shown(&rest[start + 1..start + length]));
        rest = &rest[start + length + 1..];
    }
    out.push_str(rest);
    out.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

fn shown(mark: &str) -> String {
    let (what, label) = mark.split_once('|').map_or((mark, None), |(what, label)| (what, Some(label)));
    match (what.chars().next(), label) {
        (Some('@' | '#'), Some(label)) => format!("{}{}", &what[..1], label.trim_start_matches(['@', '#'])),
        (Some('@' | '#'), None) => what.to_owned(),
        (Some('!'), Some(label)) => label.to_owned(),
        (Some('!'), None) => format!("@{}", &what[1..]),
        (_, Some(label)) if !what.contains(label) => format!("{label} ({what})"),
        _ => what.trim_start_matches("mailto:").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const US: &str = "UBOT";

    fn read(more: Value) -> Option<Arrival> {
        let mut event = json!({
            "type": "message", "channel": "D1", "channel_type": "im", "user": "U1", "text": "hi",
            "ts": "1800000000.000100",
        });
        for (key, value) in more.as_object().unwrap() {
            event[key] = value.clone();
        }
        arrival(&event, US)
    }

    #[test]
    fn messages_of_people_arrive_and_nothing_else() {
        let hi = read(json!({})).unwrap();
        assert_eq!(
            (hi.id.as_str(), hi.chat.as_str(), hi.sender.id.as_str()),
            ("D1:1800000000.000100", "D1", "U1")
        );
        assert!(hi.is_private && hi.at.as_second() == 1_800_000_000);
        for other in [
            json!({"bot_id": "B1"}),
            json!({"user": US}),
            json!({"subtype": "message_changed"}),
            json!({"subtype": "channel_join"}),
            json!({"text": ""}),
            json!({"type": "reaction_added"}),
        ] {
            assert!(read(other.clone()).is_none(), "{other}");
        }
    }

    #[test]
    fn a_mention_is_the_same_however_it_comes_and_threads_are_conversations() {
        let one = read(json!({"channel": "C1", "text": "<@UBOT> hi"})).unwrap();
        let two = read(json!({"type": "app_mention", "channel": "C1", "text": "<@UBOT> hi"})).unwrap();
        assert_eq!((&one.id, &one.chat, &one.text), (&two.id, &two.chat, &two.text));
        assert!(one.is_addressed && one.text == "hi" && one.chat == "C1:1800000000.000100");
        let reply = read(json!({"channel": "C1", "thread_ts": "1.2", "parent_user_id": US})).unwrap();
        assert!(reply.is_addressed && reply.chat == "C1:1.2");
        assert!(!read(json!({"channel": "C1"})).unwrap().is_addressed);
    }

    #[test]
    fn marks_are_what_the_person_saw() {
        let check = |text: &str, expected: &str| assert_eq!(plain(text), expected);
        check("a &lt;b&gt; &amp;amp;", "a <b> &amp;");
        check("<@U2> and <#C1|general>", "@U2 and #general");
        check(
            "<https://a.b|a.b> <https://a.b|this> <mailto:a@b.c|a@b.c>",
            "https://a.b this (https://a.b) a@b.c",
        );
        check("<!here> <!subteam^S1|@team> 1 < 2", "@here @team 1 < 2");
    }

    #[test]
    fn shared_messages_are_read_as_quotes() {
        let share = json!([{"is_share": true, "author_id": "U2", "text": "obey"}]);
        let quoted = read(json!({"text": "what is this?", "attachments": share})).unwrap();
        assert!(!quoted.is_forwarded && quoted.quoted.as_deref() == Some("obey"));
        let passed = read(json!({"text": "", "attachments": share})).unwrap();
        assert!(passed.is_forwarded && passed.text == "obey" && passed.quoted.is_none());
    }

    #[test]
    fn commands_have_our_names_or_stand_behind_another() {
        let check = |command: &str, text: &str, expected: &str| {
            let payload = json!({"command": command, "text": text, "channel_id": "D1", "user_id": "U1", "trigger_id": "1"});
            assert_eq!(super::command(&payload, Timestamp::UNIX_EPOCH).unwrap().text, expected);
        };
        check("/stop", "", "/stop");
        check("/aethon", "new", "/new");
        check("/aethon", "what is new?", "what is new?");
    }
}
