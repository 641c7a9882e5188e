//! Converts room events to arrivals.

use jiff::Timestamp;
use serde_json::Value;

use super::content::{Content, content};
use super::markup::Markup;
use super::platform::is_recipient;
use crate::talk::{Arrival, Author, NO_WORDS, Original, Sender, after_mention, after_name, without_marks};

/// Who we are.
#[derive(Debug, Clone)]
pub(super) struct Us {
    pub(super) id: String,
    /// Names under which people address us: the whole id, its first part, and display names.
    names: Vec<String>,
}

/// How many display names are remembered.
const MAX_NAMES: usize = 20;

impl Us {
    pub(super) fn new(id: &str) -> Self {
        let first = id.trim_start_matches('@').split(':').next().unwrap_or_default();
        Self { id: id.to_owned(), names: vec![id.to_owned(), first.to_owned()] }
    }

    /// Remembers a display name.
    pub(super) fn note_name(&mut self, name: &str) {
        let is_new = !name.trim().is_empty() && self.names.iter().all(|known| known != name);
        if is_new && self.names.len() < MAX_NAMES {
            self.names.push(name.trim().to_owned());
        }
    }

    fn names(&self) -> Vec<&str> {
        self.names.iter().map(String::as_str).collect()
    }
}

/// The references of a message.
#[derive(Debug, Default)]
pub(super) struct Surroundings {
    /// Whether only we and its sender read it.
    pub(super) is_private: bool,
    /// The message that it answers.
    pub(super) answered: Option<Value>,
    /// The message that began its thread.
    pub(super) root: Option<Value>,
}

/// Converts an event, if it is a message by someone else. Edits and bot messages are ignored.
pub(super) fn arrival(event: &Value, room: &str, us: &Us, surroundings: &Surroundings) -> Option<Arrival> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let sender = event["sender"].as_str().filter(|sender| *sender != us.id)?;
    let relation = &event["content"]["m.relates_to"];
    if relation["rel_type"] == "m.replace" {
        return None;
    }
    let is_private = surroundings.is_private;
    let Content { markup, files, wordless, repeated } = content(event, &us.id)?;
    let (words, is_called) = own_words(event, markup, us);
    let is_ours = |event: &Value| event["sender"] == us.id;
    let is_reply_to_us = surroundings.answered.as_ref().is_some_and(is_ours);
    let is_in_our_thread = surroundings.root.as_ref().is_some_and(|root| is_ours(root) || is_named(root, us));
    let is_addressed = is_private || is_called || is_reply_to_us || is_in_our_thread;
    let author = Sender { id: sender.to_owned(), name: None, group: (!is_private).then(|| room.to_owned()) };
    let millis = event["origin_server_ts"].as_i64()?;
    let mut arrival = Arrival {
        is_private,
        is_addressed,
        text: words,
        files,
        wordless,
        ..Arrival::new(
            text(&event["event_id"])?,
            chat(room, thread(event)),
            author,
            Timestamp::from_millisecond(millis).ok()?,
        )
    };
    match (&surroundings.answered, repeated) {
        (Some(answered), repeated) => {
            let original = original(answered, us, sender);
            if let Some(own) = repeated.filter(|repeated| !is_repetition(repeated, &original.text)) {
                let own: Vec<String> = own.lines().map(|line| format!("> {line}")).collect();
                arrival.text = format!("{}\n\n{}", own.join("\n"), arrival.text).trim().to_owned();
            }
            if !arrival.is_blank() || is_called {
                arrival.answering(original);
            }
        }
        (None, repeated) => arrival.quoted = repeated,
    }
    if arrival.is_blank() && arrival.wordless.is_none() {
        arrival.wordless = is_called.then(|| NO_WORDS.to_owned());
        arrival.wordless.as_ref()?;
    }
    Some(arrival)
}

/// Returns whether lines at the beginning of a message repeat the one that it answers. Newer clients repeat nothing,
/// and such lines are the sender's own then.
fn is_repetition(lines: &str, original: &str) -> bool {
    let is_marked = lines.trim_start_matches(['*', ' ']).starts_with("<@");
    is_marked || lines.lines().all(|line| original.contains(line.trim()))
}

/// Adds the beginning of the thread as the answered message.
pub(super) fn add_root(arrival: &mut Arrival, surroundings: &Surroundings, us: &Us) {
    if let Some(root) = &surroundings.root {
        arrival.answering(original(root, us, &arrival.sender.id));
    }
}

/// Returns the chat of a room or of a thread in it.
fn chat(room: &str, thread: Option<&str>) -> String {
    let whole = format!("{room}{}", thread.unwrap_or_default());
    if is_recipient(&whole) { whole } else { room.to_owned() }
}

/// Returns the words of a message without the mention of us, and whether there was one. A client's mention of us is
/// our display name.
fn own_words(event: &Value, markup: Markup, us: &Us) -> (String, bool) {
    let names = us.names();
    let is_named = is_named(event, us) || markup.is_naming_us;
    if markup.begins_with_us {
        return (without_marks(&markup.text).to_owned(), true);
    }
    let begun = match is_named {
        true => after_mention(&markup.text, &names),
        false => after_name(&markup.text, &names),
    };
    let is_called = is_named || begun.is_some();
    let words = begun.map(str::to_owned).unwrap_or(markup.text);
    (words.replace(&us.id, "").trim().to_owned(), is_called)
}

