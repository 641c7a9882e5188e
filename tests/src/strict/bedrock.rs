//! Amazon Bedrock's ConverseStream: signatures are recomputed from the request as received, and answers are sent in AWS's binary
//! frames with their checksums.

use ring::{digest, hmac};
use serde_json::{Value, json};

use super::{
    Checked, Conversation, ModelResponse, Provider, Refusal, halves, insist, list, only, png, seal, text,
    tool,
};
use crate::stub::{Seen, ok};

/// The accepted access key.
pub const ACCESS_KEY: &str = "AKIASTRICTEXAMPLE000";
/// The secret of the access key.
pub const SECRET_KEY: &str = "wJalrXUtnFEMI/K7MDENG/strictEXAMPLEKEY";
/// The region that requests are signed for.
pub const REGION: &str = "eu-central-1";

/// Bedrock with a model by Anthropic.
#[derive(Default)]
pub struct Bedrock {
    thinks: bool,
}

impl Provider for Bedrock {
    fn read(&mut self, seen: &Seen) -> Result<Conversation, Refusal> {
        let refuse = |status, why: String| Refusal { status, body: json!({ "message": why }) };
        let path =
            seen.line.strip_prefix("POST /model/").and_then(|path| path.strip_suffix("/converse-stream"));
        let Some(model) = path else { return Err(refuse("404 Not Found", "no such path".into())) };
        signed(seen).map_err(|why| refuse("403 Forbidden", why))?;
        let body = seen.json();
        let fields = &body["additionalModelRequestFields"];
        self.thinks = matches!(fields["thinking"]["type"].as_str(), Some("adaptive" | "enabled"));
        insist(!model.contains(':'), "the model's id must be encoded in the path")
            .and_then(|()| read(&body, self.thinks))
            .map_err(|why| refuse("400 Bad Request", why))
    }

    fn write(&mut self, said: &ModelResponse) -> Vec<u8> {
        let mut frames = frame("messageStart", &json!({"role": "assistant"}));
        let mut index = 0;
        let mut block = |start: Option<Value>, deltas: Vec<Value>| {
            if let Some(start) = start {
                frames
                    .extend(frame("contentBlockStart", &json!({"contentBlockIndex": index, "start": start})));
            }
            for delta in deltas {
                frames
                    .extend(frame("contentBlockDelta", &json!({"contentBlockIndex": index, "delta": delta})));
            }
            frames.extend(frame("contentBlockStop", &json!({"contentBlockIndex": index})));
            index += 1;
        };
        if self.thinks {
            let mut deltas: Vec<Value> =
                halves(said.thought).map(|piece| json!({"reasoningContent": {"text": piece}})).into();
            deltas.push(json!({"reasoningContent": {"signature": said.seal()}}));
            block(None, deltas);
        }
        if said.calls {
            let start = json!({"toolUse": {"toolUseId": said.call_id(), "name": "current_time"}});
            block(Some(start), vec![json!({"toolUse": {"input": "{}"}})]);
        } else {
            block(None, halves(&said.text).map(|piece| json!({"text": piece})).into());
        }
        let reason = if said.calls { "tool_use" } else { "end_turn" };
        frames.extend(frame("messageStop", &json!({"stopReason": reason})));
        let usage = json!({"inputTokens": 40, "outputTokens": 20, "totalTokens": 120, "cacheReadInputTokens": 50,
            "cacheWriteInputTokens": 10});
        frames.extend(frame("metadata", &json!({"usage": usage, "metrics": {"latencyMs": 5}})));
        let mut answer = ok("application/vnd.amazon.eventstream", "");
        answer.extend(frames);
        answer
    }
}

fn read(body: &Value, thinks: bool) -> Checked<Conversation> {
    only(body, &["messages", "system", "toolConfig", "inferenceConfig", "additionalModelRequestFields"])?;
    if let Some(inference) = body.get("inferenceConfig") {
        only(inference, &["maxTokens", "temperature", "topP"])?;
        insist(
            !thinks || inference.get("temperature").is_none(),
            "temperature may only be set to 1 with thinking",
        )?;
    }
    if let Some(fields) = body.get("additionalModelRequestFields") {
        only(fields, &["thinking", "output_config"])?;
    }
    let points = body.to_string().matches("cachePoint").count();
    insist(points <= 4, "You can use at most 4 cache points")?;
    let mut asked = Conversation::default();
    for offered in list(&body["toolConfig"], "tools").iter().filter(|entry| entry.get("cachePoint").is_none())
    {
        let spec = &offered["toolSpec"];
        asked.has_tools |= tool(&spec["name"], &spec["description"], &spec["inputSchema"]["json"])?;
    }
    let mut waiting: Vec<String> = Vec::new();
    for (place, message) in list(body, "messages").iter().enumerate() {
        let expected = if place % 2 == 0 { "user" } else { "assistant" };
        insist(
            message["role"] == expected,
            "A conversation must alternate between user and assistant roles.",
        )?;
        let content = list(message, "content");
        if expected == "assistant" {
            waiting = assistant(content, &mut asked, thinks)?;
        } else {
            user(content, &mut waiting, &mut asked)?;
        }
    }
    Ok(asked)
}

