//! Saved prompts as files: `NAME.md` in a folder of the workspace, which a person may edit by hand as well.
//!
//! The folder is read on every request, so no change by hand is missed. Names that are not those of prompts do not count,
//! and neither do links and files that are too large.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use aethon_core::error::{Error, Result};
use aethon_core::prompts::{PromptName, SavedPrompt, SavedPrompts};
use aethon_core::version::Expected;
use aethon_files::{BoundedReads, Directory, Refusal, Subdirectory};
use async_trait::async_trait;

const ENDING: &str = ".md";

/// The most prompts that count.
const MAX_PROMPTS: usize = 500;

/// The most entries of the folder that are looked at.
const MAX_ENTRIES: usize = 10_000;

/// The longest prompt, in bytes.
const MAX_BYTES: usize = 64 * 1024;

/// A folder of prompts, which need not exist. Cheap to clone; clones share the folder.
#[derive(Clone)]
pub struct PromptFolder(Arc<Inner>);

struct Inner {
    folder: Subdirectory,
    reads: BoundedReads,
    /// Held while a prompt is compared and written.
    writing: Mutex<()>,
}

impl PromptFolder {
    /// The prompts of this folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self(Arc::new(Inner {
            folder: Subdirectory::new(folder.into()),
            reads: BoundedReads::new("the prompts"),
            writing: Mutex::default(),
        }))
    }

    async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let inner = self.0.clone();
        let done = self.0.reads.run(move || work(&inner)).await;
        done.unwrap_or_else(|| {
            Err(Error::unavailable(
                "the prompts cannot be read now: the file system of the workspace does not answer",
            ))
        })
    }
}

#[async_trait]
impl SavedPrompts for PromptFolder {
    async fn prompts(&self) -> Result<Vec<SavedPrompt>> {
        self.run_blocking(|inner| {
            let Some(directory) = inner.folder.open().map_err(|refusal| inner.unusable(refusal))? else {
                return Ok(Vec::new());
            };
            let names = directory
                .names(ENDING, MAX_PROMPTS, MAX_ENTRIES)
                .map_err(|error| inner.unusable(Refusal::Failed(error)))?;
            let prompt = |name: &OsStr| read(&directory, &name_of(name)?).ok().flatten();
            Ok(names.iter().filter_map(|name| prompt(name)).collect())
        })
        .await
    }

    async fn prompt(&self, name: &PromptName) -> Result<Option<SavedPrompt>> {
        let name = name.clone();
        self.run_blocking(move |inner| match inner.folder.open() {
            Ok(Some(directory)) => read(&directory, &name).map_err(|refusal| inner.unusable(refusal)),
            Ok(None) => Ok(None),
            Err(refusal) => Err(inner.unusable(refusal)),
        })
        .await
    }

    async fn save(&self, name: &PromptName, content: &str, expected: Expected) -> Result<SavedPrompt> {
        let prompt = SavedPrompt { name: name.clone(), content: content.trim().to_owned() };
        if prompt.content.is_empty() {
            return Err(Error::invalid("must not be empty"));
        }
        if prompt.content.len() > MAX_BYTES {
            return Err(Error::invalid(format!("must be at most {} KiB", MAX_BYTES / 1024)));
        }
        self.run_blocking(move |inner| {
            let _writing = inner.writing.lock().unwrap_or_else(PoisonError::into_inner);
            let directory = inner.folder.open_or_new().map_err(|refusal| inner.unusable(refusal))?;
            let before = read(&directory, &prompt.name).map_err(|refusal| inner.unusable(refusal))?;
            expected.check(|| before.as_ref().map(SavedPrompt::version))?;
            let count = directory.names(ENDING, MAX_PROMPTS, MAX_ENTRIES).map_or(0, |names| names.len());
            if before.is_none() && count >= MAX_PROMPTS {
                return Err(Error::invalid(format!(
                    "is one too many: there are {MAX_PROMPTS} prompts already"
                )));
            }
            directory
                .write(file_name(&prompt.name), prompt.content.as_bytes())
                .map_err(|error| Error::internal("the prompt cannot be written").because(error))?;
            Ok(prompt)
        })
        .await
    }

