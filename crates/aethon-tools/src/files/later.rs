//! Files that act later: no file tool writes a file that a program, git or the assistant obeys at its next start.
//! Writing there runs code outside every wall, or instructs the owner's assistant in the owner's name.

use std::path::{Path, PathBuf};

use aethon_core::tool::ToolError;
use aethon_core::turn::Trust;

use super::git;
use super::workspace::Workspace;
use crate::protected_paths::is_within;
use crate::strangers::shaping_places;

impl Workspace {
    /// Refuses to write a place that acts later, judged by its real path.
    pub(super) fn check_later(&self, path: &str, real: &Path, base: &Path) -> Result<(), ToolError> {
        self.check_pages(path, real)?;
        self.check_git(path, real, base)?;
        match self.blocklist().protected().start_up_place_of(real, self.trust()) {
            Some(place) => Err(self.start_up(path, &place)),
            None => Ok(()),
        }
    }

    /// Refuses to write in an open directory that is a start-up place under another name.
    pub(super) fn check_folder(&self, path: &str, folder: &Path, base: &Path) -> Result<(), ToolError> {
        if self.blocklist().is_start_up_folder(folder, base) {
            return Err(self.start_up(path, folder));
        }
        Ok(())
    }

    fn start_up(&self, path: &str, place: &Path) -> ToolError {
        ToolError::denied(format!(
            "{path:?} lies in the start-up place {:?}, which programs run or obey the next time they start, so file tools \
             do not write there; the owner can open the place with `security.allowed_paths`",
            self.shown(place)
        ))
    }

    /// Refuses to write what git would execute later. The owner opens such a place by naming it, or something in it.
    fn check_git(&self, path: &str, real: &Path, base: &Path) -> Result<(), ToolError> {
        let Some(place) = git::git_path_of(real, base, self.real_home().as_deref()) else { return Ok(()) };
        if self.blocklist().is_opened_within(real, &place) {
            return Ok(());
        }
        Err(ToolError::denied(format!(
            "{path:?} lies in git's {:?}, whose hooks and settings git runs later, so file tools do not write there; use a \
             git command instead, or the owner opens the place with `security.allowed_paths`",
            self.shown(&place)
        )))
    }

    /// Refuses to write, in a turn that the owner's words did not begin, what shapes the assistant.
    fn check_pages(&self, path: &str, real: &Path) -> Result<(), ToolError> {
        if self.trust() == Trust::Owner || !self.shaping_places().iter().any(|place| is_within(real, place)) {
            return Ok(());
        }
        Err(ToolError::denied(format!(
            "{path:?} shapes the assistant (pages, sops, agents, skills), and this turn began with the words of somebody \
             else: only the owner's own turns change it"
        )))
    }

    fn shaping_places(&self) -> Vec<PathBuf> {
        shaping_places(&self.real_root())
    }
}
