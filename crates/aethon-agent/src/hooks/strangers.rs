//! Keeps turns that did not begin with the owner's own words within their bounds, even if a model was manipulated.
//!
//! Such a turn must leave nothing behind that acts later, and see nothing of the owner's memory. A tool's declaration
//! decides, not its name: [`ToolSpec::open_to`] says whose turns may call it, and an argument that is kept for later
//! conversations ([`ToolSpec::keeps_for_later`]) makes it one of memory. Guests and members of the household get the
//! tools that reach no further than the workspace, the conversation, the public web and their own things, and those
//! that the owner opens to them. The tools of a program with the owner's reach, such as a local MCP server, are open
//! to no turn of strangers unless the owner opens them. [`super::Hooks`] checks this before every hook, and uses it
//! to choose the tools that a model is offered.

use std::collections::BTreeMap;

use aethon_core::person::Person;
use aethon_core::tool::{ToolSpec, fits};
use aethon_core::turn::Trust;

/// Refuses calls that exceed the bounds of a turn that began with text from outside, or from a person other than the
/// owner.
#[derive(Debug, Clone, Default)]
pub struct StrangerBounds {
    /// The tools that guests and members may use besides those that are open to everybody; a `*` matches any part of a
    /// name.
    pub guest_tools: Vec<String>,
    /// The same for single members.
    pub people_tools: BTreeMap<Person, Vec<String>>,
}

impl StrangerBounds {
    /// Returns why a turn with this trust, for this person, may not call the tool.
    pub(super) fn refusal(&self, trust: Trust, person: &Person, spec: &ToolSpec) -> Option<String> {
        let name = &spec.name;
        let reaches_memory = trust == Trust::Outside && spec.keeps_for_later();
        let has_owners_reach = !trust.is_owner() && spec.has_owners_reach;
        if trust <= spec.open_to && !reaches_memory && !has_owners_reach {
            return None;
        }
        if spec.open_to == Trust::Owner {
            const CHANGES: &str = "changes what you are told or may do in later conversations";
            let reason = spec.owner_only_because.unwrap_or(CHANGES);
            return Some(format!(
                "`{name}` {reason}, and this turn was not begun by the owner's own words; ask the owner to have it done"
            ));
        }
        if reaches_memory {
            return Some(format!(
                "`{name}` reaches the owner's memory, and this turn was not begun by the owner's own words; go on without it"
            ));
        }
        let own = self.people_tools.get(person).map(Vec::as_slice).unwrap_or_default();
        if self.guest_tools.iter().chain(own).any(|pattern| fits(name, pattern)) {
            return None;
        }
        if trust == Trust::Outside {
            return Some(format!(
                "a program with the owner's rights does `{name}`, and this turn was not begun by the owner's own words; the owner \
                 can open it to all such turns with `security.guest_tools`"
            ));
        }
        let keys = match person.is_guest() || *person == Person::everybody() {
            true => "`security.guest_tools`".to_owned(),
            false => format!("`household.people.{person}.tools` or `security.guest_tools`"),
        };
        Some(format!(
            "`{name}` is not open to {}; the owner can open it with {keys}",
            if *person == Person::everybody() { "groups and shared conversations" } else { person.as_str() }
        ))
    }
}

#[cfg(test)]
mod tests {
    use aethon_core::tool::ArgumentRole;
    use serde_json::json;

    use super::*;

    fn spec(name: &str, open_to: Trust) -> ToolSpec {
        ToolSpec::new(name, "", json!({"type": "object"})).open_to(open_to)
    }

    #[test]
    fn turns_call_open_tools_and_outside_text_reaches_no_memory() {
        let bounds = StrangerBounds::default();
        let keeps = |spec: ToolSpec| spec.with_role("content", ArgumentRole::Remembered);
        let (owner, ben) = (Person::default(), Person::member("ben").unwrap());
        for (spec, expected) in [
            (spec("update_context", Trust::Owner), [true, false, false]),
            (keeps(spec("record_learning", Trust::Owner)), [true, false, false]),
            (spec("lsp", Trust::Outside).owner_only_because("runs programs"), [true, false, false]),
            (spec("shell", Trust::Outside), [true, true, false]),
            (keeps(spec("embedders_memory", Trust::Outside)), [true, false, false]),
            (spec("file_read", Trust::Guest), [true, true, true]),
            (keeps(spec("manage_memory", Trust::Guest)), [true, false, true]),
        ] {
            let turns = [(Trust::Owner, &owner), (Trust::Outside, &owner), (Trust::Guest, &ben)];
            let may = turns.map(|(trust, person)| bounds.refusal(trust, person, &spec).is_none());
            assert_eq!(may, expected, "{}", spec.name);
        }
    }

