//! Mistral: OpenAI's dialect with its own rules.

use crate::openai::{CallIdForm, EffortForm, Profile};

/// The differences: the base has no `/v1`, usage always comes, call ids have nine characters, results carry the
/// tool's name, a user message may not follow a tool message, an effort is `none` or `high`, and thoughts are not
/// sent back.
pub(crate) const PROFILE: Profile = Profile {
    chat_path: "/v1/chat/completions",
    models_path: "/v1/models",
    asks_for_usage: false,
    call_ids: CallIdForm::NineCharacters,
    names_results: true,
    user_may_follow_tool: false,
    knows_completion_tokens: false,
    effort: EffortForm::NoneOrHigh,
    echoes_reasoning: false,
};
