//! Parses a line of the chat: a command, a message, or a typing mistake.

use aethon::config::nearest_word;

/// A command of the chat.
pub(super) struct Command {
    /// Its name, with the slash.
    pub(super) name: &'static str,
    /// What follows it, as the help shows it.
    usage: &'static str,
    /// Its effect, for `/help`.
    pub(super) about: &'static str,
    /// What Tab completes after it.
    pub(super) takes: Takes,
}

/// What follows a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// Nothing.
    Nothing,
    /// Any text.
    Text,
    /// One of these words.
    Words(&'static [&'static str]),
    /// The name of a conversation.
    Session,
    /// The name of a model.
    Model,
    /// `stop` and the number of a command in the background.
    Running,
}

const fn command(name: &'static str, usage: &'static str, about: &'static str, takes: Takes) -> Command {
    Command { name, usage, about, takes }
}

const EFFORTS: Takes = Takes::Words(&["none", "low", "medium", "high", "default"]);

/// The commands, in the order of the help.
pub(super) const COMMANDS: [Command; 22] = [
    command("/new", "[NAME]", "start a new conversation, or continue the one with that name", Takes::Session),
    command(
        "/resume",
        "[NAME]",
        "continue a conversation; without a name, choose one of the newest",
        Takes::Session,
    ),
    command("/sessions", "", "list your conversations", Takes::Nothing),
    command("/search", "WORDS", "find messages in all conversations", Takes::Text),
    command("/retry", "", "have your last message answered again", Takes::Nothing),
    command(
        "/undo",
        "[files]",
        "take your last message back, or, with files, what tools did to files since",
        Takes::Words(&["files"]),
    ),
    command("/redo", "", "take the last /undo files back", Takes::Nothing),
    command("/edit", "[TEXT]", "write the message in your editor ($VISUAL or $EDITOR)", Takes::Text),
    command(
        "/run",
        "COMMAND",
        "run a command in your shell; the next message takes its output along",
        Takes::Text,
    ),
    command("/paste", "", "take the picture in the clipboard along (or Ctrl-V)", Takes::Nothing),
    command("/copy", "", "copy the last answer to the clipboard of this terminal", Takes::Nothing),
    command("/export", "[FILE]", "write this conversation to a file, as Markdown or as .json", Takes::Text),
    command("/model", "[NAME]", "show the models, or choose the one that answers here", Takes::Model),
    command(
        "/effort",
        "[LEVEL]",
        "set how much the model thinks here: none, low, medium, high or default",
        EFFORTS,
    ),
    command(
        "/commands",
        "[stop NUMBER]",
        "list the commands that run in the background here, or stop one",
        Takes::Running,
    ),
    command("/usage", "", "what the models used and cost today", Takes::Nothing),
    command("/sops", "", "list the SOPs; /NAME TEXT runs one", Takes::Nothing),
    command(
        "/mcp",
        "[SERVER [PROMPT NAME=VALUE ...]]",
        "list the prompts of MCP servers, or follow one",
        Takes::Text,
    ),
    command("/status", "", "what the assistant may read and run right now", Takes::Nothing),
    command("/stop", "", "stop the reply that is running", Takes::Nothing),
    command("/help", "", "show this help", Takes::Nothing),
    command("/quit", "", "leave (or Ctrl-D)", Takes::Nothing),
];

/// The column at which the help explains.
const COLUMN: usize = 17;

/// Returns what helps with a command that does not exist.
pub(super) fn remedy(word: &str) -> String {
    let names: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
    let nearest = nearest_word(word, &names).map(|name| format!("did you mean {name}? ")).unwrap_or_default();
    format!("{nearest}/help shows all; a message that begins with a slash begins with two: //")
}

/// Returns the text of `/help`.
pub(super) fn help() -> String {
    let mut text = String::new();
    let rows = COMMANDS.iter().map(|command| (format!("{} {}", command.name, command.usage), command.about));
    for (left, about) in rows.chain([("//TEXT".to_owned(), "send a message that begins with a slash: /TEXT")])
    {
        let left = left.trim_end();
        let gap = if left.len() < COLUMN {
            " ".repeat(COLUMN - left.len())
        } else {
            format!("\n{}", " ".repeat(COLUMN))
        };
        text.push_str(&format!("{left}{gap}{about}\n"));
    }
    text + KEYS
}

const KEYS: &str = "
Enter sends. Alt-Enter, or \\ at the end of a line, starts a new line. Ctrl-O opens your editor.
Tab completes commands, their values, and files after @: @notes.md sends the file along.
What you type during a reply is sent after it. A paste stays one message.
Ctrl-C stops a reply, and leaves when pressed again.

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
    /// Continue a conversation; empty to choose one.
    Resume(&'a str),
    /// Find messages.
    Search(&'a str),
    /// Have the last message answered again.
    Retry,
    /// Take the last message back; or what this word names.
    Undo(&'a str),
    /// Undo the last taking back of files.
    Redo,
    /// Write a message in the editor.
    Edit(&'a str),
    /// Run a command in the user's shell.
    Run(&'a str),
    /// Take the picture in the clipboard along.
    Paste,
    /// Copy the last answer.
    Copy,
    /// Write the conversation to a file; empty for a name of its own.
    Export(&'a str),
    /// List the commands in the background, or stop one.
    Commands(&'a str),
    /// Show the usage of models.
    Usage,
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
            "/resume" => Self::Resume(rest),
            "/search" => Self::Search(rest),
            "/retry" => Self::Retry,
            "/undo" => Self::Undo(rest),
            "/redo" => Self::Redo,
            "/edit" => Self::Edit(rest),
            "/run" => Self::Run(rest),
            "/paste" => Self::Paste,
            "/copy" => Self::Copy,
            "/export" => Self::Export(rest),
            "/commands" => Self::Commands(rest),
            "/usage" => Self::Usage,
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
        check("/resume garden", Line::Resume("garden"));
        check("/search red roses", Line::Search("red roses"));
        check("/undo", Line::Undo(""));
        check("/undo files", Line::Undo("files"));
        check("/edit a\nb", Line::Edit("a\nb"));
        check("/run ls -l", Line::Run("ls -l"));
        check("/commands stop 3", Line::Commands("stop 3"));
        check("/model fast", Line::Message("/model fast"));
        check("/mcp far review", Line::Message("/mcp far review"));
        check("/etc/hosts is what?", Line::Unknown("/etc/hosts"));
        check("/hepl\nme", Line::Unknown("/hepl"));
        check("/", Line::Unknown("/"));
        check("//etc/hosts\nis what?", Line::Message("/etc/hosts\nis what?"));
        check("//", Line::Message("/"));
    }

    #[test]
    fn every_command_of_the_help_is_understood() {
        for command in &COMMANDS {
            assert!(!matches!(Line::parse(command.name), Line::Unknown(_)), "{}", command.name);
            assert!(help().contains(&format!("\n{}", command.name)) || help().starts_with(command.name));
        }
        assert!(help().lines().all(|line| line.len() <= 100), "{}", help());
    }
}
