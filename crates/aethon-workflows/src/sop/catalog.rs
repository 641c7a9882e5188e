//! The available SOPs: the built-in ones, overridden by the files currently in a folder.
//!
//! The folder is listed on every request; a file is read again only if its time or size has changed. Nothing watches
//! the folder, so no change can be missed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use aethon_core::error::{Error, Result};
use aethon_core::live::Live;
use aethon_core::sop::{
    BrokenSop, Sop, SopCatalog, SopCheck, SopDraft, SopFault, SopName, SopOrigin, SopRefusal, SopVersion,
};
use aethon_core::version::{Expected, Version};
use aethon_files::{Contents, Directory, Lock, Refusal, Stamp, Subdirectory};
use aethon_guard::MemoryGuard;
use aethon_guard::redact::Redactor;
use async_trait::async_trait;

use super::builtin;
use super::history::SopHistory;
use super::parse::{MAX_BYTES, Reading, parse};
use super::schemas;
use crate::digest;
use aethon_core::instructions::{Instructions, Observations, Observed, Origin};
use aethon_core::reported::Reported;
use aethon_files::BoundedReads;

/// The file name ending of a SOP.
const ENDING: &str = ".sop.md";

/// The most files of a folder that count.
const MAX_FILES: usize = 500;

/// The most entries of a folder that are looked at.
const MAX_ENTRIES: usize = 50_000;

/// A folder of SOPs on top of the built-in ones. Cheap to clone; clones share the folder.
#[derive(Clone)]
pub struct SopFolder(Arc<Inner>);

struct Inner {
    folder: Subdirectory,
    /// Earlier texts of the SOPs, if they are kept.
    history: Option<SopHistory>,
    /// Knows the secrets that must not be written into a SOP.
    redactor: Live<Redactor>,
    reads: BoundedReads,
    read: Mutex<Read>,
}

/// The folder as it was last read.
#[derive(Default)]
struct Read {
    /// The parsed files.
    files: BTreeMap<PathBuf, Known>,
    reported: Reported,
    /// The digests of the files as the owner saved them through the program, and the files that the owner removed.
    of_owner: BTreeMap<String, String>,
    removed: BTreeSet<SopName>,
    /// The last observations.
    observed: Option<Arc<Observations>>,
}

/// A file as it was when it was last read.
#[derive(Clone)]
struct Known {
    stamp: Stamp,
    outcome: Outcome,
    /// The text of an invalid file, if it was read in full.
    draft: Option<Arc<str>>,
    /// The digest of its content; the error says why it is not read.
    digest: std::result::Result<String, String>,
}

type Outcome = std::result::Result<Arc<Sop>, Vec<SopFault>>;

impl SopFolder {
    /// The SOPs of this folder, which need not exist. Secrets that the redactor knows are refused when saving.
    pub fn new(folder: impl Into<PathBuf>, redactor: Live<Redactor>) -> Self {
        Self::with(folder.into(), None, redactor)
    }

    /// The SOPs of this folder, whose earlier texts are kept.
    pub fn with_history(folder: impl Into<PathBuf>, history: SopHistory, redactor: Live<Redactor>) -> Self {
        Self::with(folder.into(), Some(history), redactor)
    }

    fn with(folder: PathBuf, history: Option<SopHistory>, redactor: Live<Redactor>) -> Self {
        Self(Arc::new(Inner {
            folder: Subdirectory::new(folder),
            history,
            redactor,
            reads: BoundedReads::new("the SOPs"),
            read: Mutex::default(),
        }))
    }

    async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> T + Send + 'static,
    ) -> Result<T> {
        let inner = self.0.clone();
        let done = self.0.reads.run(move || work(&inner)).await;
        done.ok_or_else(|| {
            Error::unavailable(
                "the SOPs cannot be read now: the file system of the workspace does not answer",
            )
        })
    }
}

#[async_trait]
impl SopCatalog for SopFolder {
    async fn sops(&self) -> Result<Vec<Arc<Sop>>> {
        self.run_blocking(|inner| {
            let built_in = builtin::all().iter().map(|sop| (sop.name.clone(), sop.clone()));
            let mut sops: BTreeMap<SopName, Arc<Sop>> = built_in.collect();
            let files = inner.files().into_iter().filter_map(|(_, outcome)| outcome.ok());
            sops.extend(files.map(|sop| (sop.name.clone(), sop)));
            sops.into_values().collect()
        })
        .await
    }

    async fn sop(&self, name: &SopName) -> Result<Option<Arc<Sop>>> {
        let name = name.clone();
        self.run_blocking(move |inner| {
            let directory = inner.folder.open().ok().flatten();
            let file = OsString::from(file_name(&name));
            match directory.as_ref().and_then(|directory| inner.file(directory, &file)) {
                Some(Ok(sop)) => Some(schemas::filled_in(sop, directory.as_ref())),
                // A broken file does not remove the built-in SOP.
                Some(Err(_)) | None => builtin::find(&name).cloned(),
            }
        })
        .await
    }

