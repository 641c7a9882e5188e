//! What a person sets for one conversation, and changes of it.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::effort::Effort;
use crate::error::{Error, Result};

/// The longest title, and the longest name of a folder, in characters.
const MAX_NAME: usize = 200;

/// The longest name of a model, in bytes.
const MAX_MODEL: usize = 200;

/// The longest instructions for one conversation, in characters.
const MAX_INSTRUCTIONS: usize = 20_000;

/// The settings of a conversation. Everything unset follows the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SessionSettings {
    /// What applies to each of its turns.
    #[serde(flatten)]
    pub turns: TurnDefaults,
    /// A mark for clients: whether they show it above the others.
    pub pinned: bool,
    /// A mark for clients: whether they leave it out until it is asked for.
    pub archived: bool,
    /// The folder that it is in.
    pub folder: Option<String>,
}

/// What a conversation sets for its turns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TurnDefaults {
    /// The model that answers, by its name under `[model.named]` or by its id. A message may name another.
    pub model: Option<String>,
    /// How much the model thinks. A message may say otherwise.
    pub effort: Option<Effort>,
    /// Instructions that follow the system prompt.
    pub instructions: Option<Arc<str>>,
}

impl TurnDefaults {
    /// Returns these, or `None` if nothing is set.
    pub fn if_any(self) -> Option<Arc<Self>> {
        (self != Self::default()).then(|| Arc::new(self))
    }
}

/// A change of a conversation: fields that are `None` stay, and `Some(None)` unsets one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct SessionPatch {
    /// The title.
    #[schemars(length(max = MAX_NAME))]
    pub title: Option<String>,
    /// The model; null for the configured one.
    #[serde(deserialize_with = "given")]
    #[schemars(length(max = MAX_MODEL))]
    pub model: Option<Option<String>>,
    /// The effort; null for the configured one.
    #[serde(deserialize_with = "given")]
    pub effort: Option<Option<Effort>>,
    /// The instructions; null for none.
    #[serde(deserialize_with = "given")]
    #[schemars(length(max = MAX_INSTRUCTIONS))]
    pub instructions: Option<Option<String>>,
    /// Whether it stands above the others.
    pub pinned: Option<bool>,
    /// Whether it is left out of lists.
    pub archived: Option<bool>,
    /// The folder; null for none.
    #[serde(deserialize_with = "given")]
    #[schemars(length(max = MAX_NAME))]
    pub folder: Option<Option<String>>,
}

/// Distinguishes `null`, which unsets a field, from an absent field, which leaves it alone.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

impl SessionPatch {
    /// A new title.
    pub fn title(title: impl Into<String>) -> Self {
        Self { title: Some(title.into()), ..Self::default() }
    }

    /// Another model; `None` for the configured one.
    pub fn model(model: Option<String>) -> Self {
        Self { model: Some(model), ..Self::default() }
    }

    /// Another effort; `None` for the configured one.
    pub fn effort(effort: Option<Effort>) -> Self {
        Self { effort: Some(effort), ..Self::default() }
    }

    /// Returns whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Trims the texts and checks their sizes. Texts of blanks only unset their field.
    ///
    /// # Errors
    ///
    /// The field that is refused, and why.
    pub fn checked(mut self) -> std::result::Result<Self, (&'static str, &'static str)> {
        let is_name =
            |text: &str, most: usize| text.chars().count() <= most && !text.chars().any(char::is_control);
        if let Some(title) = &mut self.title {
            *title = title.trim().to_owned();
            if title.is_empty() {
                return Err(("title", "must not be empty"));
            }
            if !is_name(title, MAX_NAME) {
                return Err(("title", "must be at most 200 characters, without line breaks"));
            }
        }
        for text in [&mut self.model, &mut self.folder, &mut self.instructions].into_iter().flatten() {
            *text = text.take().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        }
        let has = |text: &Option<Option<String>>, is_fine: &dyn Fn(&str) -> bool| {
            text.iter().flatten().all(|text| is_fine(text))
        };
        if !has(&self.model, &|name| name.len() <= MAX_MODEL && is_name(name, MAX_MODEL)) {
            return Err(("model", "must be the name of a model"));
        }
        if !has(&self.folder, &|name| is_name(name, MAX_NAME)) {
            return Err(("folder", "must be at most 200 characters, without line breaks"));
        }
        let is_text = |text: &str| !text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t'));
        if !has(&self.instructions, &|text| text.chars().count() <= MAX_INSTRUCTIONS && is_text(text)) {
            return Err(("instructions", "must be at most 20,000 characters, without control characters"));
        }
        Ok(self)
    }

    /// Applies everything but the title.
    pub fn apply_to(&self, settings: &mut SessionSettings) {
        let turns = &mut settings.turns;
        if let Some(model) = &self.model {
            turns.model.clone_from(model);
        }
        if let Some(effort) = self.effort {
            turns.effort = effort;
        }
        if let Some(instructions) = &self.instructions {
            turns.instructions = instructions.as_deref().map(Arc::from);
        }
        settings.pinned = self.pinned.unwrap_or(settings.pinned);
        settings.archived = self.archived.unwrap_or(settings.archived);
        if let Some(folder) = &self.folder {
            settings.folder.clone_from(folder);
        }
    }
}

/// Returns the error for a model that a conversation or a message names and that there is not.
pub fn no_such_model(name: &str) -> Error {
    let shown: String = name.chars().filter(|c| !c.is_control()).take(100).collect();
    Error::invalid(format!(
        "there is no model `{shown}`; `/model` in a chat and `aethon-cli model list` list those that can be chosen"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn absent_fields_stay_and_null_unsets() {
        let mut settings = SessionSettings::default();
        let mut patch = |document| {
            let patch: SessionPatch = serde_json::from_value(document).unwrap();
            patch.checked().unwrap().apply_to(&mut settings);
            settings.clone()
        };
        let set = patch(json!({"model": " fast ", "effort": "high", "pinned": true, "folder": "a"}));
        assert_eq!((set.turns.model.as_deref(), set.pinned), (Some("fast"), true));
        assert_eq!(patch(json!({"title": "x"})), set);
        let unset = patch(json!({"model": null, "effort": null, "folder": "  "}));
        assert_eq!((unset.turns, unset.pinned, unset.folder), (TurnDefaults::default(), true, None));
    }

    #[test]
    fn oversized_and_broken_texts_are_refused_by_field() {
        for (document, field) in [
            (json!({"title": " "}), "title"),
            (json!({"title": "a\nb"}), "title"),
            (json!({"model": "x".repeat(201)}), "model"),
            (json!({"folder": "a\tb"}), "folder"),
            (json!({"instructions": "x".repeat(20_001)}), "instructions"),
        ] {
            let patch: SessionPatch = serde_json::from_value(document).unwrap();
            assert_eq!(patch.checked().unwrap_err().0, field);
        }
    }
}
