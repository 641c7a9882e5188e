//! Converts Discord events to arrivals.
//!
//! Bots, webhooks and system messages are ignored. A mention counts only if Discord lists us among the mentioned
//! users, not if the text merely looks like one.

use jiff::Timestamp;
use serde_json::Value;

use super::content::{self, Cards};
use crate::talk::{Arrival, Author, NO_WORDS, Original, RemoteFile, Sender, without_marks};

/// Default messages and replies.
const KINDS: [u64; 2] = [0, 19];
/// A forwarded message.
const FORWARD: u64 = 1;

/// Converts a message, if a person wrote it.
pub(super) fn arrival(message: &Value, us: &str, is_private: bool) -> Option<Arrival> {
    let author = &message["author"];
    let sender = sender(author).filter(|sender| sender.id != us)?;
    let is_machine = author["bot"] == true || author["system"] == true || !message["webhook_id"].is_null();
    if is_machine || !KINDS.contains(&message["type"].as_u64().unwrap_or(0)) {
        return None;
    }
    let is_forwarded = message["message_reference"]["type"].as_u64() == Some(FORWARD);
    let (words, files) = match is_forwarded {
        true => passed_on(message),
        false => (content::words(&without_us(message, us), Cards::Skipped), content::files(message)),
    };
    let mentions = message["mentions"].as_array().into_iter().flatten();
    let is_named = mentions.into_iter().any(|person| person["id"] == us);
    let replied = &message["referenced_message"];
    let is_reply_to_us = replied["author"]["id"] == us;
    let mut arrival = Arrival {
        is_private,
        is_addressed: is_private || is_named || is_reply_to_us,
        text: if is_named { without_marks(&words).to_owned() } else { words },
        is_forwarded,
        files,
        ..Arrival::new(
            id(&message["id"])?,
            id(&message["channel_id"])?,
            sender,
            message["timestamp"].as_str()?.parse().ok()?,
        )
    };
    let has_content = !arrival.is_blank() || is_named;
    if replied.is_object() && !is_forwarded && has_content {
        arrival.answering(original(replied, us, &arrival.sender.id));
    }
    if arrival.is_blank() {
        arrival.wordless = is_named.then(|| NO_WORDS.to_owned());
        // Whether a role is ours has to be looked up.
        let is_for_a_role = !is_private && !mentioned_roles(message).is_empty();
        return Some(arrival).filter(|arrival| arrival.wordless.is_some() || is_for_a_role);
    }
    Some(arrival)
}

/// Returns the roles that a message mentions.
pub(super) fn mentioned_roles(message: &Value) -> Vec<String> {
    message["mention_roles"].as_array().into_iter().flatten().filter_map(id).collect()
}

/// Returns the words and files that a message forwards.
fn passed_on(message: &Value) -> (String, Vec<RemoteFile>) {
    let words: Vec<String> =
        content::snapshots(message).map(|said| content::words(said, Cards::Read)).collect();
    (words.join("\n\n").trim().to_owned(), content::snapshots(message).flat_map(content::files).collect())
}

/// Returns a message without the mention of us in its words.
fn without_us(message: &Value, us: &str) -> Value {
    let content = message["content"].as_str().unwrap_or_default();
    let content = content.replace(&format!("<@{us}>"), "").replace(&format!("<@!{us}>"), "");
    let mut message = message.clone();
    message["content"] = content.trim().into();
    message
}

/// Returns the message that is answered.
fn original(replied: &Value, us: &str, sender: &str) -> Original {
    let is_passed_on = content::snapshots(replied).next().is_some();
    let author = match replied["author"]["id"].as_str() {
        Some(author) if author == us => Author::Us,
        Some(author) if author == sender && !is_passed_on => Author::Sender,
        _ => Author::Other,
    };
    let (mut text, mut files) = (content::words(replied, Cards::Read), content::files(replied));
    if is_passed_on {
        let (words, passed) = passed_on(replied);
        text = [text, words].join("\n").trim().to_owned();
        files.extend(passed);
    }
    Original { author, text, files }
}

/// Converts a slash command.
pub(super) fn command(interaction: &Value, now: Timestamp) -> Option<Arrival> {
    let name = interaction["data"]["name"].as_str()?;
    Some(Arrival {
        is_private: interaction["guild_id"].is_null(),
        text: format!("/{name}"),
        ..Arrival::new(id(&interaction["id"])?, id(&interaction["channel_id"])?, who(interaction)?, now)
    })
}

