//! Writes a chat completion request.

use aethon_core::message::ToolResult;
use aethon_core::model::{Effort, ModelRequest};
use aethon_core::tool::ToolSpec;
use serde_json::{Value, json};

use super::profile::{EffortForm, Profile};
use super::thoughts;
use crate::answer_format;
use crate::capabilities::is_openrouter;
use crate::policy::RequestPolicy;
use crate::prompt::{self, Part, Said, Turn};
use crate::restrictions::LearnedRestriction;
use crate::settings::set;

/// Separates a tool message from a user message where a service does not accept them in sequence.
const INTERRUPTED: &str = "(The turn was interrupted here.)";

/// Builds the body of a request.
pub(super) fn body(request: &ModelRequest, policy: &RequestPolicy, profile: &Profile) -> Value {
    let mut body = json!({
        "model": policy.capabilities.model,
        "messages": messages(request, policy, profile),
        "stream": true,
    });
    if profile.asks_for_usage && !policy.has_learnt(LearnedRestriction::NoStreamOptions) {
        body["stream_options"] = json!({ "include_usage": true });
    }
    let tools = policy.tools(request);
    if !tools.is_empty() {
        body["tools"] = tools.into_iter().map(tool).collect();
    }
    if policy.searches_web(request) {
        match is_openrouter(&policy.capabilities.host) {
            true => body["plugins"] = json!([{ "id": "web" }]),
            false => body["web_search_options"] = json!({}),
        }
    }
    set(&mut body, "service_tier", policy.settings.service_tier.as_deref());
    if let (Some(limit), Some(key)) = (policy.output_limit(request), limit_key(policy, profile)) {
        body[key] = limit.into();
    }
    set(&mut body, "response_format", policy.schema(request).map(answer_format::chat));
    set(&mut body, "temperature", policy.temperature());
    set(&mut body, "top_p", policy.top_p());
    set(
        &mut body,
        "reasoning_effort",
        policy.effort(request).and_then(|it| effort_word(it, policy, profile)),
    );
    if policy.rules.is_openai
        && profile.knows_completion_tokens
        && !policy.has_learnt(LearnedRestriction::NoCacheKey)
    {
        // Servers of other models may not know it.
        body["prompt_cache_key"] = prompt::cache_key(request).into();
    }
    body
}

/// Returns the name of the response limit. Models that reason count their thoughts towards it, under another name.
fn limit_key(policy: &RequestPolicy, profile: &Profile) -> Option<&'static str> {
    let plain = ("max_tokens", LearnedRestriction::NoMaxTokens);
    let completion = ("max_completion_tokens", LearnedRestriction::NoMaxCompletionTokens);
    let names = match profile.knows_completion_tokens && policy.rules.counts_completion_tokens {
        true => [completion, plain],
        false => [plain, completion],
    };
    names.into_iter().find(|(_, refused)| !policy.has_learnt(*refused)).map(|(name, _)| name)
}

fn effort_word(effort: Effort, policy: &RequestPolicy, profile: &Profile) -> Option<&'static str> {
    let word = match profile.effort {
        EffortForm::AnyWord => policy.rules.effort_word(effort).unwrap_or(effort.as_str()),
        EffortForm::Words | EffortForm::NoneOrHigh => policy.rules.effort_word(effort)?,
    };
    match profile.effort {
        EffortForm::NoneOrHigh if word != "none" => Some("high"),
        _ => Some(word),
    }
}

