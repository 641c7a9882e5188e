//! An entry of `security.blocked_commands`, and when a command matches it.

use super::paths::{base_name, tidy};
use super::reader::read;
use super::syntax::{Body, Piece, Pipeline};

/// An entry of the list.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// The text as written in the configuration.
    pub(super) text: String,
    folded: String,
    /// The command that it is, if it is a single one.
    command: Option<Shape>,
}

impl Entry {
    pub(super) fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            folded: fold(text),
            command: command(text).map(|argv| Shape::of(&argv)),
        }
    }

    /// The program that it names.
    pub(super) fn program(&self) -> Option<&str> {
        self.command.as_ref().map(|command| command.program.as_str())
    }

    /// Whether the folded command contains the entry.
    pub(super) fn stands_in(&self, folded: &str) -> bool {
        folded.contains(&self.folded)
    }

    /// Whether these words are the same command: the same text without quotes, or with its options in a different order
    /// or spelling and its program under another path. `folded` is the folded text without quotes.
    pub(super) fn equals(&self, argv: &[String], folded: &str) -> bool {
        self.stands_in(folded) || self.command.as_ref().is_some_and(|own| own.is_in(argv))
    }
}

/// Folds a text: each run of blanks and tabs becomes one blank, and lines joined by `\` become one.
pub(super) fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for c in text.replace("\\\n", "").chars() {
        match c {
            ' ' | '\t' => {
                if !folded.ends_with(' ') {
                    folded.push(' ');
                }
            }
            c => folded.push(c),
        }
    }
    folded
}

fn command(text: &str) -> Option<Vec<String>> {
    let list = read(text)?;
    let [Pipeline { stages, .. }] = list.as_slice() else { return None };
    let [stage] = stages.as_slice() else { return None };
    match &stage.body {
        Body::Simple(words) if stage.redirects.is_empty() => {
            // An entry is literal text: substitutions in it are not evaluated.
            let texts = words.iter().map(|word| {
                let texts = word.iter().map(|piece| match piece {
                    Piece::Text { text, .. } => Some(text.as_str()),
                    _ => None,
                });
                texts.collect::<Option<String>>()
            });
            texts.collect::<Option<Vec<String>>>().filter(|argv| !argv.is_empty())
        }
        _ => None,
    }
}

/// A command independent of how it is written.
#[derive(Debug, Clone)]
struct Shape {
    program: String,
    letters: String,
    long: Vec<String>,
    operands: Vec<String>,
}

impl Shape {
    fn of(argv: &[String]) -> Self {
        let (program, arguments) = argv.split_first().map_or(("", &[][..]), |(first, rest)| (first, rest));
        let mut shape = Self {
            program: base_name(program).to_owned(),
            letters: String::new(),
            long: Vec::new(),
            operands: Vec::new(),
        };
        let mut has_options = true;
        for argument in arguments {
            match argument.strip_prefix('-') {
                Some("-") if has_options => has_options = false,
                Some(long) if has_options && long.starts_with('-') => shape.long_option(&long[1..]),
                // Upper and lower case mean the same for what matters here: `rm -R`.
                Some(letters) if has_options && !letters.is_empty() => {
                    shape.letters.extend(letters.chars().map(|c| c.to_ascii_lowercase()));
                }
                _ => shape.operands.push(argument.clone()),
            }
        }
        shape
    }

    fn long_option(&mut self, name: &str) {
        // Programs accept unambiguous abbreviations.
        for (full, letter) in [("recursive", 'r'), ("force", 'f')] {
            if name.len() > 1 && full.starts_with(name) {
                return self.letters.push(letter);
            }
        }
        self.long.push(name.to_owned());
    }

    /// Whether the command includes this one: the same program, all of its options, and its operands. As the text of an
    /// entry is also found as a prefix (`rm -rf /tmp` contains `rm -rf /`), the last operand may be a prefix here too.
    fn is_in(&self, argv: &[String]) -> bool {
        let other = Self::of(argv);
        if self.program != other.program
            || !self.letters.chars().all(|letter| other.letters.contains(letter))
            || !self.long.iter().all(|name| other.long.contains(name))
        {
            return false;
        }
        let Some((last, first)) = self.operands.split_last() else { return true };
        let begins = other.operands.len() > first.len()
            && other.operands[..first.len()] == *first
            && other.operands[first.len()].starts_with(last.as_str());
        let has_all = self.operands.iter().all(|own| other.operands.iter().any(|one| tidy(one) == tidy(own)));
        begins || has_all
    }
}
