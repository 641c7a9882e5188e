//! The content of a Discord message: words, files, stickers, polls, and the cards and components that programs make.

use serde_json::Value;

use crate::talk::{RemoteFile, described, poll};

/// How deep components are read.
const MAX_DEPTH: usize = 6;

/// Whether the cards and components of a message are part of its content. A person's message has cards only because
/// Discord previews its links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cards {
    Read,
    Skipped,
}

/// Returns the words of a message, with sentences for everything else in it. People appear under their names.
pub(super) fn words(said: &Value, cards: Cards) -> String {
    let mut parts = vec![named(said["content"].as_str().unwrap_or_default(), &said["mentions"])];
    for sticker in each(&said["sticker_items"]).chain(each(&said["stickers"])) {
        parts.push(described("Sticker", [text(&sticker["name"])]));
    }
    if said["poll"].is_object() {
        let answer = |answer: &Value| {
            let (emoji, words) = (&answer["poll_media"]["emoji"]["name"], &answer["poll_media"]["text"]);
            [text(emoji), text(words)].join(" ").trim().to_owned()
        };
        let answers: Vec<String> = each(&said["poll"]["answers"]).map(answer).collect();
        parts.push(poll(text(&said["poll"]["question"]["text"]), answers.iter().map(String::as_str)));
    }
    if cards == Cards::Read {
        parts.extend(each(&said["embeds"]).map(card));
        each(&said["components"]).for_each(|component| read_component(component, 0, &mut parts));
    }
    parts.retain(|part| !part.trim().is_empty());
    parts.join("\n").trim().to_owned()
}

/// Returns the files of a message.
pub(super) fn files(said: &Value) -> Vec<RemoteFile> {
    each(&said["attachments"]).filter_map(offer).collect()
}

/// Returns the messages that a message passes on.
pub(super) fn snapshots(message: &Value) -> impl Iterator<Item = &Value> {
    each(&message["message_snapshots"]).map(|snapshot| &snapshot["message"])
}

/// Returns a text in which people have their names in place of their ids, where they are known.
fn named(content: &str, mentions: &Value) -> String {
    let mut content = content.to_owned();
    for person in each(mentions) {
        let (Some(id), Some(name)) = (person["id"].as_str(), person["username"].as_str()) else { continue };
        for mark in ["<@", "<@!"] {
            content = content.replace(&format!("{mark}{id}>"), &format!("@{name}"));
        }
    }
    content
}

/// Returns the words of a card.
fn card(card: &Value) -> String {
    let title = match (text(&card["title"]), text(&card["url"])) {
        (title, "") => title.to_owned(),
        ("", address) => address.to_owned(),
        (title, address) => format!("{title} ({address})"),
    };
    let mut parts =
        vec![text(&card["author"]["name"]).to_owned(), title, text(&card["description"]).to_owned()];
    for field in each(&card["fields"]) {
        parts.push(format!("{}: {}", text(&field["name"]), text(&field["value"])));
    }
    parts.push(text(&card["footer"]["text"]).to_owned());
    parts.retain(|part| !part.trim().is_empty());
    parts.join("\n")
}

/// Adds the words of a component and of those in it.
fn read_component(component: &Value, depth: usize, parts: &mut Vec<String>) {
    if depth > MAX_DEPTH {
        return;
    }
    let (content, label, address) =
        (text(&component["content"]), text(&component["label"]), text(&component["url"]));
    match (content, label, address) {
        ("", "", _) => {}
        ("", label, "") => parts.push(format!("[{label}]")),
        ("", label, address) => parts.push(format!("{label} ({address})")),
        (content, ..) => parts.push(content.to_owned()),
    }
    let inner =
        each(&component["components"]).chain(Some(&component["accessory"]).filter(|inner| inner.is_object()));
    inner.for_each(|inner| read_component(inner, depth + 1, parts));
}

fn offer(file: &Value) -> Option<RemoteFile> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let mime = text(&file["content_type"]).unwrap_or_else(|| "application/octet-stream".into());
    Some(RemoteFile {
        handle: text(&file["url"])?,
        name: text(&file["filename"]).unwrap_or_else(|| "file".into()),
        // `text/plain; charset=utf-8`
        mime: mime.split(';').next().unwrap_or_default().trim().to_owned(),
        size: file["size"].as_u64().unwrap_or(0),
        seconds: file["duration_secs"].as_f64().map(|seconds| seconds.ceil() as u64),
        is_quoted: false,
        is_earlier: false,
    })
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn each(values: &Value) -> impl Iterator<Item = &Value> {
    values.as_array().into_iter().flatten()
}
