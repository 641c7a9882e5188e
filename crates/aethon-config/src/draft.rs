//! A draft: a copy of the configuration file that is open in an editor.
//!
//! Beside it lies the text that it was made from. So when it is saved, changes that others made meanwhile are not
//! undone: changes of different keys are merged, and a draft that changes the same key is refused and kept. A draft that
//! was refused for its faults is opened again the next time, with later changes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use aethon_files::Lock;

use crate::batch::difference;
use crate::edit::failed;
use crate::held::{self, HeldFile};
use crate::load::load_text;
use crate::merge::{Conflict, merged};
use crate::private_file;
use crate::problem::{Error, Problem};
use crate::sources::Sources;

/// A copy of the file that is being edited.
#[derive(Debug)]
pub struct Draft {
    path: PathBuf,
    base_path: PathBuf,
    /// The text of the file from which it was made.
    base: String,
    /// The text with which it was opened.
    opened: String,
    resumed: Resumed,
    /// One draft is open at a time.
    _lock: Lock,
}

/// What became of an earlier draft that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resumed {
    /// There was none.
    Nothing,
    /// It continues.
    Earlier,
    /// It conflicts with later changes of others, so it is kept in this file, and the new draft begins with the current file.
    SetAside(PathBuf),
}

/// The outcome of an edited draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saved {
    /// It is unchanged, so nothing was written.
    Unchanged,
    /// It is in the file.
    Replaced,
    /// It is in the file, together with changes that others made meanwhile.
    Merged,
}

impl Draft {
    /// Makes a copy of the file, or continues the one that was refused before.
    pub fn open(sources: &Sources) -> Result<Self, Error> {
        let file = sources.config_file();
        let failed = |error: io::Error| failed(&file, &error);
        let locks = sources.home.join("run");
        private_file::create_directory(&locks).map_err(failed)?;
        let lock = Lock::take(&locks, "config-edit").map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => {
                Error::one(file.display(), "another draft of it in an editor", "one draft at a time")
            }
            _ => failed(error),
        })?;
        let (path, base_path) = (file.with_extension("toml.edit"), file.with_extension("toml.edit-base"));
        let beginning = Beginning::of(&file, &path, &base_path).map_err(failed)?;
        for step in beginning.steps(&path, &base_path) {
            step.take().map_err(failed)?;
        }
        let Beginning { now, opened, resumed } = beginning;
        Ok(Self { path, base_path, base: now, opened, resumed, _lock: lock })
    }

    /// Returns the path of the copy.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns what became of an earlier draft.
    pub fn resumed(&self) -> &Resumed {
        &self.resumed
    }

    /// Removes the copy, unless it holds work: it was changed, or it continues an earlier one.
    pub fn discard(self) -> io::Result<()> {
        let is_kept = self.resumed == Resumed::Earlier || fs::read_to_string(&self.path)? != self.opened;
        if is_kept { Ok(()) } else { self.remove() }
    }

    /// Puts the edited copy into the file, unless it has a problem. A refused one is kept, and the error says where.
    pub fn save(self, sources: &Sources) -> Result<Saved, Error> {
        let file = sources.config_file();
        let failed = |error: io::Error| failed(&file, &error);
        let text = fs::read_to_string(&self.path).map_err(failed)?;
        if text == self.opened {
            self.discard().map_err(failed)?;
            return Ok(Saved::Unchanged);
        }
        let mut held = HeldFile::open(sources).map_err(failed)?;
        let new = match merged(&self.base, &text, held.text()) {
            Ok(new) => new,
            Err(conflict) => {
                let kept = private_file::write_numbered(&file, "refused", text.as_bytes()).map_err(failed)?;
                let error = refused(&file, &conflict, &difference(held.text(), &text), &kept);
                self.remove().map_err(failed)?;
                return Err(error);
            }
        };
        load_text(&file, new.clone(), sources).map_err(|error| self.kept(error))?;
        held.replace(&new).map_err(failed)?;
        let is_merged = new != text;
        self.remove().map_err(failed)?;
        Ok(if is_merged { Saved::Merged } else { Saved::Replaced })
    }

    /// Adds to an error where the text is.
    fn kept(&self, error: Error) -> Error {
        let kept = Problem {
            place: self.path.display().to_string(),
            key: String::new(),
            found: "these problems, so your text is kept in this file".to_owned(),
            allowed: "`aethon-cli config edit` once more, which goes on with it".to_owned(),
        };
        Error::new(error.problems().iter().cloned().chain([kept]).collect(), error.warnings().to_vec())
    }

    fn remove(self) -> io::Result<()> {
        // The copy first: without it, its base means nothing.
        fs::remove_file(&self.path)?;
        fs::remove_file(&self.base_path)
    }
}

/// How a draft begins.
struct Beginning {
    /// The text of the file.
    now: String,
    /// The text of the draft.
    opened: String,
    resumed: Resumed,
}

/// One file that is written or removed.
enum FileStep<'a> {
    Write(&'a Path, &'a str),
    Remove(&'a Path),
}

