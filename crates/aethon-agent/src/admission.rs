//! Which inbound messages are admitted, and how the user's message is built from them. It is built nowhere else.

use aethon_core::error::{Error, Result};
use aethon_core::ids::TurnId;
use aethon_core::message::{Attachment, Block, Inbound, Intent, Message, Role, begins_like_picture};
use aethon_core::session::{TurnLog, TurnPhase, TurnRecord};
use aethon_core::untrusted;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;

use crate::documents;

/// Picture formats that models accept.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Textual media types that do not begin with `text/`.
const TEXTS: [&str; 6] = [
    "application/json",
    "application/xml",
    "application/yaml",
    "application/x-yaml",
    "application/toml",
    "application/javascript",
];

/// The line above the words that a message quotes.
const ANSWERED: &str = "The message answers these words of somebody else:";

/// How many retries of retries are followed to find the original message.
const MAX_CHAIN: usize = 64;

/// Fills in a retry or an edit from the message that it repeats. It belongs to the person who wrote that message,
/// regardless of who requests it, and is untrusted if that message was: a person who edits a stranger's words starts
/// from them. Unless it names an effort, a model or a schema of its own, it keeps that of the message; an edit that names no files keeps
/// the message's files.
pub(crate) async fn inherit_from_original(log: &dyn TurnLog, inbound: &mut Inbound) -> Result<()> {
    let (turn, keeps_attachments) = match &mut inbound.intent {
        Intent::Say => return Ok(()),
        Intent::Retry { turn } => (turn.clone(), false),
        Intent::Edit { turn, keeps_attachments } => (turn.clone(), std::mem::take(keeps_attachments)),
    };
    let repeated = earlier(log, inbound, &turn).await?.inbound;
    // Text that the program or a model wrote for a stranger needs no markers when it is repeated, either.
    inbound.behalf.outside |= repeated.is_from_outside();
    inbound.untrusted |= repeated.untrusted || repeated.is_from_outside() && !repeated.behalf.outside;
    inbound.behalf.person = repeated.behalf.person;
    if inbound.wishes.effort.is_none() {
        inbound.wishes.effort = repeated.wishes.effort;
    }
    if inbound.wishes.model.is_none() {
        inbound.wishes.model = repeated.wishes.model;
    }
    if inbound.wishes.schema.is_none() {
        inbound.wishes.schema = repeated.wishes.schema;
    }
    if keeps_attachments {
        inbound.attachments = original_message(log, inbound, &turn).await?.attachments;
    }
    Ok(())
}

/// Marks the text files that came with a message, regardless of who attached them: passing a file on does not make
/// its text the sender's own. A picture has no room for markers.
pub(crate) fn mark_files(inbound: &mut Inbound) {
    let is_text = |file: &&mut Attachment| !file.own && !file.mime.trim_start().starts_with("image/");
    inbound.attachments.iter_mut().filter(is_text).for_each(|file| file.untrusted = true);
}

/// Returns the user's message for an inbound one, and the turn that it replaces.
pub(crate) async fn admit(
    log: &dyn TurnLog,
    inbound: &Inbound,
    now: Timestamp,
) -> Result<(Message, Option<TurnId>)> {
    let replaces = match &inbound.intent {
        Intent::Say => None,
        Intent::Retry { turn } | Intent::Edit { turn, .. } => {
            let record = earlier(log, inbound, turn).await?;
            if record.phase != TurnPhase::Done {
                return Err(Error::invalid("this turn has not ended yet; stop it first"));
            }
            Some(turn.clone())
        }
    };
    let content = match &inbound.intent {
        Intent::Retry { turn } => content(&original_message(log, inbound, turn).await?)?,
        Intent::Say | Intent::Edit { .. } => content(inbound)?,
    };
    Ok((Message::new(Role::User, content, now), replaces))
}

async fn earlier(log: &dyn TurnLog, inbound: &Inbound, turn: &TurnId) -> Result<TurnRecord> {
    let record = log.turn(turn).await?;
    record
        .filter(|record| record.inbound.session == inbound.session)
        .ok_or_else(|| Error::not_found("there is no such turn in this session"))
}

async fn original_message(log: &dyn TurnLog, inbound: &Inbound, turn: &TurnId) -> Result<Inbound> {
    let mut turn = turn.clone();
    for _ in 0..MAX_CHAIN {
        let record = earlier(log, inbound, &turn).await?;
        match record.inbound.intent {
            Intent::Retry { turn: before } => turn = before,
            Intent::Say | Intent::Edit { .. } => return Ok(record.inbound),
        }
    }
    Err(Error::invalid("this message was retried too often; send it as a new one"))
}

