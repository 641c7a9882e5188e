//! What a tool returns: pieces of output, or a sentence that says why there is none.

use serde::{Deserialize, Serialize};

/// What a tool returns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolOutput {
    /// Its pieces: the texts are what the model reads, pictures and files are for the person.
    pub blocks: Vec<OutputBlock>,
    /// Whose words the texts are, where that differs from call to call.
    pub origin: OutputOrigin,
}

/// Whose words the text of an output is, which decides how a model sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputOrigin {
    /// What holds for the tool: see [`ToolSpec::untrusted_output`](super::ToolSpec).
    #[default]
    AsTool,
    /// The owner's own, although the tool returns text from outside as a rule.
    Owner,
    /// Kept from earlier. The model sees it between markers, as data; it does not count as text from outside.
    Recalled,
    /// From outside, although the tool returns the program's own words as a rule.
    Outside,
}

impl ToolOutput {
    /// Output of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { blocks: vec![OutputBlock::text(text)], origin: OutputOrigin::AsTool }
    }

    /// As the owner's own, if it is.
    #[must_use]
    pub fn of_the_owner(self, is_owners: bool) -> Self {
        let origin = if is_owners { OutputOrigin::Owner } else { self.origin };
        self.with_origin(origin)
    }

    /// With texts of this origin.
    #[must_use]
    pub fn with_origin(self, origin: OutputOrigin) -> Self {
        Self { origin, ..self }
    }

    /// With a picture: its media type and its bytes in standard base64.
    #[must_use]
    pub fn with_image(self, mime: impl Into<String>, data: impl Into<String>) -> Self {
        self.with(OutputBlock::Image { mime: mime.into(), data: data.into() })
    }

    /// With a text file for the person: its name, its media type and its text.
    #[must_use]
    pub fn with_file(
        self,
        name: impl Into<String>,
        mime: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        self.with(OutputBlock::File { name: name.into(), mime: mime.into(), text: text.into() })
    }

    /// Its texts, joined by line ends.
    pub fn to_text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|block| match block {
            OutputBlock::Text { text } => Some(text.as_str()),
            OutputBlock::Image { .. } | OutputBlock::File { .. } => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// With one more piece.
    #[must_use]
    pub fn with(mut self, block: OutputBlock) -> Self {
        self.blocks.push(block);
        self
    }
}

/// A call that failed: a sentence that lets the model do better, naming the thing and the remedy.
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

    /// As the program's own word, although what the tool returns comes from outside as a rule.
    #[must_use]
    pub fn of_the_owner(self) -> Self {
        Self { is_owners: true, ..self }
    }

    /// Whether nothing in it comes from outside, whatever holds for the tool.
    pub fn is_owners(&self) -> bool {
        self.is_owners || self.denied
    }

    /// Whether a rule forbade it.
    pub fn is_denied(&self) -> bool {
        self.denied
    }
}

/// A piece of what a tool returns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum OutputBlock {
    /// Text that the model reads as it stands.
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

    /// What a model is told of a block whose content it does not get.
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