fn assistant(content: &[Value], asked: &mut Conversation, thinks: bool) -> Checked<Vec<String>> {
    let mut waiting = Vec::new();
    for block in content {
        only(block, &["text", "toolUse", "reasoningContent"])?;
        if let Some(thought) = block.get("reasoningContent") {
            let expected = json!({"reasoningText": {"text": super::THOUGHT, "signature": seal(asked.steps)}});
            insist(*thought == expected, "reasoning blocks cannot be modified")?;
        }
        if let Some(call) = block.get("toolUse") {
            insist(call["input"].is_object(), "input must be an object")?;
            waiting.push(text(call, "toolUseId")?.to_owned());
        }
    }
    if !waiting.is_empty() {
        insist(
            !thinks || content[0].get("reasoningContent").is_some(),
            "Expected `thinking`, but found `tool_use`",
        )?;
        asked.steps += 1;
    }
    Ok(waiting)
}

fn user(content: &[Value], waiting: &mut Vec<String>, asked: &mut Conversation) -> Checked {
    let mut said = Conversation { has_tools: asked.has_tools, ..Conversation::default() };
    let mut is_new = false;
    for block in content {
        only(block, &["text", "image", "toolResult", "cachePoint"])?;
        if let Some(result) = block.get("toolResult") {
            let id = text(result, "toolUseId")?;
            let known =
                waiting.iter().position(|waits| waits == id).ok_or("a toolResult without its toolUse")?;
            waiting.remove(known);
        } else if let Some(words) = block.get("text").and_then(Value::as_str) {
            said.words.push_str(words);
            is_new = true;
        } else if let Some(image) = block.get("image") {
            insist(image["format"] == "png", "the image's format")?;
            png(text(&image["source"], "bytes")?)?;
            (said.sees, is_new) = (true, true);
        }
    }
    insist(waiting.is_empty(), "Expected toolResult blocks for all toolUse ids")?;
    if is_new {
        *asked = said;
    }
    Ok(())
}

/// Recomputes the version 4 signature of the request.
fn signed(seen: &Seen) -> Checked {
    let header = |name: &str| seen.header(name).ok_or_else(|| format!("Missing header {name}"));
    let (date, authorization) = (header("x-amz-date")?, header("authorization")?);
    let day = date.get(..8).ok_or("x-amz-date is wrong")?;
    let scope = format!("{day}/{REGION}/bedrock/aws4_request");
    let field = |name: &str| {
        let rest = authorization.split(name).nth(1).ok_or_else(|| format!("Authorization lacks {name}"))?;
        Ok::<&str, String>(rest.split(',').next().unwrap_or(rest))
    };
    insist(field("Credential=")? == format!("{ACCESS_KEY}/{scope}"), "The security token is invalid")?;
    let names = field("SignedHeaders=")?;
    insist(
        names == "content-type;host;x-amz-date",
        "these headers must be signed: content-type;host;x-amz-date",
    )?;
    let mut canonical = format!("POST\n{}\n\n", twice_encoded(seen.line.trim_start_matches("POST ")));
    for name in names.split(';') {
        canonical += &format!("{name}:{}\n", header(name)?);
    }
    canonical += &format!("\n{names}\n{}", hex(digest::digest(&digest::SHA256, &seen.body).as_ref()));
    let digest = hex(digest::digest(&digest::SHA256, canonical.as_bytes()).as_ref());
    let to_sign = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{digest}");
    let first = format!("AWS4{SECRET_KEY}").into_bytes();
    let key = [day, REGION, "bedrock", "aws4_request"].iter().fold(first, |key, part| mac(&key, part));
    let expected = hex(&mac(&key, &to_sign));
    insist(field("Signature=")? == expected, "The request signature we calculated does not match")
}

/// Percent-encodes an already encoded path once more, so that `%` becomes `%25`.
fn twice_encoded(path: &str) -> String {
    path.replace('%', "%25")
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes()).as_ref().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Encodes one binary message.
fn frame(name: &str, payload: &Value) -> Vec<u8> {
    let payload = payload.to_string().into_bytes();
    let mut headers = Vec::new();
    for (header, value) in
        [(":event-type", name), (":content-type", "application/json"), (":message-type", "event")]
    {
        headers.push(u8::try_from(header.len()).expect("a short name"));
        headers.extend(header.as_bytes());
        headers.push(7);
        headers.extend(u16::try_from(value.len()).expect("a short value").to_be_bytes());
        headers.extend(value.as_bytes());
    }
    let word = |number: usize| u32::try_from(number).expect("a short message").to_be_bytes();
    let mut message = word(16 + headers.len() + payload.len()).to_vec();
    message.extend(word(headers.len()));
    message.extend(sum(&message));
    message.extend(headers);
    message.extend(payload);
    let end = sum(&message);
    message.extend(end);
    message
}

fn sum(bytes: &[u8]) -> [u8; 4] {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum().to_be_bytes()
}
