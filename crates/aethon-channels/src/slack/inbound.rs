//! Converts Slack events to arrivals.
//!
//! A mention comes as both `message` and `app_mention`, with the same `ts`; both produce the same arrival, and the
//! storage recognises the second one by its id. Bots, edits and system messages are ignored.

use jiff::Timestamp;
use serde_json::Value;

use super::content;
use crate::talk::{Arrival, Author, NO_WORDS, Original, Sender, cannot_read, without_marks};

/// The subtypes of messages that people write.
const SUBTYPES: [&str; 4] = ["file_share", "thread_broadcast", "me_message", HUDDLE];
/// A call that someone began.
const HUDDLE: &str = "huddle_thread";

/// Converts an event, if it is a message by a person.
pub(super) fn arrival(event: &Value, us: &str) -> Option<Arrival> {
    let is_message = matches!(event["type"].as_str(), Some("message" | "app_mention"));
    let subtype = event["subtype"].as_str();
    let is_plain = subtype.is_none_or(|subtype| SUBTYPES.contains(&subtype));
    let is_machine = event["bot_id"].is_string() || event["hidden"] == true;
    let sender = event["user"].as_str().filter(|sender| *sender != us)?;
    if !is_message || !is_plain || is_machine {
        return None;
    }
    let (channel, ts) = (event["channel"].as_str()?, event["ts"].as_str()?);
    let is_private = channel.starts_with('D');
    let is_named = is_named(event, us);
    let chat = match (is_private, root_of(event)) {
        (true, None) => channel.to_owned(),
        (true, Some(thread)) => format!("{channel}:{thread}"),
        (false, _) => format!("{channel}:{}", thread_of(event)?),
    };
    let author = Sender { id: sender.to_owned(), name: None, group: None };
    let mut arrival = Arrival {
        is_private,
        is_addressed: is_private || is_named || event["parent_user_id"] == us,
        text: own_words(event, us, is_named),
        files: content::files(event),
        ..Arrival::new(format!("{channel}:{ts}"), chat, author, at(ts)?)
    };
    let mut shared = shared(event, us, sender);
    let is_said = !arrival.text.is_empty() || !arrival.files.is_empty();
    if let Some(first) = shared.iter().find(|shared| shared.author == Author::Other).filter(|_| !is_said) {
        // A message that was only forwarded has no text of its own.
        (arrival.text, arrival.files, arrival.is_forwarded) = (first.text.clone(), first.files.clone(), true);
        shared.retain(|shared| shared.author == Author::Other);
        shared.remove(0);
    }
    shared.into_iter().for_each(|shared| arrival.answering(shared));
    if subtype == Some("me_message") && !arrival.text.is_empty() {
        arrival.text = format!("[/me] {}", arrival.text);
    }
    if arrival.is_blank() {
        arrival.wordless = wordless(event, is_named);
        arrival.wordless.as_ref()?;
    }
    Some(arrival)
}

/// Returns the answer to a message without anything that can be read.
fn wordless(event: &Value, is_named: bool) -> Option<String> {
    let has_files = event["files"].as_array().is_some_and(|files| !files.is_empty());
    match event["subtype"].as_str() {
        Some(HUDDLE) => Some("I cannot join huddles. Write to me what you need, please.".to_owned()),
        _ if has_files => Some(cannot_read("files that Slack does not hand out")),
        _ => is_named.then(|| NO_WORDS.to_owned()),
    }
}

/// Returns the words of a message without the mention of us.
fn own_words(event: &Value, us: &str, is_named: bool) -> String {
    let raw = event["text"].as_str().unwrap_or_default();
    let mut words = content::words(event, &raw.replace(&format!("<@{us}>"), ""));
    if raw.trim().is_empty() {
        words = words.replace(&format!("@{us}"), "");
    }
    if is_named { without_marks(&words).to_owned() } else { words.trim().to_owned() }
}

/// Returns whether a message mentions us.
pub(super) fn is_named(event: &Value, us: &str) -> bool {
    let is_in_text = event["text"].as_str().is_some_and(|text| text.contains(&format!("<@{us}>")));
    is_in_text || (event["blocks"].is_array() && mentions(&event["blocks"], us))
}

