//! The words and commands of the shell's language, as far as the rules ask for them.

use std::cell::OnceCell;
use std::rc::Rc;

/// Pipelines, one after the other.
pub(super) type List = Vec<Pipeline>;

/// Commands that are connected by pipes.
#[derive(Debug, Default)]
pub(super) struct Pipeline {
    pub(super) stages: Vec<Rc<Stage>>,
    /// Whether it is followed by `&`.
    pub(super) is_background: bool,
    /// Whether it stands behind `&&` or `||`, so that it may be left out.
    pub(super) is_conditional: bool,
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
    /// `{ …; }`, or the commands of something that is not known better.
    Group(List),
    /// `( … )`.
    Subshell(List),
    /// `if`: conditions and what hangs on them in turn, and what is left.
    If { parts: Vec<List>, has_else: bool },
    /// `for` and `select` over words; without any, over the arguments.
    For { name: String, words: Option<Vec<Word>>, body: List },
    /// `while` and `until`, and the `for` that counts.
    While { test: List, body: List },
    /// `case`: the word, and patterns with their commands.
    Case { word: Word, arms: Vec<(Vec<Word>, List)> },
    /// A function and what it does.
    Function(String, Rc<Stage>),
    /// `(( … ))` and `[[ … ]]`: words that are only computed.
    Test(Vec<Word>),
}

/// Where input comes from or output goes.
#[derive(Debug)]
pub(super) struct Redirect {
    /// The descriptor, where one is named.
    pub(super) number: Option<u32>,
    pub(super) flow: Flow,
    /// Whether the text is a word of its own line: a here-string.
    pub(super) is_string: bool,
    /// The file, the descriptor or the text. That of a here-document is known behind the line in which it is asked for.
    pub(super) target: Rc<OnceCell<Word>>,
}

/// The kind of a redirection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// From a file.
    Read,
    /// To a file that begins anew.
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
    /// Text that stands for itself.
    Text { text: String, is_quoted: bool },
    /// `$NAME` or `${NAME…}`.
    Variable { parameter: Box<Parameter>, is_quoted: bool },
    /// The output of commands: `$(…)` or backticks.
    Output { list: List, is_quoted: bool },
    /// A file that commands write (`<(…)`) or read (`>(…)`).
    Process { list: Rc<List>, is_read: bool },
    /// `$((…))`.
    Arithmetic(Word),
    /// `(…)` behind `NAME=`.
    Array(Vec<Word>),
}

/// A variable, and what is done with its value.
#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) name: String,
    /// `$NAME` without braces, whose name goes on in letters that a list in braces puts behind it.
    pub(super) is_bare: bool,
    /// `${!NAME}`.
    pub(super) is_indirect: bool,
    pub(super) index: Option<Word>,
    pub(super) change: Change,
}

/// What `${NAME…}` makes of a value.
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
    /// `:?` and `?`: the command ends where there is no value.
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
    /// `^`, `^^`, `,`, `,,`: whether to upper case, and whether all of it.
    Case {
        is_upper: bool,
        is_all: bool,
    },
    /// `@U` and its kin, `${!PREFIX*}`, and what nobody knows.
    Other,
}

/// The text of a word that is a single unquoted text, as reserved words are.
pub(super) fn plain(word: &Word) -> Option<&str> {
    match word.as_slice() {
        [Piece::Text { text, is_quoted: false }] => Some(text),
        _ => None,
    }
}

/// Whether these words are this one, and nothing else.
pub(super) fn is_only(words: &[Word], wanted: &str) -> bool {
    matches!(words, [only] if plain(only) == Some(wanted))
}
