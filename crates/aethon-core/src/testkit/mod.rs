//! Fakes for tests, shared by all crates: a manual clock, surfaces that collect what they are shown, a scripted model,
//! an in-memory storage and ledger; and tests for what every storage has to do.

mod assistant;
mod clock;
pub mod conformance;
mod counted;
mod embeddings;
mod ledger;
mod model;
mod mutator;
pub mod phrases;
mod random;
mod surface;
mod transcriber;
mod workflows;

pub use assistant::{CollectingAssistant, CollectingCourier};
pub use clock::ManualClock;
pub use counted::count_words;
pub(crate) use counted::counted_word;
pub use embeddings::MemoryEmbeddings;
pub use ledger::MemoryLedger;
pub use model::{Aside, Gate, ScriptedModel, Step};
pub use mutator::{Mutator, USUAL};
pub use random::Random;
pub use surface::{CollectingSurface, DeskSurface};
pub use transcriber::CollectingTranscriber;
pub use workflows::NoWorkflows;

pub use crate::volatile::MemoryStore;