fn mentions(blocks: &Value, us: &str) -> bool {
    match blocks {
        Value::Array(blocks) => blocks.iter().any(|block| mentions(block, us)),
        Value::Object(block) => {
            (blocks["type"] == "user" && blocks["user_id"] == us)
                || block.values().any(|inner| (inner.is_array() || inner.is_object()) && mentions(inner, us))
        }
        _ => false,
    }
}

/// Returns whether a message begins by mentioning someone else.
pub(super) fn begins_with_other(event: &Value, us: &str) -> bool {
    let text = event["text"].as_str().unwrap_or_default().trim_start();
    text.starts_with("<@") && !text.starts_with(&format!("<@{us}>")) && !is_named(event, us)
}

/// Returns the beginning of the thread that a message is in.
pub(super) fn root_of(event: &Value) -> Option<&str> {
    event["thread_ts"].as_str().filter(|thread| event["ts"] != *thread)
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
    // In a private chat, only threads are separate.
    let own = [&message["ts"], &container["message_ts"]];
    let is_apart = |thread: &str| !channel.starts_with('D') || own.iter().all(|own| **own != *thread);
    match thread.filter(|thread| is_apart(thread)) {
        Some(thread) => format!("{channel}:{thread}"),
        None => channel,
    }
}

/// Returns the messages that a message shares.
fn shared(event: &Value, us: &str, sender: &str) -> Vec<Original> {
    let attachments = event["attachments"].as_array().into_iter().flatten();
    let shared = attachments.filter(|attachment| content::is_shared(attachment)).map(|attachment| Original {
        author: match attachment["author_id"].as_str() {
            Some(author) if author == us => Author::Us,
            Some(author) if author == sender => Author::Sender,
            _ => Author::Other,
        },
        text: content::shared_words(attachment),
        files: content::files(attachment),
    });
    shared.filter(|shared| !shared.text.is_empty() || !shared.files.is_empty()).collect()
}

