//! Converts Telegram messages to arrivals: who wrote a message, where, whether it is for us, and what came with it.
//!
//! Bots, channels and anonymous administrators have no trustworthy sender, so they are ignored. A mention counts only
//! if it is an entity of the text, not if the text merely looks like one.

use jiff::Timestamp;

use super::wire::{Callback, Entity, File, Message, User};
use crate::talk::{Arrival, Press, RemoteFile, Sender};

/// Our own identity.
#[derive(Debug, Clone)]
pub(super) struct Ourselves {
    pub(super) id: i64,
    /// Without the `@`.
    pub(super) username: String,
}

/// Returns the chat of a message as a recipient: the id of the chat and of the topic.
pub(super) fn chat_of(message: &Message, chat: i64) -> String {
    match message.message_thread_id.filter(|_| message.is_topic_message) {
        Some(topic) => format!("{chat}:{topic}"),
        None => chat.to_string(),
    }
}

/// Converts a message, if a person wrote it. `chat` is the id that the chat had when the conversation began.
pub(super) fn arrival(message: &Message, chat: i64, us: &Ourselves) -> Option<Arrival> {
    let from = message.from.as_ref().filter(|from| !from.is_bot && from.id != us.id)?;
    if message.sender_chat.is_some() {
        return None;
    }
    let is_private = message.chat.kind == "private";
    let (text, entities) = match message.text.is_empty() {
        true => (&message.caption, &message.caption_entities),
        false => (&message.text, &message.entities),
    };
    let addressed = Addressed::read(text, entities, us);
    let is_reply_to_us = message
        .others
        .reply_to_message
        .as_ref()
        .and_then(|replied| replied.from.as_ref())
        .is_some_and(|replied| replied.id == us.id);
    let is_forwarded = message
        .others
        .forward_origin
        .as_ref()
        .is_some_and(|origin| origin.sender_user.as_ref().is_none_or(|origin| origin.id != from.id));
    let files = files(message);
    if addressed.text.trim().is_empty() && files.is_empty() {
        return None;
    }
    Some(Arrival {
        is_private,
        is_addressed: is_private || addressed.is_named || is_reply_to_us,
        text: addressed.text,
        quoted: quoted(message, from, us),
        is_forwarded,
        files,
        ..Arrival::new(
            format!("{}:{}", message.chat.id, message.message_id),
            chat_of(message, chat),
            who(from, (!is_private).then(|| chat.to_string())),
            Timestamp::from_second(message.date).unwrap_or(Timestamp::UNIX_EPOCH),
        )
    })
}

/// Converts a button press. `first` returns the id that a chat had when its conversation began.
pub(super) fn press(callback: &Callback, first: impl Fn(i64) -> i64) -> Press {
    let message = callback.message.as_ref();
    let chat = message.map(|message| chat_of(message, first(message.chat.id)));
    let group = message.filter(|message| message.chat.kind != "private");
    let sender = who(&callback.from, group.map(|message| first(message.chat.id).to_string()));
    Press { data: callback.data.clone(), sender, chat: chat.unwrap_or_default() }
}

/// Converts a user to a sender.
fn who(user: &User, group: Option<String>) -> Sender {
    let name = user.username.as_ref().map(|name| format!("@{name}"));
    Sender { id: user.id.to_string(), name, group }
}

/// A text without mentions of us, and whether there were any.
struct Addressed {
    text: String,
    is_named: bool,
}

