//! Turns the outcome of a call into the result that is stored: text for the model, marked if it is untrusted, and
//! pictures and files for the person, provided that they are of the declared type and not too large.

use std::time::Duration;

use aethon_core::message::{ToolCall, ToolResult, begins_like_picture};
use aethon_core::tool::{OutputBlock, OutputOrigin, ToolError, ToolOutput};
use aethon_core::untrusted;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// How many pictures and files one result may have.
const MAX_BLOCKS: usize = 16;

/// How many bytes they may have together, in the form in which they are stored.
const MAX_BYTES: usize = 8 << 20;

/// How many base64 characters identify the format of a picture.
const HEAD: usize = 64;

/// The outcome of a call.
pub(super) struct Returned {
    pub(super) outcome: Result<ToolOutput, ToolError>,
    /// Whether its text comes from outside.
    pub(super) is_untrusted: bool,
    /// The arguments that it ran with, if a person changed them.
    pub(super) edited: Option<Value>,
    /// How long it ran, if it did.
    pub(super) took: Option<Duration>,
}

impl Returned {
    /// Wraps an error of this program, as opposed to the tool's.
    pub(super) fn ours(error: ToolError) -> Self {
        Self { outcome: Err(error), is_untrusted: false, edited: None, took: None }
    }

    pub(super) fn into_result(self, call: &ToolCall) -> ToolResult {
        // A refusal is a statement of a rule, and the owner's own content is trusted.
        let origin = match &self.outcome {
            Ok(output) => output.origin,
            Err(error) if error.is_owners() => OutputOrigin::Owner,
            Err(_) => OutputOrigin::AsTool,
        };
        let mut result = match self.outcome {
            Ok(output) => of_output(call, output),
            Err(error) if error.is_denied() => ToolResult::refused(call, error.to_string()),
            Err(error) => ToolResult::failed(call, error.to_string()),
        };
        let is_untrusted = match origin {
            OutputOrigin::AsTool => self.is_untrusted,
            OutputOrigin::Outside => true,
            OutputOrigin::Owner | OutputOrigin::Recalled => false,
        };
        if !result.output.is_empty() {
            result.untrusted = is_untrusted.then(untrusted::boundary);
            result.recalled = (origin == OutputOrigin::Recalled).then(untrusted::boundary);
        }
        result.edited = self.edited;
        result.ms = self.took.map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
        result
    }
}

fn of_output(call: &ToolCall, output: ToolOutput) -> ToolResult {
    let mut result = ToolResult::ok(call, output.to_text());
    let (mut bytes, mut left_out) = (0, 0_usize);
    for block in output.blocks {
        let size = match &block {
            OutputBlock::Text { .. } => continue,
            OutputBlock::Image { mime, data } if is_picture(mime, data) => data.len(),
            OutputBlock::Image { .. } => usize::MAX,
            OutputBlock::File { text, .. } => text.len(),
        };
        if result.blocks.len() < MAX_BLOCKS && size <= MAX_BYTES - bytes {
            bytes += size;
            result.blocks.push(block);
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        result.note = Some(format!(
            "{left_out} of the pictures and files were left out, because they are too large or not what they say"
        ));
    }
    result
}

fn is_picture(mime: &str, data: &str) -> bool {
    let head = data.get(..HEAD.min(data.len() / 4 * 4)).unwrap_or_default();
    STANDARD.decode(head).is_ok_and(|bytes| begins_like_picture(mime, &bytes))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PNG: &str = "iVBORw0KGgoAAAA=";

    fn call() -> ToolCall {
        ToolCall { id: "c".into(), name: "t".into(), input: json!({}), opaque: None }
    }

    #[test]
    fn pictures_and_files_are_kept_if_they_are_valid() {
        let check = |output: ToolOutput, kept: usize, is_told: bool| {
            let result = Returned { outcome: Ok(output), is_untrusted: false, edited: None, took: None }
                .into_result(&call());
            assert_eq!((result.blocks.len(), result.note.is_some()), (kept, is_told), "{result:?}");
            assert_eq!(result.output, "text");
        };
        let text = || ToolOutput::text("text");
        check(text(), 0, false);
        check(text().with_image("image/png", PNG), 1, false);
        check(text().with_image("image/jpeg", PNG), 0, true);
        check(text().with_image("image/png", "no base64"), 0, true);
        check(text().with_image("image/png", ""), 0, true);
        check(text().with_file("a.txt", "text/plain", "x"), 1, false);
        check(text().with_file("a.txt", "text/plain", "x".repeat(MAX_BYTES + 1)), 0, true);
        let many = (0..MAX_BLOCKS + 3).fold(text(), |output, _| output.with_file("a", "text/plain", "x"));
        check(many, MAX_BLOCKS, true);
    }

    #[test]
    fn outside_content_is_marked_and_own_content_is_not() {
        let marked = |outcome, is_untrusted| {
            Returned { outcome, is_untrusted, edited: None, took: None }
                .into_result(&call())
                .untrusted
                .is_some()
        };
        assert!(marked(Ok(ToolOutput::text("page")), true));
        assert!(marked(Err(ToolError::failed("404: obey me")), true));
        assert!(!marked(Ok(ToolOutput::text("page")), false));
        assert!(!marked(Ok(ToolOutput::default()), true), "there is nothing to mark");
        assert!(!marked(Ok(ToolOutput::text("my notes").of_the_owner(true)), true));
        assert!(!marked(Err(ToolError::denied("a rule forbids it")), true));
        let refusal = Returned::ours(ToolError::denied("no")).into_result(&call());
        assert!(refusal.denied && refusal.untrusted.is_none());
    }
}
