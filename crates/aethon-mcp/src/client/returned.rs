//! Converts the result of a server to tool output. Limiting its length is left to the output cap.

use aethon_core::tool::{ToolError, ToolOutput};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

/// Returns the output of a call, or why it failed.
pub(super) fn output(result: CallToolResult) -> Result<ToolOutput, ToolError> {
    let mut texts = Vec::new();
    let mut pictures = Vec::new();
    for block in result.content {
        match block {
            ContentBlock::Image(image) => pictures.push((image.mime_type, image.data)),
            other => texts.extend(text(other)),
        }
    }
    if let Some(value) = result.structured_content.filter(|_| texts.is_empty()) {
        texts.push(value.to_string());
    }
    let text = texts.join("\n");
    if result.is_error == Some(true) {
        let text = if text.trim().is_empty() { "the tool failed and did not say why".into() } else { text };
        return Err(ToolError::failed(text));
    }
    let output = ToolOutput::text(text);
    Ok(pictures.into_iter().fold(output, |output, (mime, data)| output.with_image(mime, data)))
}

/// Returns the part of a block that a model can read.
fn text(block: ContentBlock) -> Option<String> {
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
    use serde_json::{Value, json};

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
    fn structure_stands_in_for_text() {
        let output = result(json!({"content": [], "structuredContent": {"sum": 3}})).unwrap();
        assert_eq!(output.to_text(), "{\"sum\":3}");
        let both = json!({"content": [{"type": "text", "text": "3"}], "structuredContent": {"sum": 3}});
        assert_eq!(result(both).unwrap().to_text(), "3");
    }

    #[test]
    fn a_failure_is_one() {
        let failed = json!({"content": [{"type": "text", "text": "no such file"}], "isError": true});
        assert_eq!(result(failed).unwrap_err().to_string(), "no such file");
        let silent = result(json!({"content": [], "isError": true})).unwrap_err();
        assert_eq!(silent.to_string(), "the tool failed and did not say why");
    }
}
