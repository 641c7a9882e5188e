//! In what a LiteLLM proxy differs from OpenAI itself.

use crate::openai::{EffortForm, OPENAI, Profile};

/// Only the effort differs: the proxy makes a budget of the word where the model behind it wants one.
pub(crate) const PROFILE: Profile = Profile { effort: EffortForm::AnyWord, ..OPENAI };
