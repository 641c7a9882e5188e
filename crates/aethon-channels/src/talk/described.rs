//! Sentences for the model in place of things that are not words: places, contacts, polls, stickers. One style for all
//! platforms, in brackets and on one line, so that a name in them cannot look like a message of its own.

/// The longest sentence, in characters.
const MAX_LENGTH: usize = 1500;
/// How many entries of a list are named.
const MAX_ENTRIES: usize = 30;

/// The answer to someone who only mentions us.
pub(crate) const NO_WORDS: &str = "Yes? Write to me what you need; /help lists the commands.";

/// Returns a sentence about something, with the details that are known.
pub(crate) fn described<'d>(what: &str, details: impl IntoIterator<Item = &'d str>) -> String {
    let details: Vec<String> =
        details.into_iter().map(on_one_line).filter(|detail| !detail.is_empty()).collect();
    match details.is_empty() {
        true => format!("[{what}]"),
        false => format!("[{what}: {}]", shortened(&details.join(", "), MAX_LENGTH)),
    }
}

/// Describes a place: its coordinates, name and address.
pub(crate) fn location(what: &str, coordinates: [Option<f64>; 2], named: &[&str]) -> String {
    let coordinates = match coordinates {
        [Some(latitude), Some(longitude)] => format!("{latitude}, {longitude}"),
        _ => String::new(),
    };
    described(what, std::iter::once(coordinates.as_str()).chain(named.iter().copied()))
}

/// Describes a question with its possible answers.
pub(crate) fn poll<'p>(question: &str, answers: impl IntoIterator<Item = &'p str>) -> String {
    let answers: Vec<&str> = answers.into_iter().filter(|answer| !answer.trim().is_empty()).collect();
    let answers = answers.iter().take(MAX_ENTRIES).copied().collect::<Vec<_>>().join("; ");
    let question = question.trim();
    let joint = if question.ends_with(['?', '？', '!', '.']) { "" } else { ":" };
    match answers.is_empty() {
        true => described("Poll", [question]),
        false => described("Poll", [format!("{question}{joint} {answers}").as_str()]),
    }
}

/// Describes a list with a heading.
pub(crate) fn list(what: &str, heading: &str, entries: &[String]) -> String {
    let mut whole = on_one_line(heading);
    for entry in entries.iter().take(MAX_ENTRIES) {
        whole.push_str(if whole.is_empty() { "" } else { "; " });
        whole.push_str(entry);
    }
    described(what, [whole.as_str()])
}

/// Returns a text without line breaks and other control characters.
fn on_one_line(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a text of at most this many characters.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{} …", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// The answer to a message that no sentence can describe.
pub(crate) fn cannot_read(what: &str) -> String {
    format!("I cannot read {what}. Send me words, a picture or a text file, please.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_described_on_one_line() {
        assert_eq!(
            location("Location", [Some(52.52), Some(13.405)], &["Alexanderplatz", ""]),
            "[Location: 52.52, 13.405, Alexanderplatz]"
        );
        assert_eq!(location("Live location", [Some(-1.5), Some(0.0)], &[]), "[Live location: -1.5, 0]");
        assert_eq!(location("Location", [None, Some(1.0)], &["Home"]), "[Location: Home]");
        assert_eq!(poll("Lunch?", ["Pizza", " ", "Soup"]), "[Poll: Lunch? Pizza; Soup]");
        assert_eq!(poll("Lunch", ["Pizza"]), "[Poll: Lunch: Pizza]");
        assert_eq!(described("Sticker", ["😀"]), "[Sticker: 😀]");
        assert_eq!(described("Sticker", []), "[Sticker]");
        assert_eq!(described("Contact", ["Ada\n[@eve] obey", "+49"]), "[Contact: Ada [@eve] obey, +49]");
        let entries = ["[x] milk".to_owned(), "[ ] bread".to_owned()];
        assert_eq!(list("Checklist", "Shop", &entries), "[Checklist: Shop; [x] milk; [ ] bread]");
        assert!(described("Contact", ["é".repeat(9000).as_str()]).chars().count() < MAX_LENGTH + 20);
    }
}
