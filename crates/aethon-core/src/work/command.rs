//! What a person may want to happen to a piece of work.

use crate::words::words;

words! {
    /// What a person wants to happen to a piece of work.
    pub enum WorkCommand {
        /// End it.
        Stop = "stop",
        /// Pause it.
        Pause = "pause",
        /// Continue it.
        Resume = "resume",
    }
}
