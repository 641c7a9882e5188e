//! Mistral: OpenAI's dialect with rules of its own.

use crate::openai::{CallIdForm, EffortForm, Profile};

/// In what it differs: its base has no `/v1`, usage always comes, ids are nine characters, results carry the tool's
/// name, a user's message may not follow a tool's, an effort is `none` or `high`, and thoughts do not go back.
pub(crate) const PROFILE: Profile = Profile {
    chat_path: "/v1/chat/completions",
    models_path: "/v1/models",
    asks_for_usage: false,
    call_ids: CallIdForm::NineCharacters,
    names_results: true,
    user_may_follow_tool: false,
    knows_completion_tokens: false,
    effort: EffortForm::NoneOrHigh,
    takes_thoughts_back: false,
};
