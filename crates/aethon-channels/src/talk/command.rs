//! Commands that the program handles itself, and textual answers to approval prompts.

use aethon_core::approval::Decision;

/// A command to the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    /// A greeting, possibly with a pairing code.
    Start(Option<String>),
    /// List the commands.
    Help,
    /// Start a new conversation.
    New,
    /// Stop the running turns.
    Stop,
    /// Pair with this code.
    Pair(String),
    /// Decide the approval with this code.
    Answer(Decision, String),
}

/// The marks that end a sentence, which people and their keyboards put after a command.
const ENDS: [char; 9] = ['.', '!', '?', ',', ';', ':', '\u{3002}', '\u{ff01}', '\u{ff1f}'];

/// Parses a message as a command. An unknown word after a slash is for the assistant, which knows commands of its own:
/// `/model` is read by `aethon_workflows::model_command`.
pub(super) fn read(text: &str) -> Option<Command> {
    let mut words = text.trim_end().trim_end_matches(ENDS).split_whitespace();
    let (word, argument) = (words.next()?.to_ascii_lowercase(), words.next());
    let is_alone = argument.is_none();
    let has_one = words.next().is_none();
    let decision = |decision| argument.filter(|_| has_one).map(|code| Command::Answer(decision, code.into()));
    // Other platforms use another prefix or none.
    match word.strip_prefix(['/', '!']) {
        Some("start") if has_one => Some(Command::Start(argument.map(str::to_owned))),
        Some("help") if is_alone => Some(Command::Help),
        Some("new") if is_alone => Some(Command::New),
        Some("stop") if is_alone => Some(Command::Stop),
        Some("pair") if has_one => Some(Command::Pair(argument.unwrap_or_default().to_owned())),
        Some(_) => None,
        None => match word.as_str() {
            "approve" => decision(Decision::Approve),
            "deny" => decision(Decision::Deny),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_and_everything_else_is_for_the_assistant() {
        let check = |text: &str, expected: Option<Command>| assert_eq!(read(text), expected, "{text:?}");
        check("/start", Some(Command::Start(None)));
        check("/start ABCD2345", Some(Command::Start(Some("ABCD2345".into()))));
        check(" /STOP ", Some(Command::Stop));
        check("!new", Some(Command::New));
        check("/new york in summer", None);
        check("/help me with this", None);
        check("/weekly-report now", None);
        check("/pair x", Some(Command::Pair("x".into())));
        check("/stop.", Some(Command::Stop));
        check("/help!", Some(Command::Help));
        check("!", None);
        check("approve K2.", Some(Command::Answer(Decision::Approve, "K2".into())));
        check("approve K2", Some(Command::Answer(Decision::Approve, "K2".into())));
        check("Deny K2", Some(Command::Answer(Decision::Deny, "K2".into())));
        check("approve of this plan", None);
        check("stop", None);
        check("", None);
    }
}
