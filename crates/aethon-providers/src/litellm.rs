//! A LiteLLM proxy: OpenAI's dialect unchanged. That its address is taken with and without `/v1` is in `endpoint`.

use crate::openai::{OPENAI, Profile};

/// Nothing differs; named, so that a difference has a place when it comes.
pub(crate) const PROFILE: Profile = OPENAI;
