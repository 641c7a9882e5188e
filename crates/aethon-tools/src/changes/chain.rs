//! From the records of one file and what the file is now, decides what each record means now.
//!
//! The records are followed from the newest one back. As long as the file is what a record says that it became, taking that record
//! back leads to what the one before it made. A record whose change never happened (the program was killed just before it), or
//! was taken back by hand, is one before which the file is already. Whatever else the file is, somebody has changed it, and there the
//! chain ends.

use std::collections::BTreeSet;

use super::record::{Act, FileState, Record};

/// What a record means now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// The file is what this change made of it, once the later ones are taken back.
    Undo,
    /// The change is not there: it was put back, or never happened.
    Past,
    /// The owner has put the file back, and it is as it was then.
    PutBack,
    /// Putting the file back never happened, or was undone.
    Void,
    /// The file is neither what this record says that it was nor what it became.
    Broken,
}

impl Step {
    /// Whether what the record says counts for what the file is.
    pub(crate) fn is_there(self) -> bool {
        !matches!(self, Self::Void | Self::Past)
    }
}

/// Returns what each record means, in the order of the records: oldest first, all of one file. `present` is what the file is now;
/// `None` if that cannot be said.
pub(crate) fn walk(records: &[&Record], present: Option<&FileState>) -> Vec<Step> {
    let mut current = present.cloned();
    let mut past: BTreeSet<&str> = BTreeSet::new();
    let mut steps: Vec<Step> = records
        .iter()
        .rev()
        .map(|record| {
            let head = &record.head;
            let (is_after, is_before) =
                (current.as_ref() == Some(&head.after), current.as_ref() == Some(&head.before));
            match &head.act {
                _ if past.contains(record.name.id()) => Step::Past,
                Act::PutBack { of } if is_after => {
                    past.extend(of.iter().map(String::as_str));
                    Step::PutBack
                }
                Act::PutBack { .. } if is_before => Step::Void,
                Act::Change if is_after => {
                    current = Some(head.before.clone());
                    Step::Undo
                }
                Act::Change if is_before => Step::Past,
                _ => {
                    current = None;
                    Step::Broken
                }
            }
        })
        .collect();
    steps.reverse();
    steps
}

#[cfg(test)]
mod tests {
    use aethon_core::ids::{SessionId, TurnId};
    use jiff::Timestamp;

    use super::super::record::{Earlier, Head, RecordName};
    use super::*;

    /// The states of a file: nothing, or a letter.
    fn state(letter: char) -> FileState {
        if letter == '-' { FileState::Absent } else { FileState::of(letter.to_string().as_bytes()) }
    }

    /// A history such as `a>b` for a change and `b<a:0,1` for putting back what these records say.
    fn history(text: &str) -> Vec<Record> {
        let id = |number: usize| format!("{number:032x}");
        let record = |(number, word): (usize, &str)| {
            let (change, of) = word.split_once(':').unwrap_or((word, ""));
            let mut letters = change.chars();
            let (before, act, after) =
                (letters.next().unwrap(), letters.next().unwrap(), letters.next().unwrap());
            let of = of.split(',').filter_map(|number| number.parse().ok()).map(id).collect();
            let head = Head {
                session: SessionId::of("webchat", "a").unwrap(),
                turn: TurnId::existing("t"),
                call: String::new(),
                tool: String::new(),
                path: "a".into(),
                at: Timestamp::UNIX_EPOCH,
                before: state(before),
                after: state(after),
                mode: None,
                earlier: Earlier::Whole,
                act: if act == '>' { Act::Change } else { Act::PutBack { of } },
            };
            Record { name: RecordName::new(&id(number), &head, false), head }
        };
        text.split(' ').enumerate().map(record).collect()
    }

    fn check(text: &str, present: Option<char>, expected: &[Step]) {
        let records = history(text);
        let records: Vec<&Record> = records.iter().collect();
        assert_eq!(walk(&records, present.map(state).as_ref()), expected, "{text} {present:?}");
    }

    use Step::{Broken, Past, PutBack, Undo, Void};

    #[test]
    fn changes_are_taken_back_from_the_newest_on() {
        check("->a a>b b>c", Some('c'), &[Undo, Undo, Undo]);
        check("->a a>b b>c", Some('b'), &[Undo, Undo, Past]);
        check("->a", Some('-'), &[Past]);
        check("a>b b>a", Some('a'), &[Undo, Undo]);
    }

    #[test]
    fn what_somebody_has_changed_since_ends_the_chain() {
        check("->a a>b", Some('x'), &[Broken, Broken]);
        check("->a a>b", None, &[Broken, Broken]);
        // Somebody wrote x between the two.
        check("->a x>b", Some('b'), &[Broken, Undo]);
    }

    #[test]
    fn change_that_never_happened_is_past() {
        check("a>b b>c", Some('b'), &[Undo, Past]);
        check("a>b b>x b>c", Some('c'), &[Undo, Past, Undo]);
    }

    #[test]
    fn what_was_put_back_is_past_until_that_is_undone() {
        check("a>b b>c c<a:0,1", Some('a'), &[Past, Past, PutBack]);
        check("a>b b>c c<b:1", Some('b'), &[Undo, Past, PutBack]);
        // Putting it back was cut off.
        check("a>b b>c c<b:1", Some('c'), &[Undo, Undo, Void]);
        check("a>b b>c c<b:1 b>d", Some('d'), &[Undo, Past, PutBack, Undo]);
        check("a>b b>c c<b:1 b<a:0,1,2", Some('a'), &[Past, Past, Past, PutBack]);
        check("a>b b<a:0", Some('x'), &[Broken, Broken]);
    }
}
