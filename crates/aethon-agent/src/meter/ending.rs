//! The ends of calls.

use aethon_core::model::Usage;

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// The model finished.
    Whole {
        /// The usage that the service counted.
        usage: Usage,
        /// The model that answered, as the service names it.
        named: Option<String>,
    },
    /// It was stopped; the service has worked on it.
    Cut,
    /// It broke off or was unreadable; the service has worked on it.
    Broken,
    /// The request was sent, and nothing came for too long. The work that the service did is unknown.
    Silent,
    /// The service has not worked on it.
    Refused,
}
