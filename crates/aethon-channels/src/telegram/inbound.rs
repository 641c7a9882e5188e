//! Converts Telegram messages to arrivals: the author and the place of a message, whether it is for us, and its content.
//!
//! Bots, channels and anonymous administrators have no trustworthy sender, so they are ignored. A mention counts only
//! if it is an entity of the text, not if the text merely looks like one.

use jiff::Timestamp;

use super::content::{self, Thing, with_links};
use super::wire::{Callback, Entity, Files, Message, Others, Things, User};
use crate::talk::{Arrival, Author, NO_WORDS, Original, Press, RemoteFile, Sender, without_marks};

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
    // Where someone is on their way is no correction of where they were.
    let is_on_the_way = message.things.location.as_ref().is_some_and(|place| place["live_period"].is_u64());
    if message.things.edit_date.is_some() && is_on_the_way {
        return None;
    }
    let is_private = message.chat.kind == "private";
    let (text, entities) = message.words();
    let addressed = Addressed::read(text, entities, us);
    let is_reply_to_us = message
        .others
        .reply_to_message
        .as_ref()
        .and_then(|replied| replied.from.as_ref())
        .is_some_and(|replied| replied.id == us.id);
    let mut arrival = Arrival {
        is_private,
        is_addressed: is_private || addressed.is_named || is_reply_to_us,
        text: addressed.text,
        is_forwarded: is_passed_on(message, from),
        files: content::files(&message.files, false),
        ..Arrival::new(
            format!("{}:{}", message.chat.id, message.message_id),
            chat_of(message, chat),
            who(from, (!is_private).then(|| chat.to_string())),
            Timestamp::from_second(message.date).unwrap_or(Timestamp::UNIX_EPOCH),
        )
    };
    match content::thing(&message.things, &message.files) {
        Some(Thing::Described(sentence)) => {
            arrival.text = [arrival.text.as_str(), &sentence].join("\n").trim().to_owned();
        }
        Some(Thing::Unreadable(answer)) => arrival.wordless = Some(answer),
        None => {}
    }
    let has_content = !arrival.is_blank() || arrival.wordless.is_some();
    if let Some(original) = original(message, from, us).filter(|_| has_content || addressed.is_named) {
        arrival.answering(original);
    }
    if arrival.is_blank() && arrival.wordless.is_none() {
        arrival.wordless = addressed.is_named.then(|| NO_WORDS.to_owned());
        arrival.wordless.as_ref()?;
    }
    Some(arrival)
}

/// Returns whether a message was passed on and is someone else's.
fn is_passed_on(message: &Message, from: &User) -> bool {
    message
        .others
        .forward_origin
        .as_ref()
        .is_some_and(|origin| origin.sender_user.as_ref().is_none_or(|origin| origin.id != from.id))
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
        let mut cuts: Vec<(usize, usize)> = Vec::new();
        let mut is_first = false;
        for entity in entities {
            let end = entity.offset.saturating_add(entity.length);
            let Some(stretch) = units.get(entity.offset..end) else { continue };
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
            is_first |=
                units.get(..cut.0).is_some_and(|before| String::from_utf16_lossy(before).trim().is_empty());
            cuts.push(cut);
        }
        cuts.sort_unstable();
        // The name of a mention of us says nothing.
        let others =
            entities.iter().filter(|entity| entity.user.as_ref().is_none_or(|user| user.id != us.id));
        let links = with_links(text, others, &cuts);
        let text = if is_first { without_marks(&links) } else { links.trim() };
        Self { text: text.to_owned(), is_named: !cuts.is_empty() }
    }
}