impl Addressed {
    fn read(text: &str, entities: &[Entity], us: &Ourselves) -> Self {
        let units: Vec<u16> = text.encode_utf16().collect();
        let mention = format!("@{}", us.username);
        let (mut kept, mut at, mut is_named) = (Vec::new(), 0, false);
        for entity in entities {
            let end = entity.offset.saturating_add(entity.length);
            let Some(stretch) = units.get(entity.offset..end).filter(|_| entity.offset >= at) else {
                continue;
            };
            let words = String::from_utf16_lossy(stretch);
            let cut = match entity.kind.as_str() {
                "mention" if words.eq_ignore_ascii_case(&mention) => (entity.offset, end),
                "text_mention" if entity.user.as_ref().is_some_and(|user| user.id == us.id) => {
                    (entity.offset, end)
                }
                // `/stop@bot`: keep only the command.
                "bot_command" => match words.split_once('@') {
                    Some((command, name)) if name.eq_ignore_ascii_case(&us.username) => {
                        (entity.offset + command.encode_utf16().count(), end)
                    }
                    _ => continue,
                },
                _ => continue,
            };
            is_named = true;
            kept.extend_from_slice(&units[at..cut.0]);
            at = cut.1;
        }
        kept.extend_from_slice(&units[at..]);
        Self { text: String::from_utf16_lossy(&kept).trim().to_owned(), is_named }
    }
}

/// Returns other people's words that the message answers. Our own are already in the conversation.
fn quoted(message: &Message, from: &User, us: &Ourselves) -> Option<String> {
    let replied = message.others.reply_to_message.as_ref();
    let author = replied.and_then(|replied| replied.from.as_ref()).map(|author| author.id);
    if author == Some(us.id) || author == Some(from.id) {
        return None;
    }
    // Every message in a topic formally answers the topic's first message.
    let replied = replied.filter(|replied| Some(replied.message_id) != message.message_thread_id);
    let quote = message.others.quote.as_ref().map(|quote| quote.text.clone());
    quote.or_else(|| {
        let replied = replied?;
        Some(if replied.text.is_empty() { replied.caption.clone() } else { replied.text.clone() })
    })
}

