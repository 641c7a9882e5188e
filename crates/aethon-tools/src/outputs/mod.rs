//! Output that was too long for a model, kept for a while under the home: `kept` stores, finds and sweeps it. The hook
//! that cuts output decides how much is too long; `file_read` shows the rest.

mod kept;

pub use kept::KeptOutputs;
