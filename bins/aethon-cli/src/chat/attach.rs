//! Files that a message names with `@PATH`, and pictures from the clipboard: they are sent with it.

use std::path::Path;

use aethon::core::upload::MAX_UPLOAD;
use anyhow::{Context, Result, bail};

use super::named_file::NamedFile;
use super::paste::Pastes;
use super::words::bare;
use crate::environment::expanded;

/// How many files can come with a message.
const MAX_FILES: usize = 10;

/// The files that a text names.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Named {
    /// The files that go with it.
    pub(super) files: Vec<NamedFile>,
    /// The words that name files but were pasted: another person may have written them, so they send nothing.
    pub(super) pasted: Vec<String>,
    /// The words that look like files that are not there.
    pub(super) missing: Vec<String>,
}

/// Reads the files that a text names. A word such as `@maria` that names no file is only text.
///
/// # Errors
///
/// A file cannot be read or attached: the message must not go without it.
pub(super) fn named_in(text: &str, pastes: &Pastes) -> Result<Named> {
    let mut named = Named { files: pastes.pictures_in(text), ..Named::default() };
    check_count(named.files.len())?;
    for word in text.split_whitespace() {
        let Some(name) = word.strip_prefix('@') else { continue };
        let Some(path) = existing(name) else {
            if looks_like_file(bare(name)) && !pastes.have_named(word) {
                named.missing.push(bare(word).to_owned());
            }
            continue;
        };
        if pastes.have_named(word) {
            let name = bare(word).to_owned();
            if !named.pasted.contains(&name) {
                named.pasted.push(name);
            }
            continue;
        }
        check_count(named.files.len() + 1)?;
        named.files.push(read(&path)?);
    }
    Ok(named)
}

/// Whether a name has a folder or an ending.
fn looks_like_file(name: &str) -> bool {
    name.contains('/')
        || name.rsplit_once('.').is_some_and(|(stem, ending)| !stem.is_empty() && !ending.is_empty())
}

fn check_count(files: usize) -> Result<()> {
    if files > MAX_FILES {
        bail!("at most {MAX_FILES} files can come with one message");
    }
    Ok(())
}

/// Returns the file of this name; punctuation that ends a sentence may follow it.
fn existing(word: &str) -> Option<std::path::PathBuf> {
    [word, bare(word)].into_iter().map(expanded).find(|path| path.is_file())
}

fn read(path: &Path) -> Result<NamedFile> {
    let shown = path.display();
    let size = path.metadata().with_context(|| format!("{shown} cannot be read"))?.len();
    if size > MAX_UPLOAD as u64 {
        bail!("{shown} is too large: a file may have {} MB", MAX_UPLOAD >> 20);
    }
    let bytes = std::fs::read(path).with_context(|| format!("{shown} cannot be read"))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let file = NamedFile { mime: media_type(&name), name, bytes };
    file.attachment()?;
    Ok(file)
}

/// Returns the media type for a file name. Documents are recognised by their content.
fn media_type(name: &str) -> &'static str {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
    match ending.as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "md" | "markdown" => "text/markdown",
        "csv" => "text/csv",
        "html" | "htm" => "text/html",
        "pdf" => "application/pdf",
        "docx" | "xlsx" | "pptx" | "odt" | "ods" | "odp" | "epub" | "rtf" | "doc" | "xls" | "ppt" => {
            "application/octet-stream"
        }
        _ => "text/plain",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_and_other_words_are_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        std::fs::write(path("notes.md"), "# hi").unwrap();
        std::fs::write(path("fake.png"), "no picture").unwrap();
        std::fs::write(path("blob.xyz"), [0, 159, 146, 150, 7]).unwrap();
        let notes = NamedFile { name: "notes.md".into(), mime: "text/markdown", bytes: b"# hi".to_vec() };
        let text = format!("what says @{}, and ask @maria about a@b", path("notes.md"));
        let pastes = Pastes::default();
        let named_in = |text: &str| named_in(text, &pastes);
        assert_eq!(named_in(&text).unwrap().files, [notes]);
        assert_eq!(named_in("no files @ all, @maria.").unwrap(), Named::default());
        let missing = named_in("see @nope.txt, and @no/such").unwrap();
        assert_eq!(
            (missing.files.len(), missing.missing),
            (0, vec!["@nope.txt".to_owned(), "@no/such".into()])
        );
        let refusal = |name: &str| named_in(&format!("see @{}", path(name))).unwrap_err().to_string();
        assert!(refusal("fake.png").contains("fake.png is not a picture"), "{}", refusal("fake.png"));
        assert!(refusal("blob.xyz").contains("blob.xyz is not text"), "{}", refusal("blob.xyz"));
        let many = format!("@{} ", path("notes.md")).repeat(11);
        assert!(named_in(&many).unwrap_err().to_string().contains("at most 10"));
    }

    #[test]
    fn a_picture_of_the_clipboard_goes_with_the_message_that_has_its_mark() {
        let pastes = Pastes::default();
        let (one, two) = (pastes.keep_picture(vec![1; 1234]), pastes.keep_picture(vec![2]));
        assert_eq!([&one, &two], ["[picture 1: 1,234 bytes]", "[picture 2: 1 bytes]"]);
        let named = named_in(&format!("what is {two}?"), &pastes).unwrap().files;
        assert_eq!(named, [NamedFile { name: "picture-2.png".into(), mime: "image/png", bytes: vec![2] }]);
        assert_eq!(named_in(&format!("{one} {two}"), &pastes).unwrap().files.len(), 2);
        assert_eq!(named_in("nothing", &pastes).unwrap().files.len(), 0);
    }

    #[test]
    fn a_pasted_name_sends_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        std::fs::write(path("secret"), "s").unwrap();
        std::fs::write(path("notes.md"), "n").unwrap();
        let (secret, notes) = (format!("@{}", path("secret")), format!("@{}", path("notes.md")));
        for mail in [format!("see {secret}, please"), format!("see {secret}\n").repeat(200)] {
            let pastes = Pastes::default();
            let line = format!("{} about {notes} and {secret}.", pastes.fold(mail));
            let named = named_in(&pastes.unfold(&line), &pastes).unwrap();
            assert_eq!(named.files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(), ["notes.md"]);
            assert_eq!(named.pasted, [secret.as_str()]);
        }
    }
}
