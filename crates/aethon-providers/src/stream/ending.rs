//! Why a model stopped, in the words of all services. Gateways pass on the words of one service in the dialect of
//! another, so every dialect knows them all.

/// Why a model stopped, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It was done, or wants results of tools.
    Complete,
    /// It reached the output limit.
    Length,
    /// The conversation and the answer fill the context window.
    Window,
    /// It refused, or was filtered.
    Refused,
    /// It expects to be asked again.
    Pause,
    /// The service gave up: the answer is not complete.
    GaveUp,
}

impl Ending {
    /// Returns the meaning of a service's word. An unknown one counts as complete, because services keep inventing words for that.
    pub(crate) fn of(word: &str) -> Self {
        match word.trim().to_ascii_lowercase().as_str() {
            "length" | "max_tokens" | "model_length" | "max_output_tokens" | "max_length" | "token_limit" => {
                Self::Length
            }
            "model_context_window_exceeded" | "context_length_exceeded" | "context_window_exceeded" => {
                Self::Window
            }
            "refusal"
            | "content_filter"
            | "content_filtered"
            | "guardrail_intervened"
            | "sensitive"
            | "safety"
            | "recitation"
            | "blocklist"
            | "prohibited_content"
            | "spii"
            | "language"
            | "image_safety"
            | "image_prohibited_content"
            | "image_recitation"
            | "model_armor" => Self::Refused,
            "pause_turn" => Self::Pause,
            "error"
            | "abort"
            | "aborted"
            | "insufficient_system_resource"
            | "network_error"
            | "other"
            | "image_other"
            | "no_image"
            | "failed"
            | "cancelled"
            | "canceled"
            | "timeout"
            | "internal_error"
            | "server_error"
            | "engine_error"
            | "model_error"
            | "malformed_function_call"
            | "malformed_response"
            | "unexpected_tool_call"
            | "too_many_tool_calls"
            | "missing_thought_signature"
            | "malformed_tool_use"
            | "malformed_model_output" => Self::GaveUp,
            _ => Self::Complete,
        }
    }
}
