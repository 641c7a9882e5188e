//! Converts the result of a server to tool output. Limiting its length is left to the output cap.

use aethon_core::tool::{ToolError, ToolOutput};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents, Role};
use serde_json::Value;

/// Returns the output of a call, or why it failed.
pub(super) fn output(result: CallToolResult) -> Result<ToolOutput, ToolError> {
    let mut texts = Vec::new();
    let mut for_person = Vec::new();
    let mut pictures = Vec::new();
    for block in result.content {
        match (audience(&block), block) {
            (Audience::Model, ContentBlock::Image(_)) => {
                texts.push("[a picture that is not meant for the person]".to_owned());
            }
            (_, ContentBlock::Image(image)) => pictures.push((image.mime_type, image.data)),
            (Audience::Person, ContentBlock::Text(text)) => for_person.push(text.text),
            (_, other) => texts.extend(text(other)),
        }
    }
    if let Some(value) = result.structured_content {
        let is_same = |text: &String| serde_json::from_str::<Value>(text).is_ok_and(|said| said == value);
        if !texts.iter().any(is_same) {
            texts.push(value.to_string());
        }
    }
    let mut text = texts.join("\n");
    let is_silent = text.trim().is_empty();
    if result.is_error == Some(true) {
        // A failed call shows the person nothing, so the model gets the text that was for them.
        let text = if is_silent { for_person.join("\n") } else { text };
        let is_silent = text.trim().is_empty();
        return Err(ToolError::failed(if is_silent {
            "the tool failed and did not say why".into()
        } else {
            text
        }));
    }
    if is_silent && !for_person.is_empty() {
        text = "[the result is meant for the person, who got it as the file for-you.txt]".to_owned();
    }
    let mut output = ToolOutput::text(text);
    if !for_person.is_empty() {
        output = output.with_file("for-you.txt", "text/plain", for_person.join("\n"));
    }
    Ok(pictures.into_iter().fold(output, |output, (mime, data)| output.with_image(mime, data)))
}

/// Who a block is meant for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Audience {
    Everybody,
    Person,
    Model,
}

fn audience(block: &ContentBlock) -> Audience {
    let annotations = match block {
        ContentBlock::Text(text) => text.annotations.as_ref(),
        ContentBlock::Image(image) => image.annotations.as_ref(),
        _ => None,
    };
    match annotations.and_then(|annotations| annotations.audience.as_deref()) {
        Some([Role::User]) => Audience::Person,
        Some([Role::Assistant]) => Audience::Model,
        _ => Audience::Everybody,
    }
}

/// Returns the part of a block that a model can read.
pub(super) fn text(block: ContentBlock) -> Option<String> {
    match block {
        ContentBlock::Text(text) => Some(text.text),
        ContentBlock::Audio(audio) => {
            Some(format!("[a recording ({}) that cannot be played here]", audio.mime_type))
        }
        ContentBlock::ResourceLink(link) => Some(format!("[{}: {}]", link.name, link.uri)),
        ContentBlock::Resource(embedded) => match embedded.resource {
            ResourceContents::TextResourceContents { text, .. } => Some(text),
            ResourceContents::BlobResourceContents { uri, .. } => {
                Some(format!("[{uri}: data that is no text]"))
            }
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn result(value: Value) -> Result<ToolOutput, ToolError> {
        output(serde_json::from_value(value).unwrap())
    }

    #[test]
    fn texts_are_joined_and_what_is_no_text_is_named() {
        let returned = result(json!({"content": [
            {"type": "text", "text": "one"},
            {"type": "audio", "data": "AA==", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "file:///b", "blob": "AA=="}},
            {"type": "resource_link", "uri": "file:///c", "name": "c"},
            {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
        ]}));
        let output = returned.unwrap();
        assert_eq!(
            output.to_text(),
            "one\n[a recording (audio/wav) that cannot be played here]\ninside\n[file:///b: data that is no text]\n[c: file:///c]"
        );
        assert_eq!(output.blocks.len(), 2);
    }

    #[test]
    fn structure_is_passed_on_unless_a_text_says_the_same() {
        let output = result(json!({"content": [], "structuredContent": {"sum": 3}})).unwrap();
        assert_eq!(output.to_text(), "{\"sum\":3}");
        let both = json!({"content": [{"type": "text", "text": "3"}], "structuredContent": {"sum": 3}});
        assert_eq!(result(both).unwrap().to_text(), "3\n{\"sum\":3}");
        let same =
            json!({"content": [{"type": "text", "text": "{ \"sum\": 3 }"}], "structuredContent": {"sum": 3}});
        assert_eq!(result(same).unwrap().to_text(), "{ \"sum\": 3 }");
    }

    #[test]
    fn blocks_reach_those_who_they_are_meant_for() {
        let meant = |audience: &str, mut block: Value| {
            block["annotations"] = json!({"audience": [audience]});
            block
        };
        let picture = json!({"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"});
        let output = result(json!({"content": [
            meant("user", json!({"type": "text", "text": "for Ada"})),
            meant("assistant", json!({"type": "text", "text": "for the model"})),
            meant("assistant", picture.clone()),
            meant("user", picture),
        ]}));
        let output = output.unwrap();
        assert_eq!(output.to_text(), "for the model\n[a picture that is not meant for the person]");
        assert_eq!(output.blocks.len(), 3, "the text, the file for the person, and one picture");
    }

    #[test]
    fn model_learns_of_what_is_meant_for_the_person_only() {
        let block = json!({"type": "text", "text": "no quota", "annotations": {"audience": ["user"]}});
        let failed = result(json!({"content": [block], "isError": true})).unwrap_err();
        assert_eq!(failed.to_string(), "no quota");
        let done = result(json!({"content": [block]})).unwrap();
        assert!(done.to_text().contains("is meant for the person"), "{}", done.to_text());
        assert_eq!(done.blocks.len(), 2, "the note and the file");
    }

    #[test]
    fn a_failure_is_one() {
        let failed = json!({"content": [{"type": "text", "text": "no such file"}], "isError": true});
        assert_eq!(result(failed).unwrap_err().to_string(), "no such file");
        let silent = result(json!({"content": [], "isError": true})).unwrap_err();
        assert_eq!(silent.to_string(), "the tool failed and did not say why");
    }
}
