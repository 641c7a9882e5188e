//! Reads facts about the model from a refusal: its context window, or that it does not support tools or pictures.
//!
//! Self-hosted servers say so only in a message, each in its own words. The phrases here were found in the sources
//! and issue trackers of Ollama, llama.cpp, vLLM, OpenRouter and the vendors.

use aethon_core::model::{ModelError, ModelErrorKind, SelfReport};

/// Phrases directly before the number of tokens that a model accepts.
const BEFORE: &[&str] = &[
    "n_ctx=",
    "maximum context length is ",
    "maximum context length of ",
    "context length is only ",
    // LM Studio.
    "context length of only ",
    "available context size (",
    "context window of ",
    "exceed context limit: ",
    "tokens > ",
    "too large for model with ",
];

/// Phrases that blame the tools.
const NO_TOOLS: &[&str] = &[
    "does not support tools",
    "does not support tool use",
    "doesn't support tool use",
    "does not support function calling",
    "does not support tool calling",
    "tools are not supported",
    "tool calling is not supported",
    "no endpoints found that support tool use",
    // vLLM, started without a parser for calls.
    "enable-auto-tool-choice",
    // llama.cpp, started without templates that support tools.
    "requires --jinja",
];

/// Phrases that blame a picture.
const NO_PICTURES: &[&str] = &[
    "does not support image",
    "does not support vision",
    "doesn't support image",
    "image input is not supported",
    "images are not supported",
    "image_url is only supported",
    "unknown variant `image_url`",
    "support image input",
    "required for image input",
    "is not a multimodal model",
    "not multimodal",
    // llama.cpp, started without its vision component.
    "mmproj",
];

/// Phrases of Ollama about a model and context that do not fit the machine's memory.
const NO_MEMORY: &[&str] =
    &["requires more system memory", "requires more memory", "out of memory", "unable to allocate"];

/// No model is served with a window outside this range.
const WINDOWS: std::ops::RangeInclusive<u64> = 256..=100_000_000;

/// Returns the facts about the model in a refusal.
pub(crate) fn of(error: &ModelError) -> SelfReport {
    let words = error.detail().unwrap_or_default().to_lowercase();
    let has_no_tools = NO_TOOLS.iter().any(|sign| words.contains(sign)) && !words.contains("streaming mode");
    SelfReport {
        context_window: (error.kind() == ModelErrorKind::ContextLength).then(|| window(&words)).flatten(),
        images: NO_PICTURES.iter().any(|sign| words.contains(sign)).then_some(false),
        tools: has_no_tools.then_some(false),
        ..SelfReport::default()
    }
}

/// Returns whether the machine has no memory for the model with its context.
pub(crate) fn lacks_memory(error: &ModelError) -> bool {
    let words = error.detail().unwrap_or_default().to_lowercase();
    error.status().is_some_and(|status| status >= 500) && NO_MEMORY.iter().any(|sign| words.contains(sign))
}

fn window(words: &str) -> Option<u64> {
    let behind = |sign: &&str| words.find(*sign).map(|at| &words[at + sign.len()..]);
    BEFORE.iter().filter_map(behind).find_map(|rest| last_of_a_sum(rest).filter(|it| WINDOWS.contains(it)))
}

/// Returns the number at the start of a text, or the limit in `199000 + 8000 > 200000`.
fn last_of_a_sum(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || " +>,".contains(c))).unwrap_or(text.len());
    let (_, limit) = text[..end].rsplit_once('>').unwrap_or(("", &text[..end]));
    let digits: String = limit.trim().chars().filter(|c| *c != ',').collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(kind: ModelErrorKind, detail: &str) -> SelfReport {
        of(&ModelError::new(kind, "it failed").with_detail(detail))
    }

    #[test]
    fn the_window_is_read_from_the_refusal() {
        let check = |detail: &str, expected| {
            assert_eq!(hint(ModelErrorKind::ContextLength, detail).context_window, expected, "{detail}");
        };
        check(
            "This model's maximum context length is 8192 tokens. However, you requested 9000.",
            Some(8_192),
        );
        check(
            "exceed_context_size_error n_ctx=4096 the request exceeds the available context size",
            Some(4_096),
        );
        check("request (5000 tokens) exceeds the available context size (4096 tokens)", Some(4_096));
        check("Requested tokens (2066) exceed context window of 2048", Some(2_048));
        check("prompt is too long: 210000 tokens > 200000 maximum", Some(200_000));
        check("input length and `max_tokens` exceed context limit: 199000 + 8000 > 200000", Some(200_000));
        check(
            "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
            Some(32_768),
        );
        check("maximum context length is 131,072 tokens", Some(131_072));
        check(
            "Trying to keep the first 5309 tokens when context the overflows. However, the model is loaded with context \
             length of only 4096 tokens, which is not enough.",
            Some(4_096),
        );
        check("maximum context length is 0 tokens", None);
        check("maximum context length is 99999999999999999999999 tokens", None);
        check("Input is too long for requested model.", None);
        check("maximum context length is ", None);
        assert_eq!(hint(ModelErrorKind::RateLimit, "maximum context length is 8192").context_window, None);
    }

    #[test]
    fn lack_of_memory_is_recognised() {
        let check = |status, detail: &str, expected| {
            let error = ModelError::new(ModelErrorKind::Overloaded, "it failed").with_detail(detail);
            assert_eq!(lacks_memory(&error.with_status(status)), expected, "{detail}");
        };
        check(500, "model requires more system memory (9.9 GiB) than is available (7.1 GiB)", true);
        check(500, "llama runner process has terminated: cudaMalloc failed: out of memory", true);
        check(400, "out of memory", false);
        check(500, "model runner has unexpectedly stopped", false);
    }

    #[test]
    fn a_refusal_of_pictures_is_recognised() {
        let check = |detail: &str, expected| {
            assert_eq!(hint(ModelErrorKind::InvalidRequest, detail).images, expected, "{detail}");
        };
        check("Invalid content type. image_url is only supported by certain models.", Some(false));
        check("image input is not supported - hint: you may need to provide the mmproj", Some(false));
        check("Failed to process inputs: this model is missing data required for image input", Some(false));
        check("No endpoints found that support image input", Some(false));
        check("text-model is not a multimodal model", Some(false));
        check("The image is too large.", None);
    }

    #[test]
    fn a_refusal_of_tools_is_recognised() {
        let check = |detail: &str, expected| {
            assert_eq!(hint(ModelErrorKind::InvalidRequest, detail).tools, expected, "{detail}");
        };
        check("registry.ollama.ai/library/gemma3:4b does not support tools", Some(false));
        check(
            "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
            Some(false),
        );
        check("tools param requires --jinja flag", Some(false));
        check("No endpoints found that support tool use.", Some(false));
        check("This model doesn't support tool use.", Some(false));
        check("This model doesn't support tool use in streaming mode.", None);
        check("tools.0.name: string does not match", None);
        check("", None);
    }
}
