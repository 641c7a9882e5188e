//! The part of the memory that a person may see.

use super::entry::Scope;
use crate::person::Person;

/// Whose memories may be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// Those of these scopes.
    Of(Vec<Scope>),
    /// Everybody's: for the owner, who manages all of them.
    All,
}

impl Reach {
    /// Returns the reach of a person: their own memories and the shared ones; a guest only their own.
    pub fn of(person: &Person) -> Self {
        let (own, shared) = (Scope::from(person), Scope::shared());
        match person.is_guest() || own == shared {
            true => Self::Of(vec![own]),
            false => Self::Of(vec![own, shared]),
        }
    }

    /// Returns whether a memory of this scope is within reach.
    pub fn has(&self, scope: &Scope) -> bool {
        match self {
            Self::Of(scopes) => scopes.contains(scope),
            Self::All => true,
        }
    }
}

impl Default for Reach {
    /// The owner's own.
    fn default() -> Self {
        Self::from(Scope::default())
    }
}

impl From<Scope> for Reach {
    /// Only this scope.
    fn from(scope: Scope) -> Self {
        Self::Of(vec![scope])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_see_their_own_and_shared_memories_and_guests_their_own() {
        let ben = Person::member("ben").unwrap();
        let guest = Person::guest("telegram", "7");
        let check = |person: &Person, expected: [bool; 4]| {
            let reach = Reach::of(person);
            let scopes = [Scope::default(), Scope::from(&ben), Scope::from(&guest), Scope::shared()]
                .map(|scope| reach.has(&scope));
            assert_eq!(scopes, expected, "{person}");
        };
        check(&Person::default(), [true, false, false, true]);
        check(&ben, [false, true, false, true]);
        check(&guest, [false, false, true, false]);
        check(&Person::everybody(), [false, false, false, true]);
        assert!(Reach::All.has(&Scope::named("anybody")) && Reach::default().has(&Scope::default()));
    }
}
