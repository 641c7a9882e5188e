//! The words of the shell's language, as far as the rules ask for them.

/// Pipelines, one after the other; whether `;`, `&&` or a line end stands between them makes no difference here.
pub(super) type List = Vec<Pipeline>;

/// Commands that are connected by pipes.
#[derive(Debug, Default)]
pub(super) struct Pipeline {
    pub(super) stages: Vec<Stage>,
    /// Whether it is followed by `&`.
    pub(super) is_background: bool,
}

/// One part of a pipeline.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) body: Body,
    pub(super) redirects: Vec<Redirect>,
}

/// What a part of a pipeline is.
#[derive(Debug)]
pub(super) enum Body {
    /// A program or builtin with its arguments; assignments before it are among the words.
    Simple(Vec<Word>),
    /// A subshell, a brace group, a loop, a condition.
    Group(List),
    /// A function and what it does.
    Function(String, List),
}

/// Where input comes from or output goes.
#[derive(Debug)]
pub(super) struct Redirect {
    pub(super) flow: Flow,
    pub(super) target: Word,
}

/// The kind of a redirection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// From a file.
    Read,
    /// To a file.
    Write,
    /// From the text itself: a here-document or a here-string.
    Text,
}

/// A word, in pieces.
pub(super) type Word = Vec<Piece>;

/// A piece of a word.
#[derive(Debug)]
pub(super) enum Piece {
    /// Text that stands for itself.
    Text { text: String, is_quoted: bool },
    /// `$NAME` or `${NAME…}`, with what stands in for it when it is not set.
    Variable { name: String, fallback: Option<String>, is_quoted: bool },
    /// The output of commands: `$(…)` or backticks.
    Output { list: List, is_quoted: bool },
    /// A file that commands write or read: `<(…)`, `>(…)`.
    Process(List),
}

impl Piece {
    /// The commands in it.
    pub(super) fn list(&self) -> Option<&List> {
        match self {
            Self::Output { list, .. } | Self::Process(list) => Some(list),
            Self::Text { .. } | Self::Variable { .. } => None,
        }
    }
}

/// The text of a word that is a single unquoted text, as reserved words are.
pub(super) fn plain(word: &Word) -> Option<&str> {
    match word.as_slice() {
        [Piece::Text { text, is_quoted: false }] => Some(text),
        _ => None,
    }
}
