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

/// Provides an engine with its specialists. Called often, so it must be cheap.
pub trait SpecialistSource: Send + Sync {
    /// Returns the current specialists.
    fn roster(&self) -> Roster;
}

/// The built-in specialists, and those of a folder.
pub struct Crew {
    fixed: Vec<Definition>,
    folder: Option<Arc<SpecialistFolder>>,
    recipe: Recipe,
    now: RwLock<Option<(u64, Roster)>>,
}

impl Crew {
    /// Combines these with those of the folder, if there is one. `recipe` turns them into agents.
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