/// Returns the answered message: the chosen part of it, or all of it, with its files.
fn original(message: &Message, from: &User, us: &Ourselves) -> Option<Original> {
    let Others { reply_to_message: replied, external_reply, quote, .. } = &message.others;
    let quote = quote.as_ref().map(|quote| with_links(&quote.text, &quote.entities, &[]));
    if let Some(external) = external_reply.as_ref().filter(|_| replied.is_none()) {
        let is_own = external.origin.as_ref().is_some_and(|origin| origin.is_by(from.id));
        let author = if is_own { Author::Sender } else { Author::Other };
        let (text, files) = whole(quote.unwrap_or_default(), &external.things, &external.files);
        return Some(Original { author, text, files });
    }
    // Every message in a topic formally answers the topic's first message.
    let is_topic =
        |replied: &Message| message.is_topic_message && Some(replied.message_id) == message.message_thread_id;
    let replied = replied.as_deref().filter(|replied| !is_topic(replied))?;
    let author = match replied.from.as_ref() {
        Some(author) if author.id == us.id => Author::Us,
        Some(author)
            if author.id == from.id && replied.sender_chat.is_none() && !is_passed_on(replied, from) =>
        {
            Author::Sender
        }
        _ => Author::Other,
    };
    let (text, files) =
        whole(quote.unwrap_or_else(|| content::words(replied)), &replied.things, &replied.files);
    Some(Original { author, text, files })
}

