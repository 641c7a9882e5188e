//! Converts the content of Meta's calls to arrivals and to failures of sent messages.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::content::{Content, content};
use crate::talk::{Arrival, Sender, described};

/// Extracts the useful parts of a call, one value each, oldest first: messages of people with their author, and
/// failures.
pub(super) fn parts(body: &Value, number: &str) -> Vec<Value> {
    let list = |value: &Value, name: &str| value[name].as_array().cloned().unwrap_or_default();
    let mut parts = Vec::new();
    for entry in list(body, "entry") {
        for change in list(&entry, "changes") {
            let value = &change["value"];
            if change["field"] != "messages" || value["metadata"]["phone_number_id"] != number {
                continue;
            }
            let contacts = list(value, "contacts");
            for message in list(value, "messages") {
                let wrote = |contact: &&Value| {
                    let is = |known: &Value, other: &Value| known.is_string() && known == other;
                    is(&contact["wa_id"], &message["from"])
                        || is(&contact["user_id"], &message["from_user_id"])
                };
                let contact = contacts.iter().find(wrote).or(match contacts.as_slice() {
                    [only] => Some(only),
                    _ => None,
                });
                let user = contact.map(|contact| contact["user_id"].clone()).unwrap_or_default();
                parts.push(json!({"message": message, "user_id": user}));
            }
            let failed = list(value, "statuses").into_iter().filter(|status| status["status"] == "failed");
            parts.extend(failed.map(|status| json!({"failed": status})));
        }
    }
    parts.sort_by_key(|part| second(&part["message"]).or_else(|| second(&part["failed"])));
    parts
}

fn second(value: &Value) -> Option<i64> {
    let at = &value["timestamp"];
    at.as_i64().or_else(|| at.as_str()?.parse().ok())
}

/// Returns whether this is a number without `+`, or an id in place of a hidden number, such as `US.1349120`.
pub(super) fn is_person(text: &str) -> bool {
    let is_number = (5..=20).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number || is_user_id(text)
}

/// Returns whether this is an id in place of a hidden number.
pub(super) fn is_user_id(text: &str) -> bool {
    let Some((country, id)) = text.split_once('.') else { return false };
    country.len() == 2
        && country.bytes().all(|byte| byte.is_ascii_uppercase())
        && (1..=150).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.')
}

/// Converts a part, if it is a private message by a person. `is_listed` returns whether the owner's list contains an
/// id.
pub(super) fn arrival(part: &Value, is_listed: impl Fn(&str) -> bool) -> Option<Arrival> {
    let message = &part["message"];
    let named = |value: &Value| value.as_str().filter(|text| is_person(text)).map(str::to_owned);
    let number = named(&message["from"]);
    let user = named(&message["from_user_id"]).or_else(|| named(&part["user_id"]));
    // Groups have members who may not write.
    if message["group_id"].is_string() {
        return None;
    }
    let chat = number.clone().or_else(|| user.clone())?;
    // The owner may have listed either id.
    let id = user.filter(|user| is_listed(user) || number.is_none()).unwrap_or_else(|| chat.clone());
    let Content { text, files, wordless } = content(message)?;
    let context = &message["context"];
    let product = &context["referred_product"]["product_retailer_id"];
    let product =
        product.as_str().map(|product| described("About the product", [product])).unwrap_or_default();
    let arrival = Arrival {
        text: [text, product].join("\n").trim().to_owned(),
        is_forwarded: context["forwarded"] == true || context["frequently_forwarded"] == true,
        files,
        wordless,
        ..Arrival::new(
            message["id"].as_str()?.to_owned(),
            chat,
            Sender { id, name: None, group: None },
            Timestamp::from_second(second(message)?).ok()?,
        )
    };
    let is_said = !arrival.is_blank() || arrival.wordless.is_some();
    Some(arrival).filter(|_| is_said)
}

/// Returns the id of the message that a part answers.
pub(super) fn answered(part: &Value) -> Option<&str> {
    part["message"]["context"]["id"].as_str()
}