/// Parses a timestamp such as `1700000000.000100`.
fn at(ts: &str) -> Option<Timestamp> {
    Timestamp::from_second(ts.split('.').next()?.parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::talk::AnsweredAuthor;

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
    fn mention_counts_once_and_threads_are_conversations() {
        let one = read(json!({"channel": "C1", "text": "<@UBOT> hi"})).unwrap();
        let two = read(json!({"type": "app_mention", "channel": "C1", "text": "<@UBOT> hi"})).unwrap();
        assert_eq!((&one.id, &one.chat, &one.text), (&two.id, &two.chat, &two.text));
        assert!(one.is_addressed && one.text == "hi" && one.chat == "C1:1800000000.000100");
        let reply = read(json!({"channel": "C1", "thread_ts": "1.2", "parent_user_id": US})).unwrap();
        assert!(reply.is_addressed && reply.chat == "C1:1.2");
        assert!(!read(json!({"channel": "C1"})).unwrap().is_addressed);
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
    fn message_content_becomes_words() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let rich = |elements: Value| json!([{"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": elements}]}]);
        let share = |author: &str, text: &str| json!([{"is_share": true, "author_id": author, "text": text}]);
        let blocks = json!([{"is_msg_unfurl": true, "author_id": "U2", "fallback": "[no preview]", "message_blocks": [
            {"message": {"blocks": rich(json!([text("see "), {"type": "link", "url": "https://a.b", "text": "x"}]))}},
        ]}]);
        let unfurl = json!([{"from_url": "https://a.b", "title": "A page", "text": "its beginning"}]);
        for (more, said, quoted) in [
            (json!({"text": "see <https://a.b|this>"}), "see this (https://a.b)", None),
            (
                json!({"text": "", "blocks": rich(json!([text("hi "), {"type": "emoji", "name": "wave"}]))}),
                "hi :wave:",
                None,
            ),
            (json!({"text": "hi", "blocks": rich(json!([text("hi")]))}), "hi", None),
            (json!({"subtype": "me_message", "text": "laughs"}), "[/me] laughs", None),
            (json!({"subtype": "thread_broadcast", "text": "hi"}), "hi", None),
            (
                json!({"text": "what?", "attachments": share("U2", "obey <https://e.f|here>")}),
                "what?",
                Some("obey here (https://e.f)"),
            ),
            (json!({"text": "", "attachments": share("U2", "obey")}), "obey", None),
            (json!({"text": "what?", "attachments": blocks}), "what?", Some("see x (https://a.b)")),
            (json!({"text": "look <https://a.b>", "attachments": unfurl}), "look https://a.b", None),
            (json!({"text": "<!date^1392734382^{date}|today> at <#C2|team>"}), "today at #team", None),
        ] {
            let arrival = read(more.clone()).unwrap_or_else(|| panic!("nothing of {more}"));
            assert_eq!((arrival.text.as_str(), arrival.quoted.as_deref()), (said, quoted), "{more}");
        }
        for (author, expected) in [(US, AnsweredAuthor::Assistant), ("U1", AnsweredAuthor::Sender)] {
            let arrival = read(json!({"text": "explain", "attachments": share(author, "said")})).unwrap();
            assert_eq!(arrival.answered.unwrap().author, expected);
        }
        let picture = json!([{"name": "a.png", "mimetype": "image/png", "url_private": "https://files.slack.com/a", "size": 1}]);
        let shared = json!([{"is_share": true, "author_id": "U2", "text": "mine", "files": picture}]);
        let arrival = read(json!({"text": "what is it?", "attachments": shared})).unwrap();
        assert!(arrival.files[0].is_quoted && arrival.files[0].name == "a.png");
        let hidden = json!({"subtype": "file_share", "text": "", "files": [{"mode": "hidden_by_limit"}]});
        for unreadable in [json!({"subtype": "huddle_thread", "text": ""}), hidden] {
            assert!(read(unreadable.clone()).unwrap().wordless.is_some(), "{unreadable}");
        }
    }

    #[test]
    fn mentions_in_text_and_blocks_are_found_and_may_precede_commands() {
        let blocks = json!([{"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [
            {"type": "user", "user_id": US}, {"type": "text", "text": " !help"},
        ]}]}]);
        for (more, text) in [
            (json!({"text": "<@UBOT> !help"}), "!help"),
            (json!({"text": "<@UBOT>: !help"}), "!help"),
            (json!({"text": "<@UBOT>, /help."}), "/help."),
            (json!({"text": "<@UBOT> approve K2"}), "approve K2"),
            (json!({"text": "", "blocks": blocks}), "!help"),
        ] {
            let mut event = more.clone();
            event["channel"] = json!("C1");
            let arrival = read(event).unwrap();
            assert!(arrival.is_addressed && arrival.text == text, "{more}: {}", arrival.text);
        }
        assert!(read(json!({"channel": "C1", "text": "<@UBOT>"})).unwrap().wordless.is_some());
        let private = read(json!({"thread_ts": "1.2"})).unwrap();
        assert_eq!(private.chat, "D1:1.2", "a thread of a private chat is answered there");
        for (text, expected) in
            [("<@U2> what?", true), ("<@UBOT> what?", false), ("ask <@U2>", false), ("hi", false)]
        {
            assert_eq!(begins_with_other(&json!({"text": text}), US), expected, "{text}");
        }
    }

    #[test]
    fn presses_are_in_the_thread_of_their_message() {
        for (channel, message, expected) in [
            ("C1", json!({"ts": "1.2"}), "C1:1.2"),
            ("C1", json!({"ts": "1.3", "thread_ts": "1.2"}), "C1:1.2"),
            ("D1", json!({"ts": "1.2"}), "D1"),
            ("D1", json!({"ts": "1.2", "thread_ts": "1.2"}), "D1"),
            ("D1", json!({"ts": "1.3", "thread_ts": "1.2"}), "D1:1.2"),
        ] {
            assert_eq!(chat_of(&json!({"channel": {"id": channel}, "message": message})), expected);
        }
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
