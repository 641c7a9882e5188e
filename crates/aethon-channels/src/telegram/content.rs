//! The content of a Telegram message besides plain words: links behind words, files, and things such as places.

use serde_json::Value;

use super::wire::{Entity, File, Files, Message, Things};
use crate::talk::{RemoteFile, cannot_read, described, list, location, poll};

/// Something that is not words: a sentence for it, or the answer to someone who sends it.
pub(super) enum Thing {
    Described(String),
    Unreadable(String),
}

/// Returns a text with the addresses of its links, and the people behind names. Ranges count UTF-16 units; those in
/// `cuts` are left out.
pub(super) fn with_links<'e>(
    text: &str,
    entities: impl IntoIterator<Item = &'e Entity>,
    cuts: &[(usize, usize)],
) -> String {
    let units: Vec<u16> = text.encode_utf16().collect();
    let mut added: Vec<(usize, String)> =
        entities.into_iter().filter_map(|entity| Some((end(entity), target(&units, entity)?))).collect();
    added.sort_by_key(|(at, _)| *at);
    let mut added = added.into_iter().peekable();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    let stretch = |from: usize, to: usize| String::from_utf16_lossy(units.get(from..to).unwrap_or_default());
    for (from, to) in cuts.iter().copied().chain([(units.len(), units.len())]) {
        if from < at {
            continue;
        }
        while let Some((end, target)) = added.next_if(|(end, _)| *end <= from) {
            out.push_str(&stretch(at, end.max(at)));
            out.push_str(&target);
            at = end.max(at);
        }
        out.push_str(&stretch(at, from));
        at = to;
    }
    out
}

fn end(entity: &Entity) -> usize {
    entity.offset.saturating_add(entity.length)
}

/// Returns the addition behind an entity: the address that its words hide.
fn target(units: &[u16], entity: &Entity) -> Option<String> {
    let words = String::from_utf16_lossy(units.get(entity.offset..end(entity))?);
    match entity.kind.as_str() {
        "text_link" => {
            let address = entity.url.as_deref()?.trim();
            let is_shown = words.contains(address.trim_end_matches('/'));
            (!is_shown && !address.is_empty()).then(|| format!(" ({address})"))
        }
        "text_mention" => {
            let user = entity.user.as_ref()?;
            let name = user.username.as_ref().map_or_else(|| user.id.to_string(), |name| format!("@{name}"));
            Some(format!(" ({name})"))
        }
        _ => None,
    }
}

/// Returns the words of a message, and its links.
pub(super) fn words(message: &Message) -> String {
    let (text, entities) = message.words();
    with_links(text, entities, &[]).trim().to_owned()
}

/// Returns the files of a message.
pub(super) fn files(files: &Files, is_quoted: bool) -> Vec<RemoteFile> {
    let offer = |file: &File, name: &str, mime: &str| RemoteFile {
        handle: file.file_id.clone(),
        name: file.file_name.clone().unwrap_or_else(|| name.to_owned()),
        mime: file.mime_type.clone().unwrap_or_else(|| mime.to_owned()),
        size: file.file_size,
        seconds: file.duration,
        is_quoted,
        is_earlier: false,
    };
    let paid = files.paid_media.iter().flat_map(|paid| &paid.paid_media).map(|paid| &paid.photo);
    let photos = std::iter::once(&files.photo).chain(paid);
    let photos = photos.filter_map(|sizes| sizes.iter().max_by_key(|photo| photo.file_size));
    // An animation comes as a document, too, for programs that do not know animations.
    let document = files.document.as_ref().filter(|_| files.animation.is_none());
    let others = [
        (document, "document", "application/octet-stream"),
        (files.voice.as_ref(), "voice message", "audio/ogg"),
        (files.audio.as_ref(), "audio", "audio/mpeg"),
        (files.video.as_ref(), "video", "video/mp4"),
        (files.video_note.as_ref(), "video message", "video/mp4"),
    ];
    let others = others.into_iter().filter_map(|(file, name, mime)| Some(offer(file?, name, mime)));
    photos.map(|photo| offer(photo, "photo.jpg", "image/jpeg")).chain(others).collect()
}