/// Returns who pressed a button or used a command.
pub(super) fn who(interaction: &Value) -> Option<Sender> {
    sender(&interaction["member"]["user"]).or_else(|| sender(&interaction["user"]))
}

/// Reads an id. Discord's ids are numeric and become parts of addresses.
pub(super) fn id(value: &Value) -> Option<String> {
    let id = value.as_str()?;
    (!id.is_empty() && id.len() <= 20 && id.bytes().all(|byte| byte.is_ascii_digit())).then(|| id.to_owned())
}

/// Converts a user. The name only helps the model tell people apart; it grants no access, because it does not begin
/// with `@`.
fn sender(person: &Value) -> Option<Sender> {
    let name = person["username"].as_str().map(|name| name.trim_start_matches('@').to_owned());
    Some(Sender { id: id(&person["id"])?, name, group: None })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::talk::AnsweredAuthor;

    const US: &str = "99";

    fn read(more: Value, is_private: bool) -> Option<Arrival> {
        let mut message = json!({
            "id": "5", "channel_id": "7", "type": 0, "content": "hi", "timestamp": "2027-01-15T08:00:00.000000+00:00",
            "author": {"id": "1", "username": "ada"}, "mentions": [], "attachments": [],
        });
        for (key, value) in more.as_object().unwrap() {
            message[key] = value.clone();
        }
        arrival(&message, US, is_private)
    }

    #[test]
    fn messages_of_people_arrive_and_nothing_else() {
        let hi = read(json!({}), true).unwrap();
        assert_eq!((hi.id.as_str(), hi.chat.as_str(), hi.sender.id.as_str()), ("5", "7", "1"));
        for other in [
            json!({"author": {"id": "2", "bot": true}}),
            json!({"author": {"id": US}}),
            json!({"webhook_id": "3"}),
            json!({"type": 7}),
            json!({"content": ""}),
            json!({"id": "../5"}),
        ] {
            assert!(read(other.clone(), true).is_none(), "{other}");
        }
    }

    #[test]
    fn a_server_needs_a_mention_that_is_one() {
        assert!(!read(json!({"content": "<@99> hi"}), false).unwrap().is_addressed, "letters are no mention");
        let named = read(json!({"content": "<@99> hi", "mentions": [{"id": US}]}), false).unwrap();
        assert!(named.is_addressed && named.text == "hi");
        let ours = json!({"type": 19, "referenced_message": {"author": {"id": US}, "content": "said"}});
        let reply = read(ours, false).unwrap();
        assert!(reply.is_addressed && reply.quoted.is_none());
    }

    #[test]
    fn quotes_and_forwards_are_kept_apart_from_own_text() {
        let theirs = json!({"type": 19, "referenced_message": {"author": {"id": "2"}, "content": "obey"}});
        assert_eq!(read(theirs, true).unwrap().quoted.as_deref(), Some("obey"));
        let forward = json!({
            "content": "", "message_reference": {"type": 1}, "message_snapshots": [{"message": {"content": "obey"}}],
        });
        let forward = read(forward, true).unwrap();
        assert!(forward.is_forwarded && forward.text == "obey");
        let file = json!([{"url": "https://cdn.discordapp.com/a", "filename": "a.txt", "content_type": "text/plain; charset=utf-8", "size": 3}]);
        assert_eq!(read(json!({"attachments": file}), true).unwrap().files[0].mime, "text/plain");
    }

    #[test]
    fn content_and_answered_message_become_words() {
        let poll = json!({"question": {"text": "Lunch?"}, "answers": [
            {"answer_id": 1, "poll_media": {"text": "Pizza", "emoji": {"name": "\u{1f355}"}}},
            {"answer_id": 2, "poll_media": {"text": "Soup"}},
        ]});
        let reply = |author: &str, more: Value| {
            let mut replied =
                json!({"id": "4", "author": {"id": author}, "content": "said", "attachments": []});
            for (key, value) in more.as_object().unwrap() {
                replied[key] = value.clone();
            }
            json!({"type": 19, "content": "explain", "referenced_message": replied})
        };
        let forward = |said: Value| json!({"content": "", "message_reference": {"type": 1}, "message_snapshots": [{"message": said}]});
        let card = json!([{
            "author": {"name": "Eve"}, "title": "News", "url": "https://a.b", "description": "It rains.",
            "fields": [{"name": "Where", "value": "Berlin"}], "footer": {"text": "today"},
        }]);
        let components = json!([{"type": 17, "components": [
            {"type": 10, "content": "## Deployed"},
            {"type": 9, "components": [{"type": 10, "content": "to production"}], "accessory": {"type": 2, "label": "Open", "url": "https://c.d"}},
        ]}]);
        let snapshots = json!([{"message": {"content": "obey"}}]);
        for (more, text, quoted) in [
            (json!({"content": "hi <@2>", "mentions": [{"id": "2", "username": "eve"}]}), "hi @eve", None),
            (json!({"content": "see [this](https://a.b)"}), "see [this](https://a.b)", None),
            (
                json!({"content": "", "sticker_items": [{"id": "1", "name": "Wave", "format_type": 1}]}),
                "[Sticker: Wave]",
                None,
            ),
            (
                json!({"content": "ha", "sticker_items": [{"id": "1", "name": "Wave"}]}),
                "ha\n[Sticker: Wave]",
                None,
            ),
            (json!({"content": "", "poll": poll}), "[Poll: Lunch? \u{1f355} Pizza; Soup]", None),
            (json!({"content": "https://a.b", "embeds": card}), "https://a.b", None),
            (forward(json!({"content": "obey [x](https://e.f)"})), "obey [x](https://e.f)", None),
            (
                forward(json!({"content": "", "embeds": card})),
                "Eve\nNews (https://a.b)\nIt rains.\nWhere: Berlin\ntoday",
                None,
            ),
            (
                forward(json!({"content": "", "components": components})),
                "## Deployed\nto production\nOpen (https://c.d)",
                None,
            ),
            (forward(json!({"content": "", "sticker_items": [{"name": "Wave"}]})), "[Sticker: Wave]", None),
            (reply("2", json!({})), "explain", Some("said")),
            (
                reply("2", json!({"content": "", "embeds": card})),
                "explain",
                Some("Eve\nNews (https://a.b)\nIt rains.\nWhere: Berlin\ntoday"),
            ),
            (
                reply("2", json!({"content": "", "poll": poll})),
                "explain",
                Some("[Poll: Lunch? \u{1f355} Pizza; Soup]"),
            ),
            (reply("1", json!({"content": "", "message_snapshots": snapshots})), "explain", Some("obey")),
            (json!({"type": 19, "content": "explain", "referenced_message": null}), "explain", None),
        ] {
            let arrival = read(more.clone(), true).unwrap_or_else(|| panic!("nothing of {more}"));
            assert_eq!((arrival.text.as_str(), arrival.quoted.as_deref()), (text, quoted), "{more}");
        }
        let own = |author: &str| read(reply(author, json!({})), true).unwrap().answered.unwrap();
        assert_eq!((own(US).text, own(US).author), ("said".into(), AnsweredAuthor::Assistant));
        assert_eq!(own("1").author, AnsweredAuthor::Sender);
        let picture = json!([{"url": "https://cdn.discordapp.com/a.png", "filename": "a.png", "content_type": "image/png", "size": 3}]);
        for (author, is_quoted) in [("2", true), ("1", false)] {
            let arrival = read(reply(author, json!({"attachments": picture})), true).unwrap();
            assert_eq!((arrival.files.len(), arrival.files[0].is_quoted), (1, is_quoted));
        }
    }

    #[test]
    fn commands_work_behind_a_mention() {
        for content in ["<@99> /help", "<@!99> /help", "<@99>: /help", "<@99>, /help", "/help <@99>"] {
            let arrival = read(json!({"content": content, "mentions": [{"id": US}]}), false).unwrap();
            assert!(arrival.is_addressed && arrival.text == "/help", "{content}: {}", arrival.text);
        }
        let bare = read(json!({"content": "<@99>", "mentions": [{"id": US}]}), false).unwrap();
        assert!(bare.wordless.is_some() && bare.is_addressed);
        let role = read(json!({"content": "<@&5> hi", "mention_roles": ["5"]}), false).unwrap();
        assert!(!role.is_addressed, "whose role it is has to be looked up");
    }

    #[test]
    fn a_command_is_given_by_a_member_or_in_private() {
        let payload = json!({"id": "5", "channel_id": "7", "data": {"name": "stop"}, "user": {"id": "1"}});
        let command = super::command(&payload, Timestamp::UNIX_EPOCH).unwrap();
        assert!(command.is_private && command.text == "/stop" && command.sender.id == "1");
        let member = json!({"id": "5", "channel_id": "7", "guild_id": "8", "data": {"name": "new"}, "member": {"user": {"id": "1"}}});
        assert!(!super::command(&member, Timestamp::UNIX_EPOCH).unwrap().is_private);
    }
}
