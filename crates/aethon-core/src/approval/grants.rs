//! What a person has allowed for the rest of a conversation: this tool, with arguments matching this pattern, for this
//! reason.
//!
//! Kept in memory, because a grant is for the conversation in front of the person: a restart or a reset forgets it. Several
//! instances tell each other of their grants, and each keeps those of another one as long as that runs. A
//! pattern fixes every argument exactly, except text that a tool writes to a fixed place; it is described in words
//! before anybody agrees to it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::broadcast::{Receiver, Sender, channel};

use crate::ids::{SessionId, unique};
use crate::peers::PeerId;
use crate::tool::{ArgumentRole, ToolSpec};
use crate::visible;

/// How many are kept; the oldest are dropped, and asked for again.
const MAX_COUNT: usize = 256;
/// How much of an argument is shown.
const MAX_TOLD: usize = 120;
/// How many grants a reader may lag behind.
const MAX_BEHIND: usize = 64;

/// A tool, and what its arguments must be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pattern {
    tool: String,
    /// The arguments that must match exactly; there may be no others besides the free ones.
    exact: Map<String, Value>,
    /// The arguments that may be anything.
    free: Vec<String>,
}

impl Pattern {
    /// Returns the pattern of a call with these arguments.
    pub fn of(spec: &ToolSpec, input: &Value) -> Self {
        let writes = spec.writes_files();
        let is_free = |name: &str| writes && spec.roles.get(name) == Some(&ArgumentRole::Text);
        let fields = input.as_object().cloned().unwrap_or_default();
        let (free, exact): (Vec<_>, Vec<_>) = fields.into_iter().partition(|(name, _)| is_free(name));
        Self {
            tool: spec.name.clone(),
            exact: exact.into_iter().collect(),
            free: free.into_iter().map(|(name, _)| name).collect(),
        }
    }

    /// Describes in words what it allows.
    pub fn describe(&self) -> String {
        self.described(|value| {
            let value = visible::exact(&value).replace('\n', "↵");
            let short: String = value.chars().take(MAX_TOLD).collect();
            let rest = if short.len() < value.len() { "…" } else { "" };
            short + rest
        })
    }

    /// Describes in words what it allows, with the arguments as they are: for a text from which secrets are still to be removed.
    pub fn describe_in_full(&self) -> String {
        self.described(|value| value)
    }

    fn described(&self, shown: impl Fn(String) -> String) -> String {
        let told = self.exact.iter().map(|(name, value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            format!("{name} {}", shown(value))
        });
        let told: Vec<String> = told.collect();
        let with =
            if told.is_empty() { "without arguments".into() } else { format!("with {}", told.join(", ")) };
        let whatever = match self.free.as_slice() {
            [] => String::new(),
            free => format!(", whatever {} is", free.join(" and ")),
        };
        format!("{} {with}{whatever}", self.tool)
    }
}

/// Something that was allowed for the rest of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grant {
    /// Its id.
    pub id: String,
    /// The conversation.
    pub session_id: SessionId,
    /// What it allows, in words.
    pub allows: String,
    pattern: Pattern,
    /// Why approval was needed. A different reason asks again.
    reason: String,
    /// The other instance at which it was allowed, if not at this one.
    #[serde(skip)]
    at: Option<PeerId>,
}

/// All grants. Cheap to clone; clones share them.
#[derive(Debug, Clone)]
pub struct Grants {
    known: Arc<Mutex<VecDeque<Grant>>>,
    news: Sender<Arc<Grant>>,
}

impl Default for Grants {
    fn default() -> Self {
        Self { known: Arc::default(), news: channel(MAX_BEHIND).0 }
    }
}

impl Grants {
    /// Allows calls of this pattern from now on, if approval is needed for this reason.
    pub fn allow(&self, session: &SessionId, pattern: Pattern, reason: &str) {
        if self.covers(session, &pattern, reason) {
            return;
        }
        let allows = pattern.describe();
        let (id, session_id, reason) = (unique(), session.clone(), reason.to_owned());
        let grant = Grant { id, session_id, allows, pattern, reason, at: None };
        self.add(grant.clone());
        // An error means that there are no other instances.
        let _ = self.news.send(Arc::new(grant));
    }

    /// Takes in a grant of another instance.
    pub fn allowed_at(&self, at: PeerId, grant: Grant) {
        if !self.has(&grant.id) {
            self.add(Grant { at: Some(at), ..grant });
        }
    }

