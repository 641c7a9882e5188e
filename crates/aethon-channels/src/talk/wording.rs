//! The text of a message for the model: its own words, and apart from them the answered message.
//!
//! Our own earlier words and the sender's are part of the message, marked as answered words. Everyone else's, and
//! earlier messages of a thread, are kept apart, so that they are marked as untrusted.

use super::described::shortened;
use super::files::Taken;
use super::platform::{Answered, AnsweredAuthor, Arrival};

/// Above words of the thread that the conversation does not have.
const EARLIER: &str = "(This was said before in the same thread.)";
/// Above our own words that a message answers.
const OURS: &str = "(This message answers these words of yours.)";
/// Above the sender's own words that a message answers.
const THEIRS: &str = "(This message answers these earlier words of the same person.)";
/// How much of the words that a message answers is repeated, in characters.
const MAX_ANSWERED: usize = 2000;
/// How much of other people's words in a thread or in an answered message is shown.
const MAX_QUOTED: usize = 6000;

/// The text for the model.
pub(super) struct Worded {
    /// The sender's own words.
    pub(super) text: String,
    /// Other people's words that came with them.
    pub(super) quoted: Option<String>,
}

/// Builds it: the text and transcripts, with the author's name where several people may write. If quoted content is
/// passed on with files, their transcripts count as quoted too.
pub(super) fn wording(arrival: &Arrival, taken: &Taken, passes_files_on: bool) -> Worded {
    let is_quoting = arrival.quoted.as_deref().is_some_and(|quoted| !quoted.trim().is_empty());
    let (own, of_others) = match is_quoting && passes_files_on {
        true => (&[][..], taken.spoken.as_slice()),
        false => (taken.spoken.as_slice(), &[][..]),
    };
    let own = own.iter().map(String::as_str);
    let mut text = joined(std::iter::once(arrival.text.as_str()).chain(own));
    let is_command = text.starts_with('/');
    if !arrival.is_private && !text.is_empty() && !is_command {
        let name = arrival.sender.name.as_ref().unwrap_or(&arrival.sender.id);
        text = format!("[{name}] {text}");
    }
    if let Some(answered) = &arrival.answered {
        let context = answered_words(answered);
        // What begins with a slash is the name of something to do.
        text = joined(if is_command { [text.as_str(), &context] } else { [context.as_str(), &text] });
    }
    let earlier = arrival.earlier.as_deref().map(|earlier| format!("{EARLIER}\n{}", earlier.trim()));
    let quoted = arrival.quoted.as_deref().map(|quoted| match passes_files_on {
        // A letter is read whole.
        true => quoted.to_owned(),
        false => shortened(quoted.trim(), MAX_QUOTED),
    });
    let quoted = joined(
        [earlier.as_deref(), quoted.as_deref()]
            .into_iter()
            .flatten()
            .chain(of_others.iter().chain(&taken.spoken_by_others).map(String::as_str)),
    );
    Worded { text, quoted: (!quoted.is_empty()).then_some(quoted) }
}

fn answered_words(answered: &Answered) -> String {
    let title = match answered.author {
        AnsweredAuthor::Assistant => OURS,
        AnsweredAuthor::Sender => THEIRS,
    };
    let words = shortened(answered.text.trim(), MAX_ANSWERED);
    let lines: Vec<String> = words.lines().map(|line| format!("> {line}").trim_end().to_owned()).collect();
    format!("{title}\n{}", lines.join("\n"))
}

fn joined<'p>(parts: impl IntoIterator<Item = &'p str>) -> String {
    let parts: Vec<&str> = parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect();
    parts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::talk::platform::Sender;

    fn arrival(text: &str) -> Arrival {
        let sender = Sender { id: "1".into(), name: Some("@ada".into()), group: None };
        Arrival { text: text.into(), ..Arrival::new("1", "7", sender, Timestamp::UNIX_EPOCH) }
    }

    #[test]
    fn answered_words_follow_the_message_and_foreign_ones_stay_apart() {
        let ours = Answered { author: AnsweredAuthor::Assistant, text: "one\ntwo".into() };
        let theirs = Answered { author: AnsweredAuthor::Sender, text: "three".into() };
        let check = |arrival: &Arrival, taken: &Taken, text: &str, quoted: Option<&str>| {
            let worded = wording(arrival, taken, false);
            assert_eq!((worded.text.as_str(), worded.quoted.as_deref()), (text, quoted));
        };
        let nothing = Taken::default();
        check(&arrival("hi"), &nothing, "hi", None);
        let own = Arrival { answered: Some(ours.clone()), ..arrival("explain this") };
        let said = "(This message answers these words of yours.)\n> one\n> two\n\nexplain this";
        check(&own, &nothing, said, None);
        let group = Arrival { is_private: false, answered: Some(theirs), ..arrival("and this?") };
        let said =
            "(This message answers these earlier words of the same person.)\n> three\n\n[@ada] and this?";
        check(&group, &nothing, said, None);
        let said = "/report\n\n(This message answers these words of yours.)\n> one\n> two";
        check(&Arrival { answered: Some(ours), ..arrival("/report") }, &nothing, said, None);
        let thread = Arrival {
            quoted: Some("obey".into()),
            earlier: Some("U2: a\nU3: b".into()),
            ..arrival("what do you think?")
        };
        let spoken =
            Taken { spoken: vec!["mine".into()], spoken_by_others: vec!["theirs".into()], ..nothing };
        let quoted = "(This was said before in the same thread.)\nU2: a\nU3: b\n\nobey\n\ntheirs";
        check(&thread, &spoken, "what do you think?\n\nmine", Some(quoted));
        let long = Arrival { quoted: Some("x".repeat(9000)), ..arrival("?") };
        assert!(wording(&long, &Taken::default(), false).quoted.unwrap().len() < 6100);
        assert_eq!(wording(&long, &Taken::default(), true).quoted.unwrap().len(), 9000);
    }
}
