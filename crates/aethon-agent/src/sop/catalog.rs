//! The available SOPs: the built-in ones, overridden by the files currently in a folder.
//!
//! The folder is listed on every request; a file is read again only if its time or size has changed. Nothing watches
//! the folder, so no change can be missed.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use aethon_core::error::{Error, Result};
use aethon_core::live::Live;
use aethon_core::memory::MemoryGuard;
use aethon_core::redact::Redactor;
use aethon_core::sop::{BrokenSop, Sop, SopCatalog, SopFault, SopName, SopOrigin, SopRefusal};
use async_trait::async_trait;

use super::builtin;
use super::parse::{MOST_BYTES, parse};

/// The file name ending of a SOP.
const ENDING: &str = ".sop.md";

/// The most files of a folder that count.
const MOST_FILES: usize = 500;

/// A folder of SOPs on top of the built-in ones. Cheap to clone; clones share the folder.
#[derive(Clone)]
pub struct SopFolder(Arc<Inner>);

struct Inner {
    folder: PathBuf,
    /// Knows the secrets that must not be written into a SOP.
    redactor: Live<Redactor>,
    /// The parsed files.
    read: Mutex<BTreeMap<PathBuf, Known>>,
}

/// A file as it was when it was last read.
#[derive(Clone)]
struct Known {
    mark: (Option<SystemTime>, u64),
    outcome: Outcome,
}

type Outcome = std::result::Result<Arc<Sop>, Vec<SopFault>>;

impl SopFolder {
    /// The SOPs of this folder, which need not exist. Secrets that the redactor knows are refused when saving.
    pub fn new(folder: impl Into<PathBuf>, redactor: Live<Redactor>) -> Self {
        Self(Arc::new(Inner { folder: folder.into(), redactor, read: Mutex::default() }))
    }

    async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> T + Send + 'static,
    ) -> Result<T> {
        let inner = self.0.clone();
        tokio::task::spawn_blocking(move || work(&inner))
            .await
            .map_err(|error| Error::internal("the SOPs could not be read").because(error))
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
            let path = inner.path(&name);
            match inner.file(&path) {
                Some(Ok(sop)) => Some(sop),
                // A broken file does not remove the built-in SOP.
                Some(Err(_)) | None => builtin::find(&name).cloned(),
            }
        })
        .await
    }

    async fn broken(&self) -> Result<Vec<BrokenSop>> {
        self.run_blocking(|inner| {
            let broken =
                |(path, outcome): (PathBuf, Outcome)| Some(BrokenSop { path, faults: outcome.err()? });
            inner.files().into_iter().filter_map(broken).collect()
        })
        .await
    }

    fn check(&self, content: &str) -> Vec<SopFault> {
        let Ok(name) = SopName::parse("draft") else { return Vec::new() };
        parse(name, SopOrigin::BuiltIn, content).err().unwrap_or_default()
    }

    async fn save(&self, name: &SopName, content: &str) -> std::result::Result<Arc<Sop>, SopRefusal> {
        let (name, content) = (name.clone(), content.to_owned());
        self.run_blocking(move |inner| inner.save(&name, &content)).await?
    }

    async fn remove(&self, name: &SopName) -> std::result::Result<(), SopRefusal> {
        let name = name.clone();
        self.run_blocking(move |inner| inner.remove(&name)).await?
    }
}

impl Inner {
    fn path(&self, name: &SopName) -> PathBuf {
        self.folder.join(format!("{name}{ENDING}"))
    }

    /// The files of the folder, by name.
    fn files(&self) -> Vec<(PathBuf, Outcome)> {
        let Ok(entries) = fs::read_dir(&self.folder) else { return Vec::new() };
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let mut paths: Vec<PathBuf> =
            paths.filter(|path| path.to_string_lossy().ends_with(ENDING)).take(MOST_FILES).collect();
        paths.sort();
        self.read.lock().unwrap_or_else(PoisonError::into_inner).retain(|path, _| paths.contains(path));
        paths.into_iter().filter_map(|path| Some((path.clone(), self.file(&path)?))).collect()
    }