    async fn broken(&self) -> Result<Vec<BrokenSop>> {
        self.run_blocking(|inner| {
            let broken = |(path, outcome): (PathBuf, Outcome)| {
                let faults = outcome.err()?;
                Some(BrokenSop { draft: inner.draft(&path), path, faults })
            };
            inner.files().into_iter().filter_map(broken).collect()
        })
        .await
    }

    fn check(&self, content: &str) -> SopCheck {
        let Ok(name) = SopName::parse("draft") else { return SopCheck::default() };
        let Reading { outcome, remarks } = Reading::of(name, SopOrigin::BuiltIn, content);
        SopCheck { faults: outcome.err().unwrap_or_default(), remarks }
    }

    async fn save(
        &self,
        name: &SopName,
        content: &str,
        expected: Expected,
    ) -> std::result::Result<Arc<Sop>, SopRefusal> {
        let (name, content) = (name.clone(), content.to_owned());
        self.run_blocking(move |inner| inner.save(&name, &content, &expected)).await?
    }

    async fn remove(&self, name: &SopName, expected: Expected) -> std::result::Result<(), SopRefusal> {
        let name = name.clone();
        self.run_blocking(move |inner| inner.remove(&name, &expected)).await?
    }

    async fn versions(&self, name: &SopName) -> Result<Vec<SopVersion>> {
        let name = name.clone();
        let versions = move |inner: &Inner| match &inner.history {
            Some(history) => history.versions(&name),
            None => Ok(Vec::new()),
        };
        self.run_blocking(versions)
            .await?
            .map_err(|error| Error::internal("the earlier texts of the SOP cannot be read").because(error))
    }
}

impl Instructions for SopFolder {
    fn observe(&self) -> Arc<Observations> {
        self.0.observe()
    }
}

