//! The parts of a chunk, read leniently: what has an unexpected shape counts as absent.

use serde::Deserialize;
use serde_json::Value;

use super::usage::UsageWire;
use crate::counted;
use crate::stream::loose;

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Chunk {
    #[serde(deserialize_with = "loose::list")]
    pub(super) choices: Vec<Choice>,
    /// Some servers have it outside of the choices.
    #[serde(deserialize_with = "loose::maybe")]
    pub(super) message: Option<Delta>,
    #[serde(deserialize_with = "counted::counts")]
    pub(super) usage: Option<UsageWire>,
    /// Groq's extension.
    #[serde(deserialize_with = "loose::maybe")]
    pub(super) x_groq: Option<Extension>,
    #[serde(deserialize_with = "loose::text")]
    pub(super) model: Option<String>,
    pub(super) error: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Extension {
    #[serde(deserialize_with = "counted::counts")]
    pub(super) usage: Option<UsageWire>,
    pub(super) error: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Choice {
    #[serde(deserialize_with = "loose::index")]
    pub(super) index: Option<i64>,
    #[serde(deserialize_with = "loose::maybe")]
    pub(super) delta: Option<Delta>,
    /// The whole, of a completion that is not streamed, or once more at the end of one that is.
    #[serde(deserialize_with = "loose::maybe")]
    pub(super) message: Option<Delta>,
    /// Of a completion in the form before chats.
    #[serde(deserialize_with = "loose::text")]
    pub(super) text: Option<String>,
    #[serde(deserialize_with = "loose::text")]
    pub(super) finish_reason: Option<String>,
    #[serde(deserialize_with = "counted::counts")]
    pub(super) usage: Option<UsageWire>,
    pub(super) error: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Delta {
    pub(super) content: Option<Value>,
    #[serde(deserialize_with = "loose::text")]
    pub(super) refusal: Option<String>,
    #[serde(deserialize_with = "loose::text")]
    pub(super) reasoning_content: Option<String>,
    #[serde(deserialize_with = "loose::text")]
    pub(super) reasoning: Option<String>,
    #[serde(deserialize_with = "loose::list")]
    pub(super) reasoning_details: Vec<Value>,
    #[serde(deserialize_with = "loose::list")]
    pub(super) tool_calls: Vec<CallDelta>,
    /// The form of 2023, of a single call.
    #[serde(deserialize_with = "loose::maybe")]
    pub(super) function_call: Option<FunctionDelta>,
    /// Pictures that the model made.
    #[serde(deserialize_with = "loose::list")]
    pub(super) images: Vec<Value>,
    /// The pages that the answer cites.
    #[serde(deserialize_with = "loose::list")]
    pub(super) annotations: Vec<Value>,
    #[serde(deserialize_with = "counted::counts")]
    pub(super) usage: Option<UsageWire>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct CallDelta {
    #[serde(deserialize_with = "loose::index")]
    pub(super) index: Option<i64>,
    #[serde(deserialize_with = "loose::text")]
    pub(super) id: Option<String>,
    #[serde(deserialize_with = "loose::maybe")]
    pub(super) function: Option<FunctionDelta>,
    /// Some servers leave out the object around these.
    #[serde(deserialize_with = "loose::text")]
    pub(super) name: Option<String>,
    pub(super) arguments: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct FunctionDelta {
    #[serde(deserialize_with = "loose::text")]
    pub(super) name: Option<String>,
    pub(super) arguments: Option<Value>,
}

/// A part of the content.
pub(super) enum Part {
    Text(String),
    Thought(String),
    Image(Picture),
}

/// A picture that a model made.
pub(super) enum Picture {
    Data {
        mime: String,
        data: String,
    },
    /// It is elsewhere.
    Link(String),
}

/// Returns the parts of a content of any form.
pub(super) fn parts(content: Value) -> Vec<Part> {
    match content {
        Value::Array(parts) => parts.into_iter().flat_map(part).collect(),
        Value::Object(_) => part(content),
        content => loose::text_of(content).map(Part::Text).into_iter().collect(),
    }
}

fn part(mut part: Value) -> Vec<Part> {
    if let Some(picture) = picture(&part) {
        return vec![Part::Image(picture)];
    }
    // Mistral's thoughts are a list of text parts.
    let thought = ["thinking", "reasoning"].iter().find_map(|key| part.get_mut(*key).map(Value::take));
    if let Some(thought) = thought.and_then(loose::text_of) {
        return vec![Part::Thought(thought)];
    }
    let is_thought = matches!(part.get("type").and_then(Value::as_str), Some("thinking" | "reasoning"));
    let text = loose::text_of(part);
    text.map(if is_thought { Part::Thought } else { Part::Text }).into_iter().collect()
}

/// Reads a part that holds a picture: an address, usually one with the data in it.
pub(super) fn picture(part: &Value) -> Option<Picture> {
    let url = part.get("image_url").or_else(|| part.get("imageUrl"))?;
    let url = url.as_str().or_else(|| url.get("url")?.as_str())?;
    let Some(rest) = url.strip_prefix("data:") else {
        return url.starts_with("http").then(|| Picture::Link(url.to_owned()));
    };
    let (mime, data) = rest.split_once(";base64,")?;
    Some(Picture::Data { mime: mime.to_owned(), data: data.to_owned() })
}
