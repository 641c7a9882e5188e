//! Fakes for tests, shared by all crates: a clock that is set by hand, surfaces that collect what they are shown, a model
//! that follows a script, a storage and a ledger in memory; and what every storage has to do, as tests.

mod clock;
pub mod conformance;
mod embeddings;
mod ledger;
mod model;
pub mod phrases;
mod store;
mod surface;
mod workflows;

pub use clock::ManualClock;
pub use embeddings::MemoryEmbeddings;
pub use ledger::MemoryLedger;
pub use model::{Aside, Gate, ScriptedModel, Step};
pub use store::MemoryStore;
pub use surface::{CollectingSurface, DeskSurface};
pub use workflows::NoWorkflows;
