//! The commands of a person for a piece of work.

use crate::words::words;

words! {
    /// The command of a person for a piece of work.
    pub enum WorkCommand {
        /// End it.
        Stop = "stop",
        /// Pause it.
        Pause = "pause",
        /// Continue it.
        Resume = "resume",
    }
}