/// Returns the part of a message that is neither words nor a file.
pub(super) fn thing(things: &Things, files: &Files) -> Option<Thing> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let place = |what: &str, place: &Value, named: &[&str]| {
        location(what, [place["latitude"].as_f64(), place["longitude"].as_f64()], named)
    };
    let sentence = if let Some(venue) = &things.venue {
        place("Location", &venue["location"], &[&text(&venue["title"]), &text(&venue["address"])])
    } else if let Some(spot) = &things.location {
        place(if spot["live_period"].is_u64() { "Live location" } else { "Location" }, spot, &[])
    } else if let Some(contact) = &things.contact {
        let name = [text(&contact["first_name"]), text(&contact["last_name"])].join(" ");
        described(
            "Contact",
            [name.trim(), &text(&contact["phone_number"]), &mail_of(&text(&contact["vcard"]))],
        )
    } else if let Some(asked) = &things.poll {
        let answers: Vec<String> = each(&asked["options"]).map(|option| text(&option["text"])).collect();
        poll(&text(&asked["question"]), answers.iter().map(String::as_str))
    } else if let Some(sticker) = &things.sticker {
        let emoji = text(&sticker["emoji"]);
        described("Sticker", [if emoji.is_empty() { text(&sticker["set_name"]) } else { emoji }.as_str()])
    } else if let Some(dice) = &things.dice {
        let value = dice["value"].as_i64().map(|value| value.to_string()).unwrap_or_default();
        described(format!("Dice {}", text(&dice["emoji"])).trim(), [value.as_str()])
    } else if let Some(game) = &things.game {
        described("Game", [text(&game["title"]).as_str(), &text(&game["description"])])
    } else if let Some(invoice) = &things.invoice {
        let amount = invoice["total_amount"].as_i64().map(|amount| amount.to_string()).unwrap_or_default();
        let price = format!("{amount} {} in its smallest unit", text(&invoice["currency"]));
        described("Invoice", [text(&invoice["title"]).as_str(), &text(&invoice["description"]), &price])
    } else if let Some(checklist) = &things.checklist {
        let mark = |task: &Value| if task["completion_date"].is_u64() { "[x]" } else { "[ ]" };
        let task = |task: &Value| format!("{} {}", mark(task), text(&task["text"]));
        let tasks: Vec<String> = each(&checklist["tasks"]).map(task).collect();
        list("Checklist", &text(&checklist["title"]), &tasks)
    } else if let Some(giveaway) = &things.giveaway {
        let count = giveaway["winner_count"].as_i64().unwrap_or(0);
        described("Giveaway", [format!("{count} winners").as_str(), &text(&giveaway["prize_description"])])
    } else if let Some(won) = &things.giveaway_winners {
        let count = won["winner_count"].as_i64().unwrap_or(0);
        described("Winners of a giveaway", [count.to_string().as_str(), &text(&won["prize_description"])])
    } else if let Some(animation) = &files.animation {
        described("Animation", [animation.file_name.clone().unwrap_or_default().as_str()])
    } else if things.story.is_some() {
        return Some(Thing::Unreadable(cannot_read("stories")));
    } else if files.paid_media.is_some() {
        return Some(Thing::Unreadable(cannot_read("paid media")));
    } else {
        return None;
    };
    Some(Thing::Described(sentence))
}

fn each(values: &Value) -> impl Iterator<Item = &Value> {
    values.as_array().into_iter().flatten()
}

/// Returns the first mail address of a contact's card.
fn mail_of(card: &str) -> String {
    let line = card.lines().find(|line| line.to_ascii_uppercase().starts_with("EMAIL"));
    line.and_then(|line| line.split_once(':'))
        .map(|(_, address)| address.trim().to_owned())
        .unwrap_or_default()
}
