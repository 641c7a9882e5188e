//! Reads from a refusal how the request itself must change: a parameter that the service does not accept, or something it
//! requires. The phrases are those of the services and of servers that imitate them.

use aethon_core::model::ModelError;

use crate::restrictions::{LearnedRestriction, LearnedRestrictions};

/// Phrases that blame a parameter rather than its value.
const SIGNS: &[&str] = &[
    "unsupported_parameter",
    "unsupported parameter",
    "unsupported_value",
    "unsupported value",
    "unsupportedparams",
    "not supported",
    "not support",
    "n't support",
    "deprecated",
    "not permitted",
    "extra_forbidden",
    "unrecognized",
    "unknown name",
    "unknown parameter",
    "unknown field",
    "unknown_parameter",
    "unexpected keyword",
    "cannot both be",
    "may only be set",
    "must be verified",
    "not enabled",
    "is unsupported",
];

/// The parameters by the names that services give them.
const PARAMETERS: &[(&str, LearnedRestriction)] = &[
    ("temperature", LearnedRestriction::NoTemperature),
    ("top_p", LearnedRestriction::NoTopP),
    ("topp", LearnedRestriction::NoTopP),
    ("max_tokens", LearnedRestriction::NoMaxTokens),
    ("max_completion_tokens", LearnedRestriction::NoMaxCompletionTokens),
    ("reasoning.summary", LearnedRestriction::NoSummary),
    ("reasoning summaries", LearnedRestriction::NoSummary),
    ("reasoning_content", LearnedRestriction::NoReasoningEcho),
    ("reasoning_details", LearnedRestriction::NoReasoningEcho),
    ("reasoning_effort", LearnedRestriction::NoEffort),
    ("reasoning.effort", LearnedRestriction::NoEffort),
    ("output_config", LearnedRestriction::NoEffort),
    ("think", LearnedRestriction::NoEffort),
    ("prompt_cache_key", LearnedRestriction::NoCacheKey),
    ("stream_options", LearnedRestriction::NoStreamOptions),
    ("web_search", LearnedRestriction::NoWebSearch),
    ("web search", LearnedRestriction::NoWebSearch),
    ("google_search", LearnedRestriction::NoWebSearch),
    ("googlesearch", LearnedRestriction::NoWebSearch),
    ("search tool", LearnedRestriction::NoWebSearch),
    ("search as tool", LearnedRestriction::NoWebSearch),
    ("search grounding", LearnedRestriction::NoWebSearch),
    ("tool use with function calling", LearnedRestriction::NoWebSearch),
    ("built-in tools", LearnedRestriction::NoWebSearch),
    ("response_format", LearnedRestriction::NoSchema),
    ("json_schema", LearnedRestriction::NoSchema),
    ("text.format", LearnedRestriction::NoSchema),
    ("output_config.format", LearnedRestriction::NoSchema),
    ("output_format", LearnedRestriction::NoSchema),
    ("outputconfig", LearnedRestriction::NoSchema),
    ("structured output", LearnedRestriction::NoSchema),
    ("responsejsonschema", LearnedRestriction::NoSchema),
    ("response_json_schema", LearnedRestriction::NoSchema),
    ("response mime type", LearnedRestriction::NoSchema),
    ("responsemimetype", LearnedRestriction::NoSchema),
];

/// Phrases of a service that requires the thoughts that led to calls.
const MISSES: &[&str] =
    &["missing", "must be passed back", "must be provided", "is required", "must include"];

/// Returns the restrictions of a refusal.
pub(crate) fn restrictions(error: &ModelError) -> LearnedRestrictions {
    let words = error.detail().unwrap_or_default().to_lowercase();
    let found = match error.status() {
        Some(500) => Some(LearnedRestriction::NoNullContent),
        Some(400..=499) => of_words(&words),
        _ => None,
    };
    found.into_iter().collect()
}

fn of_words(words: &str) -> Option<LearnedRestriction> {
    // This sentence also names an effort, so it is checked first.
    if words.contains("v1/responses") {
        return Some(LearnedRestriction::NeedsResponses);
    }
    if words.contains("reasoning_content") && MISSES.iter().any(|sign| words.contains(sign)) {
        return Some(LearnedRestriction::NeedsReasoningEcho);
    }
    // A schema that a service finds fault with says nothing about the next one.
    if words.contains("invalid schema") {
        return None;
    }
    if SIGNS.iter().any(|sign| words.contains(sign)) {
        // A suggested remedy may name another parameter after the refused one.
        let places =
            PARAMETERS.iter().filter_map(|(name, restriction)| Some((words.find(name)?, *restriction)));
        let both_samplings = words.contains("cannot both be") && words.contains("top_p");
        let first = places
            .min_by_key(|(place, restriction)| (*place, *restriction != LearnedRestriction::NoSchema))
            .map(|(_, restriction)| restriction);
        return if both_samplings { Some(LearnedRestriction::NoTopP) } else { first };
    }
    let is_content = words.contains("content") || words.contains("messages");
    let is_null = ["null", "none", "valid string", "expected str", "field required"]
        .iter()
        .any(|sign| words.contains(sign));
    (is_content && is_null).then_some(LearnedRestriction::NoNullContent)
}