    async fn remove(&self, name: &PromptName, expected: Expected) -> Result<bool> {
        let name = name.clone();
        self.run_blocking(move |inner| {
            let _writing = inner.writing.lock().unwrap_or_else(PoisonError::into_inner);
            let directory = inner.folder.open().map_err(|refusal| inner.unusable(refusal))?;
            let before = directory.as_ref().map_or(Ok(None), |directory| read(directory, &name));
            let before = before.map_err(|refusal| inner.unusable(refusal))?;
            expected.check(|| before.as_ref().map(SavedPrompt::version))?;
            directory
                .map_or(Ok(false), |directory| directory.remove(file_name(&name)))
                .map_err(|error| Error::internal("the prompt cannot be removed").because(error))
        })
        .await
    }
}

impl Inner {
    fn unusable(&self, refusal: Refusal) -> Error {
        let message = format!("the prompts in {} cannot be used: {refusal}", self.folder.path().display());
        match refusal {
            Refusal::Failed(error) => Error::internal(message).because(error),
            _ => Error::unavailable(message),
        }
    }
}

/// Reads a prompt; `None` if there is none, or if it is too large to be one.
fn read(directory: &Directory, name: &PromptName) -> std::result::Result<Option<SavedPrompt>, Refusal> {
    let contents = directory.read(file_name(name), MAX_BYTES)?.filter(|contents| contents.is_whole);
    Ok(contents.map(|contents| SavedPrompt {
        name: name.clone(),
        content: String::from_utf8_lossy(&contents.bytes).trim().to_owned(),
    }))
}

fn file_name(name: &PromptName) -> String {
    format!("{name}{ENDING}")
}

fn name_of(file: &OsStr) -> Option<PromptName> {
    PromptName::parse(file.to_str()?.strip_suffix(ENDING)?).ok()
}

#[cfg(test)]
mod tests {
    use aethon_core::version::Version;

    use super::*;

    fn name(name: &str) -> PromptName {
        PromptName::parse(name).unwrap()
    }

    #[tokio::test]
    async fn prompts_are_saved_listed_by_name_and_removed() {
        let home = tempfile::tempdir().unwrap();
        let prompts = PromptFolder::new(home.path().join("prompts"));
        assert_eq!(prompts.prompts().await.unwrap(), []);
        assert_eq!(prompts.prompt(&name("a")).await.unwrap(), None);
        prompts.save(&name("b"), " second\n", Expected::Anything).await.unwrap();
        prompts.save(&name("a"), "first", Expected::Nothing).await.unwrap();
        let listed: Vec<_> =
            prompts.prompts().await.unwrap().into_iter().map(|prompt| prompt.content).collect();
        assert_eq!(listed, ["first", "second"]);
        assert!(prompts.remove(&name("a"), Expected::Anything).await.unwrap());
        assert!(!prompts.remove(&name("a"), Expected::Anything).await.unwrap());
    }

    #[tokio::test]
    async fn prompt_that_was_changed_meanwhile_is_not_overwritten() {
        let home = tempfile::tempdir().unwrap();
        let prompts = PromptFolder::new(home.path().join("prompts"));
        let seen = prompts.save(&name("a"), "one", Expected::Anything).await.unwrap();
        std::fs::write(home.path().join("prompts/a.md"), "by hand").unwrap();
        let expected = Expected::OneOf(vec![seen.version()]);
        let refused = prompts.save(&name("a"), "two", expected.clone()).await.unwrap_err();
        assert!(refused.is_changed_elsewhere());
        assert!(prompts.remove(&name("a"), expected).await.unwrap_err().is_changed_elsewhere());
        assert!(prompts.save(&name("a"), "new", Expected::Nothing).await.unwrap_err().is_changed_elsewhere());
        let present = Expected::OneOf(vec![Version::of(["by hand"])]);
        prompts.save(&name("a"), "two", present).await.unwrap();
        assert_eq!(prompts.prompt(&name("a")).await.unwrap().unwrap().content, "two");
    }

    #[tokio::test]
    async fn empty_and_long_texts_are_refused_and_odd_files_do_not_count() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("prompts");
        let prompts = PromptFolder::new(&folder);
        assert!(prompts.save(&name("a"), " \n", Expected::Anything).await.unwrap_err().is_invalid());
        let long = "x".repeat(MAX_BYTES + 1);
        assert!(prompts.save(&name("a"), &long, Expected::Anything).await.unwrap_err().is_invalid());
        prompts.save(&name("a"), "kept", Expected::Anything).await.unwrap();
        std::fs::write(folder.join("Not a name.md"), "x").unwrap();
        std::fs::write(folder.join("large.md"), &long).unwrap();
        std::os::unix::fs::symlink(folder.join("a.md"), folder.join("link.md")).unwrap();
        let listed = prompts.prompts().await.unwrap();
        assert_eq!(listed.len(), 1, "{listed:?}");
    }
}
