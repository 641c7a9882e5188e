//! The content of a Matrix event: words, files, and things such as places and polls.

use serde_json::Value;

use super::markup::{self, Markup};
use crate::talk::{RemoteFile, cannot_read, described, location, poll};

/// The types of events that people write.
const TYPES: [&str; 5] =
    ["m.room.message", "m.sticker", POLL, UNSTABLE_POLL, "org.matrix.msc3381.v2.poll.start"];
const POLL: &str = "m.poll.start";
const UNSTABLE_POLL: &str = "org.matrix.msc3381.poll.start";

/// The content of an event.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) markup: Markup,
    pub(super) files: Vec<RemoteFile>,
    /// The answer to its sender if it cannot be read.
    pub(super) wordless: Option<String>,
    /// The words of another message that an older client repeats.
    pub(super) repeated: Option<String>,
}

/// Returns whether events of this type can be messages.
pub(super) fn is_message(kind: &Value) -> bool {
    kind.as_str().is_some_and(|kind| TYPES.contains(&kind))
}

/// Returns the content of an event; `None` if no person wrote it for others.
pub(super) fn content(event: &Value, us: &str) -> Option<Content> {
    let content = &event["content"];
    let sentence =
        |text: String| Content { markup: Markup { text, ..Markup::default() }, ..Content::default() };
    match event["type"].as_str()? {
        "m.room.message" => message(content, us),
        "m.sticker" => Some(sentence(described("Sticker", [content["body"].as_str().unwrap_or_default()]))),
        _ => Some(sentence(asked(content)?)),
    }
}

fn message(content: &Value, us: &str) -> Option<Content> {
    let kind = content["msgtype"].as_str()?;
    let mut read = words(content, us);
    match kind {
        // What programs say, and what clients tell each other.
        "m.notice" | "m.key.verification.request" => return None,
        "m.emote" => read.markup.text = format!("[/me] {}", read.markup.text),
        "m.location" => read.markup.text = place(content),
        "m.image" | "m.file" | "m.audio" | "m.video" => add_file(&mut read, content),
        _ => {}
    }
    Some(read)
}

/// Returns the words of a message, by its HTML where that says more.
fn words(content: &Value, us: &str) -> Content {
    let mut body = content["body"].as_str().unwrap_or_default().to_owned();
    let is_reply = content["m.relates_to"]["m.in_reply_to"].is_object();
    let repeated = is_reply.then(|| fallback(&mut body)).flatten();
    let html = content["formatted_body"].as_str().filter(|_| content["format"] == "org.matrix.custom.html");
    let markup = match html.filter(|html| markup::says_more(html)) {
        Some(html) => markup::read(html, us),
        None => Markup { text: body.trim().to_owned(), ..Markup::default() },
    };
    Content { markup, repeated, ..Content::default() }
}

fn add_file(read: &mut Content, content: &Value) {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let body = text(&content["body"]).unwrap_or_default();
    let name = text(&content["filename"]).unwrap_or_else(|| body.clone());
    // A file name is not a message, but a caption is.
    if name == body {
        read.markup.text.clear();
    }
    let info = &content["info"];
    let mime = text(&info["mimetype"]).unwrap_or_else(|| "application/octet-stream".into());
    let Some(handle) = text(&content["url"]) else {
        // An encrypted file has its address elsewhere.
        read.wordless = Some(cannot_read("encrypted files"));
        return;
    };
    let size = info["size"].as_u64().unwrap_or(0);
    let seconds = info["duration"].as_u64().map(|milliseconds| milliseconds.div_ceil(1000));
    read.files.push(RemoteFile { handle, name, mime, size, seconds, is_quoted: false, is_earlier: false });
}

/// Describes a place.
fn place(content: &Value) -> String {
    let stable = &content["m.location"];
    let details = if stable.is_object() { stable } else { &content["org.matrix.msc3488.location"] };
    let address = content["geo_uri"].as_str().or(details["uri"].as_str()).unwrap_or_default();
    let coordinates = address.trim_start_matches("geo:").split(';').next().unwrap_or_default();
    let mut coordinates = coordinates.split(',').map(|number| number.trim().parse().ok());
    let coordinates = [coordinates.next().flatten(), coordinates.next().flatten()];
    let name = details["description"].as_str().or(content["body"].as_str()).unwrap_or_default();
    // Clients without a description repeat the coordinates.
    let name = if name.contains("geo:") { "" } else { name };
    location("Location", coordinates, &[name])
}

/// Describes a poll.
fn asked(content: &Value) -> Option<String> {
    let asked =
        [POLL, "m.poll", UNSTABLE_POLL].iter().map(|name| &content[*name]).find(|asked| asked.is_object())?;
    let answers = asked["answers"].as_array().into_iter().flatten().map(plain);
    let answers: Vec<String> = answers.collect();
    Some(poll(&plain(&asked["question"]), answers.iter().map(String::as_str)))
}

/// Returns an extensible text, in any of the forms that it has had.
fn plain(value: &Value) -> String {
    let direct = ["org.matrix.msc1767.text", "m.text", "body"].iter().find_map(|name| value[*name].as_str());
    let nested = || value["m.text"].as_array().into_iter().flatten().find_map(|one| one["body"].as_str());
    direct.or_else(nested).unwrap_or_default().to_owned()
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

/// Returns an event as it reads after its last edit.
pub(super) fn edited(mut event: Value) -> Value {
    let newest = event["unsigned"]["m.relations"]["m.replace"]["content"]["m.new_content"].clone();
    if newest.is_object() {
        event["content"] = newest;
    }
    event
}
