//! In what a service differs from OpenAI itself.

use std::borrow::Cow;

/// The differences.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Profile {
    /// Where the requests go, under the base.
    pub(crate) chat_path: &'static str,
    /// Where the models are listed.
    pub(crate) models_path: &'static str,
    /// Whether usage in a stream must be asked for with `stream_options`.
    pub(crate) asks_for_usage: bool,
    /// What ids of calls must look like.
    pub(crate) call_ids: CallIdForm,
    /// Whether a tool's message carries the tool's name.
    pub(crate) names_results: bool,
    /// Whether a user's message may follow a tool's.
    pub(crate) user_may_follow_tool: bool,
    /// Whether the limit of an answer may be called `max_completion_tokens`.
    pub(crate) knows_completion_tokens: bool,
    /// In which form an effort is told.
    pub(crate) effort: EffortForm,
    /// Whether thoughts that came with calls may go back.
    pub(crate) takes_thoughts_back: bool,
}

/// OpenAI itself, and what follows it.
pub(crate) const OPENAI: Profile = Profile {
    chat_path: "/chat/completions",
    models_path: "/models",
    asks_for_usage: true,
    call_ids: CallIdForm::Any,
    names_results: false,
    user_may_follow_tool: true,
    knows_completion_tokens: true,
    effort: EffortForm::Words,
    takes_thoughts_back: true,
};

/// How an effort is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EffortForm {
    /// By every word that the model knows.
    Words,
    /// By every word, also for models that their vendor gives a budget: a proxy translates.
    AnyWord,
    /// By `none` and `high` only.
    NoneOrHigh,
}

/// The form of ids of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallIdForm {
    /// Whatever it is.
    Any,
    /// Nine letters or digits.
    NineCharacters,
}

impl CallIdForm {
    /// The id in this form; the same id always becomes the same.
    pub(crate) fn apply(self, id: &str) -> Cow<'_, str> {
        let fits = id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if self == Self::Any || fits { Cow::Borrowed(id) } else { Cow::Owned(nine_characters(id)) }
    }
}

/// FNV-1a over the id, written in base 62.
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