fn content(inbound: &Inbound) -> Result<Vec<Block>> {
    let mut content = Vec::with_capacity(1 + inbound.attachments.len());
    if !inbound.text.trim().is_empty() {
        let untrusted = inbound.untrusted.then(untrusted::boundary);
        content.push(Block::Text { text: inbound.text.clone(), untrusted });
    }
    for attachment in &inbound.attachments {
        let block = match block(attachment) {
            // Its text takes this place before the message is stored.
            Err(_) if documents::kind(attachment).is_some() => {
                let (name, mime) = (attachment.name.clone(), attachment.mime.clone());
                Block::File { name, mime, text: String::new(), untrusted: None }
            }
            block => block?,
        };
        if attachment.untrusted && matches!(block, Block::Image { .. }) {
            // A picture has no room for markers.
            let text = format!("The next picture comes from outside: {}", attachment.name);
            content.push(Block::Text { text, untrusted: Some(untrusted::boundary()) });
        }
        content.push(block);
    }
    if content.is_empty() {
        return Err(Error::invalid("the message is empty; send a text or a file"));
    }
    Ok(content)
}

/// Returns the block for a file, or an error if it cannot be shown.
pub(crate) fn block(attachment: &Attachment) -> Result<Block> {
    let mime = attachment.mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_image = IMAGES.contains(&mime.as_str());
    if !is_image && !mime.starts_with("text/") && !TEXTS.contains(&mime.as_str()) {
        return Err(refused(
            attachment,
            "is of a kind that cannot be read; send png, jpeg, gif, webp, text or a document",
        ));
    }
    let bytes = STANDARD.decode(&attachment.data).map_err(|_| refused(attachment, "is not valid base64"))?;
    if bytes.is_empty() {
        return Err(refused(attachment, "is empty"));
    }
    if !is_image {
        let text = String::from_utf8(bytes).map_err(|_| refused(attachment, "is not UTF-8 text"))?;
        if attachment.is_quoted() {
            let text = format!("{ANSWERED}\n{text}");
            return Ok(Block::Text { text, untrusted: Some(untrusted::boundary()) });
        }
        let untrusted = attachment.untrusted.then(untrusted::boundary);
        return Ok(Block::File { name: attachment.name.clone(), mime, text, untrusted });
    }
    if !begins_like_picture(&mime, &bytes) {
        return Err(refused(attachment, &format!("is not a picture of the type {mime}")));
    }
    Ok(Block::image(mime, attachment.data.clone()))
}

fn refused(attachment: &Attachment, why: &str) -> Error {
    let name: String = attachment.name.chars().filter(|c| !c.is_control()).take(100).collect();
    Error::invalid(format!("the file {name:?} {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attached_text_is_marked_unless_the_program_wrote_it() {
        let file = |mime: &str| Attachment::new("a", mime, "aGk=");
        for (file, expected) in [
            (file("text/plain"), true),
            (file("text/html"), true),
            (file("application/json"), true),
            (file("text/markdown").own(), false),
            (file("image/png"), false),
        ] {
            let session = aethon_core::ids::SessionId::of("webchat", "a").unwrap();
            let mut inbound = Inbound::say(session, "look").with_attachments(vec![file]);
            mark_files(&mut inbound);
            assert_eq!(inbound.attachments[0].untrusted, expected, "{:?}", inbound.attachments[0]);
        }
    }

    #[test]
    fn files_are_checked_before_they_are_accepted() {
        let check = |mime: &str, data: &str, expected: Option<&str>| {
            let attachment = Attachment::new("x", mime, data);
            let kind = block(&attachment).ok().map(|block| match block {
                Block::Image { .. } => "image",
                Block::File { .. } => "file",
                _ => "other",
            });
            assert_eq!(kind, expected, "{mime} {data}");
        };
        check("image/png", "iVBORw0KGgoAAAA=", Some("image"));
        check("IMAGE/PNG", "iVBORw0KGgoAAAA=", Some("image"));
        check("image/jpeg", "iVBORw0KGgoAAAA=", None);
        check("image/svg+xml", "PHN2Zz4=", None);
        check("text/plain; charset=utf-8", "aGk=", Some("file"));
        check("application/json", "e30=", Some("file"));
        check("text/plain", "/////w==", None);
        check("text/plain", "not base64!", None);
        check("text/plain", "", None);
        check("application/zip", "UEsDBA==", None);
    }
}
