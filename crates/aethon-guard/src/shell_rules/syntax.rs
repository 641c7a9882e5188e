//! The syntax tree of shell commands, as far as the rules need it.

use std::cell::OnceCell;
use std::rc::Rc;

/// Pipelines in sequence, whatever connects them.
pub(super) type List = Vec<Pipeline>;

/// Commands connected by pipes.
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

/// The kind of a stage.
#[derive(Debug)]
pub(super) enum Body {
    /// A program or builtin with its arguments; preceding assignments are among the words.
    Simple(Vec<Word>),
    /// The commands of `{ … }`, `if`, `while`, `until` and `case`. Conditions and branches follow each other.
    Group(List),
    /// `( … )`.
    Subshell(List),
    /// `for` and `select`.
    For { name: String, words: Vec<Word>, body: List },
    /// A function definition.
    Function(String, Rc<Stage>),
}

/// A redirection of input or output.
#[derive(Debug)]
pub(super) struct Redirect {
    pub(super) flow: Flow,
    /// Whether it concerns standard input or standard output, and not another descriptor.
    pub(super) is_standard: bool,
    /// The file or the text. The text of a here-document is known only after the line that asks for it.
    pub(super) target: Rc<OnceCell<Word>>,
}

/// The kind of a redirection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// From a file.
    Read,
    /// To a file, which is truncated.
    Write,
    /// To the end of a file.
    Append,
    /// From the text itself: a here-document or a here-string.
    Text,
}

/// A word, in pieces.
pub(super) type Word = Vec<Piece>;

/// A piece of a word.
#[derive(Debug)]
pub(super) enum Piece {
    /// Literal text.
    Text { text: String, is_quoted: bool },
    /// `$NAME` or `${NAME…}`.
    Variable { name: String, change: Change, is_quoted: bool },
    /// The output of commands: `$(…)` or backticks.
    Output { list: List, is_quoted: bool },
    /// A file that commands write (`<(…)`) or read (`>(…)`).
    Process { list: Rc<List>, is_read: bool },
    /// Evaluated, for the commands in it: `$((…))`, `((…))`, `[[…]]`.
    Computed(Word),
}

/// What `${NAME…}` does to a value.
#[derive(Debug)]
pub(super) enum Change {
    Nothing,
    /// `:-`, `-`, `:=`, `=`.
    Default(Word),
    /// `:+` and `+`.
    Alternative(Word),
    /// `:?` and `?`: the command ends if there is no value.
    Required(Word),
    /// Anything else: the result is unknown, but commands in it run.
    Other(Word),
}

/// The text of a word that is a single unquoted text, as reserved words are.
pub(super) fn plain(word: &Word) -> Option<&str> {
    match word.as_slice() {
        [Piece::Text { text, is_quoted: false }] => Some(text),
        _ => None,
    }
}
