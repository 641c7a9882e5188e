//! How a tool describes itself: to the model, to the guards, and to the engine.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments;
use super::output::ToolError;
use crate::trust::Trust;

/// The default time limit of a call. No call may hold its turn up to the turn's own limit because something that it
/// waits for never comes.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// The description of a tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ToolSpec {
    /// Its name, `[a-zA-Z0-9_-]{1,64}`.
    pub name: String,
    /// Its purpose and use, for the model.
    pub description: String,
    /// JSON Schema of its arguments, an object.
    pub parameters: Value,
    /// What guards must know about the arguments, by name.
    #[serde(skip)]
    pub roles: BTreeMap<String, ArgumentRole>,
    /// Whether it only reads. It then changes nothing, here or elsewhere, so its calls may run in parallel.
    #[serde(skip)]
    pub read_only: bool,
    /// Whether its calls may run in parallel although they may change something, because they handle concurrency
    /// themselves.
    #[serde(skip)]
    pub side_by_side: bool,
    /// Whether a call that was cut off may run again: the second time it changes nothing that the first has changed, and
    /// says the same.
    #[serde(skip)]
    pub repeatable: bool,
    /// Whether its output comes from outside and is data, never instructions.
    #[serde(skip)]
    pub untrusted_output: bool,
    /// What a call does besides returning its output, as far as no role of an argument says so.
    #[serde(skip)]
    pub effects: BTreeSet<Effect>,
    /// The most restricted turns that may call it: [`Trust::Outside`] unless the tool says otherwise. The owner can open
    /// a tool to guests, but never one that is open to [`Trust::Owner`] only.
    #[serde(skip)]
    pub open_to: Trust,
    /// Why it is open to [`Trust::Owner`] only, as the rest of a sentence that begins with its name. `None`: because it
    /// changes what later turns are told or may do.
    #[serde(skip)]
    pub owner_only_because: Option<&'static str>,
    /// Whether its name, description and schema were written by a third party, such as the author of an MCP server.
    #[serde(skip)]
    pub described_outside: bool,
    /// Whether a program does its calls that was started with the owner's reach and does not learn whose turn asks, such as
    /// a local MCP server.
    #[serde(skip)]
    pub has_owners_reach: bool,
    /// Arguments by whose values a call only looks at what is kept for later conversations.
    #[serde(skip)]
    pub looking: BTreeMap<String, Vec<String>>,
    /// The time limit of a call: [`DEFAULT_TIMEOUT`] unless the tool says otherwise, and `None` for the turn's own
    /// limit.
    #[serde(skip)]
    pub timeout: Option<Duration>,
}

