//! The definition of a specialist, from which its agent is made.

use aethon_core::ids::AgentName;

/// The longest name, which becomes part of the tool name `ask_NAME`.
const MAX_NAME: usize = 32;

/// A specialist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// Its name; the tool `ask_NAME` asks it.
    pub name: AgentName,
    /// Its purpose in a sentence: for people, and for the agent that asks it.
    pub role: String,
    /// Its instructions, which precede every request.
    pub prompt: String,
    /// The names of the tools that it may use; a `*` matches any part of a name.
    pub tools: Vec<String>,
    /// The id of its model; the main agent's if absent.
    pub model: Option<String>,
}

/// Checks that a specialist may have this name.
pub(super) fn name(name: &str) -> Result<AgentName, String> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    let parsed = AgentName::parse(name).ok().filter(|name| !name.is_main());
    match parsed.filter(|_| begins && name.len() <= MAX_NAME && name.bytes().all(is_plain)) {
        Some(name) => Ok(name),
        None => Err(format!(
            "{name:?} is no name for a specialist; use 1 to {MAX_NAME} of a-z, 0-9 and _, beginning with a letter, and \
             not `main`"
        )),
    }
}
