//! What a line of the chat is: a command, a message, or a slip of the pen.

/// What `/help` says.
pub(super) const HELP: &str = "\
/new [NAME]      start a new conversation, or continue the one with that name
/sessions        list your conversations
/effort [LEVEL]  set how much the model thinks here: none, low, medium, high or default
/status          what the assistant may read and run right now
/stop            stop the reply that is running
/help            show this help
/quit            leave (or Ctrl-D)
//TEXT           send a message that begins with a slash: /TEXT

Enter sends. Alt-Enter, or \\ at the end of a line, starts a new line.
A paste stays one message. Ctrl-C stops a reply, and leaves when pressed again.

";

/// What a person typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// Something for the assistant.
    Message(&'a str),
    /// Show what there is.
    Help,
    /// Leave.
    Quit,
    /// End what runs.
    Stop,
    /// Another conversation; empty for a new one.
    New(&'a str),
    /// An effort; empty to ask for it.
    Effort(&'a str),
    /// List the conversations.
    Sessions,
    /// Tell what the assistant can read and run.
    Status,
    /// A command that does not exist.
    Unknown(&'a str),
}

impl<'a> Line<'a> {
    /// Reads a line, which may have several.
    pub(super) fn parse(text: &'a str) -> Self {
        let line = text.trim_start();
        if !line.starts_with('/') {
            return Self::Message(text);
        }
        if line.starts_with("//") {
            return Self::Message(&line[1..]);
        }
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match word {
            "/help" | "/?" => Self::Help,
            "/quit" | "/exit" => Self::Quit,
            "/stop" => Self::Stop,
            "/new" => Self::New(rest),
            "/effort" => Self::Effort(rest),
            "/sessions" => Self::Sessions,
            "/status" => Self::Status,
            _ => Self::Unknown(word),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_meant_for_the_assistant_is_a_message() {
        let check = |text: &str, expected: Line<'_>| assert_eq!(Line::parse(text), expected, "{text:?}");
        check("hello /help", Line::Message("hello /help"));
        check("  hello", Line::Message("  hello"));
        check("/help", Line::Help);
        check(" /new  kitchen \n", Line::New("kitchen"));
        check("/new", Line::New(""));
        check("/effort high", Line::Effort("high"));
        check("/etc/hosts is what?", Line::Unknown("/etc/hosts"));
        check("/hepl\nme", Line::Unknown("/hepl"));
        check("/", Line::Unknown("/"));
        check("//etc/hosts\nis what?", Line::Message("/etc/hosts\nis what?"));
        check("//", Line::Message("/"));
    }
}
