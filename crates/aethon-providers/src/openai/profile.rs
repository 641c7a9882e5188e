//! The differences between a service and OpenAI itself.

use std::borrow::Cow;

/// The differences of a service.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Profile {
    /// The path of requests, under the base.
    pub(crate) chat_path: &'static str,
    /// The path of the list of models.
    pub(crate) models_path: &'static str,
    /// Whether usage in a stream must be requested with `stream_options`.
    pub(crate) asks_for_usage: bool,
    /// The required format of call ids.
    pub(crate) call_ids: CallIdForm,
    /// Whether a tool message carries the tool's name.
    pub(crate) names_results: bool,
    /// Whether a user message may follow a tool message.
    pub(crate) user_may_follow_tool: bool,
    /// Whether the response limit may be called `max_completion_tokens`.
    pub(crate) knows_completion_tokens: bool,
    /// How an effort is expressed.
    pub(crate) effort: EffortForm,
    /// Whether thoughts that came with calls may be sent back.
    pub(crate) echoes_reasoning: bool,
}

/// OpenAI itself and compatible services.
pub(crate) const OPENAI: Profile = Profile {
    chat_path: "/chat/completions",
    models_path: "/models",
    asks_for_usage: true,
    call_ids: CallIdForm::Any,
    names_results: false,
    user_may_follow_tool: true,
    knows_completion_tokens: true,
    effort: EffortForm::Words,
    echoes_reasoning: true,
};

/// How an effort is expressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EffortForm {
    /// With every word that the model knows.
    Words,
    /// With every word, even for models whose vendor uses budgets: a proxy translates.
    AnyWord,
    /// With `none` and `high` only.
    NoneOrHigh,
}

/// The format of call ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallIdForm {
    /// Any string.
    Any,
    /// Nine letters or digits.
    NineCharacters,
}

impl CallIdForm {
    /// Converts an id to this format. Equal ids stay equal.
    pub(crate) fn apply(self, id: &str) -> Cow<'_, str> {
        let fits = id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if self == Self::Any || fits { Cow::Borrowed(id) } else { Cow::Owned(nine_characters(id)) }
    }
}

/// Returns FNV-1a of the id in base 62.
fn nine_characters(id: &str) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut hash = id
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let mut text = String::with_capacity(9);
    for _ in 0..9 {
        text.push(char::from(DIGITS[(hash % 62) as usize]));
        hash /= 62;
    }
    text
}
