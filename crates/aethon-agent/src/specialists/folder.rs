//! The folder of specialists in the workspace: checked before each use, read again only if something in it has changed.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use aethon_core::ids::AgentName;

use super::definition::{Definition, name};
use super::file::{ENDING, MOST_BYTES, parse, written};

/// How many there may be, because each is a tool in every request to a model.
const MOST: usize = 16;

/// The specialists of a folder, which need not exist.
pub struct SpecialistFolder {
    folder: PathBuf,
    /// The names of the built-in specialists.
    reserved: Vec<AgentName>,
    now: Mutex<Now>,
}

#[derive(Default)]
struct Now {
    version: u64,
    /// The times and sizes of the files when they were read.
    marks: Marks,
    definitions: Arc<[Definition]>,
}

type Marks = BTreeMap<PathBuf, (Option<SystemTime>, u64)>;

impl SpecialistFolder {
    /// The specialists of this folder, except those with reserved names.
    pub fn new(folder: impl Into<PathBuf>, reserved: Vec<AgentName>) -> Self {
        Self { folder: folder.into(), reserved, now: Mutex::default() }
    }

    /// Returns the current definitions by name, and a number that changes with them.
    pub fn definitions(&self) -> (u64, Arc<[Definition]>) {
        let marks = self.file_marks();
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        if now.version == 0 || now.marks != marks {
            now.definitions = self.read(marks.keys());
            now.marks = marks;
            now.version += 1;
        }
        (now.version, now.definitions.clone())
    }

    /// Saves a specialist, replacing the one with its name. The error says what is wrong with it.
    pub(super) fn save(&self, definition: &Definition) -> Result<(), String> {
        let name = name(definition.name.as_str())?;
        if self.reserved.contains(&name) {
            return Err(format!("`{name}` comes with the program; choose another name"));
        }
        let text = written(definition);
        parse(name.as_str(), &text)?;
        let (_, known) = self.definitions();
        if known.len() >= MOST && !known.iter().any(|one| one.name == name) {
            return Err(format!("there are {MOST} specialists already; remove one first"));
        }
        let path = self.folder.join(format!("{name}{ENDING}"));
        write(&self.folder, &path, &text).map_err(|error| format!("it could not be kept: {error}"))
    }

    /// Removes a specialist.
    pub(super) fn remove(&self, called: &str) -> Result<(), String> {
        let name = name(called)?;
        if self.reserved.contains(&name) {
            return Err(format!(
                "`{name}` comes with the program; the owner switches it off with `agent.specialists.{name}.enabled`"
            ));
        }
        fs::remove_file(self.folder.join(format!("{name}{ENDING}"))).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => format!("there is no specialist `{name}` in the workspace"),
            _ => format!("it could not be removed: {error}"),
        })
    }

    fn file_marks(&self) -> Marks {
        let Ok(entries) = fs::read_dir(&self.folder) else { return Marks::new() };
        let mark = |path: PathBuf| {
            // Symbolic links do not count: the assistant could link to a file that is none of its business.
            let about = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
            Some((path, (about.modified().ok(), about.len())))
        };
        let paths = entries.flatten().map(|entry| entry.path());
        paths
            .filter(|path| path.to_string_lossy().ends_with(ENDING))
            .take(4 * MOST)
            .filter_map(mark)
            .collect()
    }

    fn read<'p>(&self, paths: impl Iterator<Item = &'p PathBuf>) -> Arc<[Definition]> {
        let mut found = Vec::new();
        for path in paths {
            let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let called = file.trim_end_matches(ENDING);
            match read_file(path).and_then(|text| parse(called, &text)) {
                Ok(one) if self.reserved.contains(&one.name) => {
                    tracing::warn!(
                        name = called,
                        "a specialist of this name comes with the program; the file is left out"
                    );
                }
                Ok(one) => found.push(one),
                Err(why) => tracing::warn!("{}: {why}", path.display()),
            }
        }
        found.truncate(MOST);
        found.into()
    }
}

fn read_file(path: &Path) -> Result<String, String> {
    use std::io::Read as _;
    let mut text = String::new();
    let limit = u64::try_from(MOST_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    file.take(limit).read_to_string(&mut text).map_err(|error| error.to_string())?;
    Ok(text)
}

/// Writes a file completely or not at all.
fn write(folder: &Path, path: &Path, text: &str) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let partial = path.with_extension("partial");
    if partial.exists() {
        fs::remove_file(&partial)?;
    }
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&partial)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&partial, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(called: &str) -> Definition {
        parse(called, &format!("# Does {called}\nYou do {called}.")).unwrap()
    }

    #[test]
    fn files_come_and_go_without_a_restart() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("agents");
        let folder = SpecialistFolder::new(&path, vec![AgentName::parse("coder").unwrap()]);
        let (first, none) = folder.definitions();
        assert!(none.is_empty());
        assert_eq!(folder.definitions().0, first, "nothing has changed");
        folder.save(&definition("notes")).unwrap();
        let (second, one) = folder.definitions();
        assert!(second > first && one[0] == definition("notes"));
        fs::write(path.join("coder.agent.md"), "# Mine\nx").unwrap();
        fs::write(path.join("broken.agent.md"), "nothing").unwrap();
        std::os::unix::fs::symlink("/etc/hostname", path.join("linked.agent.md")).unwrap();
        fs::write(path.join("by_hand.agent.md"), "# By hand\nx").unwrap();
        let names: Vec<String> = folder.definitions().1.iter().map(|one| one.name.to_string()).collect();
        assert_eq!(names, ["by_hand", "notes"]);
        folder.remove("notes").unwrap();
        assert!(folder.remove("notes").unwrap_err().contains("no specialist"));
        assert!(folder.remove("coder").unwrap_err().contains("agent.specialists.coder.enabled"));
        assert!(folder.remove("../notes").unwrap_err().contains("no name"));
        assert_eq!(folder.definitions().1.len(), 1);
        let mut taken = definition("x");
        taken.name = AgentName::parse("coder").unwrap();
        assert!(folder.save(&taken).unwrap_err().contains("comes with the program"));
    }

    #[test]
    fn there_is_a_bound() {
        let home = tempfile::tempdir().unwrap();
        let folder = SpecialistFolder::new(home.path(), Vec::new());
        for number in 0..MOST {
            folder.save(&definition(&format!("s{number}"))).unwrap();
        }
        assert!(folder.save(&definition("more")).unwrap_err().contains("remove one first"));
        folder.save(&definition("s0")).unwrap();
    }
}
