//! A small file in the home directory with the state that the owner knows, so that changes made while the program was off
//! count.
//!
//! Several programs of one home write it, each as a whole; if two find the same change at the same moment, it is
//! reported twice. An unreadable file counts as missing: then the current state becomes the known state.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use aethon_files::{Directory, Lock, read_given};

use aethon_core::instructions::{Observations, Observed, Origin};

/// Before the name of a server.
pub(super) const SERVER: &str = "mcp/";

/// The largest file that is read.
const MAX_BYTES: usize = 16 << 20;

/// The prefix of the names of unused entries.
const UNUSED: char = '!';

/// How long an entry must have been usable before the owner is notified again that it is not.
const SETTLED: Duration = Duration::from_mins(10);

/// The texts or digests, by name.
type Texts = BTreeMap<String, String>;

/// The state that the owner knows, and the file that stores it.
#[derive(Debug)]
pub(super) struct Known {
    path: PathBuf,
    /// Its content as this program last saw it.
    known: Option<Texts>,
    /// The unusable entries, and when each was last seen.
    unusable: BTreeMap<String, Instant>,
}

/// The changes that the owner does not know yet.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Unknown {
    /// The names of the changed entries.
    pub(super) changed: BTreeSet<String>,
    /// The entries that are no longer used, and why.
    pub(super) unused: BTreeMap<String, String>,
}

impl Known {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, known: None, unusable: BTreeMap::new() }
    }

    /// Returns the differences from the state that the owner knows, and marks them as known. The first time there is
    /// nothing to compare with, except for unused entries.
    pub(super) fn compare(&mut self, now: &[&Observations]) -> Unknown {
        for (name, _) in entries(now).filter(|(_, (_, observed))| matches!(observed, Observed::Unusable(_))) {
            self.unusable.insert(name.clone(), Instant::now());
        }
        if let Some(known) = &self.known
            && self.updated(known, now).0 == *known
        {
            return Unknown::default();
        }
        // Another program with the same home may have told it meanwhile.
        let _lock = self.lock();
        let read = self.read();
        let (updated, mut unknown) = self.updated(read.as_ref().unwrap_or(&Texts::new()), now);
        if read.as_ref() != Some(&updated)
            && let Err(error) = self.write(&updated)
        {
            tracing::warn!(path = %self.path.display(), %error, "the list of reported pages cannot be saved");
        }
        self.known = Some(updated);
        if read.is_none() {
            unknown.changed.clear();
        }
        unknown
    }

    /// Returns the state that the owner knows after this report, and the changes to report.
    fn updated(&self, known: &Texts, now: &[&Observations]) -> (Texts, Unknown) {
        let (mut updated, mut unknown) = (Texts::new(), Unknown::default());
        let was_removed =
            |name: &str| now.iter().any(|one| one.entries.get(name) == Some(&Observed::RemovedByOwner));
        for (name, (origin, observed)) in entries(now) {
            let before = known.get(name);
            match observed {
                Observed::Text(text) | Observed::OfOwner(text) => {
                    let is_told = before.is_some() || origin == Origin::Workspace;
                    if before != Some(text) && is_told && matches!(observed, Observed::Text(_)) {
                        unknown.changed.insert(name.clone());
                    }
                    updated.insert(name.clone(), text.clone());
                }
                Observed::RemovedByOwner => {}
                // The earlier text is kept: if the same text appears again later, nothing has changed.
                Observed::Unusable(why) => {
                    updated.extend(before.map(|before| (name.clone(), before.clone())));
                    if !known.contains_key(&unused(name)) {
                        unknown.unused.insert(name.clone(), why.clone());
                    }
                    updated.insert(unused(name), String::new());
                }
            }
        }
        for (name, text) in known.iter().filter(|(name, _)| !updated.contains_key(*name)).collect::<Vec<_>>()
        {
            match name.strip_prefix(UNUSED) {
                // A loop that swaps a file for a link and back is reported once.
                Some(of) if self.unusable.get(of).is_some_and(|then| then.elapsed() < SETTLED) => {
                    updated.insert(name.clone(), text.clone());
                }
                Some(_) => {}
                // A server that is not connected now may be back later, and says the same then.
                None if name.starts_with(SERVER) => {
                    updated.insert(name.clone(), text.clone());
                }
                None if was_removed(name) => {}
                None => {
                    unknown.changed.insert(name.clone());
                }
            }
        }
        (updated, unknown)
    }

    /// Keeps other programs from telling meanwhile. Without the lock both may tell the same, which does no harm.
    fn lock(&self) -> Option<Lock> {
        let locked = Lock::take(self.path.parent()?, "pages");
        locked.inspect_err(|error| tracing::warn!(%error, "the list of reported pages cannot be locked")).ok()
    }

    fn read(&self) -> Option<Texts> {
        match read_given(&self.path, MAX_BYTES) {
            Ok(contents) => serde_json::from_slice(&contents?.bytes).ok(),
            Err(refusal) => {
                tracing::warn!(path = %self.path.display(), %refusal, "the list of reported pages cannot be read");
                None
            }
        }
    }

    fn write(&self, texts: &Texts) -> std::io::Result<()> {
        let (Some(folder), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return Err(std::io::ErrorKind::InvalidInput.into());
        };
        Directory::open(folder)?.write(name, serde_json::to_string(texts)?.as_bytes())
    }
}

fn unused(name: &str) -> String {
    format!("{UNUSED}{name}")
}