    fn add(&self, grant: Grant) {
        let mut grants = self.lock();
        grants.push_back(grant);
        if grants.len() > MAX_COUNT {
            grants.pop_front();
        }
    }

    /// Returns whether calls of this pattern are allowed in this conversation, for this reason.
    pub fn covers(&self, session: &SessionId, pattern: &Pattern, reason: &str) -> bool {
        let is_same = |grant: &Grant| {
            grant.session_id == *session
                && grant.reason == reason
                && grant.pattern.tool == pattern.tool
                && grant.pattern.exact == pattern.exact
        };
        self.lock().iter().any(is_same)
    }

    /// Returns whether there is a grant with this id.
    pub fn has(&self, id: &str) -> bool {
        self.lock().iter().any(|grant| grant.id == id)
    }

    /// Returns all grants, oldest first.
    pub fn all(&self) -> Vec<Grant> {
        self.lock().iter().cloned().collect()
    }

    /// Returns the grants of this instance, oldest first.
    pub fn here(&self) -> Vec<Grant> {
        self.lock().iter().filter(|grant| grant.at.is_none()).cloned().collect()
    }

    /// Revokes a grant at this instance. `false` if there is none with this id.
    pub fn take_back(&self, id: &str) -> bool {
        let mut grants = self.lock();
        let before = grants.len();
        grants.retain(|grant| grant.id != id);
        grants.len() < before
    }

    /// Forgets the grants of an instance: it is gone, or has told anew which there are.
    pub fn forget_of(&self, at: PeerId) {
        self.lock().retain(|grant| grant.at != Some(at));
    }

    /// Returns the grants that are added at this instance from now on.
    pub fn listen(&self) -> Receiver<Arc<Grant>> {
        self.news.subscribe()
    }

    /// Forgets the grants of a conversation.
    pub fn forget(&self, session: &SessionId) {
        self.lock().retain(|grant| grant.session_id != *session);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Grant>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn session(name: &str) -> SessionId {
        SessionId::of("webchat", name).unwrap()
    }

    #[test]
    fn grant_covers_the_same_call_in_the_same_conversation() {
        let shell = ToolSpec::new("shell", "", json!({})).with_role("command", ArgumentRole::Command);
        let other = ToolSpec::new("run", "", json!({})).with_role("command", ArgumentRole::Command);
        let grants = Grants::default();
        grants.allow(&session("a"), Pattern::of(&shell, &json!({"command": "ls"})), "listed");
        let check = |spec: &ToolSpec, name: &str, input: Value, reason: &str, expected: bool| {
            let covers = grants.covers(&session(name), &Pattern::of(spec, &input), reason);
            assert_eq!(covers, expected, "{} {name} {input} {reason}", spec.name);
        };
        check(&shell, "a", json!({"command": "ls"}), "listed", true);
        check(&shell, "a", json!({"command": "ls "}), "listed", false);
        check(&shell, "a", json!({"command": "ls", "cwd": "/"}), "listed", false);
        check(&shell, "b", json!({"command": "ls"}), "listed", false);
        check(&shell, "a", json!({"command": "ls"}), "untrusted text was read", false);
        check(&other, "a", json!({"command": "ls"}), "listed", false);
        let grant = grants.all().pop().unwrap();
        assert_eq!(grant.allows, "shell with command ls");
        assert!(grants.take_back(&grant.id) && !grants.take_back(&grant.id));
        check(&shell, "a", json!({"command": "ls"}), "listed", false);
    }

    #[test]
    fn grant_permits_other_text_at_the_same_place() {
        let write = ToolSpec::new("file_write", "", json!({}))
            .with_role("path", ArgumentRole::WritePath)
            .with_role("content", ArgumentRole::Text);
        let grants = Grants::default();
        let pattern = Pattern::of(&write, &json!({"path": "a", "content": "1"}));
        assert_eq!(pattern.describe(), "file_write with path a, whatever content is");
        grants.allow(&session("a"), pattern, "");
        assert!(grants.covers(
            &session("a"),
            &Pattern::of(&write, &json!({"path": "a", "content": "2"})),
            ""
        ));
        assert!(!grants.covers(
            &session("a"),
            &Pattern::of(&write, &json!({"path": "b", "content": "1"})),
            ""
        ));
        grants.forget(&session("a"));
        assert!(grants.all().is_empty());
        for number in 0..300 {
            grants.allow(&session("a"), Pattern::of(&write, &json!({"path": number})), "");
        }
        assert_eq!(grants.all().len(), MAX_COUNT);
    }
}