/// Returns whether a message mentions us by our id.
pub(super) fn is_named(event: &Value, us: &Us) -> bool {
    let content = &event["content"];
    let mentions = content["m.mentions"]["user_ids"].as_array();
    let is_listed = mentions.is_some_and(|mentions| mentions.iter().any(|user| *user == us.id));
    let words = content["body"].as_str().unwrap_or_default();
    // The answered text that older clients repeat does not count.
    let is_reply = content["m.relates_to"]["m.in_reply_to"].is_object();
    let mut own = words.lines().skip_while(|line| is_reply && line.starts_with('>'));
    is_listed || own.any(|line| contains_id(line, &us.id))
}

/// Returns whether a text contains an id that does not go on as another one.
fn contains_id(text: &str, id: &str) -> bool {
    let goes_on = |rest: &str| {
        let mut rest = rest.chars();
        match rest.next() {
            Some('.' | ':' | '-') => rest.next().is_some_and(char::is_alphanumeric),
            next => next.is_some_and(char::is_alphanumeric),
        }
    };
    text.match_indices(id).any(|(at, _)| !goes_on(&text[at + id.len()..]))
}

/// Returns what another message says to the sender of one that answers it.
fn original(event: &Value, us: &Us, sender: &str) -> Original {
    let author = match event["sender"].as_str() {
        Some(author) if author == us.id => Author::Us,
        Some(author) if author == sender => Author::Sender,
        _ => Author::Other,
    };
    // Our notices are words as well.
    let mut event = event.clone();
    if event["content"]["msgtype"] == "m.notice" {
        event["content"]["msgtype"] = "m.text".into();
    }
    let Content { markup, files, .. } = content(&event, "").unwrap_or_default();
    Original { author, text: markup.text, files }
}

/// Returns the message that began the thread of this one.
pub(super) fn thread(event: &Value) -> Option<&str> {
    let relation = &event["content"]["m.relates_to"];
    relation["event_id"].as_str().filter(|id| relation["rel_type"] == "m.thread" && id.starts_with('$'))
}