/// Returns the failed message, and the reason.
pub(super) fn failure(part: &Value) -> Option<(String, String)> {
    let failed = &part["failed"];
    let error = &failed["errors"][0];
    let code = error["code"].as_i64().unwrap_or(0);
    let said =
        error["error_data"]["details"].as_str().or_else(|| error["title"].as_str()).unwrap_or("no reason");
    let said: String = said.chars().filter(|c| !c.is_control()).take(300).collect();
    let why = match code {
        131_047 => format!(
            "WhatsApp: {code} more than a day after the person's last message; they have to write first"
        ),
        _ => format!("WhatsApp: {code} {said}"),
    };
    Some((failed["id"].as_str()?.to_owned(), why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(value: Value) -> Value {
        let mut value = value;
        value["metadata"] = json!({"phone_number_id": "11"});
        json!({"entry": [{"changes": [{"field": "messages", "value": value}]}]})
    }

    fn read(message: Value) -> Option<Arrival> {
        let mut whole = json!({"from": "4915112345", "id": "wamid.1", "timestamp": "1800000000"});
        for (key, value) in message.as_object().unwrap() {
            whole[key] = value.clone();
        }
        arrival(&json!({"message": whole}), |_| false)
    }

    #[test]
    fn messages_and_failures_keep_their_order() {
        let value = json!({
            "contacts": [{"wa_id": "1555000", "user_id": "US.1"}],
            "messages": [{"id": "b", "timestamp": "20", "from": "1555000"}, {"id": "a", "timestamp": "10", "from": "1555000"}],
            "statuses": [{"id": "x", "status": "delivered"}, {"id": "y", "status": "failed", "timestamp": "15"}],
        });
        let parts = parts(&call(value.clone()), "11");
        let ids: Vec<&str> = parts
            .iter()
            .filter_map(|part| part["message"]["id"].as_str().or(part["failed"]["id"].as_str()))
            .collect();
        assert_eq!(ids, ["a", "y", "b"]);
        assert_eq!(parts[0]["user_id"], "US.1");
        assert!(super::parts(&call(value), "12").is_empty(), "another number's");
        assert!(super::parts(&json!([1, {"entry": 7}]), "11").is_empty());
    }

    #[test]
    fn messages_of_people_arrive() {
        let hi = read(json!({"type": "text", "text": {"body": "hi"}})).unwrap();
        assert_eq!(
            (hi.id.as_str(), hi.chat.as_str(), hi.sender.id.as_str(), hi.text.as_str()),
            ("wamid.1", "4915112345", "4915112345", "hi")
        );
        let image =
            json!({"type": "image", "image": {"id": "7", "mime_type": "image/jpeg", "caption": "look"}});
        let image = read(image).unwrap();
        assert_eq!((image.text.as_str(), image.files[0].handle.as_str()), ("look", "7"));
        let voice =
            read(json!({"type": "audio", "audio": {"id": "8", "mime_type": "audio/ogg; codecs=opus"}}))
                .unwrap();
        assert_eq!(voice.files[0].mime, "audio/ogg");
        let button = |id: &str| json!({"type": "interactive", "interactive": {"type": "button_reply", "button_reply": {"id": id, "title": "Approve"}}});
        assert_eq!(read(button("a:ABCD2345")).unwrap().text, "approve ABCD2345");
        assert_eq!(read(button("d:ABCD2345")).unwrap().text, "deny ABCD2345");
        assert_eq!(read(button("other")).unwrap().text, "Approve");
        let passed = json!({"type": "text", "text": {"body": "x"}, "context": {"forwarded": true}});
        assert!(read(passed).unwrap().is_forwarded);
        for nothing in [
            json!({"type": "reaction", "reaction": {"emoji": "x"}}),
            json!({"type": "text", "text": {"body": "x"}, "group_id": "g"}),
            json!({"type": "text", "text": {"body": "x"}, "from": "+49151"}),
            json!({}),
        ] {
            assert!(read(nothing.clone()).is_none(), "{nothing}");
        }
    }

    #[test]
    fn things_become_sentences_and_unreadable_ones_get_an_answer() {
        let place =
            json!({"latitude": 52.52, "longitude": 13.405, "name": "Alexanderplatz", "address": "Berlin"});
        let contact = json!([{
            "name": {"formatted_name": "Ada L.", "first_name": "Ada"}, "org": {"company": "Tea"},
            "phones": [{"phone": "+49 30", "type": "CELL"}], "emails": [{"email": "a@b.c"}],
        }, {"name": {"first_name": "Eve"}}]);
        let items = json!([
            {"product_retailer_id": "tea", "quantity": 2, "item_price": 5.5, "currency": "EUR"},
            {"product_retailer_id": "cake", "quantity": "1"},
        ]);
        let form = "{\"flow_token\":\"x\",\"day\":\"Monday\",\"guests\":3}";
        let interactive = |kind: &str, reply: Value| json!({"type": "interactive", "interactive": {"type": kind, kind: reply}});
        for (message, text) in [
            (
                json!({"type": "location", "location": place}),
                "[Location: 52.52, 13.405, Alexanderplatz, Berlin]",
            ),
            (
                json!({"type": "location", "location": {"latitude": "1.5", "longitude": "2"}}),
                "[Location: 1.5, 2]",
            ),
            (
                json!({"type": "contacts", "contacts": contact}),
                "[Contact: Ada L., Tea, +49 30, a@b.c]\n[Contact: Eve]",
            ),
            (
                json!({"type": "order", "order": {"text": "soon", "product_items": items}}),
                "soon\n[Order: 2 × tea at 5.5 EUR; 1 × cake]",
            ),
            (
                json!({"type": "sticker", "sticker": {"id": "1", "mime_type": "image/webp", "animated": true}}),
                "[Sticker]",
            ),
            (
                json!({"type": "sticker", "sticker": {"id": "1", "mime_type": "image/webp", "emoji": "\u{1f600}"}}),
                "[Sticker: \u{1f600}]",
            ),
            (interactive("button_reply", json!({"id": "x", "title": "Yes"})), "Yes"),
            (
                interactive("list_reply", json!({"id": "x", "title": "Tea", "description": "Green"})),
                "Tea\nGreen",
            ),
            (
                interactive("nfm_reply", json!({"name": "flow", "body": "Sent", "response_json": form})),
                "[Form: Sent; day: Monday; guests: 3]",
            ),
            (json!({"type": "button", "button": {"text": "Go", "payload": "p"}}), "Go"),
            (
                json!({"type": "text", "text": {"body": "this?"}, "context": {"id": "w0", "referred_product": {"product_retailer_id": "tea"}}}),
                "this?\n[About the product: tea]",
            ),
            (json!({"type": "text", "text": {"body": "see https://a.b"}}), "see https://a.b"),
        ] {
            let arrival = read(message.clone()).unwrap_or_else(|| panic!("nothing of {message}"));
            assert!(arrival.wordless.is_none() && arrival.text == text, "{message}: {}", arrival.text);
        }
        for message in [
            json!({"type": "unsupported", "errors": [{"code": 131_051, "title": "Message type unknown"}]}),
            json!({"type": "unknown", "errors": [{"code": 501}]}),
            json!({"type": "poll_creation", "poll_creation": {}}),
        ] {
            assert!(read(message.clone()).unwrap().wordless.is_some(), "{message}");
        }
        for message in [
            json!({"type": "reaction", "reaction": {"emoji": "x"}}),
            json!({"type": "system", "system": {"type": "user_changed_number"}}),
            json!({"type": "request_welcome"}),
            json!({"type": "text", "text": {"body": " "}}),
        ] {
            assert!(read(message.clone()).is_none(), "{message}");
        }
        let reply = json!({"message": {"context": {"from": "1", "id": "w0"}}});
        assert_eq!(answered(&reply), Some("w0"));
    }

    #[test]
    fn sender_with_a_hidden_number_is_known_by_user_id() {
        let message = json!({"id": "1", "timestamp": "1", "type": "text", "text": {"body": "x"}, "from_user_id": "US.13"});
        let hidden = arrival(&json!({"message": message}), |_| false).unwrap();
        assert_eq!((hidden.chat.as_str(), hidden.sender.id.as_str()), ("US.13", "US.13"));
        let mut both = message.clone();
        both["from"] = json!("1555000");
        let both = json!({"message": both});
        let listed = arrival(&both, |id| id == "US.13").unwrap();
        assert_eq!((listed.chat.as_str(), listed.sender.id.as_str()), ("1555000", "US.13"));
        assert_eq!(arrival(&both, |_| false).unwrap().sender.id, "1555000");
        for (text, expected) in [
            ("US.1", true),
            ("us.1", false),
            ("4915", false),
            ("49151", true),
            ("US.", false),
            ("+49151", false),
        ] {
            assert_eq!(is_person(text), expected, "{text}");
        }
    }
}
