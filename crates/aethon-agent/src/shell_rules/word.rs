//! The syntax tree of shell commands, as far as the rules need it.

use std::cell::OnceCell;
use std::rc::Rc;

/// Pipelines in sequence.
pub(super) type List = Vec<Pipeline>;

/// Commands connected by pipes.
#[derive(Debug, Default)]
pub(super) struct Pipeline {
    pub(super) stages: Vec<Rc<Stage>>,
    /// Whether it is followed by `&`.
    pub(super) is_background: bool,
    /// Whether it follows `&&` or `||` and so may be skipped.
    pub(super) is_conditional: bool,
}

/// One part of a pipeline.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) body: Body,
    pub(super) redirects: Vec<Redirect>,
}

/// The kind of a pipeline stage.
#[derive(Debug)]
pub(super) enum Body {
    /// A program or builtin with its arguments; preceding assignments are among the words.
    Simple(Vec<Word>),
    /// `{ …; }`, or the commands of something not modelled in more detail.
    Group(List),
    /// `( … )`.
    Subshell(List),
    /// `if`: conditions and their branches in turn, then the `else` branch.
    If { parts: Vec<List>, has_else: bool },
    /// `for` and `select` over words, or over the arguments if there are none.
    For { name: String, words: Option<Vec<Word>>, body: List },
    /// `while` and `until`, and the arithmetic `for`.
    While { test: List, body: List },
    /// `case`: the word, and the patterns with their commands.
    Case { word: Word, arms: Vec<(Vec<Word>, List)> },
    /// A function definition.
    Function(String, Rc<Stage>),
    /// `(( … ))` and `[[ … ]]`: words that are only evaluated.
    Test(Vec<Word>),
}

/// A redirection of input or output.
#[derive(Debug)]
pub(super) struct Redirect {
    /// The descriptor, if one is given.
    pub(super) number: Option<u32>,
    pub(super) flow: Flow,
    /// Whether the text is a here-string.
    pub(super) is_string: bool,
    /// The file, the descriptor or the text. The text of a here-document is known only after the line that asks for it.
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
    /// Output and errors to a file: `&>`.
    WriteBoth,
    /// `<&N` and `>&N`.
    CopyInput,
    CopyOutput,
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
    Variable { parameter: Box<Parameter>, is_quoted: bool },
    /// The output of commands: `$(…)` or backticks.
    Output { list: List, is_quoted: bool },
    /// A file that commands write (`<(…)`) or read (`>(…)`).
    Process { list: Rc<List>, is_read: bool },
    /// `$((…))`.
    Arithmetic(Word),
    /// `(…)` after `NAME=`.
    Array(Vec<Word>),
}

/// A variable, and what is done to its value.
#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) name: String,
    /// `$NAME` without braces, whose name may extend over letters that a brace expansion appends.
    pub(super) is_bare: bool,
    /// `${!NAME}`.
    pub(super) is_indirect: bool,
    pub(super) index: Option<Word>,
    pub(super) change: Change,
}

/// What `${NAME…}` does to a value.
#[derive(Debug)]
pub(super) enum Change {
    Nothing,
    /// `${#NAME}`.
    Length,
    /// `:-`, `-`, `:=`, `=`.
    Default {
        word: Word,
        assigns: bool,
    },
    /// `:+` and `+`.
    Alternative(Word),
    /// `:?` and `?`: the command ends if there is no value.
    Required,
    /// `#` and `##`, `%` and `%%`.
    Cut {
        pattern: Word,
        from_end: bool,
        is_longest: bool,
    },
    /// `/`, `//`, `/#`, `/%`.
    Replace {
        pattern: Word,
        with: Word,
        how: char,
    },
    /// `:OFFSET:LENGTH`.
    Slice {
        offset: Word,
        length: Option<Word>,
    },
    /// `^`, `^^`, `,`, `,,`: whether to upper case, and whether all characters.
    Case {
        is_upper: bool,
        is_all: bool,
    },
    /// `@U` and the like, `${!PREFIX*}`, and anything unknown.
    Other,
}

/// The text of a word that is a single unquoted text, as reserved words are.
pub(super) fn plain(word: &Word) -> Option<&str> {
    match word.as_slice() {
        [Piece::Text { text, is_quoted: false }] => Some(text),
        _ => None,
    }
}

/// Whether these words consist of this single word.
pub(super) fn is_only(words: &[Word], wanted: &str) -> bool {
    matches!(words, [only] if plain(only) == Some(wanted))
}
