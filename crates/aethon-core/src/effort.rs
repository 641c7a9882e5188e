//! How much a reasoning model should think.

use crate::words::words;

words! {
    /// How much a reasoning model should think before it answers; each provider encodes this differently.
    pub enum Effort {
        /// Not at all, if the model allows that.
        None = "none",
        /// A little.
        Low = "low",
        /// As much as vendors consider usual.
        Medium = "medium",
        /// As much as the task takes.
        High = "high",
    }
}
