//! The direction of blocks: that of their first letter, as in `dir="auto"`.
//!
//! It is decided here and not by the browser because `auto` ignores whatever is inside a child with a direction of its
//! own: a quotation of Arabic paragraphs would keep its bar on the left. Only a block that differs from its container
//! gets the attribute, so that text from left to right has none.

use comrak::nodes::{Node, NodeValue};

/// How many nodes and letters are searched for a first letter.
const MAX_STEPS: usize = 4096;

/// A base direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Direction {
    #[default]
    LeftToRight,
    RightToLeft,
}

impl Direction {
    /// Returns the direction of everything in a node; `None` if it has no letters. Code is not counted: it is a foreign
    /// body in its sentence.
    pub(super) fn of(root: Node<'_>) -> Option<Self> {
        let mut steps = MAX_STEPS;
        for node in root.descendants() {
            steps = steps.checked_sub(1)?;
            if let NodeValue::Text(text) = &node.data().value {
                for character in text.chars() {
                    steps = steps.checked_sub(1)?;
                    if let Some(direction) = Self::of_letter(character) {
                        return Some(direction);
                    }
                }
            }
        }
        None
    }

    /// Returns the direction of plain text.
    pub(super) fn of_text(text: &str) -> Option<Self> {
        text.chars().take(MAX_STEPS).find_map(Self::of_letter)
    }

    /// Returns the attribute that sets this direction.
    pub(super) fn attribute(self) -> &'static str {
        match self {
            Self::LeftToRight => " dir=\"ltr\"",
            Self::RightToLeft => " dir=\"rtl\"",
        }
    }

    fn of_letter(character: char) -> Option<Self> {
        let is_right_to_left = matches!(character, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}'
            | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}');
        match character {
            '\u{200e}' => Some(Self::LeftToRight),
            '\u{200f}' => Some(Self::RightToLeft),
            _ if !character.is_alphabetic() => None,
            _ if is_right_to_left => Some(Self::RightToLeft),
            _ => Some(Self::LeftToRight),
        }
    }
}
