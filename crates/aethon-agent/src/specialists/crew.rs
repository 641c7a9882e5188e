//! All current specialists as agents: the built-in ones and those of the folder.

use std::sync::{Arc, PoisonError, RwLock};

use super::definition::Definition;
use super::folder::SpecialistFolder;
use crate::agent::Agent;

/// Turns a definition into an agent with models, a prompt and tools.
pub type Recipe = Arc<dyn Fn(&Definition) -> Agent + Send + Sync>;

/// The specialists at one moment.
#[derive(Clone, Default)]
pub struct Roster {
    /// Changes whenever the specialists do, and only then.
    pub version: u64,
    /// The specialists.
    pub agents: Arc<[Agent]>,
}

/// Provides an engine with its specialists.
pub trait SpecialistSource: Send + Sync {
    /// Returns the specialists as they were last read. Called often, so it must be cheap and read nothing.
    fn roster(&self) -> Roster;

    /// Reads them again if something has changed. Blocks for as long as the file system does.
    fn refresh(&self) {}

    /// Returns whether refreshing reads files.
    fn is_from_files(&self) -> bool {
        false
    }
}

/// The built-in specialists, and those of a folder.
pub struct Crew {
    fixed: Vec<Definition>,
    folder: Option<Arc<SpecialistFolder>>,
    recipe: Recipe,
    now: RwLock<(u64, Roster)>,
}

impl Crew {
    /// Combines these with those of the folder, if there is one. `recipe` turns them into agents. Reads the folder.
    pub fn new(fixed: Vec<Definition>, folder: Option<Arc<SpecialistFolder>>, recipe: Recipe) -> Self {
        let crew = Self { fixed, folder, recipe, now: RwLock::default() };
        crew.refresh();
        crew
    }
}

impl SpecialistSource for Crew {
    fn roster(&self) -> Roster {
        self.now.read().unwrap_or_else(PoisonError::into_inner).1.clone()
    }

    fn refresh(&self) {
        let (version, added) = match &self.folder {
            Some(folder) => {
                folder.refresh();
                folder.definitions()
            }
            None => (0, Arc::default()),
        };
        let (known, before) = {
            let now = self.now.read().unwrap_or_else(PoisonError::into_inner);
            (now.0, now.1.version)
        };
        if before > 0 && known == version {
            return;
        }
        // Made before anybody is kept waiting: a recipe reads pages.
        let all = self.fixed.iter().chain(added.iter());
        let agents = all.map(|definition| (self.recipe)(definition)).collect();
        let roster = Roster { version: before + 1, agents };
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = (version, roster);
    }

    fn is_from_files(&self) -> bool {
        self.folder.is_some()
    }
}
