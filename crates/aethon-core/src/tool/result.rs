//! The result of a tool call, as the transcript keeps it.
//!
//! The text is stored plain. The model's view of it (with markers round untrusted text, a line for what is not sent to
//! it, and the program's own note) is produced in one place, [`ToolResult::for_model`], and is always the same, so that
//! the prefix of the requests stays the same.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::call::ToolCall;
use super::output::OutputBlock;
use crate::untrusted;

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolResult {
    /// The id of the call that it answers.
    pub call: String,
    /// The tool's name.
    pub name: String,
    /// The plain text without markers; [`Self::for_model`] is the model's view.
    pub output: String,
    /// Pictures and files for the person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<OutputBlock>,
    /// Set if the text came from outside: the boundary of the markers that are put round it whenever a model sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<String>,
    /// Set if the text was recalled from earlier: the boundary of the markers, which tell the model to read it as data.
    /// It does not make the text outside content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recalled: Option<String>,
    /// A note from the program to the model about this call, after the text and outside the markers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The arguments that it ran with, if a person changed them before allowing it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<Value>,
    /// Whether the call failed.
    #[serde(default)]
    pub is_error: bool,
    /// Whether a rule or a person refused it. Implies `is_error`.
    #[serde(default)]
    pub denied: bool,
    /// How long it ran, in milliseconds; for a call that never ran, how long a person took to decide. Unset if nobody
    /// tried to run it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ms: Option<u64>,
}

impl ToolResult {
    /// A successful result of this call with this text.
    pub fn ok(call: &ToolCall, output: impl Into<String>) -> Self {
        Self {
            call: call.id.clone(),
            name: call.name.clone(),
            output: output.into(),
            blocks: Vec::new(),
            untrusted: None,
            recalled: None,
            note: None,
            edited: None,
            is_error: false,
            denied: false,
            ms: None,
        }
    }

    /// A failed result of this call, with the reason.
    pub fn failed(call: &ToolCall, why: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::ok(call, why) }
    }

    /// A refused result of this call, with the reason.
    pub fn refused(call: &ToolCall, why: impl Into<String>) -> Self {
        Self { denied: true, ..Self::failed(call, why) }
    }

    /// Returns the text for a model: in its envelope if it came from outside or was recalled, with a line for each
    /// picture and file that the model does not see, and with the program's own note.
    pub fn for_model(&self) -> Cow<'_, str> {
        let text = match self.untrusted.as_ref().or(self.recalled.as_ref()) {
            Some(boundary) => Cow::Owned(untrusted::wrap(&self.output, boundary)),
            None => Cow::Borrowed(self.output.as_str()),
        };
        if self.blocks.is_empty() && self.note.is_none() && self.edited.is_none() {
            return text;
        }
        let beside = self.blocks.iter().filter_map(OutputBlock::note);
        let edited = self.edited.as_ref().map(|input| {
            format!("[The person changed the arguments before allowing this call. It ran with: {input}]")
        });
        let note = self.note.as_ref().map(|note| format!("[{note}]"));
        let lines = [text.into_owned()].into_iter().filter(|text| !text.is_empty());
        lines.chain(beside).chain(edited).chain(note).collect::<Vec<_>>().join("\n").into()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call() -> ToolCall {
        ToolCall { id: "c1".into(), name: "t".into(), input: json!({}), opaque: None }
    }

    #[test]
    fn tool_results_stored_without_pictures_can_be_read() {
        let stored = json!({"call": "c1", "name": "t", "output": "done"});
        assert_eq!(serde_json::from_value::<ToolResult>(stored).unwrap(), ToolResult::ok(&call(), "done"));
        let written = serde_json::to_value(ToolResult::ok(&call(), "done")).unwrap();
        let expected =
            json!({"call": "c1", "name": "t", "output": "done", "is_error": false, "denied": false});
        assert_eq!(written, expected);
    }

    #[test]
    fn a_model_sees_markers_notes_and_what_it_does_not_get() {
        let check = |change: fn(&mut ToolResult), expected: &str| {
            let mut result = ToolResult::ok(&call(), "text");
            change(&mut result);
            assert_eq!(result.for_model(), expected);
            assert_eq!(result.for_model(), result.for_model());
        };
        check(|_| {}, "text");
        check(
            |result| result.untrusted = Some("b0".into()),
            "[UNTRUSTED EXTERNAL CONTENT] b0\ntext\n[END OF UNTRUSTED EXTERNAL CONTENT] b0",
        );
        check(|result| result.note = Some("you repeat yourself".into()), "text\n[you repeat yourself]");
        check(
            |result| result.edited = Some(json!({"command": "ls"})),
            "text\n[The person changed the arguments before allowing this call. It ran with: {\"command\":\"ls\"}]",
        );
        check(
            |result| {
                result.output.clear();
                result.blocks = vec![
                    OutputBlock::Image { mime: "image/png".into(), data: "AA==".into() },
                    OutputBlock::File { name: "a.txt".into(), mime: "text/plain".into(), text: "x".into() },
                ];
            },
            "[The person is shown a picture (image/png).]\n[The person is given the file \"a.txt\" (text/plain).]",
        );
    }
}
