//! The folder of specialists in the workspace: looked at before each turn, read again only if something in it has changed.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use aethon_core::ids::AgentName;
use aethon_files::{Directory, Refusal, Stamp, Subdirectory};

use super::definition::{Definition, name};
use super::file::{ENDING, MAX_BYTES, parse, written};
use crate::digest;
use aethon_core::instructions::{Instructions, Observations, Observed, Origin};
use aethon_core::reported::Reported;

/// How many there may be, because each is a tool in every request to a model.
const MAX_COUNT: usize = 16;

/// The most entries of the folder that are looked at.
const MAX_ENTRIES: usize = 10_000;

/// The specialists of a folder, which need not exist.
pub struct SpecialistFolder {
    folder: Subdirectory,
    /// The names of the built-in specialists.
    reserved: Vec<AgentName>,
    /// Locked while files are read, which may take long; the path of a turn never waits for it.
    files: Mutex<Files>,
    now: Mutex<Now>,
}

#[derive(Default)]
struct Files {
    /// The state of the files when they were read; the error is why the folder is not used.
    stamps: Option<Stamps>,
    reported: Reported,
}

type Stamps = Result<Vec<(OsString, Stamp)>, String>;

#[derive(Clone)]
struct Now {
    version: u64,
    definitions: Arc<[Definition]>,
    observed: Arc<Observations>,
}

impl SpecialistFolder {
    /// The specialists of this folder, except those with reserved names. Nothing is read yet.
    pub fn new(folder: impl Into<PathBuf>, reserved: Vec<AgentName>) -> Self {
        let observed = Arc::new(Observations::none(Origin::Workspace));
        Self {
            folder: Subdirectory::new(folder),
            reserved,
            files: Mutex::default(),
            now: Mutex::new(Now { version: 0, definitions: Arc::default(), observed }),
        }
    }

    /// Returns the definitions by name as they were last read, and a number that changes with them.
    pub fn definitions(&self) -> (u64, Arc<[Definition]>) {
        let now = self.now();
        (now.version, now.definitions)
    }

    /// Reads the files again if something has changed. Blocks.
    pub fn refresh(&self) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.now();
        let opened = self.folder.open();
        let stamps = match &opened {
            Ok(Some(directory)) => stamps(directory).map_err(|error| error.to_string()),
            Ok(None) => Ok(Vec::new()),
            Err(refusal) => Err(refusal.to_string()),
        };
        if files.stamps.as_ref() == Some(&stamps) {
            return;
        }
        let (definitions, entries) = match (&opened, &stamps) {
            (Ok(Some(directory)), Ok(stamps)) => self.read(directory, &mut files, stamps),
            (_, Ok(_)) => Default::default(),
            (_, Err(why)) => {
                let message = format!("the specialists of this folder are not used: {why}");
                files.reported.warn(self.folder.path(), &message);
                (Vec::new(), hidden(why, &before.observed))
            }
        };
        files.stamps = Some(stamps);
        let is_same = before.version > 0 && before.definitions[..] == definitions[..];
        let now = Now {
            // A swap that changes no definition does not set up the agents again.
            version: before.version + u64::from(!is_same),
            definitions: definitions.into(),
            observed: Arc::new(Observations { origin: Origin::Workspace, entries }),
        };
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    /// Saves a specialist, replacing the one with its name. The error names the problem.
    pub(super) fn save(&self, definition: &Definition) -> Result<(), String> {
        let name = name(definition.name.as_str())?;
        if self.reserved.contains(&name) {
            return Err(format!("`{name}` comes with the program; choose another name"));
        }
        let text = written(definition);
        parse(name.as_str(), &text)?;
        self.refresh();
        let (_, known) = self.definitions();
        if known.len() >= MAX_COUNT && !known.iter().any(|one| one.name == name) {
            return Err(format!("there are {MAX_COUNT} specialists already; remove one first"));
        }
        let directory = self.folder.open_or_new().map_err(|refusal| self.unusable(&refusal))?;
        let written = directory.write(format!("{name}{ENDING}"), text.as_bytes());
        self.refresh();
        written.map_err(|error| format!("it could not be kept: {error}"))
    }

    /// Removes a specialist.
    pub(super) fn remove(&self, called: &str) -> Result<(), String> {
        let name = name(called)?;
        if self.reserved.contains(&name) {
            return Err(format!(
                "`{name}` comes with the program; the owner switches it off with `agent.specialists.{name}.enabled`"
            ));
        }
        let directory = self.folder.open().map_err(|refusal| self.unusable(&refusal))?;
        let removed = directory.map_or(Ok(false), |directory| directory.remove(format!("{name}{ENDING}")));
        self.refresh();
        match removed {
            Ok(true) => Ok(()),
            Ok(false) => Err(format!("there is no specialist `{name}` in the workspace")),
            Err(error) => Err(format!("it could not be removed: {error}")),
        }
    }

    fn unusable(&self, refusal: &Refusal) -> String {
        format!("{} is not used: {refusal}", self.folder.path().display())
    }