#[cfg(test)]
mod tests {
    use aethon_core::model::ModelErrorKind;

    use super::*;

    #[test]
    fn refused_schemas_and_searches_differ_from_refused_efforts() {
        let check = |status: u16, detail: &str, expected: Option<LearnedRestriction>| {
            let error =
                ModelError::new(ModelErrorKind::InvalidRequest, "no").with_status(status).with_detail(detail);
            assert_eq!(restrictions(&error), expected.into_iter().collect(), "{detail}");
        };
        use LearnedRestriction::{NoEffort, NoSchema, NoWebSearch};
        check(400, "Unrecognized request argument supplied: response_format", Some(NoSchema));
        check(
            400,
            "This response_format type is unavailable now, json_schema is not supported",
            Some(NoSchema),
        );
        check(400, "output_config.format: Extra inputs are not permitted", Some(NoSchema));
        check(400, "Tool 'web_search' is not supported with gpt-4.1-nano.", Some(NoWebSearch));
        check(400, "Unknown parameter: 'web_search_options'.", Some(NoWebSearch));
        check(400, "Tool use with function calling is unsupported", Some(NoWebSearch));
        check(400, "output_config.effort: Extra inputs are not permitted", Some(NoEffort));
        check(
            400,
            "Function calling with a response mime type: 'application/json' is unsupported",
            Some(NoSchema),
        );
    }

    #[test]
    fn every_refusal_teaches_what_it_names() {
        let check = |status: u16, detail: &str, expected: Option<LearnedRestriction>| {
            let error =
                ModelError::new(ModelErrorKind::InvalidRequest, "no").with_status(status).with_detail(detail);
            assert_eq!(restrictions(&error), expected.into_iter().collect(), "{detail}");
        };
        use LearnedRestriction::*;
        check(
            400,
            "unsupported_parameter invalid_request_error max_tokens Unsupported parameter: 'max_tokens' is not supported \
             with this model. Use 'max_completion_tokens' instead.",
            Some(NoMaxTokens),
        );
        check(
            400,
            "unsupported_value temperature 'temperature' does not support 0.5 with this model. Only the default (1)",
            Some(NoTemperature),
        );
        check(400, "invalid_request_error `temperature` is deprecated for this model.", Some(NoTemperature));
        check(
            400,
            "invalid_request_error `temperature` and `top_p` cannot both be specified for this model.",
            Some(NoTopP),
        );
        check(
            422,
            "extra_forbidden Extra inputs are not permitted: max_completion_tokens",
            Some(NoMaxCompletionTokens),
        );
        check(
            400,
            "Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions. Please use \
             /v1/responses instead.",
            Some(NeedsResponses),
        );
        check(
            404,
            "This model is only supported in v1/responses and not in v1/chat/completions.",
            Some(NeedsResponses),
        );
        check(400, "Your organization must be verified to generate reasoning summaries.", Some(NoSummary));
        check(400, "\"llama3.2\" does not support thinking", Some(NoEffort));
        check(400, "Unrecognized request argument supplied: reasoning_effort", Some(NoEffort));
        check(400, "Unrecognized request argument supplied: prompt_cache_key", Some(NoCacheKey));
        check(
            400,
            "Missing `reasoning_content` field in the assistant message at message index 2.",
            Some(NeedsReasoningEcho),
        );
        check(
            400,
            "The `reasoning_content` in the thinking mode must be passed back to the API.",
            Some(NeedsReasoningEcho),
        );
        check(
            422,
            "extra_forbidden messages.2.reasoning_content: Extra inputs are not permitted",
            Some(NoReasoningEcho),
        );
        check(
            500,
            "internal_server_error can only concatenate str (not \"NoneType\") to str",
            Some(NoNullContent),
        );
        check(422, "messages.2.content: Input should be a valid string", Some(NoNullContent));
        check(
            400,
            "max_tokens is too large: 200000. This model supports at most 128000 completion tokens",
            None,
        );
        check(400, "messages.1.content.0: unexpected `tool_use_id` found in `tool_result` blocks", None);
        check(503, "temperature is not supported", None);
        check(400, "", None);
    }
}