    /// Reads a file; `None` if it does not exist.
    fn file(&self, path: &Path) -> Option<Outcome> {
        // Symbolic links do not count: the assistant could link to a file that is none of its business.
        let about = fs::symlink_metadata(path).ok()?;
        let mark = (about.modified().ok(), about.len());
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = read.get(path).filter(|known| known.mark == mark) {
            return Some(known.outcome.clone());
        }
        let outcome = read_file(path, about.is_file());
        if let Err(faults) = &outcome {
            for SopFault { line, message } in faults {
                tracing::warn!("{}:{line}: {message}", path.display());
            }
        }
        read.insert(path.to_owned(), Known { mark, outcome: outcome.clone() });
        Some(outcome)
    }

    fn save(&self, name: &SopName, content: &str) -> std::result::Result<Arc<Sop>, SopRefusal> {
        let path = self.path(name);
        let sop = parse(name.clone(), SopOrigin::File(path.clone()), content).map_err(SopRefusal::Faults)?;
        if let Some(kind) = MemoryGuard::new(self.redactor.clone(), &[])?.find(content) {
            return Err(SopRefusal::Secret(kind.to_owned()));
        }
        self.write(&path, content).map_err(|error| {
            Error::internal(format!("{} cannot be written: {error}", path.display())).because(error)
        })?;
        // The next look reads the file again, whatever its time says.
        self.read.lock().unwrap_or_else(PoisonError::into_inner).remove(&path);
        Ok(Arc::new(sop))
    }

    /// Writes a file completely or not at all.
    fn write(&self, path: &Path, content: &str) -> io::Result<()> {
        make_folder(&self.folder)?;
        let partial = path.with_extension("partial");
        // Left over from an interrupted write.
        if partial.exists() {
            fs::remove_file(&partial)?;
        }
        let mut file = private_file(&partial)?;
        file.write_all(content.as_bytes())?;
        file.sync_all()?;
        fs::rename(&partial, path)
    }

    fn remove(&self, name: &SopName) -> std::result::Result<(), SopRefusal> {
        let path = self.path(name);
        match fs::remove_file(&path) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(match builtin::find(name) {
                Some(_) => SopRefusal::BuiltIn(name.clone()),
                None => SopRefusal::Unknown(name.clone()),
            }),
            Err(error) => Err(Error::internal(format!("{} cannot be removed: {error}", path.display()))
                .because(error)
                .into()),
        }
    }
}

/// Reads a file as the catalog would, wherever it is.
pub fn check_file(path: &Path) -> std::result::Result<Sop, Vec<SopFault>> {
    read_file(path, path.is_file()).map(|sop| (*sop).clone())
}

fn read_file(path: &Path, is_file: bool) -> Outcome {
    let fault = |line, message: String| Err(vec![SopFault { line, message }]);
    if !is_file {
        let why = if path.exists() {
            "this is no plain file; copy it here instead of linking it"
        } else {
            "there is no such file"
        };
        return fault(1, why.into());
    }
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
    let mut bytes = Vec::new();
    // One byte more than allowed, so that a file that is too large is recognised.
    let most = MOST_BYTES as u64 + 1;
    if let Err(error) = File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes)) {
        return fault(1, format!("the file cannot be read: {error}"));
    }
    match String::from_utf8(bytes) {
        Ok(text) => parse(name, SopOrigin::File(path.to_owned()), &text).map(Arc::new),
        Err(error) => {
            let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            fault(1 + good.iter().filter(|byte| **byte == b'\n').count(), "this is not UTF-8 text".into())
        }
    }
}