impl Inner {
    fn path(&self, name: &OsStr) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self) -> std::sync::MutexGuard<'_, Read> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The files of the folder, by name. If the folder itself is not used, it is the only entry.
    fn files(&self) -> Vec<(PathBuf, Outcome)> {
        match self.listed() {
            Ok(Some((directory, names))) => names
                .iter()
                .filter_map(|name| Some((self.path(name), self.file(&directory, name)?)))
                .collect(),
            Ok(None) => Vec::new(),
            Err(refusal) => {
                let message = format!("the SOPs of this folder are not used: {refusal}");
                self.read().reported.warn(self.folder.path(), &message);
                vec![(self.folder.path().to_owned(), Err(vec![SopFault { line: 1, message }]))]
            }
        }
    }

    /// Opens the folder and lists its files; forgets those that are gone.
    fn listed(&self) -> std::result::Result<Option<(Directory, Vec<std::ffi::OsString>)>, Refusal> {
        let Some(directory) = self.folder.open()? else {
            self.read().files.clear();
            return Ok(None);
        };
        let names = directory.names(ENDING, MAX_FILES, MAX_ENTRIES)?;
        let is_listed =
            |path: &Path| path.file_name().is_some_and(|name| names.iter().any(|one| one == name));
        self.read().files.retain(|path, _| is_listed(path));
        Ok(Some((directory, names)))
    }

    /// Reads a file; `None` if it does not exist.
    fn file(&self, directory: &Directory, name: &OsStr) -> Option<Outcome> {
        let (path, stamp) = (self.path(name), directory.stamp_of(name)?);
        let mut read = self.read();
        if let Some(known) = read.files.get(&path).filter(|known| known.stamp == stamp) {
            return Some(known.outcome.clone());
        }
        let known = match directory.read(name, MAX_BYTES) {
            Ok(contents) => {
                let contents = contents?;
                let (digest, stamp) = (Ok(digest(&contents.bytes)), contents.stamp);
                let text = contents.is_whole.then(|| contents.bytes.clone());
                let outcome = understood(&path, contents).outcome.map(Arc::new);
                let draft = text
                    .filter(|_| outcome.is_err())
                    .map(|text| String::from_utf8_lossy(&text).into_owned().into());
                Known { stamp, outcome, draft, digest }
            }
            Err(refusal) => {
                let outcome = Err(vec![SopFault { line: 1, message: refusal.to_string() }]);
                Known { stamp, outcome, draft: None, digest: Err(refusal.to_string()) }
            }
        };
        for SopFault { line, message } in known.outcome.as_ref().err().into_iter().flatten() {
            read.reported.warn(&path, &format!("line {line}: {message}"));
        }
        let outcome = known.outcome.clone();
        read.files.insert(path, known);
        Some(outcome)
    }

    /// Returns the text of an invalid file, as it was read last.
    fn draft(&self, path: &Path) -> Option<SopDraft> {
        let name = sop_name(path)?;
        let content = self.read().files.get(path)?.draft.clone()?;
        Some(SopDraft { name, content })
    }

    /// The files whose changes the owner learns of, by name. A file whose name is not valid for a SOP has no effect.
    fn observe(&self) -> Arc<Observations> {
        let refusal = self.listed().map(|listed| {
            if let Some((directory, names)) = listed {
                names.iter().for_each(|name| drop(self.file(&directory, name)));
            }
        });
        let mut read = self.read();
        let mut entries = BTreeMap::new();
        if let Err(refusal) = refusal {
            // The files are not gone: the folder is hidden, perhaps for a moment.
            let before = read.observed.iter().flat_map(|observed| observed.entries.keys());
            let names = before.cloned().chain(["sops".to_owned()]);
            entries.extend(names.map(|name| (name, Observed::Unusable(refusal.to_string()))));
        }
        for (path, known) in &read.files {
            let Some(name) = sop_name(path) else { continue };
            let observed = match &known.digest {
                Ok(digest) if read.of_owner.get(name.as_str()) == Some(digest) => {
                    Observed::OfOwner(digest.clone())
                }
                Ok(digest) => Observed::Text(digest.clone()),
                Err(why) => Observed::Unusable(why.clone()),
            };
            entries.insert(shown(&name), observed);
        }
        for name in &read.removed {
            entries.entry(shown(name)).or_insert(Observed::RemovedByOwner);
        }
        let now = Observations { origin: Origin::Workspace, entries };
        if let Some(observed) = read.observed.as_ref().filter(|observed| ***observed == now) {
            return observed.clone();
        }
        let now = Arc::new(now);
        read.observed = Some(now.clone());
        now
    }

    fn save(
        &self,
        name: &SopName,
        content: &str,
        expected: &Expected,
    ) -> std::result::Result<Arc<Sop>, SopRefusal> {
        let file_name = file_name(name);
        let path = self.path(OsStr::new(&file_name));
        let sop = parse(name.clone(), SopOrigin::File(path.clone()), content).map_err(SopRefusal::Faults)?;
        if let Some(kind) = MemoryGuard::new(self.redactor.clone(), &[])?.find(content) {
            return Err(SopRefusal::Secret(kind.to_owned()));
        }
        let directory = self.folder.open_or_new().map_err(|refusal| self.unusable(refusal))?;
        let _lock = self.lock()?;
        let before = self.before(Some(&directory), name, expected)?;
        if let Some(before) = before.filter(|before| before != content.as_bytes()) {
            self.keep(name, &before)?;
        }
        directory.write(&file_name, content.as_bytes()).map_err(|error| {
            Error::internal(format!("{} cannot be written: {error}", path.display())).because(error)
        })?;
        let mut read = self.read();
        // The next look reads the file again, whatever its time says.
        read.files.remove(&path);
        read.of_owner.insert(name.to_string(), digest(content.as_bytes()));
        read.removed.remove(name);
        Ok(Arc::new(sop))
    }

    fn remove(&self, name: &SopName, expected: &Expected) -> std::result::Result<(), SopRefusal> {
        let file_name = file_name(name);
        let directory = self.folder.open().map_err(|refusal| self.unusable(refusal))?;
        let _lock = self.lock()?;
        if let Some(before) = self.before(directory.as_ref(), name, expected)? {
            self.keep(name, &before)?;
        }
        match directory.map_or(Ok(false), |directory| directory.remove(&file_name)) {
            Ok(true) => {
                self.read().removed.insert(name.clone());
                Ok(())
            }
            Ok(false) => Err(match builtin::find(name) {
                Some(_) => SopRefusal::BuiltIn(name.clone()),
                None => SopRefusal::Unknown(name.clone()),
            }),
            Err(error) => {
                let path = self.path(OsStr::new(&file_name));
                let message = format!("{} cannot be removed: {error}", path.display());
                Err(Error::internal(message).because(error).into())
            }
        }
    }

    fn lock(&self) -> Result<Option<Lock>> {
        let failed = |error| Error::unavailable("the SOPs cannot be locked; try again").because(error);
        self.history.as_ref().map(SopHistory::lock).transpose().map_err(failed)
    }

    /// The text of the file. Refuses if the SOP (the built-in one, without a file) is not as expected, and if the file
    /// cannot be read in full, because then its text could be neither compared nor kept.
    fn before(
        &self,
        directory: Option<&Directory>,
        name: &SopName,
        expected: &Expected,
    ) -> std::result::Result<Option<Vec<u8>>, SopRefusal> {
        let file_name = file_name(name);
        let lost = |why: String| {
            let path = self.path(OsStr::new(&file_name));
            SopRefusal::File(format!(
                "{} is there, but what it says cannot be kept: {why}; move it away first",
                path.display()
            ))
        };
        let read = directory.map_or(Ok(None), |directory| directory.read(&file_name, MAX_BYTES));
        let read = read.map_err(|refusal| lost(refusal.to_string()))?;
        if read.as_ref().is_some_and(|contents| !contents.is_whole) {
            return Err(lost(too_large()));
        }
        let before = read.map(|contents| contents.bytes);
        expected.check(|| match &before {
            Some(bytes) => Some(Version::of([&*String::from_utf8_lossy(bytes)])),
            None => builtin::find(name).map(|sop| sop.version()),
        })?;
        Ok(before)
    }

    fn keep(&self, name: &SopName, before: &[u8]) -> Result<()> {
        let Some(history) = &self.history else { return Ok(()) };
        history.keep(name, before).map_err(|error| {
            Error::unavailable(format!("what the SOP says cannot be kept: {error}")).because(error)
        })
    }

    fn unusable(&self, refusal: Refusal) -> SopRefusal {
        match refusal {
            Refusal::Failed(error) => {
                let message = format!("{} cannot be used: {error}", self.folder.path().display());
                Error::internal(message).because(error).into()
            }
            refusal => SopRefusal::Folder(format!(
                "{} is not used: {refusal}; make it a plain directory",
                self.folder.path().display()
            )),
        }
    }
}