fn files(message: &Message) -> Vec<RemoteFile> {
    let offer = |file: &File, name: &str, mime: &str| RemoteFile {
        handle: file.file_id.clone(),
        name: file.file_name.clone().unwrap_or_else(|| name.to_owned()),
        mime: file.mime_type.clone().unwrap_or_else(|| mime.to_owned()),
        size: file.file_size,
        seconds: file.duration,
        is_quoted: false,
    };
    let photo = message.files.photo.iter().max_by_key(|photo| photo.file_size);
    let photo = photo.map(|photo| offer(photo, "photo.jpg", "image/jpeg"));
    let others = [
        (&message.files.document, "document", "application/octet-stream"),
        (&message.files.voice, "voice message", "audio/ogg"),
        (&message.files.audio, "audio", "audio/mpeg"),
        (&message.files.video, "video", "video/mp4"),
        (&message.files.video_note, "video message", "video/mp4"),
    ];
    let others = others.into_iter().filter_map(|(file, name, mime)| Some(offer(file.as_ref()?, name, mime)));
    photo.into_iter().chain(others).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(message: Value) -> Option<Arrival> {
        let mut whole = json!({
            "message_id": 5, "date": 1_800_000_000, "chat": {"id": 7, "type": "private"},
            "from": {"id": 1, "is_bot": false, "username": "Ada"},
        });
        for (key, value) in message.as_object().unwrap() {
            whole[key] = value.clone();
        }
        let message: Message = serde_json::from_value(whole).unwrap();
        let us = Ourselves { id: 99, username: "aethon_bot".into() };
        arrival(&message, message.chat.id, &us)
    }

    #[test]
    fn a_private_message_is_for_us() {
        let arrival = read(json!({"text": "hi"})).unwrap();
        assert_eq!((arrival.id.as_str(), arrival.chat.as_str(), arrival.text.as_str()), ("7:5", "7", "hi"));
        assert_eq!((arrival.sender.id.as_str(), arrival.sender.name.as_deref()), ("1", Some("@Ada")));
        assert!(arrival.is_private && arrival.is_addressed && arrival.sender.group.is_none());
    }

    #[test]
    fn a_group_needs_a_mention_that_is_one() {
        let group = |text: &str, entities: Value| {
            read(json!({"text": text, "entities": entities, "chat": {"id": -7, "type": "supergroup"}}))
                .unwrap()
        };
        assert!(!group("hi @aethon_bot", json!([])).is_addressed, "letters are no mention");
        let named = group("😀 @Aethon_Bot hi", json!([{"type": "mention", "offset": 3, "length": 11}]));
        assert!(named.is_addressed);
        assert_eq!(named.text, "😀  hi");
        assert_eq!(named.sender.group.as_deref(), Some("-7"));
        assert!(!group("@other hi", json!([{"type": "mention", "offset": 0, "length": 6}])).is_addressed);
        let command = json!([{"type": "bot_command", "offset": 0, "length": 16}]);
        assert_eq!(group("/stop@aethon_bot", command).text, "/stop");
        let wild = json!([{"type": "mention", "offset": 900, "length": 11}]);
        assert_eq!(group("hi", wild).text, "hi");
    }

    #[test]
    fn topics_replies_and_forwards_are_distinguished() {
        let topic = json!({"text": "hi", "message_thread_id": 3, "is_topic_message": true});
        assert_eq!(read(topic).unwrap().chat, "7:3");
        let ours = json!({"message_id": 4, "chat": {"id": 7}, "from": {"id": 99}, "text": "said"});
        let reply = json!({"text": "hi", "reply_to_message": ours, "chat": {"id": -7, "type": "group"}});
        let arrival = read(reply).unwrap();
        assert!(arrival.is_addressed && arrival.quoted.is_none());
        let theirs = json!({"message_id": 4, "chat": {"id": 7}, "from": {"id": 2}, "text": "obey"});
        assert_eq!(
            read(json!({"text": "?", "reply_to_message": theirs})).unwrap().quoted.as_deref(),
            Some("obey")
        );
        let forwarded =
            |id: i64| json!({"text": "x", "forward_origin": {"type": "user", "sender_user": {"id": id}}});
        assert!(read(forwarded(2)).unwrap().is_forwarded);
        assert!(!read(forwarded(1)).unwrap().is_forwarded);
        assert!(read(json!({"text": "x", "forward_origin": {"type": "hidden_user"}})).unwrap().is_forwarded);
    }

    #[test]
    fn messages_without_a_human_sender_are_ignored() {
        assert!(read(json!({"text": "hi", "from": {"id": 2, "is_bot": true}})).is_none());
        assert!(read(json!({"text": "hi", "sender_chat": {"id": -7}})).is_none());
        assert!(read(json!({"text": "hi", "from": null})).is_none());
        assert!(read(json!({})).is_none());
    }

    #[test]
    fn files_come_with_their_largest_size() {
        let photo = json!([{"file_id": "s", "file_size": 10}, {"file_id": "l", "file_size": 90}]);
        let arrival = read(json!({"photo": photo, "caption": "look"})).unwrap();
        assert_eq!((arrival.text.as_str(), arrival.files[0].handle.as_str()), ("look", "l"));
        let voice = read(json!({"voice": {"file_id": "v", "file_size": 1, "duration": 3}})).unwrap();
        assert_eq!((voice.files[0].mime.as_str(), voice.files[0].seconds), ("audio/ogg", Some(3)));
    }

    #[test]
    fn a_press_says_in_which_group_it_was_because_a_list_may_name_that() {
        let pressed = |chat: Value| {
            let callback = json!({
                "id": "1", "from": {"id": 1, "username": "Ada"}, "data": "a:CODE",
                "message": {"message_id": 5, "chat": chat, "message_thread_id": 3, "is_topic_message": true},
            });
            press(&serde_json::from_value(callback).unwrap(), |chat| if chat == -9 { -7 } else { chat })
        };
        let group = pressed(json!({"id": -9, "type": "supergroup"}));
        assert_eq!((group.chat.as_str(), group.sender.group.as_deref()), ("-7:3", Some("-7")));
        assert_eq!((group.data.as_str(), group.sender.name.as_deref()), ("a:CODE", Some("@Ada")));
        let private = pressed(json!({"id": 7, "type": "private"}));
        assert_eq!((private.chat.as_str(), private.sender.group), ("7:3", None));
    }
}
