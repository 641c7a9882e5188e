//! All current specialists as agents: the built-in ones and those of the folder.

use std::sync::{Arc, PoisonError, RwLock};

use aethon_agent::{Agent, Roster, SpecialistSource};
use aethon_workflows::specialists::{Definition, SpecialistFolder};

/// Turns a definition into an agent with models, a prompt and tools.
pub(crate) type Recipe = Arc<dyn Fn(&Definition) -> Agent + Send + Sync>;

/// The built-in specialists, and those of a folder.
pub(crate) struct SpecialistRoster {
    fixed: Vec<Definition>,
    folder: Option<Arc<SpecialistFolder>>,
    recipe: Recipe,
    now: RwLock<(u64, Roster)>,
}

impl SpecialistRoster {
    /// Combines these with those of the folder, if there is one. `recipe` turns them into agents. Reads the folder.
    pub(crate) fn new(fixed: Vec<Definition>, folder: Option<Arc<SpecialistFolder>>, recipe: Recipe) -> Self {
        let roster = Self { fixed, folder, recipe, now: RwLock::default() };
        roster.refresh();
        roster
    }
}

impl SpecialistSource for SpecialistRoster {
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