/// Returns words with the sentence for the thing beside them, and the files.
fn whole(words: String, things: &Things, files: &Files) -> (String, Vec<RemoteFile>) {
    let sentence = match content::thing(things, files) {
        Some(Thing::Described(sentence)) => sentence,
        _ => String::new(),
    };
    let text = [words, sentence].join("\n").trim().to_owned();
    (text, content::files(files, true))
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
        assert!(arrival.is_addressed && arrival.quoted.is_none() && arrival.answered.is_some());
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

    /// Compares the text for the model, and other people's words.
    fn check(message: Value, text: &str, quoted: Option<&str>) {
        let arrival = read(message.clone()).unwrap_or_else(|| panic!("nothing of {message}"));
        assert_eq!((arrival.text.as_str(), arrival.quoted.as_deref()), (text, quoted), "{message}");
        assert!(arrival.wordless.is_none(), "{message}");
    }

    #[test]
    fn things_are_sentences() {
        let place = json!({"latitude": 52.52, "longitude": 13.405});
        let live = json!({"latitude": 52.52, "longitude": 13.405, "live_period": 900, "heading": 3});
        let options = json!([{"text": "Pizza", "voter_count": 0}, {"text": "Soup", "voter_count": 0}]);
        let tasks = json!([{"id": 1, "text": "milk", "completion_date": 1}, {"id": 2, "text": "bread"}]);
        let animation = json!({"file_id": "a", "file_name": "cat.mp4", "mime_type": "video/mp4"});
        for (more, expected) in [
            (json!({"location": place}), "[Location: 52.52, 13.405]"),
            (json!({"location": live}), "[Live location: 52.52, 13.405]"),
            (
                json!({"location": place, "venue": {"location": place, "title": "Alexanderplatz", "address": "Berlin"}}),
                "[Location: 52.52, 13.405, Alexanderplatz, Berlin]",
            ),
            (
                json!({"contact": {"phone_number": "+4930", "first_name": "Ada", "last_name": "L.", "vcard": "BEGIN:VCARD\nEMAIL;TYPE=HOME:a@b.c\nEND:VCARD"}}),
                "[Contact: Ada L., +4930, a@b.c]",
            ),
            (json!({"contact": {"phone_number": "+4930", "first_name": "Ada"}}), "[Contact: Ada, +4930]"),
            (
                json!({"poll": {"id": "1", "question": "Lunch?", "options": options, "type": "regular"}}),
                "[Poll: Lunch? Pizza; Soup]",
            ),
            (
                json!({"sticker": {"file_id": "s", "emoji": "\u{1f600}", "set_name": "x", "type": "regular"}}),
                "[Sticker: \u{1f600}]",
            ),
            (json!({"sticker": {"file_id": "s", "set_name": "Cats"}}), "[Sticker: Cats]"),
            (json!({"dice": {"emoji": "\u{1f3b2}", "value": 4}}), "[Dice \u{1f3b2}: 4]"),
            (json!({"game": {"title": "Chess", "description": "Play", "photo": []}}), "[Game: Chess, Play]"),
            (
                json!({"checklist": {"title": "Shop", "tasks": tasks}}),
                "[Checklist: Shop; [x] milk; [ ] bread]",
            ),
            (
                json!({"giveaway": {"winner_count": 5, "prize_description": "a cake"}}),
                "[Giveaway: 5 winners, a cake]",
            ),
            (json!({"giveaway_winners": {"winner_count": 2}}), "[Winners of a giveaway: 2]"),
            (
                json!({"animation": animation, "document": animation, "caption": "haha"}),
                "haha\n[Animation: cat.mp4]",
            ),
            (
                json!({"invoice": {"title": "Tea", "description": "Green", "currency": "EUR", "total_amount": 500}}),
                "[Invoice: Tea, Green, 500 EUR in its smallest unit]",
            ),
        ] {
            check(more.clone(), expected, None);
            assert!(read(more).unwrap().files.is_empty());
        }
        let paid = json!({"paid_media": {"star_count": 1, "paid_media": [{"type": "photo", "photo": [{"file_id": "p", "file_size": 1}]}]}});
        assert_eq!(read(paid).unwrap().files[0].handle, "p");
        let preview = json!({"paid_media": {"star_count": 1, "paid_media": [{"type": "preview"}]}});
        for unreadable in [json!({"story": {"id": 1, "chat": {"id": 2}}}), preview] {
            assert!(read(unreadable).unwrap().wordless.is_some());
        }
        for service in [
            json!({"new_chat_members": [{"id": 3}]}),
            json!({"pinned_message": {"message_id": 1, "chat": {"id": 7}}}),
            json!({"new_chat_title": "x"}),
            json!({"location": live, "edit_date": 5}),
        ] {
            assert!(read(service.clone()).is_none(), "{service}");
        }
    }

    #[test]
    fn links_keep_their_addresses() {
        let link = |offset: usize, length: usize, url: &str| json!({"type": "text_link", "offset": offset, "length": length, "url": url});
        for (text, entities, expected) in [
            ("click here now", json!([link(6, 4, "https://a.b/c")]), "click here (https://a.b/c) now"),
            ("\u{1f600} here", json!([link(3, 4, "https://a.b")]), "\u{1f600} here (https://a.b)"),
            (
                "a b",
                json!([link(0, 1, "https://a.x"), link(2, 1, "https://b.x")]),
                "a (https://a.x) b (https://b.x)",
            ),
            ("https://a.b/", json!([link(0, 12, "https://a.b")]), "https://a.b/"),
            ("see https://a.b", json!([{"type": "url", "offset": 4, "length": 11}]), "see https://a.b"),
            (
                "bold",
                json!([{"type": "bold", "offset": 0, "length": 4}, link(0, 4, "https://a.b")]),
                "bold (https://a.b)",
            ),
            (
                "ask Eve",
                json!([{"type": "text_mention", "offset": 4, "length": 3, "user": {"id": 2, "username": "eve"}}]),
                "ask Eve (@eve)",
            ),
            ("ask @eve", json!([{"type": "mention", "offset": 4, "length": 4}]), "ask @eve"),
            ("wild", json!([link(900, 4, "https://a.b")]), "wild"),
        ] {
            check(json!({"text": text, "entities": entities}), expected, None);
            check(
                json!({"caption": text, "caption_entities": entities, "photo": [{"file_id": "p"}]}),
                expected,
                None,
            );
        }
        let forwarded = json!({"text": "click", "entities": [link(0, 5, "https://evil.x")], "forward_origin": {"type": "hidden_user"}});
        check(forwarded, "click (https://evil.x)", None);
        let named = json!({"text": "@aethon_bot see this", "chat": {"id": -7, "type": "group"}, "entities": [
            {"type": "mention", "offset": 0, "length": 11}, link(16, 4, "https://a.b"),
        ]});
        check(named, "see this (https://a.b)", None);
    }

    #[test]
    fn commands_work_behind_a_mention() {
        for (text, offset, length, kind) in [
            ("@aethon_bot /stop", 0, 11, "mention"),
            ("@aethon_bot: /stop", 0, 11, "mention"),
            ("@Aethon_Bot, /stop", 0, 11, "mention"),
            ("/stop@aethon_bot", 0, 16, "bot_command"),
            ("/stop @aethon_bot", 6, 11, "mention"),
        ] {
            let entities = json!([{"type": kind, "offset": offset, "length": length}]);
            let arrival =
                read(json!({"text": text, "entities": entities, "chat": {"id": -7, "type": "group"}}))
                    .unwrap();
            assert!(arrival.is_addressed && arrival.text == "/stop", "{text}: {}", arrival.text);
        }
        let bare = json!({"text": "@aethon_bot", "entities": [{"type": "mention", "offset": 0, "length": 11}], "chat": {"id": -7, "type": "group"}});
        assert!(read(bare).unwrap().wordless.is_some());
    }

    #[test]
    fn answered_message_comes_along() {
        let replied = |from: i64, more: Value| {
            let mut message = json!({"message_id": 4, "chat": {"id": 7}, "from": {"id": from}});
            for (key, value) in more.as_object().unwrap() {
                message[key] = value.clone();
            }
            message
        };
        let (ours, own, theirs) = (99, 1, 2);
        let answered = |message: Value| {
            let answered = read(message).unwrap().answered.unwrap();
            (answered.author == crate::talk::AnsweredAuthor::Assistant, answered.text)
        };
        let said = json!({"text": "a long report"});
        let message = |reply: Value| json!({"text": "explain this", "reply_to_message": reply});
        assert_eq!(answered(message(replied(ours, said.clone()))), (true, "a long report".into()));
        assert_eq!(answered(message(replied(own, said.clone()))), (false, "a long report".into()));
        let mut chosen = message(replied(ours, said.clone()));
        chosen["quote"] = json!({"text": "report", "position": 7, "is_manual": true});
        assert_eq!(answered(chosen.clone()), (true, "report".into()));
        chosen["reply_to_message"] = replied(theirs, said.clone());
        check(chosen, "explain this", Some("report"));
        let passed = json!({"text": "obey", "forward_origin": {"type": "user", "sender_user": {"id": 2}}});
        check(message(replied(own, passed)), "explain this", Some("obey"));
        let channel = json!({"text": "news", "sender_chat": {"id": -9, "type": "channel"}, "from": null});
        check(message(replied(theirs, channel)), "explain this", Some("news"));
        let link = json!({"text": "here", "entities": [{"type": "text_link", "offset": 0, "length": 4, "url": "https://a.b"}]});
        check(message(replied(theirs, link)), "explain this", Some("here (https://a.b)"));
        let place = json!({"location": {"latitude": 1.5, "longitude": 2.5}});
        check(message(replied(theirs, place)), "explain this", Some("[Location: 1.5, 2.5]"));
        let external = json!({"text": "explain this", "external_reply": {"origin": {"type": "channel"}}, "quote": {"text": "elsewhere"}});
        check(external, "explain this", Some("elsewhere"));
        // The topic itself is no message, but a post that is commented is one.
        let mut topic = message(replied(theirs, said.clone()));
        (topic["message_thread_id"], topic["is_topic_message"]) = (json!(4), json!(true));
        check(topic.clone(), "explain this", None);
        topic["is_topic_message"] = json!(false);
        check(topic, "explain this", Some("a long report"));
        let photo = json!({"photo": [{"file_id": "s", "file_size": 1}, {"file_id": "l", "file_size": 9}], "caption": "my cat"});
        for (from, is_quoted) in [(theirs, true), (own, false)] {
            let arrival =
                read(json!({"text": "what is it?", "reply_to_message": replied(from, photo.clone())}))
                    .unwrap();
            assert_eq!((arrival.files[0].handle.as_str(), arrival.files[0].is_quoted), ("l", is_quoted));
        }
        let mention = json!({
            "text": "@aethon_bot", "entities": [{"type": "mention", "offset": 0, "length": 11}],
            "chat": {"id": -7, "type": "group"}, "reply_to_message": replied(theirs, photo),
        });
        let asked = read(mention).unwrap();
        assert!(asked.is_addressed && asked.wordless.is_none() && asked.files.len() == 1);
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
    fn button_press_carries_its_group() {
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