fn too_large() -> String {
    format!("the file is larger than {} KiB", MAX_BYTES / 1024)
}

fn file_name(name: &SopName) -> String {
    format!("{name}{ENDING}")
}

/// Lists the files of a folder that are named like SOPs; none if the folder does not exist.
///
/// # Errors
///
/// The folder is a link or no directory, or it cannot be read.
pub fn files_of(folder: &Path) -> std::result::Result<Vec<PathBuf>, String> {
    let Some(directory) = Subdirectory::new(folder).open().map_err(|refusal| refusal.to_string())? else {
        return Ok(Vec::new());
    };
    let names = directory.names(ENDING, usize::MAX, MAX_ENTRIES).map_err(|error| error.to_string())?;
    Ok(names.into_iter().map(|name| folder.join(name)).collect())
}

/// Reads a file as the catalog would, wherever it is, and returns what is wrong and what was not understood.
pub fn check_file(path: &Path) -> SopCheck {
    let fault =
        |message: String| SopCheck { faults: vec![SopFault { line: 1, message }], remarks: Vec::new() };
    let outer = path.parent().filter(|outer| !outer.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default();
    let outer = match Directory::open(outer) {
        Ok(outer) => outer,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return fault("there is no such file".into());
        }
        Err(error) => return fault(Refusal::from(error).to_string()),
    };
    let contents = match outer.read(name, MAX_BYTES) {
        Ok(Some(contents)) => contents,
        Ok(None) => return fault("there is no such file".into()),
        Err(refusal) => return fault(refusal.to_string()),
    };
    let Reading { outcome, remarks } = understood(path, contents);
    let faults = match outcome {
        Ok(sop) => schemas::faults(&schemas::filled_in(Arc::new(sop), Some(&outer))),
        Err(faults) => faults,
    };
    SopCheck { faults, remarks }
}

/// Returns the name of a SOP's file in notices to the owner.
fn shown(name: &SopName) -> String {
    let shadows = builtin::find(name).map_or("", |_| " (in place of the built-in SOP)");
    format!("sops/{name}{ENDING}{shadows}")
}

/// Returns the name of the SOP in a file of this path.
fn sop_name(path: &Path) -> Option<SopName> {
    SopName::parse(path.file_name()?.to_str()?.strip_suffix(ENDING)?).ok()
}

fn understood(path: &Path, contents: Contents) -> Reading {
    let fault = |line, message: String| Reading::failed(vec![SopFault { line, message }]);
    let file_name = path.file_name().unwrap_or_default().to_string_lossy();
    let Some(name) = file_name.strip_suffix(ENDING) else {
        return fault(1, format!("the name of the file must end with `{ENDING}`"));
    };
    let Ok(name) = SopName::parse(name) else {
        return fault(
            1,
            format!("the name {name:?} is not valid: use 1 to 64 lower-case letters, digits and hyphens"),
        );
    };
    if !contents.is_whole {
        return fault(1, format!("{}; a SOP must fit into a prompt", too_large()));
    }
    match String::from_utf8(contents.bytes) {
        Ok(text) => Reading::of(name, SopOrigin::File(path.to_owned()), &text),
        Err(error) => {
            let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            fault(1 + good.iter().filter(|byte| **byte == b'\n').count(), "this is not UTF-8 text".into())
        }
    }
}

#[cfg(test)]
mod tests;