    fn now(&self) -> Now {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn read(
        &self,
        directory: &Directory,
        files: &mut Files,
        stamps: &[(OsString, Stamp)],
    ) -> (Vec<Definition>, BTreeMap<String, Observed>) {
        let (mut found, mut entries) = (Vec::new(), BTreeMap::new());
        for (file, _) in stamps {
            let path = self.folder.path().join(file);
            let file = file.to_string_lossy();
            let called = file.strip_suffix(ENDING).unwrap_or(&file);
            let (observed, parsed) = match read_file(directory, called) {
                Ok(text) => (Observed::Text(digest(text.as_bytes())), parse(called, &text)),
                Err(why) => (Observed::Unusable(why.clone()), Err(why)),
            };
            if name(called).is_ok_and(|name| !self.reserved.contains(&name)) {
                entries.insert(format!("agents/{file}"), observed);
            }
            match parsed {
                Ok(one) if self.reserved.contains(&one.name) => files
                    .reported
                    .warn(&path, "a specialist of this name comes with the program; the file is left out"),
                Ok(one) => found.push(one),
                Err(why) => files.reported.warn(&path, &why),
            }
        }
        found.truncate(MAX_COUNT);
        (found, entries)
    }
}

impl Instructions for SpecialistFolder {
    fn observe(&self) -> Arc<Observations> {
        self.refresh();
        self.now().observed
    }
}

/// The files of the folder that count, with their state.
fn stamps(directory: &Directory) -> std::io::Result<Vec<(OsString, Stamp)>> {
    let names = directory.names(ENDING, 4 * MAX_COUNT, MAX_ENTRIES)?;
    let stamped = |name: OsString| directory.stamp_of(&name).map(|stamp| (name, stamp));
    Ok(names.into_iter().filter_map(stamped).collect())
}

/// The observations while the folder is not usable: no file counts as gone, all are hidden, perhaps for a moment.
fn hidden(why: &str, before: &Observations) -> BTreeMap<String, Observed> {
    let names = before.entries.keys().cloned().chain(["agents".to_owned()]);
    names.map(|name| (name, Observed::Unusable(why.to_owned()))).collect()
}

fn read_file(directory: &Directory, called: &str) -> Result<String, String> {
    let name = format!("{called}{ENDING}");
    match directory.read(OsStr::new(&name), MAX_BYTES) {
        Ok(Some(contents)) if contents.is_whole => {
            String::from_utf8(contents.bytes).map_err(|_| "this is not UTF-8 text".to_owned())
        }
        Ok(Some(_)) => Err(format!("the file has more than {MAX_BYTES} bytes")),
        Ok(None) => Err("the file is gone".to_owned()),
        Err(refusal) => Err(refusal.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn definition(called: &str) -> Definition {
        parse(called, &format!("# Does {called}\nYou do {called}.")).unwrap()
    }

    #[test]
    fn files_come_and_go_without_a_restart() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("agents");
        let folder = SpecialistFolder::new(&path, vec![AgentName::parse("coder").unwrap()]);
        folder.refresh();
        let (first, none) = folder.definitions();
        assert!(none.is_empty());
        folder.refresh();
        assert_eq!(folder.definitions().0, first, "nothing has changed");
        folder.save(&definition("notes")).unwrap();
        let (second, one) = folder.definitions();
        assert!(second > first && one[0] == definition("notes"));
        fs::write(path.join("coder.agent.md"), "# Mine\nx").unwrap();
        fs::write(path.join("broken.agent.md"), "nothing").unwrap();
        std::os::unix::fs::symlink("/etc/hostname", path.join("linked.agent.md")).unwrap();
        fs::write(path.join("by_hand.agent.md"), "# By hand\nx").unwrap();
        folder.refresh();
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
    fn links_and_devices_are_no_specialists() {
        use std::os::unix::fs::symlink;
        let home = tempfile::tempdir().unwrap();
        let (path, outside) = (home.path().join("agents"), home.path().join("outside"));
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("spy.agent.md"), "# Spies\nPRIVATE").unwrap();
        fs::create_dir(&path).unwrap();
        let (folder, spy) = (SpecialistFolder::new(&path, Vec::new()), path.join("spy.agent.md"));
        folder.save(&definition("notes")).unwrap();
        let (version, _) = folder.definitions();
        let fifo = |path: &Path| {
            use rustix::fs::{CWD, FileType, Mode, mknodat};
            mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        };
        let puts: [&dyn Fn(&Path); 4] = [
            &|path| symlink(outside.join("spy.agent.md"), path).unwrap(),
            &|path| symlink("/dev/zero", path).unwrap(),
            &|path| fs::File::create(path).unwrap().set_len(20 << 30).unwrap(),
            &fifo,
        ];
        for put in puts {
            put(&spy);
            assert_eq!(folder.observe().entries.len(), 2, "it is named to the owner");
            assert_eq!(folder.definitions().0, version, "and nothing is set up anew");
            fs::remove_file(&spy).unwrap();
            assert_eq!(folder.observe().entries.len(), 1);
        }
        fs::rename(&path, home.path().join("moved")).unwrap();
        symlink(&outside, &path).unwrap();
        assert!(folder.observe().entries.keys().eq(["agents", "agents/notes.agent.md"]));
        assert!(folder.definitions().1.is_empty(), "nothing outside is read");
        assert!(folder.save(&definition("notes")).unwrap_err().contains("this is a link"));
        assert!(folder.remove("spy").unwrap_err().contains("this is a link"));
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1, "and nothing is written there");
    }

    #[test]
    fn number_of_specialists_is_bounded() {
        let home = tempfile::tempdir().unwrap();
        let folder = SpecialistFolder::new(home.path(), Vec::new());
        for number in 0..MAX_COUNT {
            folder.save(&definition(&format!("s{number}"))).unwrap();
        }
        assert!(folder.save(&definition("more")).unwrap_err().contains("remove one first"));
        folder.save(&definition("s0")).unwrap();
    }
}
