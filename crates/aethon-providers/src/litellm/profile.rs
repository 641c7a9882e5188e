//! The differences between a LiteLLM proxy and OpenAI itself.

use crate::openai::{EffortForm, OPENAI, Profile};

/// Only the effort differs: the proxy converts the word to a budget if the model behind it needs one.
pub(crate) const PROFILE: Profile = Profile { effort: EffortForm::AnyWord, ..OPENAI };