fn entries<'o>(now: &[&'o Observations]) -> impl Iterator<Item = (&'o String, (Origin, &'o Observed))> {
    now.iter().flat_map(|one| one.entries.iter().map(|(name, observed)| (name, (one.origin, observed))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observations(origin: Origin, entries: &[(&str, Observed)]) -> Observations {
        let entries = entries.iter().map(|(name, observed)| ((*name).to_owned(), observed.clone()));
        Observations { origin, entries: entries.collect() }
    }

    fn pages(pages: &[(&str, &str)]) -> Observations {
        let entries: Vec<_> =
            pages.iter().map(|(name, text)| (*name, Observed::Text((*text).to_owned()))).collect();
        observations(Origin::Workspace, &entries)
    }

    fn changed(known: &mut Known, now: &Observations) -> Vec<String> {
        known.compare(&[now]).changed.into_iter().collect()
    }

    #[test]
    fn changes_are_reported_once_even_across_restarts() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("pages.json");
        let mut known = Known::new(path.clone());
        assert!(changed(&mut known, &pages(&[("SOUL.md", "a")])).is_empty(), "the first time is no change");
        assert!(changed(&mut known, &pages(&[("SOUL.md", "a")])).is_empty());
        let both = pages(&[("SOUL.md", "b"), ("TOOLS.md", "t")]);
        assert_eq!(changed(&mut known, &both), ["SOUL.md", "TOOLS.md"]);
        assert!(changed(&mut known, &both).is_empty());
        let mut after_a_restart = Known::new(path);
        assert_eq!(changed(&mut after_a_restart, &pages(&[("TOOLS.md", "t")])), ["SOUL.md"]);
        assert!(changed(&mut known, &pages(&[("TOOLS.md", "t")])).is_empty(), "another process has told it");
    }

    #[test]
    fn file_of_earlier_versions_is_read_and_a_broken_one_ignored() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("pages.json");
        std::fs::write(&path, r#"{"SOUL.md":"a"}"#).unwrap();
        assert_eq!(changed(&mut Known::new(path.clone()), &pages(&[("SOUL.md", "b")])), ["SOUL.md"]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), r#"{"SOUL.md":"b"}"#);
        std::fs::write(&path, r#"{"SOUL.md":"#).unwrap();
        assert!(changed(&mut Known::new(path.clone()), &pages(&[("SOUL.md", "c")])).is_empty());
        assert_eq!(changed(&mut Known::new(path), &pages(&[])), ["SOUL.md"]);
    }

    #[test]
    fn a_loop_that_swaps_a_page_costs_one_notice() {
        let home = tempfile::tempdir().unwrap();
        let mut known = Known::new(home.path().join("pages.json"));
        let unusable =
            |why: &str| observations(Origin::Workspace, &[("SOUL.md", Observed::Unusable(why.to_owned()))]);
        let page = pages(&[("SOUL.md", "a")]);
        known.compare(&[&page]);
        let told = known.compare(&[&unusable("a link")]);
        assert!(told.changed.is_empty() && told.unused["SOUL.md"] == "a link", "{told:?}");
        for _ in 0..10 {
            for now in [&page, &unusable("a FIFO"), &unusable("a link")] {
                assert_eq!(known.compare(&[now]), Unknown::default(), "{now:?}");
            }
        }
        assert_eq!(changed(&mut known, &pages(&[("SOUL.md", "b")])), ["SOUL.md"], "another text is a change");
        let path = home.path().join("pages.json");
        assert_eq!(
            Known::new(path.clone()).compare(&[&unusable("a link")]),
            Unknown::default(),
            "not at each start"
        );
        Known::new(path.clone()).compare(&[&page]);
        assert_eq!(
            Known::new(path).compare(&[&unusable("a link")]).unused.len(),
            1,
            "but again once it was in order"
        );
    }

    #[test]
    fn owner_edits_and_server_reconnections_are_not_reported() {
        let home = tempfile::tempdir().unwrap();
        let mut known = Known::new(home.path().join("instructions.json"));
        let sops = |observed: Observed| observations(Origin::Workspace, &[("sops/a.sop.md", observed)]);
        let server = format!("{}x", SERVER);
        let servers =
            |says: &str| observations(Origin::Servers, &[(server.as_str(), Observed::Text(says.to_owned()))]);
        let (none, gone) = (Observations::none(Origin::Workspace), Observations::none(Origin::Servers));
        known.compare(&[&none, &gone]);
        let text = |text: &str| Observed::Text(text.to_owned());
        let rows: [(&Observations, &Observations, &[&str]); 11] = [
            (&sops(Observed::OfOwner("1".into())), &gone, &[]),
            (&sops(text("1")), &gone, &[]),
            (&sops(text("2")), &servers("a"), &["sops/a.sop.md"]),
            (&sops(text("2")), &gone, &[]),
            (&sops(text("2")), &servers("a"), &[]),
            (&sops(text("2")), &servers("b"), &[&server]),
            (&none, &servers("b"), &["sops/a.sop.md"]),
            (&none, &servers("b"), &[]),
            (&sops(Observed::OfOwner("3".into())), &gone, &[]),
            (&sops(Observed::RemovedByOwner), &gone, &[]),
            (&sops(text("3")), &gone, &["sops/a.sop.md"]),
        ];
        for (number, (files, servers, expected)) in rows.into_iter().enumerate() {
            let told = known.compare(&[files, servers]).changed;
            assert_eq!(told.iter().map(String::as_str).collect::<Vec<_>>(), expected, "row {number}");
        }
    }
}
