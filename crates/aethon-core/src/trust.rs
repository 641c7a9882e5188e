//! How far a turn may go.

use crate::person::Person;

/// How far a turn may go, by whose words began it. A job, a piece of work and a specialist's turn have the trust of the turn
/// that asked for them. Ordered from least to most restricted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Trust {
    /// The owner's own words.
    Owner,
    /// Text from outside that is handled for the owner, such as a webhook's payload. The turn may act, but changes nothing
    /// that acts later: no page, SOP, agent, skill, memory or setting, and few jobs.
    Outside,
    /// The words of a person who is not the owner: a guest, a member of the household, a group. In addition to the limits
    /// of [`Trust::Outside`], the turn reaches only the workspace, and only the tools that the owner opened.
    Guest,
}

impl Trust {
    /// The trust of a turn that acts for this person. `untrusted`: whether a stranger may have written its message.
    pub fn of(person: &Person, untrusted: bool) -> Self {
        match (person.is_owner(), untrusted) {
            (false, _) => Self::Guest,
            (true, true) => Self::Outside,
            (true, false) => Self::Owner,
        }
    }

    /// Returns whether the owner's own words began the turn.
    pub fn is_owner(self) -> bool {
        self == Self::Owner
    }
}
