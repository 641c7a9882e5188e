//! Which attachments may come with a chat message: pictures that models can see, text, and documents that are
//! turned into text.
//!
//! Everything else is refused here, where the person who attached it still sees the response.

use aethon_core::document::{DocumentKind, HEAD, is_readable_text};
use aethon_core::message::{Attachment, begins_like_picture};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::frames::Refusal;

/// How many files a message may have.
const MAX_FILES: usize = 32;
/// The longest file name, in characters.
const MAX_NAME: usize = 200;

/// Checks the files and normalises their names and types for storage.
pub(super) fn checked(files: Vec<Attachment>) -> Result<Vec<Attachment>, Refusal> {
    if files.len() > MAX_FILES {
        return Err(refused(format!("At most {MAX_FILES} files can come with one message.")));
    }
    files.into_iter().map(checked_file).collect()
}

fn checked_file(file: Attachment) -> Result<Attachment, Refusal> {
    let name = plain_name(&file.name);
    let mime = file.mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_image = matches!(mime.as_str(), "image/png" | "image/jpeg" | "image/gif" | "image/webp");
    let is_text = mime.strip_prefix("text/").is_some_and(|kind| !kind.is_empty());
    let unknown = || {
        refused(format!(
            "{name} cannot be attached: use PNG, JPEG, GIF or WebP pictures, text, or a document."
        ))
    };
    let may_be_document = !is_image && DocumentKind::called(&name, &mime).is_some();
    if !(is_image || is_text || may_be_document) {
        return Err(unknown());
    }
    let bytes = STANDARD.decode(&file.data).map_err(|_| {
        refused(format!("{name} did not arrive whole: its data is not standard base64. Attach it again."))
    })?;
    let is_document =
        may_be_document && DocumentKind::of(&bytes[..bytes.len().min(HEAD)], &name, &mime).is_some();
    if !(is_image || is_text || is_document) {
        return Err(unknown());
    }
    if bytes.is_empty() {
        return Err(refused(format!("{name} is empty.")));
    }
    if is_image && !begins_like_picture(&mime, &bytes) {
        return Err(refused(format!(
            "{name} is not a picture of the type {mime}. Attach the picture itself."
        )));
    }
    if is_text && !is_document && !is_readable_text(&bytes) {
        return Err(refused(format!("{name} is not text. Attach it as what it is.")));
    }
    Ok(Attachment::new(name, mime, file.data))
}

/// Returns the last component of a path, without control characters.
fn plain_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain: String = last.chars().filter(|character| !character.is_control()).take(MAX_NAME).collect();
    if plain.trim().is_empty() { "file".to_owned() } else { plain }
}

fn refused(message: String) -> Refusal {
    Refusal::new("bad_attachment", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, mime: &str, data: &str) -> Attachment {
        Attachment::new(name, mime, data)
    }

    #[test]
    fn pictures_and_text_are_taken() {
        for (mime, data) in [
            ("image/png", "iVBORw0KGgo="),
            ("IMAGE/JPEG", "/9j/4A=="),
            ("image/gif", "R0lGODlh"),
            ("image/webp", "UklGRgAAAABXRUJQ"),
            ("text/plain", "aGk="),
            ("text/markdown; charset=utf-8", "aGk="),
            ("text/plain", "R3L232U="),
            ("application/pdf", "JVBERi0xLjc="),
        ] {
            assert!(checked(vec![file("a", mime, data)]).is_ok(), "{mime}");
        }
        let kept = checked(vec![file("../../etc/pass\nwd", "Text/Plain; x", "aGk=")]).unwrap();
        assert_eq!((kept[0].name.as_str(), kept[0].mime.as_str()), ("passwd", "text/plain"));
    }

    #[test]
    fn everything_else_is_refused() {
        let check = |mime: &str, data: &str| {
            assert_eq!(
                checked(vec![file("a", mime, data)]).unwrap_err().code(),
                "bad_attachment",
                "{mime} {data}"
            );
        };
        check("image/svg+xml", "aGk=");
        check("application/pdf", "aGk=");
        check("text/", "aGk=");
        check("", "aGk=");
        check("image/png", "!!");
        check("image/png", "");
        check("image/png", "aGk=");
        check("image/jpeg", "iVBORw0KGgo=");
        check("text/plain", "/w==");
        assert!(checked((0..33).map(|_| file("a", "text/plain", "aGk=")).collect()).is_err());
    }
}