/// Returns the message that this one answers. Inside a thread, that is the previous message, given for clients
/// without threads.
pub(super) fn answered(event: &Value) -> Option<&str> {
    let relation = &event["content"]["m.relates_to"];
    let is_thread = relation["rel_type"] == "m.thread" && relation["is_falling_back"] == true;
    relation["m.in_reply_to"]["event_id"].as_str().filter(|_| !is_thread)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::talk::AnsweredAuthor;

    const US: &str = "@bot:hs";

    fn read(content: Value, is_private: bool) -> Option<Arrival> {
        let event = json!({
            "type": "m.room.message", "event_id": "$1", "sender": "@ada:hs", "origin_server_ts": 1_800_000_000_000i64,
            "content": content,
        });
        let surroundings = Surroundings { is_private, ..Surroundings::default() };
        arrival(&event, "!r:hs", &Us::new(US), &surroundings)
    }

    #[test]
    fn messages_of_people_arrive_and_nothing_else() {
        let hi = read(json!({"msgtype": "m.text", "body": "hi"}), true).unwrap();
        assert_eq!((hi.id.as_str(), hi.chat.as_str(), hi.sender.id.as_str()), ("$1", "!r:hs", "@ada:hs"));
        assert!(read(json!({"msgtype": "m.notice", "body": "hi"}), true).is_none());
        let edit = json!({"msgtype": "m.text", "body": "* hi", "m.relates_to": {"rel_type": "m.replace", "event_id": "$0"}});
        assert!(read(edit, true).is_none());
        let own = json!({"type": "m.room.message", "event_id": "$1", "sender": US, "origin_server_ts": 1, "content": {"msgtype": "m.text", "body": "x"}});
        assert!(arrival(&own, "!r:hs", &Us::new(US), &Surroundings::default()).is_none());
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

    fn event(kind: &str, content: Value) -> Value {
        json!({"type": kind, "event_id": "$1", "sender": "@ada:hs", "origin_server_ts": 1_800_000_000_000i64, "content": content})
    }

    #[test]
    fn event_content_becomes_words() {
        let message = |content: Value| event("m.room.message", content);
        let html = |body: &str, html: &str| {
            message(
                json!({"msgtype": "m.text", "body": body, "format": "org.matrix.custom.html", "formatted_body": html}),
            )
        };
        let stable = json!({"m.poll": {"question": {"m.text": [{"body": "Lunch?"}]}, "answers": [{"m.id": "1", "m.text": [{"body": "Pizza"}]}, {"m.id": "2", "m.text": [{"body": "Soup"}]}]}});
        let unstable = json!({"org.matrix.msc3381.poll.start": {"question": {"org.matrix.msc1767.text": "Lunch?"}, "answers": [{"id": "1", "org.matrix.msc1767.text": "Pizza"}]}});
        let described = json!({"msgtype": "m.location", "body": "here", "geo_uri": "geo:52.52,13.405;u=35", "org.matrix.msc3488.location": {"uri": "geo:52.52,13.405", "description": "Alexanderplatz"}});
        for (event, expected) in [
            (html("click here", "click <a href=\"https://a.b\">here</a>"), "click here (https://a.b)"),
            (html("c1c2", "<table><tr><td>c1</td><td>c2</td></tr></table>"), "| c1 | c2 |"),
            (html("l1l2", "<ul><li>l1</li><li>l2</li></ul>"), "- l1\n- l2"),
            (html("**b** plain", "<strong>b</strong> plain"), "**b** plain"),
            (html("@Eve hi", "<a href=\"https://matrix.to/#/@eve:hs\">Eve</a> hi"), "Eve hi"),
            (message(json!({"msgtype": "m.emote", "body": "laughs"})), "[/me] laughs"),
            (message(described), "[Location: 52.52, 13.405, Alexanderplatz]"),
            (
                message(
                    json!({"msgtype": "m.location", "body": "Location was shared at geo:1.5,2.5", "geo_uri": "geo:1.5,2.5"}),
                ),
                "[Location: 1.5, 2.5]",
            ),
            (event("m.sticker", json!({"body": "Wave", "url": "mxc://a/b", "info": {}})), "[Sticker: Wave]"),
            (event("m.poll.start", stable), "[Poll: Lunch? Pizza; Soup]"),
            (event("org.matrix.msc3381.poll.start", unstable), "[Poll: Lunch? Pizza]"),
            (
                message(
                    json!({"msgtype": "m.image", "body": "look", "filename": "a.png", "url": "mxc://a/b"}),
                ),
                "look",
            ),
            (message(json!({"msgtype": "org.example.new", "body": "hi"})), "hi"),
        ] {
            let surroundings = Surroundings { is_private: true, ..Surroundings::default() };
            let arrival = arrival(&event, "!r:hs", &Us::new(US), &surroundings);
            let arrival = arrival.unwrap_or_else(|| panic!("nothing of {event}"));
            assert!(arrival.text == expected && arrival.wordless.is_none(), "{event}: {}", arrival.text);
        }
        let encrypted = json!({"msgtype": "m.image", "body": "a.png", "file": {"url": "mxc://a/b"}});
        assert!(read(encrypted, true).unwrap().wordless.is_some());
        assert!(read(json!({"msgtype": "m.key.verification.request", "body": "x"}), true).is_none());
        assert!(read(json!({"msgtype": "m.text", "body": " "}), true).is_none());
        let bare = json!({"msgtype": "m.text", "body": "@bot:hs"});
        assert!(read(bare, false).unwrap().wordless.is_some());
    }

    #[test]
    fn answered_message_is_classified_by_its_author() {
        let content = json!({"msgtype": "m.text", "body": "explain", "m.relates_to": {"m.in_reply_to": {"event_id": "$0"}}});
        let answering = |sender: &str, said: Value, content: &Value| {
            let answered =
                json!({"type": "m.room.message", "event_id": "$0", "sender": sender, "content": said});
            let surroundings = Surroundings { answered: Some(answered), ..Surroundings::default() };
            arrival(&event("m.room.message", content.clone()), "!r:hs", &Us::new(US), &surroundings).unwrap()
        };
        let said = json!({"msgtype": "m.text", "body": "said"});
        let ours = answering(US, said.clone(), &content);
        assert!(ours.is_addressed && ours.answered.unwrap().author == AnsweredAuthor::Assistant);
        let own = answering("@ada:hs", said.clone(), &content);
        assert!(!own.is_addressed && own.answered.unwrap().author == AnsweredAuthor::Sender);
        let theirs = answering("@eve:hs", said.clone(), &content);
        assert_eq!((theirs.text.as_str(), theirs.quoted.as_deref()), ("explain", Some("said")));
        let picture = json!({"msgtype": "m.image", "body": "a.png", "url": "mxc://hs/1", "info": {"mimetype": "image/png"}});
        let about = answering("@eve:hs", picture, &content);
        assert!(about.files[0].is_quoted && about.files[0].handle == "mxc://hs/1");
        // Older clients repeat the answered text; newer ones do not, and lines with the mark are the sender's own.
        let reply = |body: &str| json!({"msgtype": "m.text", "body": body, "m.relates_to": {"m.in_reply_to": {"event_id": "$0"}}});
        for (body, text) in [
            ("> <@eve:hs> said\n\nexplain", "explain"),
            ("> said\n\nexplain", "explain"),
            ("> a poem\n\nNice.", "> a poem\n\nNice."),
        ] {
            let arrival = answering("@eve:hs", said.clone(), &reply(body));
            assert_eq!((arrival.text.as_str(), arrival.quoted.as_deref()), (text, Some("said")), "{body:?}");
        }
        let named = answering("@eve:hs", said, &reply("> <@eve:hs> ask @bot:hs\n\nno"));
        assert!(!named.is_addressed, "a mention in what is repeated is none");
    }
}
