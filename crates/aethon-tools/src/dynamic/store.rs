//! The store of tools that were created at runtime: as files (`NAME/manifest.json` and `NAME/program`), and as the
//! tools that the engine sees. Invalid ones on disk are skipped and logged.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use aethon_core::audit::{AuditAction, AuditEntry, AuditLog};
use aethon_core::clock::Clock;
use aethon_core::tool::Tool;
use aethon_files::{Directory, Refusal, Subdirectory};

use super::manifest::{Manifest, check_name};
use super::program::{Executor, Program};

/// Maximum number of tools: each is part of every model request.
const MAX_COUNT: usize = 32;
/// Maximum number of entries of the folder that are looked at, and maximum size of a file in bytes.
const MAX_ENTRIES: usize = 1_000;
const MAX_BYTES: usize = 4 << 20;
const MANIFEST: &str = "manifest.json";
const PROGRAM: &str = "program";

/// The stored tools.
pub(super) struct ToolStore {
    folder: PathBuf,
    pub(super) executor: Executor,
    /// Names that are taken.
    reserved: Vec<String>,
    audit: Arc<dyn AuditLog>,
    clock: Arc<dyn Clock>,
    loaded: RwLock<Loaded>,
}

#[derive(Default, Clone)]
struct Loaded {
    version: u64,
    tools: Vec<(Manifest, Arc<dyn Tool>)>,
}

impl ToolStore {
    /// Opens a folder and loads its tools.
    pub(super) fn open(
        folder: PathBuf,
        executor: Executor,
        reserved: Vec<String>,
        audit: Arc<dyn AuditLog>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let store = Self { folder, executor, reserved, audit, clock, loaded: RwLock::default() };
        store.read();
        store
    }

    /// Returns the current tools for the engine, with their version.
    pub(super) fn tools(&self) -> (u64, Vec<Arc<dyn Tool>>) {
        let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner);
        (loaded.version, loaded.tools.iter().map(|(_, tool)| tool.clone()).collect())
    }

    /// Returns the current tools, ordered by name.
    pub(super) fn list(&self) -> Vec<Manifest> {
        let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner);
        loaded.tools.iter().map(|(manifest, _)| manifest.clone()).collect()
    }

    /// Returns a tool and its program.
    pub(super) fn find(&self, name: &str) -> Result<(Manifest, String), String> {
        check_name(name)?;
        let tools = Subdirectory::new(&self.folder).open().ok().flatten();
        let found = tools.ok_or_else(|| io::ErrorKind::NotFound.into()).and_then(|tools| load(&tools, name));
        found.map_err(|_| format!("there is no tool `{name}` that was made here"))
    }

    /// Adds a tool, or replaces the one with the same name.
    pub(super) async fn add(&self, manifest: Manifest, code: &str) -> Result<(), String> {
        manifest.check(code)?;
        let name = manifest.name.clone();
        if self.reserved.contains(&name) {
            return Err(format!("`{name}` is the name of another tool; choose one of its own"));
        }
        let known = self.list();
        if known.len() >= MAX_COUNT && !known.iter().any(|one| one.name == name) {
            return Err(format!("there are {MAX_COUNT} tools already; remove one first"));
        }
        store(&self.folder, &manifest, code)
            .map_err(|error| format!("the tool could not be kept: {error}"))?;
        self.read();
        self.note(&name, "added", code).await;
        Ok(())
    }

    pub(super) async fn remove(&self, name: &str) -> Result<(), String> {
        let (_, code) = self.find(name)?;
        fs::remove_dir_all(self.folder.join(name))
            .map_err(|error| format!("it could not be removed: {error}"))?;
        self.read();
        self.note(name, "removed", &code).await;
        Ok(())
    }

    /// Reloads the folder.
    fn read(&self) {
        let tools = Subdirectory::new(&self.folder).open().unwrap_or_else(|refusal| {
            tracing::warn!(folder = %self.folder.display(), %refusal, "the tools of the home are left out");
            None
        });
        let names = tools.as_ref().and_then(|tools| tools.names("", MAX_ENTRIES, MAX_ENTRIES).ok());
        let mut found: Vec<(Manifest, Arc<dyn Tool>)> = Vec::new();
        for (tools, name) in names.into_iter().flatten().filter_map(|name| Some((tools.as_ref()?, name))) {
            let name = name.to_string_lossy().into_owned();
            if name.starts_with('.') {
                continue;
            }
            match load(tools, &name) {
                Ok((manifest, code)) if manifest.name == name && manifest.check(&code).is_ok() => {
                    let tool = Program::new(manifest.clone(), code, self.executor.clone());
                    found.push((manifest, Arc::new(tool)));
                }
                Ok(_) => {
                    tracing::warn!(tool = name, "a tool of the home is left out: its manifest is not valid")
                }
                Err(error) => tracing::warn!(tool = name, %error, "a tool of the home cannot be read"),
            }
        }
        found.sort_by(|one, other| one.0.name.cmp(&other.0.name));
        found.truncate(MAX_COUNT);
        let mut loaded = self.loaded.write().unwrap_or_else(PoisonError::into_inner);
        *loaded = Loaded { version: loaded.version + 1, tools: found };
    }

    async fn note(&self, name: &str, outcome: &str, code: &str) {
        let entry = AuditEntry::new(self.clock.now(), AuditAction::Tools, name, outcome)
            .by("manage_tools")
            .with_detail(code);
        if let Err(error) = self.audit.record(entry).await {
            tracing::warn!(%error, "a row of the audit could not be stored");
        }
    }
}

fn load(tools: &Directory, name: &str) -> io::Result<(Manifest, String)> {
    let folder = tools.inner(name).map_err(Refusal::into_io)?.ok_or(io::ErrorKind::NotFound)?;
    let read = |name: &str| -> io::Result<String> {
        let contents =
            folder.read(name, MAX_BYTES).map_err(Refusal::into_io)?.ok_or(io::ErrorKind::NotFound)?;
        if !contents.is_whole {
            return Err(io::Error::other(format!("{name} has more than {MAX_BYTES} bytes")));
        }
        String::from_utf8(contents.bytes).map_err(io::Error::other)
    };
    let manifest =
        serde_json::from_str(read(MANIFEST)?.trim_start_matches('\u{feff}')).map_err(io::Error::other)?;
    Ok((manifest, read(PROGRAM)?))
}

/// Writes a tool to a temporary folder and renames it, so that no half-written tool ever exists.
fn store(folder: &Path, manifest: &Manifest, code: &str) -> io::Result<()> {
    let (target, fresh) = (folder.join(&manifest.name), folder.join(format!(".{}.new", manifest.name)));
    let old = folder.join(format!(".{}.old", manifest.name));
    let private = |path: &Path| DirBuilder::new().recursive(true).mode(0o700).create(path);
    for left in [&fresh, &old] {
        if left.exists() {
            fs::remove_dir_all(left)?;
        }
    }
    private(folder)?;
    private(&fresh)?;
    let text = serde_json::to_string_pretty(manifest).map_err(io::Error::other)?;
    for (name, content) in [(MANIFEST, text.as_str()), (PROGRAM, code)] {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(fresh.join(name))?;
        file.write_all(content.as_bytes())?;
        file.sync_all()?;
    }
    if target.exists() {
        fs::rename(&target, &old)?;
    }
    fs::rename(&fresh, &target)?;
    if old.exists() {
        fs::remove_dir_all(&old)?;
    }
    Ok(())
}