impl Beginning {
    /// Reads the file, and a draft that was left beside it. One that does not go on is kept in a file of its own.
    fn of(file: &Path, path: &Path, base_path: &Path) -> io::Result<Self> {
        let now = held::read(file)?.unwrap_or_default();
        let (earlier, base) = (held::read(path)?, held::read(base_path)?);
        let (opened, resumed) = match earlier {
            None => (now.clone(), Resumed::Nothing),
            Some(earlier) => match base.and_then(|base| merged(&base, &earlier, &now).ok()) {
                Some(text) => (text, Resumed::Earlier),
                None => {
                    let kept = private_file::write_numbered(file, "refused", earlier.as_bytes())?;
                    (now.clone(), Resumed::SetAside(kept))
                }
            },
        };
        Ok(Self { now, opened, resumed })
    }

    /// The writes in their order: the program may end after each step, and then no change of others may look like one that the
    /// draft takes back.
    fn steps<'a>(&'a self, path: &'a Path, base_path: &'a Path) -> Vec<FileStep<'a>> {
        let (draft, base) = (FileStep::Write(path, &self.opened), FileStep::Write(base_path, &self.now));
        match self.resumed {
            // The merged draft has the changes of others, so it may lie beside the earlier base. The earlier draft lacks
            // it, so it must not lie beside the new base.
            Resumed::Earlier => vec![draft, base],
            // A new draft has nothing to do with the base of before; and without a draft, a base means nothing.
            Resumed::Nothing => vec![base, draft],
            Resumed::SetAside(_) => vec![FileStep::Remove(path), base, draft],
        }
    }
}

impl FileStep<'_> {
    fn take(&self) -> io::Result<()> {
        match self {
            Self::Write(path, text) => private_file::write(path, text.as_bytes()),
            Self::Remove(path) => fs::remove_file(path),
        }
    }
}

/// A draft that conflicts with changes that others made meanwhile.
fn refused(file: &Path, conflict: &Conflict, difference: &str, kept: &Path) -> Error {
    let what = match conflict.keys.is_empty() {
        true => {
            "changes by others, made while it was in the editor, that cannot be merged with yours".to_owned()
        }
        false => {
            let keys = conflict.keys.join(", ");
            format!("changes by others, made while it was in the editor, of what you changed too: {keys}")
        }
    };
    let remedy = format!(
        "the same change once more with `aethon-cli config edit`; your text is kept in {}\nfrom the file to your text:\n{difference}",
        kept.display()
    );
    Error::one(file.display(), what, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "[agent]\nloop_limit = 4\n";
    /// The draft changes one key and others another one.
    const DRAFT: &str = "[agent]\nloop_limit = \"many\"\n";
    const NOW: &str = "[agent]\nloop_limit = 4\n\n[budget]\ndaily_usd = 7\n";

    /// Ends the program after so many steps of opening a draft, then others write `later`. Returns how the next draft begins.
    fn reopened(base: &str, draft: Option<&str>, steps: usize, later: &str) -> (Resumed, String) {
        let home = tempfile::tempdir().unwrap();
        let (file, path) = (home.path().join("config.toml"), home.path().join("config.toml.edit"));
        let base_path = home.path().join("config.toml.edit-base");
        fs::write(&file, NOW).unwrap();
        fs::write(&base_path, base).unwrap();
        if let Some(draft) = draft {
            fs::write(&path, draft).unwrap();
        }
        let beginning = Beginning::of(&file, &path, &base_path).unwrap();
        beginning.steps(&path, &base_path).iter().take(steps).for_each(|step| step.take().unwrap());
        fs::write(&file, later).unwrap();
        let draft = Draft::open(&Sources { home: home.path().to_owned(), ..Sources::default() }).unwrap();
        let text = fs::read_to_string(draft.path()).unwrap();
        (draft.resumed().clone(), text)
    }

    #[test]
    fn interrupted_continuation_of_a_draft_keeps_changes_of_others() {
        for steps in 0..=2 {
            for later in [NOW, "[agent]\nloop_limit = 4\n\n[budget]\ndaily_usd = 7\nmonthly_usd = 50\n"] {
                let (resumed, text) = reopened(BASE, Some(DRAFT), steps, later);
                assert_eq!(resumed, Resumed::Earlier, "{steps} {later}");
                assert_eq!(text, later.replace('4', "\"many\""), "{steps} {later}");
            }
        }
    }

    #[test]
    fn interrupted_start_of_a_draft_keeps_changes_of_others() {
        // The earlier draft conflicts with changes of others; without one, its base may still be there.
        let conflicting = "[agent]\nloop_limit = 4\n\n[budget]\ndaily_usd = 0\n";
        for draft in [None, Some(conflicting)] {
            for steps in 0..=3 {
                // Others restore the earlier base.
                let (_, text) = reopened(BASE, draft, steps, BASE);
                let is_earlier = draft.is_some() && steps == 0;
                assert_eq!(text, if is_earlier { conflicting } else { BASE }, "{draft:?} {steps}");
            }
        }
    }
}