    #[test]
    fn tools_with_owners_reach_are_closed_to_strangers_by_default() {
        let (owner, guest) = (Person::default(), Person::guest("telegram", "7"));
        let tool = spec("files__write_file", Trust::Outside).with_owners_reach();
        for (opened, expected) in [(&[][..], [true, false, false]), (&["files__*"], [true, true, true])] {
            let guest_tools = opened.iter().map(|&name| name.to_owned()).collect();
            let bounds = StrangerBounds { guest_tools, ..StrangerBounds::default() };
            let turns = [(Trust::Owner, &owner), (Trust::Outside, &owner), (Trust::Guest, &guest)];
            let may = turns.map(|(trust, person)| bounds.refusal(trust, person, &tool).is_none());
            assert_eq!(may, expected, "{opened:?}");
        }
        let refusal = StrangerBounds::default().refusal(Trust::Outside, &owner, &tool).unwrap();
        assert!(
            refusal.contains("`security.guest_tools`") && refusal.contains("owner's rights"),
            "{refusal}"
        );
    }

    #[test]
    fn a_tool_with_a_reason_of_its_own_gives_it() {
        let bounds = StrangerBounds { guest_tools: vec!["*".to_owned()], ..StrangerBounds::default() };
        let lsp = spec("lsp", Trust::Outside).owner_only_because("runs what a project's files say");
        let refusal = bounds.refusal(Trust::Guest, &Person::guest("telegram", "7"), &lsp).unwrap();
        assert!(refusal.starts_with("`lsp` runs what a project's files say, and"), "{refusal}");
    }

    #[test]
    fn owner_opens_tools_to_guests_except_owner_only_ones() {
        let ben = Person::member("ben").unwrap();
        let guest = Person::guest("telegram", "7");
        let bounds = |guests: &[&str], bens: &[&str]| StrangerBounds {
            guest_tools: guests.iter().map(|&name| name.to_owned()).collect(),
            people_tools: [(ben.clone(), bens.iter().map(|&name| name.to_owned()).collect())].into(),
        };
        let check = |bounds: &StrangerBounds, person: &Person, spec: &ToolSpec, key: Option<&str>| {
            let refusal = bounds.refusal(Trust::Guest, person, spec);
            match key {
                None => assert_eq!(refusal, None),
                Some(key) => assert!(refusal.clone().unwrap().contains(key), "{refusal:?}"),
            }
        };
        let (shell, mail) = (spec("shell", Trust::Outside), spec("mail__send", Trust::Outside));
        let context = spec("update_context", Trust::Owner);
        check(&bounds(&[], &[]), &ben, &shell, Some("`household.people.ben.tools`"));
        check(&bounds(&[], &[]), &guest, &shell, Some("with `security.guest_tools`"));
        check(&bounds(&[], &[]), &Person::everybody(), &shell, Some("groups"));
        check(&bounds(&[], &["shell"]), &ben, &shell, None);
        check(&bounds(&[], &["shell"]), &guest, &shell, Some("guest:telegram:7"));
        check(&bounds(&[], &["shell"]), &Person::everybody(), &shell, Some("groups"));
        check(&bounds(&["mail__*"], &[]), &guest, &mail, None);
        check(&bounds(&["*"], &["*"]), &ben, &shell, None);
        check(&bounds(&["*"], &["*"]), &ben, &context, Some("owner's own words"));
        let outside = bounds(&["*"], &[]).refusal(
            Trust::Outside,
            &Person::default(),
            &spec("manage_memory", Trust::Guest).with_role("content", ArgumentRole::Remembered),
        );
        assert!(outside.unwrap().contains("owner's memory"), "what guests may do is not what a webhook may");
    }
}