fn messages(request: &ModelRequest, policy: &RequestPolicy, profile: &Profile) -> Vec<Value> {
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.trim().is_empty() {
        messages.push(json!({ "role": "system", "content": &*request.system }));
    }
    let turns = prompt::turns(request, &policy.capabilities);
    let thoughts = ReasoningEcho::of(policy, profile);
    let last_user = turns.iter().rposition(|turn| matches!(turn, Turn::User(_)));
    let mut after_tool = false;
    for (place, turn) in turns.iter().enumerate() {
        match turn {
            Turn::User(parts) => {
                if after_tool && !profile.user_may_follow_tool {
                    messages.push(json!({ "role": "assistant", "content": INTERRUPTED }));
                }
                messages.push(json!({ "role": "user", "content": user_content(parts) }));
            }
            Turn::Shown(parts) if profile.user_may_follow_tool => {
                messages.push(json!({ "role": "user", "content": user_content(parts) }));
            }
            // A service that allows no user message between results and response gets only the line in the result.
            Turn::Shown(_) => continue,
            Turn::Assistant(said) => {
                let is_current = last_user.is_none_or(|user| place > user);
                let mut message = assistant(said, policy, profile);
                thoughts.put_back(&mut message, said, is_current);
                messages.push(message);
            }
            Turn::Results(results) => {
                messages.extend(results.iter().map(|result| tool_message(result, profile)))
            }
        }
        after_tool = matches!(turn, Turn::Results(_));
    }
    messages
}

/// Which thoughts that led to calls are sent back.
#[derive(Clone, Copy, PartialEq)]
enum ReasoningEcho {
    /// None.
    Never,
    /// Those of the current turn, where the service sent them.
    OfThisTurn,
    /// All, because the service requires them.
    Always,
}

impl ReasoningEcho {
    fn of(policy: &RequestPolicy, profile: &Profile) -> Self {
        if !profile.echoes_reasoning || policy.has_learnt(LearnedRestriction::NoReasoningEcho) {
            Self::Never
        } else if policy.has_learnt(LearnedRestriction::NeedsReasoningEcho) {
            Self::Always
        } else {
            Self::OfThisTurn
        }
    }

    fn put_back(self, message: &mut Value, said: &[Said<'_>], is_current: bool) {
        let led_to_calls = said.iter().any(|piece| matches!(piece, Said::Call(_)));
        if !led_to_calls || self == Self::Never || (self == Self::OfThisTurn && !is_current) {
            return;
        }
        for piece in said {
            if let Said::Opaque(opaque) = piece {
                thoughts::put_back(message, opaque);
            }
        }
        if self == Self::Always {
            thoughts::fill_in(message);
        }
    }
}

/// Returns a plain string for pure text, because not every server accepts parts.
fn user_content(parts: &[Part<'_>]) -> Value {
    if parts.iter().all(|part| matches!(part, Part::Text(_))) {
        return prompt::joined(parts).into();
    }
    let part = |part: &Part<'_>| match part {
        Part::Text(text) => json!({ "type": "text", "text": text }),
        Part::Image { mime, data } => {
            json!({ "type": "image_url", "image_url": { "url": format!("data:{mime};base64,{data}") } })
        }
    };
    parts.iter().map(part).collect()
}

fn assistant(said: &[Said<'_>], policy: &RequestPolicy, profile: &Profile) -> Value {
    let mut texts = Vec::new();
    let mut calls = Vec::new();
    for part in said {
        match part {
            Said::Text(text) => texts.push(*text),
            Said::Image { .. } => texts.push(prompt::MADE_PICTURE),
            Said::Call(call) => calls.push(json!({
                "id": profile.call_ids.apply(&call.id),
                "type": "function",
                "function": { "name": call.name, "arguments": prompt::input(call).to_string() },
            })),
            Said::Opaque(_) | Said::Search(_) => {}
        }
    }
    let content = match texts.is_empty() && !policy.has_learnt(LearnedRestriction::NoNullContent) {
        true => Value::Null,
        false => texts.join("\n\n").into(),
    };
    let mut message = json!({ "role": "assistant", "content": content });
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    message
}

fn tool_message(result: &ToolResult, profile: &Profile) -> Value {
    let mut message = json!({
        "role": "tool",
        "tool_call_id": profile.call_ids.apply(&result.call),
        "content": prompt::output(result),
    });
    if profile.names_results {
        message["name"] = result.name.as_str().into();
    }
    message
}

fn tool(spec: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "function": { "name": spec.name, "description": spec.description, "parameters": spec.parameters },
    })
}
