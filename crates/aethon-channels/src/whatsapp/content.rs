//! The content of a WhatsApp message: words, files, and things such as places.

use serde_json::Value;

use crate::talk::{RemoteFile, cannot_read, described, list, location};

/// The types that only signal something: no answer is due.
const SIGNALS: [&str; 7] =
    ["reaction", "system", "request_welcome", "call_permission_reply", "revoke", "edit", "ephemeral"];
/// The answer to a message that Meta does not hand out.
const UNSUPPORTED: &str = "WhatsApp does not show me messages of that kind, such as polls. Send me words, a picture or a text file, please.";

/// The content of a message.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) text: String,
    pub(super) files: Vec<RemoteFile>,
    /// The answer to its sender if it cannot be read.
    pub(super) wordless: Option<String>,
}

impl Content {
    fn words(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// Returns the content of a message; `None` for a mere signal.
pub(super) fn content(message: &Value) -> Option<Content> {
    let text = |value: &Value| value.as_str().unwrap_or_default().trim().to_owned();
    let kind = message["type"].as_str()?;
    let body = &message[kind];
    Some(match kind {
        "text" => Content::words(text(&body["body"])),
        "button" => Content::words(text(&body["text"])),
        "interactive" => return interactive(body),
        "image" | "document" | "audio" | "video" => {
            let files = vec![offer(kind, body)?];
            Content { text: text(&body["caption"]), files, wordless: None }
        }
        "sticker" => {
            // A model is shown no moving pictures.
            let is_animated = body["animated"] == true;
            let files = offer(kind, body).into_iter().filter(|_| !is_animated).collect();
            Content { text: described("Sticker", [text(&body["emoji"]).as_str()]), files, wordless: None }
        }
        "location" => {
            let named = [text(&body["name"]), text(&body["address"]), text(&body["url"])];
            let coordinates = ["latitude", "longitude"].map(|name| number(&body[name]));
            Content::words(location("Location", coordinates, &named.each_ref().map(String::as_str)))
        }
        "contacts" => {
            let contacts: Vec<String> = each(body).map(contact).collect();
            Content::words(contacts.join("\n"))
        }
        "order" => Content::words(order(body)),
        kind if SIGNALS.contains(&kind) => return None,
        "unsupported" | "unknown" => Content { wordless: Some(UNSUPPORTED.to_owned()), ..Content::default() },
        _ => Content { wordless: Some(cannot_read("messages of that kind")), ..Content::default() },
    })
}

/// Returns what someone chose or filled in.
fn interactive(body: &Value) -> Option<Content> {
    let text = |value: &Value| value.as_str().unwrap_or_default().trim().to_owned();
    let kind = body["type"].as_str()?;
    let reply = &body[kind];
    match kind {
        "nfm_reply" => {
            let answers: Value =
                serde_json::from_str(reply["response_json"].as_str().unwrap_or_default()).unwrap_or_default();
            let answers: Vec<String> = answers
                .as_object()
                .into_iter()
                .flatten()
                .filter(|(name, _)| *name != "flow_token")
                .map(|(name, value)| {
                    format!("{name}: {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
                })
                .collect();
            let heading =
                [text(&reply["body"]), text(&reply["name"])].into_iter().find(|words| !words.is_empty());
            Some(Content::words(list("Form", &heading.unwrap_or_default(), &answers)))
        }
        kind if SIGNALS.contains(&kind) => None,
        _ => {
            let title = [text(&reply["title"]), text(&reply["description"])].join("\n");
            let pressed = reply["id"].as_str().and_then(pressed);
            Some(Content::words(pressed.unwrap_or_else(|| title.trim().to_owned())))
        }
    }
}

/// Converts a press of one of our buttons to the equivalent text, so that it is handled the same way.
fn pressed(data: &str) -> Option<String> {
    let code = |code: &str, word: &str| {
        let is_code = !code.is_empty() && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_code.then(|| format!("{word} {code}"))
    };
    match data.split_once(':')? {
        ("a", rest) => code(rest, "approve"),
        ("d", rest) => code(rest, "deny"),
        _ => None,
    }
}

fn offer(kind: &str, body: &Value) -> Option<RemoteFile> {
    let text = |value: &Value| value.as_str().unwrap_or_default().trim().to_owned();
    let mime = text(&body["mime_type"]);
    let mime = mime.split(';').next().unwrap_or_default().trim().to_owned();
    let name = Some(text(&body["filename"])).filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| kind.to_owned());
    let handle = body["id"].as_str()?.to_owned();
    Some(RemoteFile { handle, name, mime, size: 0, seconds: None, is_quoted: false, is_earlier: false })
}

fn contact(contact: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = &contact["name"];
    let whole = [text(&name["first_name"]), text(&name["last_name"])].join(" ");
    let shown = [text(&name["formatted_name"]), whole.trim().to_owned()];
    let mut details = vec![shown.into_iter().find(|name| !name.is_empty()).unwrap_or_default()];
    details.push(text(&contact["org"]["company"]));
    details.extend(each(&contact["phones"]).map(|phone| text(&phone["phone"])));
    details.extend(each(&contact["emails"]).map(|mail| text(&mail["email"])));
    details.extend(each(&contact["urls"]).map(|address| text(&address["url"])));
    described("Contact", details.iter().map(String::as_str))
}

fn order(order: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let items: Vec<String> = each(&order["product_items"])
        .map(|item| {
            let count = number(&item["quantity"]).unwrap_or(1.0);
            let price =
                number(&item["item_price"]).map(|price| format!(" at {price} {}", text(&item["currency"])));
            format!(
                "{count} × {}{}",
                text(&item["product_retailer_id"]),
                price.unwrap_or_default().trim_end()
            )
        })
        .collect();
    let sentence = list("Order", "", &items);
    [text(&order["text"]), sentence].join("\n").trim().to_owned()
}

/// Reads a number, which Meta sometimes writes as text.
fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())
}

fn each(values: &Value) -> impl Iterator<Item = &Value> {
    values.as_array().into_iter().flatten()
}