impl ToolSpec {
    /// A tool with this JSON Schema of its arguments, for tools whose schema comes from elsewhere. A tool written in
    /// Rust has a type for its arguments, and [`Self::of`] derives the schema from it.
    pub fn new(name: impl Into<String>, description: impl Into<String>, parameters: Value) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters,
            roles: BTreeMap::new(),
            read_only: false,
            side_by_side: false,
            repeatable: false,
            untrusted_output: false,
            open_to: Trust::Outside,
            owner_only_because: None,
            effects: BTreeSet::new(),
            described_outside: false,
            has_owners_reach: false,
            looking: BTreeMap::new(),
            timeout: Some(DEFAULT_TIMEOUT),
        }
    }

    /// A tool that takes `Arguments`: their schema is derived from the type, and the doc comments on its fields are
    /// what the model reads about them.
    pub fn of<Arguments: JsonSchema>(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self::new(name, description, arguments::schema::<Arguments>())
    }

    /// Sets the role of an argument, for the guards.
    #[must_use]
    pub fn with_role(mut self, argument: impl Into<String>, role: ArgumentRole) -> Self {
        self.roles.insert(argument.into(), role);
        self
    }

    /// Adds to an argument a schema keyword whose value is known only at run time, such as `maximum`.
    #[must_use]
    pub fn with_keyword(mut self, argument: &str, keyword: &str, value: impl Into<Value>) -> Self {
        let properties = self.parameters.get_mut("properties");
        let schema =
            properties.and_then(|properties| properties.get_mut(argument)).and_then(Value::as_object_mut);
        if let Some(schema) = schema {
            schema.insert(keyword.to_owned(), value.into());
        }
        self
    }

    /// Declares that it only reads, so its calls may run in parallel.
    #[must_use]
    pub fn reading_only(self) -> Self {
        Self { read_only: true, ..self }
    }

    /// Declares that its calls may run in parallel, although they do more than reading.
    #[must_use]
    pub fn running_side_by_side(self) -> Self {
        Self { side_by_side: true, ..self }
    }

    /// Declares that a call which was cut off may run again, although it may have had its effect: the tool recognises
    /// what the same call has done ([`ToolContext::call_key`](super::ToolContext::call_key)).
    #[must_use]
    pub fn repeatable(self) -> Self {
        Self { repeatable: true, ..self }
    }

    /// Returns whether a call that a restart cut off is run again when its turn goes on. What only reads is; what somebody
    /// else's program claims to only read is not.
    pub fn runs_again(&self) -> bool {
        self.repeatable || (self.read_only && !self.effects.contains(&Effect::Consults))
    }

    /// Declares that its output comes from outside.
    #[must_use]
    pub fn with_untrusted_output(self) -> Self {
        Self { untrusted_output: true, ..self }
    }

    /// Declares an effect that no role of an argument implies.
    #[must_use]
    pub fn with_effect(mut self, effect: Effect) -> Self {
        self.effects.insert(effect);
        self
    }

    /// Declares which turns may call it. [`Trust::Owner`]: it changes what later turns are told or may do. [`Trust::Guest`]:
    /// everybody, because it reaches no further than the workspace, the conversation, the public web, and what belongs to
    /// the person whose turn it is.
    #[must_use]
    pub fn open_to(self, open_to: Trust) -> Self {
        Self { open_to, ..self }
    }

    /// Declares that only turns that the owner's own words began may call it, for a reason of its own: the rest of a sentence
    /// that begins with its name.
    #[must_use]
    pub fn owner_only_because(self, reason: &'static str) -> Self {
        Self { open_to: Trust::Owner, owner_only_because: Some(reason), ..self }
    }

    /// Declares that a third party wrote its description.
    #[must_use]
    pub fn described_outside(self) -> Self {
        Self { described_outside: true, ..self }
    }

    /// Declares that a program with the owner's reach does its calls.
    #[must_use]
    pub fn with_owners_reach(self) -> Self {
        Self { has_owners_reach: true, ..self }
    }

    /// Declares that calls with one of these values in this argument only look at what is kept for later conversations.
    #[must_use]
    pub fn looking_with(mut self, argument: impl Into<String>, values: &[&str]) -> Self {
        self.looking.insert(argument.into(), values.iter().map(|&value| value.to_owned()).collect());
        self
    }

    /// Returns whether a call sends something out of this machine, now or later: what `outbound` stands for in
    /// `approval.requires_approval`.
    pub fn sends(&self) -> bool {
        self.effects.contains(&Effect::Sends) || self.has_role(ArgumentRole::Url)
    }

    /// Returns whether a call sends something out of this machine, has code run, or decides what later turns do: what a
    /// stranger's text must not cause. A file that is written may be one that somebody runs, or one that tells the
    /// assistant what to do.
    pub fn sends_or_runs(&self) -> bool {
        !self.effects.is_empty()
            || [ArgumentRole::Command, ArgumentRole::Url, ArgumentRole::WritePath]
                .into_iter()
                .any(|role| self.has_role(role))
    }

    /// Returns whether it keeps something for later conversations.
    pub fn keeps_for_later(&self) -> bool {
        self.roles.values().any(|role| *role == ArgumentRole::Remembered)
    }

    /// Returns whether a call with this input changes what is kept for later conversations.
    pub fn changes_what_is_kept(&self, input: &Value) -> bool {
        let looks = |(argument, values): (&String, &Vec<String>)| {
            input[argument.as_str()].as_str().is_some_and(|value| values.iter().any(|known| known == value))
        };
        self.keeps_for_later() && !self.looking.iter().any(looks)
    }

    /// Returns whether a call writes a file.
    pub fn writes_files(&self) -> bool {
        self.has_role(ArgumentRole::WritePath)
    }

    fn has_role(&self, role: ArgumentRole) -> bool {
        self.roles.values().any(|known| *known == role)
    }

    /// Sets the time limit of a call.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// Leaves the turn's limit as the only one. For a tool that waits for turns of other agents, which have limits of
    /// their own.
    #[must_use]
    pub fn waiting_for_turns(self) -> Self {
        Self { timeout: None, ..self }
    }

    /// Parses the arguments of a call; the error names the argument that does not fit.
    pub fn parse<Arguments: DeserializeOwned>(&self, input: Value) -> Result<Arguments, ToolError> {
        arguments::parse(input).map_err(|error| {
            ToolError::failed(format!("the arguments of `{}` are wrong: {error}", self.name))
        })
    }
}

/// The role of an argument, for guards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentRole {
    /// A path that is read.
    ReadPath,
    /// A path that is written.
    WritePath,
    /// A command for a shell.
    Command,
    /// A URL that is fetched.
    Url,
    /// Text that is kept for later conversations, so it must contain no secret.
    Remembered,
    /// Text without further meaning.
    Text,
}

/// An effect of a call besides its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// It sends something out of this machine, now or later, or runs code that can.
    Sends,
    /// It runs code that reaches no network.
    RunsCode,
    /// It passes its arguments to a third party's program, which claims only to read.
    Consults,
    /// It changes what later turns do: jobs, pages, work, tools, specialists.
    ActsLater,
}
