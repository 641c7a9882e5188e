//! Gemini's `generateContent`, version 1, with models that sign their thoughts.

use serde_json::{Value, json};

use super::{
    Checked, Conversation, ModelResponse, Provider, Refusal, generation, halves, insist, list, only, png,
    seal, sse, text, tool,
};
use crate::stub::{Seen, ok};

/// Gemini.
#[derive(Default)]
pub struct Gemini;

/// The placeholder for the signature of a call by another model.
const FOREIGN: &str = "skip_thought_signature_validator";

impl Provider for Gemini {
    fn read(&mut self, seen: &Seen) -> Result<Conversation, Refusal> {
        let refuse = |status, code: u16, word: &str, why: &str| Refusal {
            status,
            body: json!({"error": {"code": code, "message": why, "status": word}}),
        };
        if seen.header("x-goog-api-key") != Some("strict-key") {
            return Err(refuse("401 Unauthorized", 401, "UNAUTHENTICATED", "API key not valid"));
        }
        let path = seen.line.strip_prefix("POST /v1/models/");
        let Some(model) = path.and_then(|path| path.strip_suffix(":streamGenerateContent?alt=sse")) else {
            return Err(refuse("404 Not Found", 404, "NOT_FOUND", "no such path"));
        };
        read(&seen.json(), model).map_err(|why| refuse("400 Bad Request", 400, "INVALID_ARGUMENT", &why))
    }

    fn write(&mut self, said: &ModelResponse) -> Vec<u8> {
        let response = |part: Value, finish: Option<&str>| {
            let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": [part]}});
            if let Some(finish) = finish {
                candidate["finishReason"] = finish.into();
            }
            let usage = json!({"promptTokenCount": 100, "candidatesTokenCount": 8, "thoughtsTokenCount": 12});
            (
                None,
                json!({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-strict"}),
            )
        };
        let mut events: Vec<_> =
            halves(said.thought).map(|piece| response(json!({"text": piece, "thought": true}), None)).into();
        if said.calls {
            let call = json!({"functionCall": {"name": "current_time", "args": {}}, "thoughtSignature": said.seal()});
            events.push(response(call, Some("STOP")));
        } else {
            let [first, last] = halves(&said.text);
            events.push(response(json!({"text": first}), None));
            events.push(response(json!({"text": last}), Some("STOP")));
        }
        ok("text/event-stream", &sse(&events))
    }
}

fn read(body: &Value, model: &str) -> Checked<Conversation> {
    only(body, &["contents", "systemInstruction", "tools", "generationConfig"])?;
    let is_new = generation(model) >= 3.0 || model.ends_with("latest");
    configuration(&body["generationConfig"], is_new)?;
    let mut asked = Conversation::default();
    for tools in list(body, "tools") {
        for offered in list(tools, "functionDeclarations") {
            only(offered, &["name", "description", "parameters_json_schema"])?;
            asked.has_tools |=
                tool(&offered["name"], &offered["description"], &offered["parameters_json_schema"])?;
        }
    }
    let mut before = "";
    let mut calls = 0;
    for content in list(body, "contents") {
        only(content, &["role", "parts"])?;
        let role = text(content, "role")?;
        insist(
            matches!(role, "user" | "model") && role != before,
            "roles must alternate between user and model",
        )?;
        let parts = list(content, "parts");
        insist(!parts.is_empty(), "parts must not be empty")?;
        if role == "model" {
            calls = said(parts, is_new, &mut asked)?;
        } else {
            let answers = parts.iter().filter(|part| part.get("functionResponse").is_some()).count();
            insist(
                answers == calls,
                "the number of function response parts must equal the function call parts",
            )?;
            calls = 0;
            record_message(parts, &mut asked)?;
        }
        before = role;
    }
    insist(before == "user", "the conversation must end with the user")?;
    Ok(asked)
}

fn configuration(configuration: &Value, is_new: bool) -> Checked {
    if configuration.is_null() {
        return Ok(());
    }
    only(configuration, &["maxOutputTokens", "temperature", "topP", "thinkingConfig"])?;
    let thinking = &configuration["thinkingConfig"];
    if thinking.is_null() {
        return Ok(());
    }
    only(thinking, &["includeThoughts", "thinkingBudget", "thinkingLevel"])?;
    let level = thinking["thinkingLevel"].as_str();
    insist(matches!(level, None | Some("MINIMAL" | "LOW" | "MEDIUM" | "HIGH")), "thinkingLevel is wrong")?;
    insist(is_new || level.is_none(), "Thinking level is not supported for this model.")?;
    insist(!is_new || thinking.get("thinkingBudget").is_none(), "use thinkingLevel with this model")
}

fn said(parts: &[Value], is_new: bool, asked: &mut Conversation) -> Checked<usize> {
    let mut calls = 0;
    for part in parts {
        only(part, &["text", "thought", "thoughtSignature", "functionCall"])?;
        let Some(call) = part.get("functionCall") else {
            text(part, "text")?;
            continue;
        };
        only(call, &["name", "args", "id"])?;
        insist(call["args"].is_object(), "args must be an object")?;
        let signature = part["thoughtSignature"].as_str();
        let is_signed = signature == Some(&seal(asked.steps)) || signature == Some(FOREIGN);
        insist(
            calls > 0 || is_signed || !is_new,
            "Function call is missing a thought_signature in functionCall parts.",
        )?;
        calls += 1;
    }
    asked.steps += usize::from(calls > 0);
    Ok(calls)
}

fn record_message(parts: &[Value], asked: &mut Conversation) -> Checked {
    let mut new = Conversation { has_tools: asked.has_tools, ..Conversation::default() };
    let mut is_new = false;
    for part in parts {
        only(part, &["text", "inlineData", "functionResponse"])?;
        if let Some(response) = part.get("functionResponse") {
            only(response, &["name", "response", "id"])?;
            insist(
                response["response"].is_object() && response["name"] == "current_time",
                "a strange response",
            )?;
            continue;
        }
        is_new = true;
        if let Some(data) = part.get("inlineData") {
            only(data, &["mime_type", "data"])?;
            png(text(data, "data")?)?;
            new.sees = true;
        } else {
            new.words.push_str(text(part, "text")?);
        }
    }
    if is_new {
        *asked = new;
    }
    Ok(())
}
