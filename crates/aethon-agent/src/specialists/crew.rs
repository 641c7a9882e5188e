//! All specialists as agents, as they are now: those that come with the program, and those of the folder.

use std::sync::{Arc, PoisonError, RwLock};

use super::definition::Definition;
use super::folder::SpecialistFolder;
use crate::agent::Agent;

/// Makes an agent of a definition: with models, a prompt and tools.
pub type Recipe = Arc<dyn Fn(&Definition) -> Agent + Send + Sync>;

/// The specialists at one moment.
#[derive(Clone, Default)]
pub struct Roster {
    /// Changes whenever they do, and at no other time.
    pub version: u64,
    /// The specialists.
    pub agents: Arc<[Agent]>,
}

/// Where an engine finds its specialists. Asked often, so it must be cheap.
pub trait SpecialistSource: Send + Sync {
    /// Those that there are now.
    fn roster(&self) -> Roster;
}

/// Specialists that come with the program, and those of a folder.
pub struct Crew {
    fixed: Vec<Definition>,
    folder: Option<Arc<SpecialistFolder>>,
    recipe: Recipe,
    now: RwLock<Option<(u64, Roster)>>,
}

impl Crew {
    /// These, and those of the folder, if there is one. `recipe` makes agents of them.
    pub fn new(fixed: Vec<Definition>, folder: Option<Arc<SpecialistFolder>>, recipe: Recipe) -> Self {
        Self { fixed, folder, recipe, now: RwLock::default() }
    }
}

impl SpecialistSource for Crew {
    fn roster(&self) -> Roster {
        let (version, added) = match &self.folder {
            Some(folder) => folder.definitions(),
            None => (0, Arc::default()),
        };
        let known = self.now.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((of, roster)) = known.filter(|(of, _)| *of == version) {
            debug_assert_eq!(of, version);
            return roster;
        }
        let all = self.fixed.iter().chain(added.iter());
        let agents = all.map(|definition| (self.recipe)(definition)).collect();
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        let before = now.as_ref().map_or(0, |(_, roster)| roster.version);
        let roster = Roster { version: before + 1, agents };
        *now = Some((version, roster.clone()));
        roster
    }
}
