//! The register of sign-ins, a file in the home. It lists the browsers that signed in, for the owner to review, and
//! the sign-ins that were revoked, so that a copied cookie stays invalid after a restart.
//!
//! Each event is one line. The contents cannot be used to forge a cookie, because cookies are signed with the key.
//! Obsolete lines are removed when the file has grown long.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::sync::Arc;

use jiff::Timestamp;

use crate::options::{SharedSignIns, SignInOptions};

/// File size at startup above which the file is rewritten. A line takes about 80 bytes.
const LONG: usize = 64 << 10;

/// The register. Several instances share one, in their storage instead of a file.
#[derive(Clone, Default)]
pub(crate) enum Register {
    /// Nothing is kept.
    #[default]
    None,
    /// The file.
    File(Arc<File>),
    /// That of all instances.
    Shared(SharedSignIns),
}

/// One line. Times are in seconds since the epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    /// A browser signed in.
    Begun(SignInRecord),
    /// A sign-in was revoked that would have expired at this time.
    Ended { name: String, ends: i64 },
}

/// The stored record of a browser that signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SignInRecord {
    /// Name of the sign-in.
    pub(crate) name: String,
    /// When it expires.
    pub(crate) ends: i64,
    /// When it began.
    pub(crate) began: i64,
    /// Which token it is for, as a fingerprint that does not reveal the token.
    pub(super) token: String,
    /// The address it came from.
    pub(crate) address: String,
}

impl Register {
    /// Returns the register of these options. A file must be open for reading and appending.
    pub(crate) fn new(options: &SignInOptions) -> Self {
        match (&options.journal, &options.register) {
            (Some(shared), _) => Self::Shared(shared.clone()),
            (None, Some(file)) => Self::File(file.clone()),
            (None, None) => Self::None,
        }
    }

    /// Reads the entries that still matter.
    pub(super) fn read(&self, now: i64) -> Vec<Entry> {
        match self {
            Self::None => Vec::new(),
            Self::File(file) => read(file, now).unwrap_or_else(|error| {
                tracing::warn!(%error, "the register of sign-ins cannot be read, so a copied cookie may count again");
                Vec::new()
            }),
            Self::Shared(shared) => {
                let mut entries: Vec<_> = shared
                    .lines
                    .iter()
                    .filter_map(|line| Entry::parse(line.trim_end()))
                    .filter(|entry| entry.ends() > now)
                    .collect();
                entries.sort_by_key(Entry::began);
                entries
            }
        }
    }

    /// Adds a line and waits until it is stored.
    pub(super) async fn add(&self, entry: Entry) {
        match self {
            Self::None => {}
            Self::File(file) => {
                let file = file.clone();
                let written = tokio::task::spawn_blocking(move || append(&file, &entry));
                if let Err(panic) = written.await {
                    tracing::error!(%panic, "adding to the register of sign-ins panicked");
                }
            }
            Self::Shared(shared) => {
                let until = Timestamp::from_second(entry.ends()).unwrap_or(Timestamp::MAX);
                if let Err(error) = shared.journal.add(&entry.name(), &entry.line(), until).await {
                    unwritten(&error);
                }
            }
        }
    }
}

fn unwritten(error: &dyn std::fmt::Display) {
    tracing::warn!(%error, "the register of sign-ins cannot be written, so after a restart browsers may have to sign in again, and a copied cookie may count again");
}

fn append(mut file: &File, entry: &Entry) {
    let written = file.write_all(entry.line().as_bytes()).and_then(|()| file.sync_data());
    if let Err(error) = written {
        unwritten(&error);
    }
}

impl Entry {
    /// Returns the name of its line. That of a sign-in and that of its end differ.
    fn name(&self) -> String {
        match self {
            Self::Begun(begun) => format!("in:{}", begun.name),
            Self::Ended { name, .. } => format!("out:{name}"),
        }
    }

    /// Returns when it began; an end may come before all others.
    fn began(&self) -> i64 {
        match self {
            Self::Begun(begun) => begun.began,
            Self::Ended { .. } => i64::MIN,
        }
    }

    fn line(&self) -> String {
        match self {
            Self::Begun(SignInRecord { name, ends, began, token, address }) => {
                format!("in {name} {ends} {began} {token} {address}\n")
            }
            Self::Ended { name, ends } => format!("out {name} {ends}\n"),
        }
    }

    pub(super) fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let (kind, name) = (words.next()?, words.next()?.to_owned());
        let ends = words.next()?.parse().ok()?;
        match kind {
            "out" => Some(Self::Ended { name, ends }),
            "in" => {
                let (began, token) = (words.next()?.parse().ok()?, words.next()?.to_owned());
                Some(Self::Begun(SignInRecord {
                    name,
                    ends,
                    began,
                    token,
                    address: words.next()?.to_owned(),
                }))
            }
            _ => None,
        }
    }

    fn ends(&self) -> i64 {
        match self {
            Self::Begun(begun) => begun.ends,
            Self::Ended { ends, .. } => *ends,
        }
    }
}

fn read(mut file: &File, now: i64) -> io::Result<Vec<Entry>> {
    let mut text = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    let entries: Vec<Entry> =
        text.lines().filter_map(Entry::parse).filter(|entry| entry.ends() > now).collect();
    if text.len() > LONG {
        file.set_len(0)?;
        let lines: String = entries.iter().map(Entry::line).collect();
        file.write_all(lines.as_bytes())?;
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::tests::Journal;

    fn ended(name: &str, ends: i64) -> Entry {
        Entry::Ended { name: name.into(), ends }
    }

    #[tokio::test]
    async fn live_entries_are_kept_and_expired_ones_are_dropped() {
        let file = Arc::new(file());
        let kept = Register::File(file.clone());
        let (began, token, address) = (10, "0a".to_owned(), "::1".to_owned());
        let begun = Entry::Begun(SignInRecord { name: "two".into(), ends: 200, began, token, address });
        kept.add(ended("one", 100)).await;
        kept.add(begun.clone()).await;
        assert_eq!(kept.read(50), [ended("one", 100), begun.clone()]);
        assert_eq!(kept.read(100), [begun]);
        for _ in 0..2000 {
            (&*file).write_all(ended(&"x".repeat(32), 90).line().as_bytes()).unwrap();
        }
        assert_eq!(kept.read(100).len(), 1);
        assert_eq!(file.metadata().unwrap().len(), 21, "the rest is gone");
    }

    #[tokio::test]
    async fn shared_register_is_read_by_another_instance_in_its_order() {
        let lines = Arc::new(Journal::default());
        let begun = |name: &str, began: i64| {
            let (token, address) = ("0a".to_owned(), "::1".to_owned());
            Entry::Begun(SignInRecord { name: name.into(), ends: 200, began, token, address })
        };
        let kept = Register::Shared(SharedSignIns { journal: lines.clone(), lines: Vec::new() });
        for entry in [begun("a", 30), begun("b", 10), ended("a", 200), ended("c", 90)] {
            kept.add(entry).await;
        }
        let written = lines.records.lock().unwrap().values().cloned().collect();
        let other = Register::Shared(SharedSignIns { journal: lines, lines: written });
        assert_eq!(other.read(100), [ended("a", 200), begun("b", 10), begun("a", 30)]);
    }

    /// Creates an empty file that is already unlinked.
    fn file() -> File {
        let name = format!("aethon-sign-ins-{}", aethon_core::ids::unique());
        let path = std::env::temp_dir().join(name);
        let file = File::options().read(true).append(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        file
    }
}
