//! What the owner knows about the pages that shape the assistant.
//!
//! A page instructs the model, and a misguided command can write one. So a page whose text differs from when the owner
//! was last told is reported once, by name, in the owner's next conversation. The texts are kept in a small file in the
//! home directory, so that changes made while the program was off count as well.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

/// The text of each page, by name; absent pages are left out.
pub(super) type Texts = BTreeMap<String, String>;

/// The file that remembers the texts.
#[derive(Debug)]
pub(super) struct SeenPages {
    path: PathBuf,
    known: Option<Texts>,
}

impl SeenPages {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, known: None }
    }

    /// Returns the names of the pages that differ from what the owner knows, which from now on the owner counts as
    /// knowing. The first time there is nothing to compare with.
    pub(super) fn news(&mut self, now: &Texts) -> Vec<String> {
        if self.known.as_ref() == Some(now) {
            return Vec::new();
        }
        // Another process with the same home may have reported it meanwhile.
        let known = self.read();
        if known.as_ref() != Some(now)
            && let Err(error) = self.write(now)
        {
            tracing::warn!(path = %self.path.display(), %error, "which pages were told cannot be remembered");
        }
        self.known = Some(now.clone());
        let Some(known) = known else { return Vec::new() };
        let names: std::collections::BTreeSet<&String> = known.keys().chain(now.keys()).collect();
        names.into_iter().filter(|name| known.get(*name) != now.get(*name)).cloned().collect()
    }

    fn read(&self) -> Option<Texts> {
        match fs::read_to_string(&self.path) {
            Ok(text) => serde_json::from_str(&text).ok(),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => {
                tracing::warn!(path = %self.path.display(), %error, "which pages were told cannot be read");
                None
            }
        }
    }

    fn write(&self, texts: &Texts) -> std::io::Result<()> {
        let new = self.path.with_extension(format!("new-{}", std::process::id()));
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(serde_json::to_string(texts)?.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, &self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_told_once_also_across_starts() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("pages.json");
        let texts = |pages: &[(&str, &str)]| -> Texts {
            pages.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
        };
        let mut seen = SeenPages::new(path.clone());
        assert!(seen.news(&texts(&[("SOUL.md", "a")])).is_empty(), "the first time is no change");
        assert!(seen.news(&texts(&[("SOUL.md", "a")])).is_empty());
        assert_eq!(seen.news(&texts(&[("SOUL.md", "b"), ("TOOLS.md", "t")])), ["SOUL.md", "TOOLS.md"]);
        assert!(seen.news(&texts(&[("SOUL.md", "b"), ("TOOLS.md", "t")])).is_empty());
        let mut after_a_restart = SeenPages::new(path);
        assert_eq!(after_a_restart.news(&texts(&[("TOOLS.md", "t")])), ["SOUL.md"]);
        assert!(seen.news(&texts(&[("TOOLS.md", "t")])).is_empty(), "another process has told it");
    }
}
