//! What a child writes: the text as it is read, then a zero and whether it was read to its end, and how. A text has no
//! zeros in it. An answer without its end comes from a child that was ended by force; its text counts as far as it goes.

use aethon_core::document::{DocumentText, Unreadable};

const READ: u8 = b'+';
const UNREADABLE: u8 = b'-';
const END: &[u8] = b"\0.";

/// The end of the answer of a child that read the document.
pub(super) fn of_notes(notes: &[String]) -> Vec<u8> {
    end(READ, &notes.join("\n"))
}

/// The end of the answer of a child that could not.
pub(super) fn of_refusal(why: &str) -> Vec<u8> {
    end(UNREADABLE, why)
}

fn end(outcome: u8, words: &str) -> Vec<u8> {
    let words = words.replace('\0', " ");
    [&[0, outcome], words.as_bytes(), END].concat()
}

/// Parses an answer. `broken_off` says why an answer has no end.
pub(super) fn parse(answer: Vec<u8>, broken_off: &str) -> Result<DocumentText, Unreadable> {
    let (text, end) = match answer.iter().position(|byte| *byte == 0) {
        Some(at) => answer.split_at(at),
        None => (answer.as_slice(), &[][..]),
    };
    let text = String::from_utf8_lossy(text).into_owned();
    match end.strip_suffix(END) {
        Some([0, READ, notes @ ..]) => {
            let notes = String::from_utf8_lossy(notes);
            let notes = notes.lines().filter(|note| !note.is_empty()).map(str::to_owned).collect();
            Ok(DocumentText { text, notes })
        }
        Some([0, UNREADABLE, why @ ..]) if text.trim().is_empty() => {
            Err(Unreadable::Refused(String::from_utf8_lossy(why).into_owned()))
        }
        Some([0, UNREADABLE, why @ ..]) => {
            let why = String::from_utf8_lossy(why);
            Ok(DocumentText { text, notes: vec![format!("The rest could not be read: {why}.")] })
        }
        _ if text.trim().is_empty() => Err(Unreadable::Refused(broken_off.to_owned())),
        _ => Ok(DocumentText { text, notes: vec![format!("The rest could not be read: {broken_off}.")] }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_as_far_as_it_goes() {
        let answer =
            |text: &str, end: Vec<u8>| parse([text.as_bytes().to_vec(), end].concat(), "it took too long");
        let read = answer("words\n", of_notes(&["One.".into(), "Two.".into()])).unwrap();
        assert_eq!((read.text.as_str(), read.notes.len()), ("words\n", 2));
        assert_eq!(answer("", of_notes(&[])), Ok(DocumentText::default()));
        assert_eq!(
            answer("", of_refusal("it needs a password")).unwrap_err().to_string(),
            "it needs a password"
        );
        assert!(answer("words", of_refusal("it is damaged")).unwrap().notes[0].contains("damaged"));
        assert!(answer("words", Vec::new()).unwrap().notes[0].contains("too long"));
        assert_eq!(answer("", Vec::new()).unwrap_err().to_string(), "it took too long");
        assert!(
            answer("words", b"\0+One".to_vec()).unwrap().notes[0].contains("too long"),
            "its end is missing"
        );
    }
}