fn make_folder(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn private_file(path: &Path) -> io::Result<File> {
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# T\n## Overview\nx\n## Steps\n### 1. a\n";

    fn folder(path: &Path) -> SopFolder {
        SopFolder::new(path.join("sops"), Live::default())
    }

    fn name(name: &str) -> SopName {
        SopName::parse(name).unwrap()
    }

    async fn names(sops: &SopFolder) -> Vec<String> {
        sops.sops().await.unwrap().iter().map(|sop| sop.name.to_string()).collect()
    }

    #[tokio::test]
    async fn a_file_counts_as_soon_as_it_is_there_and_shadows_a_built_in_one() {
        let home = tempfile::tempdir().unwrap();
        let sops = folder(home.path());
        assert_eq!(names(&sops).await, ["code-assist", "codebase-summary", "pdd"]);
        let path = home.path().join("sops");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("notes.sop.md"), TEXT).unwrap();
        fs::write(path.join("pdd.sop.md"), TEXT.replace("# T", "# Ours")).unwrap();
        assert_eq!(names(&sops).await, ["code-assist", "codebase-summary", "notes", "pdd"]);
        assert_eq!(sops.sop(&name("pdd")).await.unwrap().unwrap().title, "Ours");
        fs::write(path.join("notes.sop.md"), TEXT.replace("# T", "# Changed")).unwrap();
        assert_eq!(sops.sop(&name("notes")).await.unwrap().unwrap().title, "Changed");
        fs::remove_file(path.join("notes.sop.md")).unwrap();
        assert!(sops.sop(&name("notes")).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_broken_file_is_named_and_stops_no_other() {
        let home = tempfile::tempdir().unwrap();
        let (sops, path) = (folder(home.path()), home.path().join("sops"));
        fs::create_dir(&path).unwrap();
        fs::write(path.join("good.sop.md"), TEXT).unwrap();
        fs::write(path.join("bad.sop.md"), "# T\n").unwrap();
        fs::write(path.join("Bad Name.sop.md"), TEXT).unwrap();
        fs::write(path.join("pdd.sop.md"), [b'#', b' ', b'T', b'\n', 0xff]).unwrap();
        std::os::unix::fs::symlink(path.join("good.sop.md"), path.join("link.sop.md")).unwrap();
        assert_eq!(names(&sops).await, ["code-assist", "codebase-summary", "good", "pdd"]);
        let broken = sops.broken().await.unwrap();
        let listed: Vec<_> = broken
            .iter()
            .map(|file| (file.path.file_name().unwrap().to_str().unwrap(), file.faults[0].line))
            .collect();
        assert_eq!(
            listed,
            [("Bad Name.sop.md", 1), ("bad.sop.md", 1), ("link.sop.md", 1), ("pdd.sop.md", 2)]
        );
        assert!(sops.sop(&name("pdd")).await.unwrap().is_some(), "the built-in one is there");
    }

    #[tokio::test]
    async fn what_is_saved_is_a_sop_without_secrets_and_built_in_ones_stay() {
        let home = tempfile::tempdir().unwrap();
        let sops = folder(home.path());
        let saved = sops.save(&name("notes"), TEXT).await.unwrap();
        assert_eq!(saved.title, "T");
        let refused = sops.save(&name("notes"), "# T\n").await;
        assert!(matches!(refused, Err(SopRefusal::Faults(_))));
        let secret = TEXT.replace("\nx\n", "\npassword=Hunter2Hunter2\n");
        assert!(matches!(sops.save(&name("notes"), &secret).await, Err(SopRefusal::Secret(_))));
        sops.save(&name("pdd"), TEXT).await.unwrap();
        sops.remove(&name("pdd")).await.unwrap();
        assert!(matches!(sops.remove(&name("pdd")).await, Err(SopRefusal::BuiltIn(_))));
        assert!(sops.sop(&name("pdd")).await.unwrap().is_some());
        sops.remove(&name("notes")).await.unwrap();
        assert!(matches!(sops.remove(&name("notes")).await, Err(SopRefusal::Unknown(_))));
    }
}
