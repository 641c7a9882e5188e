//! Parses a line of the chat: a command, a message, or a typing mistake.

/// The text of `/help`.
pub(super) const HELP: &str = "\
/new [NAME]      start a new conversation, or continue the one with that name
/sessions        list your conversations
/sops            list the SOPs; /NAME TEXT runs one
/mcp [SERVER [PROMPT NAME=VALUE ...]]
                 list the prompts of MCP servers, or follow one
/model [NAME]    show the models, or choose the one that answers here
/effort [LEVEL]  set how much the model thinks here: none, low, medium, high or default
/status          what the assistant may read and run right now
/stop            stop the reply that is running
/help            show this help
/quit            leave (or Ctrl-D)
//TEXT           send a message that begins with a slash: /TEXT

Enter sends. Alt-Enter, or \\ at the end of a line, starts a new line.
A paste stays one message. Ctrl-C stops a reply, and leaves when pressed again.

";

/// A line that the user typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// A message to the assistant.
    Message(&'a str),
    /// Show the help.
    Help,
    /// Leave the chat.
    Quit,
    /// Stop the running reply.
    Stop,
    /// Switch to another conversation; empty for a new one.
    New(&'a str),
    /// Set the effort; empty to show it.
    Effort(&'a str),
    /// List the conversations.
    Sessions,
    /// List the SOPs.
    Sops,
    /// Show which things the assistant can read and run.
    Status,
    /// A command of the assistant, such as the name of a SOP, or an unknown one.
    Unknown(&'a str),
}

impl<'a> Line<'a> {
    /// Parses the input, which may span several lines.
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
            "/sops" => Self::Sops,
            "/status" => Self::Status,
            // The assistant answers it, for every client alike.
            "/mcp" | "/model" => Self::Message(text),
            _ => Self::Unknown(word),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_separated_from_messages() {
        let check = |text: &str, expected: Line<'_>| assert_eq!(Line::parse(text), expected, "{text:?}");
        check("hello /help", Line::Message("hello /help"));
        check("  hello", Line::Message("  hello"));
        check("/help", Line::Help);
        check(" /new  kitchen \n", Line::New("kitchen"));
        check("/new", Line::New(""));
        check("/effort high", Line::Effort("high"));
        check("/model fast", Line::Message("/model fast"));
        check("/mcp far review", Line::Message("/mcp far review"));
        check("/etc/hosts is what?", Line::Unknown("/etc/hosts"));
        check("/hepl\nme", Line::Unknown("/hepl"));
        check("/", Line::Unknown("/"));
        check("//etc/hosts\nis what?", Line::Message("/etc/hosts\nis what?"));
        check("//", Line::Message("/"));
    }
}
