//! Which attachments may come with a chat message: pictures that models can see, text, and documents that are
//! turned into text.
//!
//! Everything else is refused here, where the person who attached it still sees the response.

use aethon_core::document::{DocumentKind, HEAD, is_readable_text};
use aethon_core::message::{Attachment, begins_like_picture};
use aethon_core::upload::{MAX_UPLOAD, UPLOAD_HOURS, Uploads};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::frames::Refusal;
use super::requests::Attached;

/// How many files a message may have.
const MAX_FILES: usize = 32;
/// The largest size of all files of a message, in bytes of base64: three of the largest uploads.
const MAX_BYTES: usize = MAX_UPLOAD / 3 * 4 * 3;
/// The longest file name, in characters.
const MAX_NAME: usize = 200;

/// Checks the files and normalises their names and types for storage. Uploaded files were checked when they came.
pub(super) async fn checked(uploads: &dyn Uploads, files: Vec<Attached>) -> Result<Vec<Attachment>, Refusal> {
    if files.len() > MAX_FILES {
        return Err(refused(format!("At most {MAX_FILES} files can come with one message.")));
    }
    let (mut all, mut bytes) = (Vec::with_capacity(files.len()), 0_usize);
    for file in files {
        let file = match file {
            Attached::File(file) => checked_file(file)?,
            Attached::Upload { upload } => uploaded(uploads, &upload).await?,
        };
        bytes = bytes.saturating_add(file.data.len());
        if bytes > MAX_BYTES {
            let most = MAX_BYTES / 4 * 3 / (1 << 20);
            return Err(refused(format!("The files of one message may have {most} MB together.")));
        }
        all.push(file);
    }
    Ok(all)
}

/// Returns the ids of the uploaded ones among these files.
pub(super) fn uploads(files: &[Attached]) -> Vec<String> {
    let id = |file: &Attached| match file {
        Attached::Upload { upload } => Some(upload.clone()),
        Attached::File(_) => None,
    };
    files.iter().filter_map(id).collect()
}

async fn uploaded(uploads: &dyn Uploads, id: &str) -> Result<Attachment, Refusal> {
    match uploads.file(id).await {
        Ok(Some(file)) => Ok(Attachment::new(file.name, file.mime, STANDARD.encode(file.bytes))),
        Ok(None) => Err(refused(format!(
            "An uploaded file is not there any more: it waits {UPLOAD_HOURS} hours for its message. Attach it again."
        ))),
        Err(error) => Err(refused(super::frames::sentence(&error.to_string()))),
    }
}

fn checked_file(file: Attachment) -> Result<Attachment, Refusal> {
    let name = plain_name(&file.name);
    let mime = file.mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let bytes = STANDARD.decode(&file.data).map_err(|_| {
        refused(format!("{name} did not arrive whole: its data is not standard base64. Attach it again."))
    })?;
    check(&name, &mime, &bytes).map_err(refused)?;
    Ok(Attachment::new(name, mime, file.data))
}

/// Makes an attachment of a file, for a terminal whose assistant runs in the same process.
///
/// # Errors
///
/// It cannot be attached; the sentence says why.
pub fn attachment(name: &str, mime: &str, bytes: &[u8]) -> Result<Attachment, String> {
    let name = plain_name(name);
    check(&name, mime, bytes)?;
    Ok(Attachment::new(name, mime, STANDARD.encode(bytes)))
}

/// Refuses what cannot be attached, in words for the person.
pub(crate) fn check(name: &str, mime: &str, bytes: &[u8]) -> Result<(), String> {
    let is_image = matches!(mime, "image/png" | "image/jpeg" | "image/gif" | "image/webp");
    let is_text = mime.strip_prefix("text/").is_some_and(|kind| !kind.is_empty());
    let is_document = !is_image
        && DocumentKind::called(name, mime).is_some()
        && DocumentKind::of(&bytes[..bytes.len().min(HEAD)], name, mime).is_some();
    if !(is_image || is_text || is_document) {
        return Err(format!(
            "{name} cannot be attached: use PNG, JPEG, GIF or WebP pictures, text, or a document."
        ));
    }
    if bytes.is_empty() {
        return Err(format!("{name} is empty."));
    }
    if is_image && !begins_like_picture(mime, bytes) {
        return Err(format!("{name} is not a picture of the type {mime}. Attach the picture itself."));
    }
    if is_text && !is_document && !is_readable_text(bytes) {
        return Err(format!("{name} is not text. Attach it as what it is."));
    }
    Ok(())
}

/// Returns the last component of a path, without control characters.
pub(crate) fn plain_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain: String = last.chars().filter(|character| !character.is_control()).take(MAX_NAME).collect();
    if plain.trim().is_empty() { "file".to_owned() } else { plain }
}

fn refused(message: String) -> Refusal {
    Refusal::new("bad_attachment", message)
}

#[cfg(test)]
mod tests {
    use aethon_core::upload::NoUploads;

    use super::*;

    fn file(name: &str, mime: &str, data: &str) -> Attachment {
        Attachment::new(name, mime, data)
    }

    async fn taken(files: Vec<Attachment>) -> Result<Vec<Attachment>, Refusal> {
        checked(&NoUploads, files.into_iter().map(Attached::File).collect()).await
    }

    #[tokio::test]
    async fn pictures_and_text_are_taken() {
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
            assert!(taken(vec![file("a", mime, data)]).await.is_ok(), "{mime}");
        }
        let kept = taken(vec![file("../../etc/pass\nwd", "Text/Plain; x", "aGk=")]).await.unwrap();
        assert_eq!((kept[0].name.as_str(), kept[0].mime.as_str()), ("passwd", "text/plain"));
    }

    #[tokio::test]
    async fn everything_else_is_refused() {
        let check = async |mime: &str, data: &str| {
            let refusal = taken(vec![file("a", mime, data)]).await.unwrap_err();
            assert_eq!(refusal.code(), "bad_attachment", "{mime} {data}");
        };
        check("image/svg+xml", "aGk=").await;
        check("application/pdf", "aGk=").await;
        check("text/", "aGk=").await;
        check("", "aGk=").await;
        check("image/png", "!!").await;
        check("image/png", "").await;
        check("image/png", "aGk=").await;
        check("image/jpeg", "iVBORw0KGgo=").await;
        check("text/plain", "/w==").await;
        assert!(taken((0..33).map(|_| file("a", "text/plain", "aGk=")).collect()).await.is_err());
    }
}
