//! Output that was too long for a model, kept for a while under the home: `kept` stores, finds and sweeps it. Who decides
//! what is too long is the hook that cuts it; who shows it is `file_read`.

mod kept;

pub use kept::KeptOutputs;
