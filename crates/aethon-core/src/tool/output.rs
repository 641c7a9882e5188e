//! The output of a tool: pieces of content, or a sentence that says why there are none.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The output of a tool.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolOutput {
    /// Its pieces: the model reads the texts; pictures and files are for the person.
    pub blocks: Vec<OutputBlock>,
    /// Where the texts come from, if that differs from call to call.
    pub origin: OutputOrigin,
}

/// The origin of a text, which determines how a model sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputOrigin {
    /// As declared for the tool: see [`ToolSpec::untrusted_output`](super::ToolSpec).
    #[default]
    AsTool,
    /// The owner's own, although the tool's output is usually untrusted.
    Owner,
    /// Recalled from earlier. The model sees it between markers, as data, but it does not count as outside content.
    Recalled,
    /// From outside, although the tool's output is usually the program's own.
    Outside,
}

impl ToolOutput {
    /// Output consisting of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { blocks: vec![OutputBlock::text(text)], origin: OutputOrigin::AsTool }
    }

    /// Sets whether it is the owner's own content.
    #[must_use]
    pub fn of_the_owner(self, is_owners: bool) -> Self {
        let origin = if is_owners { OutputOrigin::Owner } else { self.origin };
        self.with_origin(origin)
    }

    /// Sets the origin of the texts.
    #[must_use]
    pub fn with_origin(self, origin: OutputOrigin) -> Self {
        Self { origin, ..self }
    }

    /// Adds a picture: its media type and its bytes in standard base64.
    #[must_use]
    pub fn with_image(self, mime: impl Into<String>, data: impl Into<String>) -> Self {
        self.with(OutputBlock::Image { mime: mime.into(), data: data.into() })
    }

    /// Adds a text file for the person: its name, its media type and its text.
    #[must_use]
    pub fn with_file(
        self,
        name: impl Into<String>,
        mime: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        self.with(OutputBlock::File { name: name.into(), mime: mime.into(), text: text.into() })
    }

    /// Returns its texts, joined by line ends.
    pub fn to_text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|block| match block {
            OutputBlock::Text { text } => Some(text.as_str()),
            OutputBlock::Image { .. } | OutputBlock::File { .. } => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Adds a piece.
    #[must_use]
    pub fn with(mut self, block: OutputBlock) -> Self {
        self.blocks.push(block);
        self
    }
}

/// A failed call: a sentence that helps the model do better, naming the thing and the remedy.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    message: String,
    denied: bool,
    is_owners: bool,
}

impl ToolError {
    /// It did not work.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { message: message.into(), denied: false, is_owners: false }
    }

    /// A rule forbids it.
    pub fn denied(message: impl Into<String>) -> Self {
        Self { message: message.into(), denied: true, is_owners: false }
    }

    /// Marks the error as the program's own text, although the tool's output is usually untrusted.
    #[must_use]
    pub fn of_the_owner(self) -> Self {
        Self { is_owners: true, ..self }
    }

    /// Returns whether nothing in it comes from outside, whatever holds for the tool.
    pub fn is_owners(&self) -> bool {
        self.is_owners || self.denied
    }

    /// Returns whether a rule forbade it.
    pub fn is_denied(&self) -> bool {
        self.denied
    }
}

/// A piece of a tool's output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum OutputBlock {
    /// Text that the model reads.
    Text {
        /// The text.
        text: String,
    },
    /// A picture.
    Image {
        /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
        mime: String,
        /// The bytes in standard base64.
        data: String,
    },
    /// A text file for the person.
    File {
        /// Its name.
        name: String,
        /// Its media type.
        mime: String,
        /// Its text.
        text: String,
    },
}

impl OutputBlock {
    /// A block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// The note for a model about a block whose content it does not get.
    pub(super) fn note(&self) -> Option<String> {
        match self {
            Self::Text { .. } => None,
            Self::Image { mime, .. } => Some(format!("[The person is shown a picture ({mime}).]")),
            Self::File { name, mime, .. } => {
                Some(format!("[The person is given the file {name:?} ({mime}).]"))
            }
        }
    }
}
